/**
 * Buffers of one size that are used again. Each new one, however short its life, brings the next full garbage collection
 * nearer: without this most of the time of reading and appending goes there.
 */
export class Buffers {
  readonly size: number
  readonly #max: number
  readonly #free: Buffer<ArrayBuffer>[] = []

  /** Keeps no more than `most` that nobody uses. */
  constructor(size: number, max: number) {
    this.size = size
    this.#max = max
  }

  take(): Buffer<ArrayBuffer> {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.size)
  }

  /** Takes back a buffer that nobody looks at any more; one of another size is left to the collector. */
  give(buffer: Buffer<ArrayBuffer>): void {
    if (buffer.length === this.size && this.#free.length < this.#max) this.#free.push(buffer)
  }
}
