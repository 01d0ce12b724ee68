import { markdownHeaders, TOKENS, tokensIn, type Page } from './headers.js'
import type { PageContext, PageConverter, PageSink } from './page-sink.js'
import { encodedFor } from './shared-bytes.js'

/**
 * A page that certainly fits, since its length is known and its bytes are HTML, in which nothing is an error. Each
 * chunk of Markdown is sent as soon as it is available; nothing is buffered.
 */
export class StreamedPage implements PageSink {
  readonly copies = true
  readonly #context: PageContext
  readonly #converter: PageConverter
  #missing: number
  #headSent = false
  /** Bytes of the Markdown so far. */
  #bytes = 0
  /** The number of tokens follows the body. */
  #hasTrailer = false

  constructor(page: Page & { readonly length: number }, context: PageContext) {
    this.#context = context
    this.#converter = context.converter(page.contentType)
    this.#missing = page.length
  }

  data(chunk: Buffer): boolean {
    this.#missing -= chunk.length
    this.#context.conversion.htmlBytes += chunk.length
    const markdown = this.#converter.write(chunk)
    // Nothing can follow: a page that arrived in one chunk is complete here, so its size is known.
    if (this.#missing === 0) return this.#send(markdown + this.#converter.end(), true)
    return markdown === '' || this.#send(markdown, false)
  }

  end(): void {
    if (!this.#headSent) this.#send(this.#converter.end(), true)
    this.#context.next.end(this.#hasTrailer ? [TOKENS, tokensIn(this.#bytes)] : undefined)
  }

  drained(): void {
    this.#context.resume()
  }

  release(): void {}

  #send(markdown: string, whole: boolean): boolean {
    const { next, status, headers, signal, reportOutcome, trailers } = this.#context
    const bytes = encodedFor(next, markdown)
    this.#bytes += bytes.length
    this.#context.conversion.bytes = this.#bytes
    this.#context.conversion.isWhole = whole
    if (!this.#headSent) {
      this.#headSent = true
      reportOutcome('streamed', whole ? bytes.length : undefined)
      this.#hasTrailer = trailers && !whole
      const fields = markdownHeaders(headers, { signal, bytes: whole ? bytes.length : undefined })
      next.head(status, this.#hasTrailer ? [...fields, 'trailer', TOKENS] : fields)
    }
    return bytes.length === 0 || next.data(bytes)
  }
}
