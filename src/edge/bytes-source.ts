import type { ResponseSink } from './response.js'

const SLICE_BYTES = 65_536

/** Sends bytes in memory as the body of a response, as fast as the sink accepts them, then ends the response. */
export class BytesSource {
  readonly #sink: ResponseSink
  readonly #bytes: Buffer
  #at = 0
  #blocked = false
  #over = false

  /** The head must have been sent. */
  constructor(sink: ResponseSink, bytes: Buffer) {
    this.#sink = sink
    this.#bytes = bytes
    sink.onDrain(() => {
      this.#blocked = false
      this.#send()
    })
    this.#send()
  }

  /** Sends nothing from now on. */
  stop(): void {
    this.#over = true
  }

  #send(): void {
    while (!this.#blocked && !this.#over) {
      if (this.#at >= this.#bytes.length) {
        this.#over = true
        this.#sink.end()
        return
      }
      const slice = this.#bytes.subarray(this.#at, this.#at + SLICE_BYTES)
      this.#at += slice.length
      this.#blocked = !this.#sink.data(slice)
    }
  }
}
