import type { FileHandle } from 'node:fs/promises'
import type { AssetFile } from '../../workers/assets/files.js'
import type { AssetDecision, AssetSite } from '../../workers/assets/site.js'
import type { ResponseSink } from '../exchange/response.js'
import type { Exchange } from '../exchange/exchange.js'
import { CLIENT_LEFT } from '../exchange/origin-exchange.js'
import { headerValues } from '../../http/headers.js'
import { NotRunnable } from '../exchange/worker-sites.js'
import type { BlobCache, Lent } from './blob-cache.js'
import { rangeOf, type Range } from './range.js'

const CACHE_CONTROL = 'public, max-age=0, must-revalidate'
/** Bytes per write. The next write waits until the client has read them. */
const SLICE = 65_536

type AssetExchange = Pick<Exchange, 'method' | 'host' | 'target' | 'headers' | 'field'>

type FileDecision = Extract<AssetDecision, { kind: 'file' }>

interface AssetResponseParts {
  /** Undefined if all files are on disk. */
  readonly blobs?: BlobCache
  readonly run?: (() => () => void) | undefined
  /** Whether files have no lifetime unless `_headers` sets one. */
  readonly withoutLifetime?: boolean | undefined
  /** Opens a file that is on disk. Undefined if all files are blobs. */
  readonly open?: ((file: AssetFile) => Promise<FileHandle>) | undefined
}

/** The response to one request from static assets. */
export class AssetResponse {
  readonly #site: Pick<AssetSite, 'decide' | 'headers'>
  readonly #exchange: AssetExchange
  readonly #sink: ResponseSink
  readonly #blobs: BlobCache | undefined
  /** Runs the code of the Worker. Returns how to cancel that. */
  readonly #run: (() => () => void) | undefined
  readonly #open: AssetResponseParts['open']
  readonly #lifetime: readonly string[]
  #drained: (() => void) | undefined
  #cancelRun: (() => void) | undefined
  #lent: Lent | undefined
  #rest: Buffer | undefined
  #over = false

  constructor(
    site: Pick<AssetSite, 'decide' | 'headers'>,
    exchange: AssetExchange,
    sink: ResponseSink,
    { blobs, run, open, withoutLifetime = false }: AssetResponseParts,
  ) {
    this.#lifetime = withoutLifetime ? [] : ['cache-control', CACHE_CONTROL]
    this.#open = open
    this.#site = site
    this.#exchange = exchange
    this.#sink = sink
    this.#blobs = blobs
    this.#run = run
  }

  send(): void {
    const { method, host, target } = this.#exchange
    const navigates = this.#exchange.field('sec-fetch-mode') === 'navigate'
    const decision = this.#site.decide({ method, host, target, navigates })
    switch (decision.kind) {
      case 'file':
        this.#file(decision)
        break
      case 'redirect':
        this.#empty(decision.status, this.#ruled(decision.path, ['location', decision.location]))
        break
      case 'missing':
        this.#empty(404, this.#ruled(decision.path, []))
        break
      case 'method_not_allowed':
        this.#empty(405, this.#ruled(decision.path, ['allow', 'GET, HEAD']))
        break
      case 'worker':
        if (this.#run) this.#cancelRun = this.#run()
        else this.#sink.fail(new NotRunnable('no_runtime', 'this server runs no Workers'))
    }
  }

  /** Cancels the response. */
  cancel(): void {
    if (this.#cancelRun) {
      this.#cancelRun()
      return
    }
    this.#giveBack()
    this.#sink.fail(CLIENT_LEFT)
  }

  #file(decision: FileDecision): void {
    const exchange = this.#exchange
    const { file, status } = decision
    const etag = `"${file.blob.slice(0, 32)}"`
    if (status === 404) this.#whole(decision, etag)
    else if (fails(exchange, etag)) this.#empty(412, this.#fields(decision, etag))
    else if (unchanged(exchange, etag)) this.#sinkOnly(304, this.#fields(decision, etag))
    else {
      const range =
        exchange.method === 'GET' && current(exchange, etag) ? rangeOf(exchange.field('range'), file.size) : undefined
      if (!range) this.#whole(decision, etag)
      else if (range === 'unsatisfiable')
        this.#empty(416, [...this.#fields(decision, etag), 'content-range', `bytes */${file.size}`])
      else {
        const { first, last } = range
        const place = [
          'content-range',
          `bytes ${first}-${last}/${file.size}`,
          'content-length',
          String(last - first + 1),
        ]
        this.#body(206, [...this.#fields(decision, etag), ...place], file, range)
      }
    }
  }

  /** Responds with a whole file. */
  #whole(decision: FileDecision, etag: string): void {
    const { file, status, head } = decision
    const { host } = this.#exchange
    let fields = head?.host === host ? head.fields : undefined
    if (fields === undefined) {
      fields = Object.freeze([...this.#fields(decision, etag), 'content-length', String(file.size)])
      if (head) {
        head.host = host
        head.fields = fields
      }
    }
    this.#body(status, fields, file, undefined)
  }

  #fields({ file, path }: FileDecision, etag: string): readonly string[] {
    const type = file.type === undefined ? [] : ['content-type', file.type]
    return this.#ruled(path, [...type, 'etag', etag, ...this.#lifetime, 'accept-ranges', 'bytes'])
  }

  #ruled(path: string, fields: readonly string[]): readonly string[] {
    return this.#site.headers(this.#exchange.host, path, fields)
  }

  #empty(status: number, fields: readonly string[]): void {
    const bare =
      status === 412 || status === 416 ? fields.filter((_, i) => fields[i - (i % 2)] !== 'content-type') : fields
    this.#sinkOnly(status, [...bare, 'content-length', '0'])
  }

  #sinkOnly(status: number, fields: readonly string[]): void {
    this.#sink.head(status, fields)
    this.#sink.end()
  }

  /** Responds with a file, or a part of it. */
  #body(status: number, head: readonly string[], file: AssetFile, range: Range | undefined): void {
    if (this.#exchange.method === 'HEAD' || file.size === 0) {
      this.#sinkOnly(status, head)
      return
    }
    const { first, last } = range ?? { first: 0, last: file.size - 1 }
    if (this.#open) {
      void this.#stream(status, head, this.#open(file), { first, last })
      return
    }
    const begin = (lent: Lent): void =>
      this.#begin(status, head, lent, range ? lent.bytes.subarray(first, last + 1) : lent.bytes)
    const fail = (error: unknown): void => this.#fail(error)
    try {
      const lent = this.#blobs!.lend(file)
      if (lent instanceof Promise) lent.then(begin, fail)
      else begin(lent)
    } catch (error) {
      fail(error)
    }
  }

  /** Sends a file on disk in pieces, as fast as the client reads them. */
  async #stream(
    status: number,
    head: readonly string[],
    opening: Promise<FileHandle>,
    { first, last }: Range,
  ): Promise<void> {
    let handle: FileHandle | undefined
    try {
      handle = await opening
      if (this.#over) return
      this.#sink.head(status, head)
      for (let at = first; at <= last && !this.#over;) {
        const length = Math.min(SLICE, last + 1 - at)
        const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, at)
        if (bytesRead === 0) throw new Error('the file became shorter while it was sent')
        at += bytesRead
        if (this.#over || this.#sink.data(buffer.subarray(0, bytesRead))) continue
        await new Promise<void>((resolve) => {
          this.#drained = resolve
          this.#sink.onDrain(resolve)
        })
      }
      if (!this.#over) this.#end()
    } catch (error) {
      this.#fail(error)
    } finally {
      await handle?.close()
    }
  }

  #begin(status: number, head: readonly string[], lent: Lent, body: Buffer): void {
    if (this.#over) {
      lent.done()
      return
    }
    this.#lent = lent
    try {
      this.#sink.head(status, head)
      this.#sink.onDrain(() => this.#resume())
      this.#rest = body
      this.#flow()
    } catch (error) {
      this.#fail(error)
    }
  }

  #resume(): void {
    try {
      this.#flow()
    } catch (error) {
      this.#fail(error)
    }
  }

  #flow(): void {
    while (this.#rest && !this.#over) {
      const isLast = this.#rest.length <= SLICE
      const chunk = isLast ? this.#rest : this.#rest.subarray(0, SLICE)
      this.#rest = isLast ? undefined : this.#rest.subarray(SLICE)
      const more = this.#sink.data(chunk)
      if (!this.#rest) this.#end()
      else if (!more) return
    }
  }

  #end(): void {
    this.#giveBack()
    this.#sink.end()
  }

  #fail(error: unknown): void {
    if (this.#over) return
    this.#giveBack()
    this.#sink.fail(error)
  }

  #giveBack(): void {
    this.#over = true
    this.#rest = undefined
    this.#lent?.done()
    this.#drained?.()
  }
}

/** Weak comparison (RFC 9110, 13.1.2). */
function unchanged(exchange: AssetExchange, etag: string): boolean {
  if (exchange.field('if-none-match') === undefined) return false
  return lists(headerValues(exchange.headers, 'if-none-match').join(','), etag, true)
}

/** Strong comparison (RFC 9110, 13.1.1). */
function fails(exchange: AssetExchange, etag: string): boolean {
  if (exchange.field('if-match') === undefined) return false
  return !lists(headerValues(exchange.headers, 'if-match').join(','), etag, false)
}

/** The part is wanted only of this version (RFC 9110, 13.1.5). */
function current(exchange: AssetExchange, etag: string): boolean {
  const state = exchange.field('if-range')
  return state === undefined || state.trim() === etag
}

function lists(field: string, etag: string, weak: boolean): boolean {
  if (field.trim() === '*') return true
  return field.split(',').some((one) => {
    const tag = one.trim()
    return tag === etag || (weak && tag === `W/${etag}`)
  })
}
