/** Bytes that grow at the end. */
export class Output {
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(64 * 1024)
  length = 0

  /** Makes sure that `more` bytes have room. */
  reserve(more: number): void {
    const needed = this.length + more
    if (needed <= this.bytes.length) return
    const larger = new Uint8Array(Math.max(needed, this.bytes.length * 2))
    larger.set(this.bytes.subarray(0, this.length))
    this.bytes = larger
  }

  append(text: Uint8Array): void {
    this.reserve(text.length)
    this.bytes.set(text, this.length)
    this.length += text.length
  }

  /** Gives and removes the first `count` bytes. */
  take(count = this.length): Uint8Array<ArrayBuffer> {
    const taken = this.bytes.slice(0, count)
    this.bytes.copyWithin(0, count, this.length)
    this.length -= count
    return taken
  }
}
