/** A bounded set of names, each of which is forgotten after some time. */
export class RecentNames {
  readonly #until = new Map<string, number>()
  readonly #forMs: number
  readonly #max: number

  constructor({ forMs, max }: { forMs: number; max: number }) {
    this.#forMs = forMs
    this.#max = max
  }

  /** Returns whether a name was added recently. `now` is monotonic, in milliseconds. */
  has(name: string, now: number): boolean {
    const until = this.#until.get(name)
    return until !== undefined && until > now
  }

  /** Adds a name. Returns false if it is in the set, or if the set is full. */
  add(name: string, now: number): boolean {
    if (this.has(name, now)) return false
    this.#until.delete(name)
    // Names are in the order of their time.
    for (const [old, until] of this.#until) {
      if (until > now) break
      this.#until.delete(old)
    }
    if (this.#until.size >= this.#max) return false
    this.#until.set(name, now + this.#forMs)
    return true
  }
}
