import { headerOf, type RawHeaders } from '../../../http/headers.js'
import type { ResponseSink } from '../../exchange/response.js'
import { extentOf, PART_BYTES } from './content-range.js'

/** The origin does not send the part that was requested. */
export class NoPart extends Error {
  override readonly name = 'NoPart'
}

/**
 * Receives one part of a response from its origin, and passes it on as a whole response with a `content-range`. So a
 * part is judged, stored, shared and revalidated as every other response is.
 */
export class PartResponse implements ResponseSink {
  readonly copies: boolean
  readonly #next: ResponseSink
  readonly #from: number
  #cancel: (() => void) | undefined
  #isOver = false

  /** `from` is the first byte of the part. */
  constructor(next: ResponseSink, from: number) {
    this.copies = next.copies === true
    this.#next = next
    this.#from = from
  }

  /** Sets what ends the request to the origin. */
  set cancel(cancel: () => void) {
    this.#cancel = cancel
    if (this.#isOver) cancel()
  }

  head(status: number, headers: RawHeaders): void {
    if (status === 206 && this.#isExact(headers)) this.#next.head(200, headers)
    else if (status === 200 || status === 206) this.#refuse()
    else this.#next.head(status, headers)
  }

  data(chunk: Buffer): boolean {
    return this.#isOver || this.#next.data(chunk)
  }

  end(trailers?: RawHeaders): void {
    if (!this.#isOver) this.#next.end(trailers)
  }

  fail(error: unknown): void {
    if (!this.#isOver) this.#next.fail(error)
  }

  onDrain(listener: () => void): void {
    this.#next.onDrain(listener)
  }

  #isExact(headers: RawHeaders): boolean {
    const extent = extentOf(headers)
    return (
      extent !== undefined &&
      extent.from === this.#from &&
      extent.to === Math.min(this.#from + PART_BYTES, extent.total) &&
      headerOf(headers, 'content-length') === String(extent.to - extent.from)
    )
  }

  #refuse(): void {
    this.#isOver = true
    this.#next.fail(new NoPart('the origin does not send parts of the response'))
    this.#cancel?.()
  }
}
