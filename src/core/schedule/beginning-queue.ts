/**
 * Bounds the requests that begin in one turn of the event loop, because requests of 1,000 connections can arrive
 * together. Further requests begin in the next turns, in order. The queue counts and measures no time, so that a
 * request that need not wait costs next to nothing.
 */
export class BeginningQueue {
  readonly #max: number
  readonly #queue = new Set<() => void>()
  /** Requests that may still begin before others wait. */
  #left: number
  #scheduled = false

  constructor(max: number) {
    this.#max = max
    this.#left = max
  }

  /** Returns whether a request may begin now. If not, it must be added. */
  take(): boolean {
    if (this.#left === 0 || this.#queue.size > 0) return false
    this.#left--
    if (this.#left === 0) this.#schedule()
    return true
  }

  /** Calls `begin` in one of the next turns. */
  add(begin: () => void): void {
    this.#queue.add(begin)
    this.#schedule()
  }

  delete(begin: () => void): void {
    this.#queue.delete(begin)
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#scheduled = false
    this.#left = this.#max
    for (const begin of this.#queue) {
      if (this.#left === 0) break
      this.#left--
      this.#queue.delete(begin)
      begin()
    }
    if (this.#left === 0 || this.#queue.size > 0) this.#schedule()
  }
}
