/** First-in first-out queue with constant cost per operation. */
export class Fifo<T> {
  #items: T[] = []
  #from = 0

  get size(): number {
    return this.#items.length - this.#from
  }

  push(item: T): void {
    this.#items.push(item)
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined
    const item = this.#items[this.#from]
    this.#from++
    if (this.#from > 1024 && 2 * this.#from > this.#items.length) {
      this.#items = this.#items.slice(this.#from)
      this.#from = 0
    }
    return item
  }
}
