import type { FileHandle } from 'node:fs/promises'
import type { AssetFile } from '../../workers/assets/files.js'
import type { AssetDecision, AssetSite } from '../../workers/assets/site.js'
import type { ResponseSink } from '../exchange/response.js'
import type { Exchange } from '../exchange/exchange.js'
import { CLIENT_LEFT } from '../exchange/origin-exchange.js'
import { headerOf, headerValues } from '../../http/headers.js'
import { NotRunnable } from '../exchange/worker-sites.js'
import type { BlobCache, Lent } from './blob-cache.js'
import { rangeOf, type Range } from './range.js'

const CACHE_CONTROL = 'public, max-age=0, must-revalidate'
/** Bytes per write. The next write waits until the client has read them. */
const SLICE = 65_536

type AssetExchange = Pick<Exchange, 'method' | 'host' | 'target' | 'headers'>

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
    const { method, host, target, headers } = this.#exchange
    const navigates = headerOf(headers, 'sec-fetch-mode') === 'navigate'
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

  #file({ file, status, path }: Extract<AssetDecision, { kind: 'file' }>): void {
    const etag = `"${file.blob.slice(0, 32)}"`
    const fields = this.#ruled(path, [
      ...(file.type === undefined ? [] : ['content-type', file.type]),
      'etag',
      etag,
      ...this.#lifetime,
      'accept-ranges',
      'bytes',
    ])
    const { headers, method } = this.#exchange
    if (status === 404) this.#body(404, fields, file, { first: 0, last: file.size - 1 })
    else if (fails(headers, etag)) this.#empty(412, fields)
    else if (unchanged(headers, etag)) this.#sinkOnly(304, fields)
    else {
      const range =
        method === 'GET' && current(headers, etag) ? rangeOf(headerOf(headers, 'range'), file.size) : undefined
      if (range === 'unsatisfiable') this.#empty(416, [...fields, 'content-range', `bytes */${file.size}`])
      else if (range) {
        const place = `bytes ${range.first}-${range.last}/${file.size}`
        this.#body(206, [...fields, 'content-range', place], file, range)
      } else this.#body(200, fields, file, { first: 0, last: file.size - 1 })
    }
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

  #body(status: number, fields: readonly string[], file: AssetFile, { first, last }: Range): void {
    const head = [...fields, 'content-length', String(last - first + 1)]
    if (this.#exchange.method === 'HEAD' || file.size === 0) {
      this.#sinkOnly(status, head)
      return
    }
    if (this.#open) {
      void this.#stream(status, head, this.#open(file), { first, last })
      return
    }
    const begin = (lent: Lent): void => this.#begin(status, head, lent, lent.bytes.subarray(first, last + 1))
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
      const chunk = this.#rest.subarray(0, SLICE)
      this.#rest = this.#rest.length > SLICE ? this.#rest.subarray(SLICE) : undefined
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
function unchanged(headers: readonly string[], etag: string): boolean {
  const asked = headerOf(headers, 'if-none-match')
  return asked !== undefined && lists(headerValues(headers, 'if-none-match').join(','), etag, true)
}

/** Strong comparison (RFC 9110, 13.1.1). */
function fails(headers: readonly string[], etag: string): boolean {
  const asked = headerOf(headers, 'if-match')
  return asked !== undefined && !lists(headerValues(headers, 'if-match').join(','), etag, false)
}

/** The part is wanted only of this version (RFC 9110, 13.1.5). */
function current(headers: readonly string[], etag: string): boolean {
  const state = headerOf(headers, 'if-range')
  return state === undefined || state.trim() === etag
}

function lists(field: string, etag: string, weak: boolean): boolean {
  if (field.trim() === '*') return true
  return field.split(',').some((one) => {
    const tag = one.trim()
    return tag === etag || (weak && tag === `W/${etag}`)
  })
}
