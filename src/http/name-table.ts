/** Names beyond this number replace all others. */
const MAX_NAMES = 1000
/** Longer names are not cached. */
const MAX_NAME_BYTES = 64

/** Caches facts about names of fields. Messages have few different names, and most messages have the same names. */
export class NameTable<T> {
  readonly #known = new Map<string, T>()
  readonly #find: (name: string) => T

  /** Calls `find` once per name while the result is cached. Errors are not cached. */
  constructor(find: (name: string) => T) {
    this.#find = find
  }

  get(name: string): T {
    const known = this.#known.get(name)
    return known === undefined ? this.#add(name) : known
  }

  #add(name: string): T {
    const found = this.#find(name)
    if (name.length > MAX_NAME_BYTES) return found
    if (this.#known.size >= MAX_NAMES) this.#known.clear()
    this.#known.set(name, found)
    return found
  }
}
