/** A request in flight. Its place is set by the list. */
interface Placed {
  at: number
}

/**
 * Requests in flight. An array and not a Set: V8 replaces the table of a Set after every few deletions, and the old tables
 * keep most entries alive until the next full collection.
 */
export class InFlight<Entry extends Placed> implements Iterable<Entry> {
  readonly #entries: Entry[] = []

  get size(): number {
    return this.#entries.length
  }

  add(entry: Entry): void {
    entry.at = this.#entries.push(entry) - 1
  }

  /** Returns whether it was in the list. */
  delete(entry: Entry): boolean {
    const entries = this.#entries
    if (entries[entry.at] !== entry) return false
    const last = entries.pop()!
    if (last !== entry) {
      entries[entry.at] = last
      last.at = entry.at
    }
    return true
  }

  [Symbol.iterator](): Iterator<Entry> {
    return this.#entries.values()
  }
}
