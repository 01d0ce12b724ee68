/** A pool of memory blocks of one size. Allocating and collecting a block costs more than filling it. */
export class BlockPool {
  readonly bytes: number
  readonly #maxFree: number
  readonly #free: Buffer[] = []

  /** Retains at most `maxFree` unused blocks of `bytes` bytes each. */
  constructor(bytes: number, maxFree: number) {
    this.bytes = bytes
    this.#maxFree = maxFree
  }

  /** Returns a block with any content. */
  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.bytes)
  }

  /** Takes back a block that nothing uses any more. A block that is not given back is collected as garbage. */
  give(block: Buffer): void {
    if (this.#free.length < this.#maxFree) this.#free.push(block)
  }
}
