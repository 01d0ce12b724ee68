import type { Transform } from 'node:stream'
import zlib from 'node:zlib'
import { members } from '../../http/accept.js'
import { BytesSource } from '../exchange/bytes-source.js'
import type { Variant } from '../cache/entries/entry.js'
import type { VariantRecorder } from '../cache/entries/types.js'
import type { CompressionParams } from '../../rules/decisions.js'
import type { ResponseSink } from '../exchange/response.js'
import type { Exchange } from '../exchange/exchange.js'
import { headerOf, headerValues, type RawHeaders, withoutHeader } from '../../http/headers.js'

type Algorithm = 'gzip' | 'brotli' | 'zstd'

interface Coder {
  /** Its name in Accept-Encoding and Content-Encoding. */
  readonly coding: string
  readonly make: () => Transform
  /** Compresses a whole body at once. */
  readonly whole: (bytes: Buffer) => Buffer
}

const BROTLI_QUALITY = 4

// Each chunk is flushed, so that a page that arrives in pieces is shown in pieces.
const CODERS: Readonly<Record<Algorithm, Coder | undefined>> = {
  zstd: zstd(),
  brotli: {
    coding: 'br',
    make: () =>
      zlib.createBrotliCompress({
        flush: zlib.constants.BROTLI_OPERATION_FLUSH,
        params: { [zlib.constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY },
      }),
    whole: (bytes) =>
      zlib.brotliCompressSync(bytes, {
        params: {
          [zlib.constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
          [zlib.constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        },
      }),
  },
  gzip: {
    coding: 'gzip',
    make: () => zlib.createGzip({ flush: zlib.constants.Z_SYNC_FLUSH }),
    whole: (bytes) => zlib.gzipSync(bytes),
  },
}

/** Only in Node 22.15 and newer. */
function zstd(): Coder | undefined {
  const { createZstdCompress: make, zstdCompressSync: whole } = zlib as {
    createZstdCompress?: () => Transform
    zstdCompressSync?: (bytes: Buffer) => Buffer
  }
  return make && whole && { coding: 'zstd', make, whole }
}

/** The algorithms of `auto` and `default`, the best first. */
const PREFERRED: readonly Algorithm[] = ['zstd', 'brotli', 'gzip']

/** Shorter bodies would grow or gain nothing. */
const MIN_BYTES = 50
/** Whole Markdown up to this size is compressed at once, because a stream for each response takes longer than the compression. */
const MAX_WHOLE_BYTES = 32_768
/** As above, for zones that compress without a rule. */
const MIN_ZONE_BYTES = 256
const AUTO: CompressionParams = ['auto']
const UNCHANGEABLE = new Set([204, 206, 304])
const COMPRESSIBLE =
  /^(?:text\/(?!event-stream)|font\/(?:otf|ttf)$|image\/(?:svg\+xml|bmp|x-icon|vnd\.microsoft\.icon)$|application\/(?:.*\+)?(?:json|xml|javascript|ecmascript|x-javascript|wasm|manifest|vnd\.ms-fontobject|x-font-\w+|graphql|rtf|x-ndjson)$)/
/** Compressed formats, or streams to be received byte by byte. */
const DENSE =
  /^(?:image\/(?:jpeg|png|gif|webp|avif|heic|jxl)|video\/|audio\/|font\/woff2?|text\/event-stream|application\/(?:zip|gzip|x-gzip|zstd|x-7z-compressed|x-bzip2?|x-xz|x-rar-compressed|vnd\.rar|pdf$))/

/** A whole body that is compressed at its end, with its coder. */
interface WholeBody {
  readonly coder: Coder
  readonly chunks: Buffer[]
}

/** Compresses a response according to its rule. */
export class CompressedResponse implements ResponseSink {
  /** A response that is not compressed passes without a copy of its bytes. The coder keeps bytes, so it gets copies. */
  readonly copies: boolean
  readonly #next: ResponseSink
  readonly #exchange: Exchange
  #coder: Transform | undefined
  #whole: WholeBody | undefined
  #drained: (() => void) | undefined
  #blocked = false
  #trailers: RawHeaders | undefined
  /** Records the compressed bytes of a stored response for later requests. */
  #recorder: VariantRecorder | undefined
  /** The compressed bytes are known: the response to compress is discarded. */
  #known: Variant | undefined
  #source: BytesSource | undefined

  constructor(next: ResponseSink, exchange: Exchange) {
    this.copies = next.copies === true
    this.#next = next
    this.#exchange = exchange
    next.onDrain(() => {
      if (this.#coder) this.#coder.resume()
      else this.#drained?.()
    })
  }

  head(status: number, headers: RawHeaders): void {
    const { method, rawHeaders } = this.#exchange
    const { cache } = this.#exchange.decisions
    const compression = this.#exchange.decisions.compression ?? this.#byZone(status, headers)
    if (!compression || !changeable(status, headers) || (cache?.respect_strong_etags && hasStrongTag(headers))) {
      this.#next.head(status, headers)
      return
    }
    const chosen = choose(compression, headerValues(rawHeaders, 'accept-encoding').join(','), mediaType(headers))
    if (!chosen) {
      this.#next.head(status, varied(headers))
      return
    }
    const fields = compressedHeaders(headers, chosen.coding)
    if (method === 'HEAD') {
      this.#next.head(status, fields)
      return
    }
    const cached = this.#exchange.caching.response
    const name = cached && `${chosen.coding} ${cached.form}`
    this.#known = name === undefined ? undefined : cached?.variant(name)
    if (this.#known) {
      if (cached?.form === '') cached.body = 'skip'
      this.#exchange.caching.bytes = this.#known.bytes.length
      this.#next.head(status, [...fields, 'content-length', String(this.#known.bytes.length)])
      return
    }
    if (name !== undefined) this.#recorder = cached?.record(name)
    if (this.#isShortMarkdown(headers)) this.#whole = { coder: chosen, chunks: [] }
    else this.#coder = this.#open(chosen)
    this.#next.head(status, fields)
  }

  /** Whether the body is whole Markdown of edged. The time to compress it counts as a part of the conversion. */
  #isShortMarkdown(headers: RawHeaders): boolean {
    const { conversion } = this.#exchange
    return conversion?.isWhole === true && conversion.bytes <= MAX_WHOLE_BYTES && mediaType(headers) === 'text/markdown'
  }

  /** Returns the algorithms of a zone that compresses text. Markdown has an option of its own. */
  #byZone(status: number, headers: RawHeaders): CompressionParams | undefined {
    if (!this.#exchange.zone.compresses || status < 200) return undefined
    const type = mediaType(headers)
    if (type === 'text/markdown' || !COMPRESSIBLE.test(type)) return undefined
    const length = headerOf(headers, 'content-length')
    return length !== undefined && Number(length) < MIN_ZONE_BYTES ? undefined : AUTO
  }

  data(chunk: Buffer): boolean {
    if (this.#known) return true
    if (this.#whole) {
      this.#whole.chunks.push(this.copies ? Buffer.from(chunk) : chunk)
      return true
    }
    if (!this.#coder) return this.#next.data(chunk)
    this.#blocked = !this.#coder.write(this.copies ? Buffer.from(chunk) : chunk)
    return !this.#blocked
  }

  end(trailers?: RawHeaders): void {
    this.#trailers = trailers
    if (this.#known) this.#source = new BytesSource(this.#next, this.#known.bytes)
    else if (this.#whole) this.#compress(this.#whole)
    else if (this.#coder) this.#coder.end()
    else this.#next.end(trailers)
  }

  #compress({ coder, chunks }: WholeBody): void {
    this.#whole = undefined
    const bytes = coder.whole(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
    this.#recorder?.append(bytes)
    this.#recorder?.commit()
    this.#next.data(bytes)
    this.#next.end(this.#trailers)
  }

  fail(error: unknown): void {
    this.#whole = undefined
    this.#coder?.destroy()
    this.#recorder?.drop()
    this.#source?.stop()
    this.#next.fail(error)
  }

  onDrain(listener: () => void): void {
    this.#drained = listener
  }

  #open({ make }: Coder): Transform {
    const coder = make()
    coder.on('data', (bytes: Buffer) => {
      this.#recorder?.append(bytes)
      if (!this.#next.data(bytes)) coder.pause()
    })
    coder.on('drain', () => {
      if (!this.#blocked) return
      this.#blocked = false
      this.#drained?.()
    })
    coder.on('end', () => {
      this.#recorder?.commit()
      this.#next.end(this.#trailers)
    })
    coder.on('error', (error) => this.#next.fail(error))
    return coder
  }
}

const mediaType = (headers: RawHeaders): string =>
  (headerOf(headers, 'content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase()

/** Returns whether a response with this head may be compressed. */
function changeable(status: number, headers: RawHeaders): boolean {
  const length = headerOf(headers, 'content-length')
  const coded = headerValues(headers, 'content-encoding').some((value) => value.trim().toLowerCase() !== 'identity')
  const fixed = headerValues(headers, 'cache-control').some((value) =>
    [...members(value)].some((directive) => directive.toLowerCase() === 'no-transform'),
  )
  return !UNCHANGEABLE.has(status) && !coded && !fixed && (length === undefined || Number(length) >= MIN_BYTES)
}

const hasStrongTag = (headers: RawHeaders): boolean => headerOf(headers, 'etag')?.startsWith('"') === true

/**
 * Returns the first algorithm of a rule that the client accepts, or undefined if the rule, the client or the content
 * excludes it.
 */
function choose(algorithms: CompressionParams, acceptEncoding: string, type: string): Coder | undefined {
  if (DENSE.test(type)) return undefined
  const weights = weightsOf(acceptEncoding)
  const weight = (coder: Coder) => weights.get(coder.coding) ?? weights.get('*') ?? 0
  for (const name of algorithms) {
    if (name === 'none') return undefined
    if (name === 'auto' || name === 'default') {
      if (!COMPRESSIBLE.test(type)) return undefined
      const taken = PREFERRED.flatMap((preferred) => CODERS[preferred] ?? []).filter((coder) => weight(coder) > 0)
      return taken.sort((a, b) => weight(b) - weight(a))[0]
    }
    const coder = CODERS[name]
    if (coder && weight(coder) > 0) return coder
  }
  return undefined
}

const WEIGHT = /;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*$/i

/** Returns qualities by coding (RFC 9110, 12.5.3). */
function weightsOf(acceptEncoding: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const member of members(acceptEncoding)) {
    const coding = member.split(';', 1)[0]!.trim().toLowerCase()
    weights.set(coding === 'x-gzip' ? 'gzip' : coding, Number(WEIGHT.exec(member)?.[1] ?? 1))
  }
  return weights
}

function compressedHeaders(headers: RawHeaders, coding: string): string[] {
  let fields = withoutHeader(headers, 'content-length')
  for (const name of ['content-encoding', 'accept-ranges', 'content-md5', 'digest', 'content-digest', 'repr-digest'])
    fields = withoutHeader(fields, name)
  // Other bytes, so that a strong validator would be wrong (RFC 9110, 8.8.1).
  for (let i = 0; i + 1 < fields.length; i += 2)
    if (fields[i]!.toLowerCase() === 'etag' && !fields[i + 1]!.startsWith('W/')) fields[i + 1] = `W/${fields[i + 1]!}`
  fields.push('content-encoding', coding)
  return varied(fields)
}

/** Returns the fields with `accept-encoding` in Vary. */
function varied(headers: RawHeaders): string[] {
  const names = headerValues(headers, 'vary').flatMap((value) => [...members(value)])
  if (names.some((name) => name === '*' || name.toLowerCase() === 'accept-encoding')) return [...headers]
  return [...withoutHeader(headers, 'vary'), 'vary', [...names, 'accept-encoding'].join(', ')]
}
