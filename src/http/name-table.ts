/** Names beyond this number replace all others. */
const MAX_NAMES = 1000
/** Longer names are not kept. */
const MAX_NAME_BYTES = 64

/**
 * Remembers what is known of names of fields: messages have few different ones, and they are the same in most messages.
 */
export class NameTable<T> {
  readonly #known = new Map<string, T>()
  readonly #find: (name: string) => T

  /** `find` is called once for each name, as long as it is remembered; what it throws is not. */
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
