/**
 * Reusable buffers of one size. Each new buffer, however short-lived, brings the next full garbage collection nearer.
 * Without reuse this was most of the time of reading and appending.
 */
export class Buffers {
  readonly size: number
  readonly #max: number
  readonly #free: Buffer<ArrayBuffer>[] = []

  /** Creates a pool that keeps at most `max` unused buffers. */
  constructor(size: number, max: number) {
    this.size = size
    this.#max = max
  }

  take(): Buffer<ArrayBuffer> {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.size)
  }

  /** Returns an unused buffer to the pool. A buffer of another size is left to the garbage collector. */
  give(buffer: Buffer<ArrayBuffer>): void {
    if (buffer.length === this.size && this.#free.length < this.#max) this.#free.push(buffer)
  }
}
