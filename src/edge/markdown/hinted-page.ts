import type { RawHeaders } from '../../http/headers.js'
import { InvalidResponse } from '../../http/origin-errors.js'
import type { CompressionParams } from '../../rules/decisions.js'
import { Decoders } from '../exchange/content-coding.js'
import type { Exchange } from '../exchange/exchange.js'
import type { ResponseSink } from '../exchange/response.js'
import { CompressedResponse } from '../compression/compressed-response.js'
import { siteOf } from '../exchange/site.js'
import { pageOf, type Page } from './headers.js'
import { extendsAscii, hintOf, hintedFields, hintedTag, type HintedAddresses } from './hint.js'
import { Insertion } from './insertion.js'

/** An encoded page that decodes to more is not sent. It would take seconds to encode again. */
const MAX_DECODED_BYTES = 64 * 1024 * 1024

/** The algorithm that encodes a page again, by its coding. Clients that accept `deflate` accept gzip. */
const AGAIN: Readonly<Record<string, CompressionParams>> = {
  gzip: ['gzip'],
  'x-gzip': ['gzip'],
  deflate: ['gzip'],
  br: ['brotli', 'gzip'],
  zstd: ['zstd', 'gzip'],
}

export interface HintOptions {
  readonly addresses: HintedAddresses
  /** The condition of the request was one on a page with the hint. */
  readonly hasHinted: boolean
}

/** Adds the hint to a page while it is sent. Other responses pass unchanged. The cache has the page without the hint. */
export class HintedPage implements ResponseSink {
  readonly copies: boolean
  readonly #exchange: Exchange
  readonly #options: HintOptions
  #next: ResponseSink
  #insertion: Insertion | undefined
  #decoders: Decoders | undefined
  #decoded = 0
  #isEmpty = true
  #listener: (() => void) | undefined

  constructor(next: ResponseSink, exchange: Exchange, options: HintOptions) {
    this.copies = next.copies === true
    this.#next = next
    this.#exchange = exchange
    this.#options = options
  }

  head(status: number, headers: RawHeaders): void {
    const page = status === 200 ? pageOf(status, headers) : undefined
    if (!page || !extendsAscii(page.contentType)) {
      const isSame = status === 304 && this.#options.hasHinted
      this.#next.head(status, isSame ? withHintedTag(headers) : headers)
      return
    }
    const hint = hintOf(this.#options.addresses, siteOf(this.#exchange), page.xhtml)
    if (this.#exchange.method !== 'HEAD') this.#insertion = new Insertion(hint, page.xhtml)
    if (page.codings.length > 0) this.#decode(page)
    const cached = this.#exchange.caching.response
    // Compressed bytes that are stored beside the page have the hint of this address.
    if (cached) cached.form = `hint ${hint.link(true)}${hint.line}`
    this.#next.head(status, hintedFields(headers))
  }

  data(chunk: Buffer): boolean {
    if (!this.#decoders) return this.#insert(chunk)
    this.#isEmpty = false
    // The decoder reads the bytes later.
    return this.#decoders.write(this.copies ? Buffer.from(chunk) : chunk)
  }

  end(trailers?: RawHeaders): void {
    if (this.#decoders && !this.#isEmpty) this.#decoders.end()
    else this.#finish(trailers)
  }

  fail(error: unknown): void {
    this.#decoders?.destroy()
    this.#next.fail(error)
  }

  onDrain(listener: () => void): void {
    this.#listener = listener
    if (!this.#decoders) this.#next.onDrain(listener)
  }

  /** Decodes the page, and encodes it again for the client. */
  #decode({ codings }: Page): void {
    this.#exchange.decisions.compression ??= AGAIN[codings[0]!]
    if (!(this.#next instanceof CompressedResponse)) this.#next = new CompressedResponse(this.#next, this.#exchange)
    const decoded = {
      write: (bytes: Uint8Array) => this.#take(bytes),
      end: () => this.#finish(),
      fail: (error: Error) => this.#next.fail(new InvalidResponse(`the page cannot be decoded: ${error.message}`)),
    }
    const decoders = new Decoders(codings, decoded, () => this.#listener?.(), Infinity)
    this.#next.onDrain(() => decoders.resume())
    this.#decoders = decoders
  }

  #take(bytes: Uint8Array): boolean {
    this.#decoded += bytes.length
    if (this.#decoded <= MAX_DECODED_BYTES)
      return this.#insert(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
    this.fail(new InvalidResponse(`the page decodes to more than ${MAX_DECODED_BYTES} bytes`))
    return false
  }

  #insert(bytes: Buffer): boolean {
    const insertion = this.#insertion
    if (!insertion) return this.#next.data(bytes)
    const isOpen = this.#send(insertion.write(bytes))
    if (insertion.isOver) this.#insertion = undefined
    return isOpen
  }

  #send(parts: readonly Buffer[]): boolean {
    let isOpen = true
    for (const part of parts) isOpen = this.#next.data(part) && isOpen
    return isOpen
  }

  #finish(trailers?: RawHeaders): void {
    if (this.#insertion) this.#send(this.#insertion.end())
    this.#next.end(trailers)
  }
}

function withHintedTag(headers: RawHeaders): string[] {
  const fields = [...headers]
  for (let i = 0; i + 1 < fields.length; i += 2)
    if (fields[i]!.toLowerCase() === 'etag') fields[i + 1] = hintedTag(fields[i + 1]!)
  return fields
}
