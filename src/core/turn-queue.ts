/** Maximum milliseconds of the work before other connections are served. */
const TURN_MS = 10
/** The same while connections arrive. */
const ARRIVAL_TURN_MS = 1
/** Maximum turns in a row without such work while connections arrive. */
const MAX_SKIPPED = 3

/**
 * Counts the connections that were accepted. The runtime accepts one per turn of the event loop, so a burst of clients
 * waits for as many turns as it has connections: turns must be short during that time.
 */
export class Arrivals {
  count = 0
}

/**
 * Bounds the time of one kind of work in a turn of the event loop: conversions of pages, TLS handshakes. Work beyond it
 * waits for one of the next turns, in order.
 */
export class TurnQueue {
  readonly #queue = new Set<() => void>()
  #spentMs = 0
  #scheduled = false
  #running = false
  #limitMs = TURN_MS
  readonly #arrivals: Arrivals | undefined
  /** Connections that had arrived at the last turn. */
  #arrived = 0
  #skipped = 0

  constructor(arrivals?: Arrivals) {
    this.#arrivals = arrivals
  }

  /** Whether work may be done now: time is left in this turn, and nothing is queued before it. */
  get open(): boolean {
    return this.#spentMs < this.#limitMs && (this.#running || this.#queue.size === 0)
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
    const count = this.#arrivals?.count ?? 0
    const hasArrivals = count !== this.#arrived
    this.#arrived = count
    if (hasArrivals && this.#queue.size > 0 && this.#skipped < MAX_SKIPPED) {
      this.#skipped++
      this.#limitMs = 0
      this.#schedule()
      return
    }
    this.#skipped = 0
    this.#limitMs = hasArrivals ? ARRIVAL_TURN_MS : TURN_MS
    this.#running = true
    for (const work of this.#queue) {
      if (this.#spentMs >= this.#limitMs) break
      this.#queue.delete(work)
      work()
    }
    this.#running = false
    if (this.#queue.size > 0) this.#schedule()
  }
}
