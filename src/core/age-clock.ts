import type { Clock } from './clock.js'

/** A jump of the wall clock forward counts after it has lasted for this time. */
const HOLD_MS = 3_600_000
/** A change of the wall clock up to this is not a jump. */
const TOLERANCE_MS = 60_000

/**
 * The wall clock for deletion by age. A jump forward counts only after an hour, so that a clock that is wrong for some
 * minutes deletes nothing. A jump back counts immediately.
 */
export class AgeClock {
  readonly #clock: Clock
  /** Wall clock minus monotonic clock. */
  #offset: number
  /** Monotonic time at which a jump forward was noticed. */
  #aheadSince: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#offset = clock.now() - clock.monotonic()
  }

  /** Milliseconds since 1970. */
  now(): number {
    const monotonic = this.#clock.monotonic()
    const offset = this.#clock.now() - monotonic
    if (offset > this.#offset + TOLERANCE_MS) {
      this.#aheadSince ??= monotonic
      if (monotonic - this.#aheadSince < HOLD_MS) return monotonic + this.#offset
    }
    this.#aheadSince = undefined
    this.#offset = offset
    return monotonic + offset
  }
}
