/** Memory that many share: a count of bytes that never passes its limit. */
export class MemoryBudget {
  /** May change at any time; what is taken stays taken. */
  limit: number
  /** How often there was not enough left. */
  refusals = 0
  #used = 0

  constructor(limit: number) {
    this.limit = limit
  }

  get used(): number {
    return this.#used
  }

  /** False, and nothing taken, where that much is not left. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.limit) {
      this.refusals++
      return false
    }
    this.#used += bytes
    return true
  }

  give(bytes: number): void {
    this.#used -= bytes
  }
}

const SMALLEST_BLOCK = 16 * 1024
const MAX_BLOCK_BYTES = 256 * 1024

/**
 * Bytes held back, first in, first out, every one of them counted in a budget. They are copied into blocks: a chunk of
 * one byte as it comes from a socket costs hundreds, and an origin may send millions of those.
 */
export class HeldBytes {
  readonly #budget: MemoryBudget
  #blocks: Buffer[] = []
  #last = Buffer.alloc(0)
  #filled = 0
  #length = 0
  #counted = 0
  /** What the caller has now of what {@link shift} gave out. */
  #given = 0

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  get length(): number {
    return this.#length
  }

  /** False, and nothing added, where the budget has no room for it. */
  append(bytes: Uint8Array): boolean {
    const free = this.#last.length - this.#filled
    const missing = bytes.length - free
    if (missing > 0) {
      const size = Math.max(missing, Math.min(MAX_BLOCK_BYTES, Math.max(SMALLEST_BLOCK, this.#length)))
      if (!this.#budget.take(size)) return false
      this.#counted += size
      this.#last.set(bytes.subarray(0, free), this.#filled)
      if (this.#last.length > 0) this.#blocks.push(this.#last)
      this.#last = Buffer.allocUnsafeSlow(size)
      this.#last.set(bytes.subarray(free), 0)
      this.#filled = missing
    } else {
      this.#last.set(bytes, this.#filled)
      this.#filled += bytes.length
    }
    this.#length += bytes.length
    return true
  }

  /** All of the bytes as a byte string, at most `most` of them. They stay held. */
  text(most: number): string {
    let text = ''
    for (const block of [...this.#blocks, this.#last.subarray(0, this.#filled)]) {
      if (text.length < most) text += block.toString('latin1', 0, most - text.length)
    }
    return text
  }

  /** The next of the bytes; undefined after the last. A block stays counted until the next one is asked for. */
  shift(): Buffer | undefined {
    this.#uncount(this.#given)
    this.#given = 0
    let block = this.#blocks.shift()
    if (block) this.#given = block.length
    else if (this.#filled > 0) {
      this.#given = this.#last.length
      block = this.#last.subarray(0, this.#filled)
      this.#last = Buffer.alloc(0)
      this.#filled = 0
    }
    if (block) this.#length -= block.length
    return block
  }

  /** Lets go of everything. */
  release(): void {
    this.#uncount(this.#counted)
    this.#blocks = []
    this.#last = Buffer.alloc(0)
    this.#filled = this.#length = this.#given = 0
  }

  #uncount(bytes: number): void {
    this.#counted -= bytes
    this.#budget.give(bytes)
  }
}
