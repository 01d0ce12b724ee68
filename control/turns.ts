import { Edits } from './edits.js'
import { ApiError, type ErrorKind } from './errors.js'

// Beyond this many the last one would wait for seconds.
const MOST_WAITING = 1000

/** Edits of which only so many wait for their turn. */
export class Turns {
  readonly #busy: ErrorKind
  readonly #edits = new Edits()
  /** Under way and waiting, by key. */
  readonly #taken = new Map<string, number>()

  /** `busy`: how a write is refused that would wait for too long. */
  constructor(busy: ErrorKind) {
    this.#busy = busy
  }

  /** Runs the write when its turn comes, as {@link Edits.run} does. */
  async take<T>(key: string, write: () => Promise<T>): Promise<T> {
    const taken = this.#taken.get(key) ?? 0
    if (taken > MOST_WAITING) throw new ApiError(this.#busy, undefined, { headers: { 'retry-after': '1' } })
    this.#taken.set(key, taken + 1)
    try {
      return await this.#edits.run(key, write)
    } finally {
      const left = (this.#taken.get(key) ?? 1) - 1
      // Keys are what clients send: none stays when nothing is under way.
      if (left > 0) this.#taken.set(key, left)
      else this.#taken.delete(key)
    }
  }
}
