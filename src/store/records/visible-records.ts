import { StoreUnavailable } from '../../core/store.js'
import type { Row, RowChange } from './record.js'
import type { MemoryIndex } from './memory-index.js'

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * Position up to which the memory of this machine has followed the batches of all machines. A batch may be delivered
 * twice, by the response to its write and by the change stream, in any order. Each is made visible once, after all
 * batches before it.
 */
export class VisibleRecords {
  readonly #resident: MemoryIndex
  #version: number
  /** Batches whose predecessors have not arrived yet. Only own ones, so no more than writes in flight. */
  readonly #early = new Map<number, readonly RowChange[]>()
  readonly #waiting = new Map<number, Waiting[]>()

  constructor(resident: MemoryIndex, version: number) {
    this.#resident = resident
    this.#version = version
  }

  /** Version of the last visible batch. */
  get version(): number {
    return this.#version
  }

  deliver(version: number, changes: readonly RowChange[]): void {
    if (version <= this.#version) return
    this.#early.set(version, changes)
    this.#advance()
  }

  /**
   * Replaces all records by the records read after the batch `version`. `anew` means that the data may be different
   * data, whose batches are unrelated to earlier ones with the same numbers.
   */
  replace(rows: ReadonlyMap<string, Row>, version: number, { anew = false } = {}): void {
    if (anew) this.breakOff('the data was replaced')
    this.#version = version
    this.#resident.replace(rows)
    for (const early of this.#early.keys()) if (early <= version) this.#early.delete(early)
    for (const waiting of this.#waiting.keys()) if (waiting <= version) this.#settle(waiting)
    this.#advance()
  }

  /** Resolves after the batch is visible to reads. */
  async reached(version: number): Promise<void> {
    if (version <= this.#version) return
    await new Promise<void>((resolve, reject) => {
      const waiting = this.#waiting.get(version) ?? []
      waiting.push({ resolve, reject })
      this.#waiting.set(version, waiting)
    })
  }

  /** Rejects all pending waits because the stream broke off. */
  breakOff(reason: string): void {
    this.#early.clear()
    const waiting = [...this.#waiting.values()].flat()
    this.#waiting.clear()
    for (const { reject } of waiting) reject(new StoreUnavailable(reason))
  }

  #advance(): void {
    for (let next = this.#early.get(this.#version + 1); next; next = this.#early.get(this.#version + 1)) {
      this.#version += 1
      this.#early.delete(this.#version)
      this.#resident.apply(next)
      this.#settle(this.#version)
    }
  }

  #settle(version: number): void {
    const waiting = this.#waiting.get(version)
    if (!waiting) return
    this.#waiting.delete(version)
    for (const { resolve } of waiting) resolve()
  }
}
