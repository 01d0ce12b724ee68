/** A priority queue. Each operation takes time logarithmic in the size. */
export class Heap<T> {
  readonly #items: T[] = []
  readonly #rank: (item: T) => number

  /** Takes the item of the lowest `rank` first. The rank of an item must not change while it is in the heap. */
  constructor(rank: (item: T) => number) {
    this.#rank = rank
  }

  get size(): number {
    return this.#items.length
  }

  peek(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    const items = this.#items
    const rank = this.#rank(item)
    let at = items.push(item) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      const parent = items[above] as T
      if (this.#rank(parent) <= rank) break
      items[at] = parent
      at = above
    }
    items[at] = item
  }

  pop(): T | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (items.length === 0 || last === undefined) return first
    const rank = this.#rank(last)
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= items.length) break
      if (child + 1 < items.length && this.#rank(items[child + 1] as T) < this.#rank(items[child] as T)) child++
      if (this.#rank(items[child] as T) >= rank) break
      items[at] = items[child] as T
      at = child
    }
    items[at] = last
    return first
  }
}
