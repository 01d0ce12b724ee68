/** The latest `max` of the added strings. */
export class BoundedSet {
  readonly #known = new Set<string>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#known.size
  }

  /** Adds a string. Returns false if it is already known. */
  add(text: string): boolean {
    if (this.#known.has(text)) return false
    if (this.#known.size >= this.#max) for (const oldest of this.#known) if (this.#known.delete(oldest)) break
    this.#known.add(text)
    return true
  }
}
