import type { FormattedBlock } from './formatted-block.js'

/** What a page takes at least; for each of its lines, 8 bytes more than its text. */
const MIN_BYTES = 512

interface Entry {
  readonly page: FormattedBlock
  readonly from: number
  readonly to: number
}

/**
 * The newest pages. Their texts lie in one memory that is used again and again: in memory of their own they would be most
 * of what the garbage collector has to do. A page stands until others are put in.
 */
export class FormattedBlocks {
  readonly #memory: Uint8Array
  /** In the order in which they lie in memory, from the one on that goes next. */
  readonly #entries = new Map<string, Entry>()
  #at = 0

  constructor(bytes: number) {
    this.#memory = new Uint8Array(bytes)
  }

  get(key: string): FormattedBlock | undefined {
    return this.#entries.get(key)?.page
  }

  /** Keeps a page, whose text is only lent, and gives it as it is kept; one that is too large has memory of its own. */
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
