/** Shared memory limit that counts bytes. The count never exceeds `limit`. */
export class MemoryBudget {
  /** Can change at any time. Reserved bytes stay reserved. */
  limit: number
  /** Number of failed reservations. */
  refusals = 0
  #used = 0

  constructor(limit: number) {
    this.limit = limit
  }

  get used(): number {
    return this.#used
  }

  /** Reserves bytes. Returns false, and reserves nothing, if not enough are left. */
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
 * A FIFO buffer of bytes that are all counted in a budget. Bytes are copied into blocks, because a chunk of one byte
 * from a socket takes hundreds of bytes of memory, and an origin can send millions of such chunks.
 */
export class HeldBytes {
  readonly #budget: MemoryBudget
  #blocks: Buffer[] = []
  #last = Buffer.alloc(0)
  #filled = 0
  #length = 0
  #counted = 0
  /** Bytes that the caller holds since the last {@link shift}. */
  #given = 0

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  get length(): number {
    return this.#length
  }

  /** Appends bytes. Returns false, and appends nothing, if the budget is exhausted. */
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

  /** Returns at most `max` bytes as a binary string. The bytes stay buffered. */
  text(max: number): string {
    let text = ''
    for (const block of [...this.#blocks, this.#last.subarray(0, this.#filled)]) {
      if (text.length < max) text += block.toString('latin1', 0, max - text.length)
    }
    return text
  }

  /** Returns the next bytes, or undefined after the last. A block stays counted until the next call. */
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

  /** Releases all bytes. */
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
