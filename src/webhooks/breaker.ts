/** When a destination is left alone. */
export interface BreakerOptions {
  /** Failures in a row that open it. */
  readonly failures: number
  /** It opens for so long, twice as long each time that the try after it fails. Milliseconds. */
  readonly open_for: number
  /** But never longer than this. */
  readonly max_open_for: number
}

/**
 * Leaves a destination alone that fails again and again: after a pause one delivery tries it out, and what comes of that
 * decides. Times are of a monotonic clock.
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

  /** How many have succeeded since the last failure. */
  get successes(): number {
    return this.#successes
  }

  /** No try before then; 0 while it is closed. */
  get until(): number {
    return this.#open ? this.#until : 0
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
    // Tries that were under way when it opened tell nothing new.
    if (this.#open && now < this.#until) return
    this.#pause = this.#pause === 0 ? this.#options.open_for : Math.min(2 * this.#pause, this.#options.max_open_for)
    this.#until = now + this.#pause
    this.#open = true
  }
}
