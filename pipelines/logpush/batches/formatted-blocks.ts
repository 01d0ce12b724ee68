import type { FormattedBlock } from './formatted-block.js'

/** Minimum bytes that a block is counted with. Each line adds 8 bytes to its text. */
const MIN_BYTES = 512

interface Entry {
  readonly page: FormattedBlock
  readonly from: number
  readonly to: number
}

/**
 * The newest blocks. Their texts share one memory that is reused in a ring. Separate allocations would be most of the
 * work of the garbage collector. A block is valid until later ones overwrite its memory.
 */
export class FormattedBlocks {
  readonly #memory: Uint8Array
  /** Entries in the order of their memory, next one to overwrite first. */
  readonly #entries = new Map<string, Entry>()
  #at = 0

  constructor(bytes: number) {
    this.#memory = new Uint8Array(bytes)
  }

  get(key: string): FormattedBlock | undefined {
    return this.#entries.get(key)?.page
  }

  /**
   * Copies a block, whose text is only borrowed, and returns the copy. A block that is too large for the ring gets its
   * own memory.
   */
  put(key: string, { text, indexes, ends }: FormattedBlock): FormattedBlock {
    const bytes = Math.max(MIN_BYTES, text.length + indexes.byteLength + ends.byteLength)
    if (bytes > this.#memory.length / 4) return { text: text.slice(), indexes, ends }
    if (this.#at + bytes > this.#memory.length) {
      this.#makeRoom(this.#at, this.#memory.length)
      this.#at = 0
    }
    const from = this.#at
    const to = from + bytes
    this.#makeRoom(from, to)
    this.#at = to
    this.#memory.set(text, from)
    const page = { text: this.#memory.subarray(from, from + text.length), indexes, ends }
    this.#entries.set(key, { page, from, to })
    return page
  }

  #makeRoom(from: number, to: number): void {
    for (const [key, entry] of this.#entries) {
      if (entry.from >= to || entry.to <= from) return
      this.#entries.delete(key)
    }
  }
}
