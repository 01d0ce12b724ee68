/** Maximum milliseconds of the work before other connections are served. */
const TURN_MS = 10

/**
 * Bounds the time of one kind of work in a turn of the event loop: conversions of pages, TLS handshakes. Work beyond it
 * waits for one of the next turns, in order.
 */
export class TurnQueue {
  readonly #queue = new Set<() => void>()
  #spentMs = 0
  #scheduled = false
  #running = false

  /** Whether work may be done now: time is left in this turn, and nothing is queued before it. */
  get open(): boolean {
    return this.#spentMs < TURN_MS && (this.#running || this.#queue.size === 0)
  }

  /** Calls `work`, which reports its time to {@link spent}, in one of the next turns. Adding it again has no effect. */
  add(work: () => void): void {
    this.#queue.add(work)
    this.#schedule()
  }

  /** Adds the time since `started` (`performance.now()`) to this turn. */
  spent(started: number): void {
    this.#spentMs += performance.now() - started
    this.#schedule()
  }

  delete(work: () => void): void {
    this.#queue.delete(work)
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#scheduled = false
    this.#spentMs = 0
    this.#running = true
    for (const work of this.#queue) {
      if (this.#spentMs >= TURN_MS) break
      this.#queue.delete(work)
      work()
    }
    this.#running = false
    if (this.#queue.size > 0) this.#schedule()
  }
}
