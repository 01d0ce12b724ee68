import type { Clock } from '../../core/clock.js'

const WINDOW_MS = 60_000
/** Ends within a minute after which a process is replaced immediately. */
const FREE_ENDS = 3
/** Short enough that a process which serves is replaced within a second. */
const SERVED_DELAY_MS = 250
const MIN_FAILED_MS = 100
const MAX_FAILED_MS = 30_000

interface History {
  /** Times of the last ends, monotonic. */
  ends: number[]
  /** Consecutive ends before the process accepted connections. */
  failures: number
  hasServed: boolean
}

/** Decides how long the daemon waits before it replaces a process, so that a crash loop does not occupy the machine. */
export class RestartDelays {
  readonly #clock: Clock
  readonly #histories = new Map<number, History>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The process with this number accepts connections. */
  served(number: number): void {
    const history = this.#of(number)
    history.hasServed = true
    history.failures = 0
  }

  /** Returns the milliseconds until a process that ended is replaced. */
  ended(number: number): number {
    const history = this.#of(number)
    const now = this.#clock.monotonic()
    const { hasServed } = history
    history.hasServed = false
    if (!hasServed) return Math.min(MIN_FAILED_MS * 2 ** history.failures++, MAX_FAILED_MS)
    history.ends = [...history.ends.filter((at) => now - at < WINDOW_MS), now].slice(-FREE_ENDS - 1)
    return history.ends.length > FREE_ENDS ? SERVED_DELAY_MS : 0
  }

  #of(number: number): History {
    let history = this.#histories.get(number)
    if (!history) this.#histories.set(number, (history = { ends: [], failures: 0, hasServed: false }))
    return history
  }
}
