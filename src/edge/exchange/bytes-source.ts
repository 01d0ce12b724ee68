import type { ResponseSink } from './response.js'

const SLICE_BYTES = 65_536

/** Bytes in memory, in one or several parts. */
export type Bytes = Buffer | readonly Buffer[]

/** Returns the number of bytes. */
export const lengthOf = (bytes: Bytes): number =>
  Buffer.isBuffer(bytes) ? bytes.length : bytes.reduce((sum, { length }) => sum + length, 0)

/** Sends bytes in memory as the body of a response, as fast as the sink accepts them, then ends the response. */
export class BytesSource {
  readonly #sink: ResponseSink
  readonly #parts: readonly Buffer[]
  #part = 0
  #at = 0
  #blocked = false
  #over = false

  /** The head must have been sent. */
  constructor(sink: ResponseSink, bytes: Bytes) {
    this.#sink = sink
    this.#parts = Buffer.isBuffer(bytes) ? [bytes] : bytes
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
      const part = this.#parts[this.#part]
      if (part === undefined) {
        this.#over = true
        this.#sink.end()
        return
      }
      const slice = part.subarray(this.#at, this.#at + SLICE_BYTES)
      this.#at += slice.length
      if (this.#at >= part.length) {
        this.#part += 1
        this.#at = 0
      }
      if (slice.length > 0) this.#blocked = !this.#sink.data(slice)
    }
  }
}

/** Sends the whole body of a response whose head was sent, none for HEAD, then ends the response. */
export function sendBody(sink: ResponseSink, method: string, bytes: Bytes): BytesSource {
  return new BytesSource(sink, method === 'HEAD' ? [] : bytes)
}
