import type { Transform } from 'node:stream'
import zlib from 'node:zlib'
import { MAX_HTML_BYTES } from '../../../pipelines/markdown/options.js'

/** Creates the decoder of one content coding, from the first bytes of the data. */
type MakeDecoder = (firstBytes: Uint8Array) => Transform

// `deflate` means zlib's format (RFC 9110, 8.4.1.2), but some servers send the bare stream. A bare stream cannot begin
// with a valid zlib header: its first block would be a stored one with padding that is not zero.
const isZlib = ([method = 0, flags]: Uint8Array): boolean =>
  (method & 0x0f) === 8 && (flags === undefined || ((method << 8) | flags) % 31 === 0)

const inflate: MakeDecoder = (firstBytes) => (isZlib(firstBytes) ? zlib.createInflate() : zlib.createInflateRaw())

/** Content codings that can be decoded, by their names in `Content-Encoding`. */
export const CODINGS: ReadonlyMap<string, MakeDecoder> = new Map([
  ['gzip', () => zlib.createGunzip()],
  ['x-gzip', () => zlib.createGunzip()],
  ['deflate', inflate],
  ['br', () => zlib.createBrotliDecompress()],
  ...zstd(),
])

/** Only in Node 22.15 and newer. */
function zstd(): [string, MakeDecoder][] {
  const make = (zlib as { createZstdDecompress?: () => Transform }).createZstdDecompress
  return make ? [['zstd', () => make()]] : []
}

type DecodeNow = (bytes: Uint8Array, limits: { readonly maxOutputLength: number }) => Buffer

/** Returns the content of short data at once. Throws if it is broken, or longer than `maxBytes`. */
export function decodedNow(coding: string, bytes: Buffer, maxBytes: number): Buffer {
  const limits = { maxOutputLength: maxBytes }
  if (coding === 'br') return zlib.brotliDecompressSync(bytes, limits)
  if (coding === 'zstd') return (zlib as unknown as { zstdDecompressSync: DecodeNow }).zstdDecompressSync(bytes, limits)
  if (coding !== 'deflate') return zlib.gunzipSync(bytes, limits)
  return isZlib(bytes) ? zlib.inflateSync(bytes, limits) : zlib.inflateRawSync(bytes, limits)
}

/** Maximum number of codings per response that are decoded. No server has a reason to send more. */
const MAX_CODINGS = 3

/**
 * Returns the codings of a response in decoding order, without `identity`, or undefined if there are too many or one is
 * unknown.
 */
export function codingsToUndo(contentEncoding: string): string[] | undefined {
  const codings: string[] = []
  for (const member of contentEncoding.split(',')) {
    const coding = member.trim().toLowerCase()
    if (coding === '' || coding === 'identity') continue
    if (!CODINGS.has(coding) || codings.length === MAX_CODINGS) return undefined
    codings.unshift(coding)
  }
  return codings
}

/** Receives the output of a decoder. */
export interface Decoded {
  /** Returns false if no more may be sent until it is requested. */
  write(bytes: Uint8Array): boolean
  end(): void
  /**
   * Reports data that does not match its coding: broken, cut short, with a wrong checksum, or with bytes after its end.
   */
  fail(error: Error): void
}

/** No coding makes a page longer than this, so longer input would be wasted work. */
export const MAX_ENCODED_BYTES = MAX_HTML_BYTES + 65_536

/** Decodes one content coding in the thread pool. A written chunk must not change until more is requested. */
class Decoder implements Decoded {
  readonly #make: MakeDecoder
  readonly #to: Decoded
  readonly #drained: () => void
  readonly #maxBytes: number
  #transform: Transform | undefined
  #bytes = 0
  #ended = false

  /** `drained` is called when more data is accepted after {@link write} returned false. */
  constructor(coding: string, to: Decoded, drained: () => void, maxBytes: number) {
    this.#make = CODINGS.get(coding)!
    this.#maxBytes = maxBytes
    this.#to = to
    this.#drained = drained
  }

  write(bytes: Uint8Array): boolean {
    this.#bytes += bytes.length
    if (this.#bytes > this.#maxBytes) {
      this.fail(new Error('more encoded data than any page needs'))
      return false
    }
    this.#transform ??= this.#open(bytes)
    return this.#transform.write(bytes)
  }

  end(): void {
    this.#ended = true
    if (this.#transform) this.#transform.end()
    else this.fail(new Error('no data'))
  }

  fail(error: Error): void {
    this.destroy()
    this.#to.fail(error)
  }

  /** Continues after `to` returned false. */
  resume(): void {
    this.#transform?.resume()
  }

  destroy(): void {
    this.#transform?.destroy()
  }

  #open(firstBytes: Uint8Array): Transform {
    const transform = this.#make(firstBytes)
    transform.on('data', (bytes: Buffer) => {
      if (!this.#to.write(bytes)) transform.pause()
    })
    transform.on('end', () => {
      // zlib reports the end of its own format, and ignores the bytes after it.
      const { bytesWritten } = transform as Transform & { bytesWritten: number }
      if (this.#ended && bytesWritten === this.#bytes) this.#to.end()
      else this.fail(new Error('data after the end'))
    })
    transform.on('error', (error) => this.fail(error))
    transform.on('drain', this.#drained)
    return transform
  }
}

/** A chain of decoders: the first reads the bytes received, the last passes the content to `to`. */
export class Decoders {
  readonly #row: Decoder[] = []

  /**
   * `codings` as from {@link codingsToUndo}, at least one. `drained`: more data is accepted after {@link write}
   * returned false. Data of more than `maxBytes`, in any coding, is a failure.
   */
  constructor(codings: readonly string[], to: Decoded, drained: () => void, maxBytes = MAX_ENCODED_BYTES) {
    for (let i = codings.length - 1; i >= 0; i--) {
      const before = i - 1
      const next = this.#row[0] ?? to
      const welcome = before < 0 ? drained : () => this.#row[before]?.resume()
      this.#row.unshift(new Decoder(codings[i]!, next, welcome, maxBytes))
    }
  }

  write(bytes: Uint8Array): boolean {
    return this.#row[0]!.write(bytes)
  }

  end(): void {
    this.#row[0]!.end()
  }

  /** Continues after the last decoder's `write` returned false. */
  resume(): void {
    this.#row.at(-1)?.resume()
  }

  destroy(): void {
    for (const decoder of this.#row) decoder.destroy()
  }
}
