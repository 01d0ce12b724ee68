import { viewOf } from './fields/copy.js'

/** Uses a text that is valid only during the call. */
export type Use<T> = (text: Uint8Array<ArrayBuffer>) => T

export const copied: Use<Uint8Array<ArrayBuffer>> = (text) => new Uint8Array(text)

/** Returns memory of at least this many bytes. */
export type ReserveBytes = (bytes: number) => Uint8Array<ArrayBuffer>

/** Bytes that grow at the end. */
export class Output {
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(16 * 1024)
  /** Of the same bytes. */
  view = viewOf(this.bytes)
  length = 0
  readonly #room: ReserveBytes

  /** `room` provides larger memory. */
  constructor(room: ReserveBytes = (bytes) => new Uint8Array(bytes)) {
    this.#room = room
  }

  /** Makes sure that `more` bytes have room. */
  reserve(more: number): void {
    const needed = this.length + more
    if (needed <= this.bytes.length) return
    const larger = this.#room(Math.max(needed, this.bytes.length * 2))
    larger.set(this.bytes.subarray(0, this.length))
    this.bytes = larger
    this.view = viewOf(larger)
  }

  append(text: Uint8Array): void {
    this.reserve(text.length)
    this.bytes.set(text, this.length)
    this.length += text.length
  }

  /**
   * Removes the first `count` bytes and returns the result of `use` for them. The bytes are valid only during `use`.
   */
  take<T>(count: number, use: Use<T>): T {
    const made = use(this.bytes.subarray(0, count))
    this.bytes.copyWithin(0, count, this.length)
    this.length -= count
    return made
  }
}
