/** Options of a circuit breaker. */
export interface BreakerOptions {
  /** Consecutive failures that open it. */
  readonly failures: number
  /** Milliseconds that it stays open. Doubles after each failed trial attempt, up to `max_open_for`. */
  readonly open_for: number
  /** Maximum of that time. */
  readonly max_open_for: number
}

/**
 * Circuit breaker that stops sending to a destination after repeated failures. After a pause one trial attempt decides
 * whether it closes. Times are from a monotonic clock.
 */
export class Breaker {
  readonly #options: BreakerOptions
  #failures = 0
  #successes = 0
  #pause = 0
  #until = 0
  #open = false

  constructor(options: BreakerOptions) {
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#open
  }

  /** Consecutive failures. */
  get failures(): number {
    return this.#failures
  }

  /** Successful attempts since the last failure. */
  get successes(): number {
    return this.#successes
  }

  /** Earliest time of the next attempt; 0 while it is closed. */
  get until(): number {
    return this.#open ? this.#until : 0
  }

  /** Allows the trial attempt now. */
  tryNow(now: number): void {
    this.#until = Math.min(this.#until, now)
  }

  succeeded(): void {
    this.#successes++
    this.#failures = 0
    this.#pause = 0
    this.#open = false
  }

  failed(now: number): void {
    this.#failures++
    this.#successes = 0
    if (this.#failures < this.#options.failures) return
    // Attempts that were in flight when it opened carry no new information.
    if (this.#open && now < this.#until) return
    this.#pause = this.#pause === 0 ? this.#options.open_for : Math.min(2 * this.#pause, this.#options.max_open_for)
    this.#until = now + this.#pause
    this.#open = true
  }
}
