import { messageOf } from '../../../src/core/errors.js'
import type { Clock } from '../../../src/core/clock.js'
import type { RunStats } from './run-stats.js'

export interface LossDeps {
  readonly stats: RunStats
  readonly clock: Clock
  /** Called with messages for the user. */
  readonly tell: (message: string) => void
}

/** After a message, further losses are reported together after this time. */
const QUIET_MS = 10_000

/**
 * Counts and reports records that a server deleted before they were read. The first loss is reported immediately, later
 * ones together. Possible losses count, too.
 */
export class SourceLosses {
  readonly #deps: LossDeps
  readonly #what: string
  #records = 0
  #isUncertain = false
  #where: string | undefined
  #quietUntil = -Infinity
  #hasFailed = false

  /** `what` names the lost records, for example `entries of the stream s`. */
  constructor(deps: LossDeps, what: string) {
    this.#deps = deps
    this.#what = what
  }

  /**
   * Counts one loss, with the number of records. The number is undefined if it is unknown, or if the loss is not
   * certain. `where` names the object of the records.
   */
  add(records: number | undefined, where?: string): void {
    const { stats, clock } = this.#deps
    stats.lose(records)
    this.#records += records ?? 0
    this.#isUncertain ||= records === undefined
    this.#where ??= where
    const now = clock.monotonic()
    if (now < this.#quietUntil) return
    this.#quietUntil = now + QUIET_MS
    this.flush()
  }

  /** Reports that losses cannot be noticed, once. */
  failed(error: unknown): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#deps.tell(`${this.#what} that are deleted before they are read cannot be counted: ${messageOf(error)}`)
  }

  /** Reports losses counted after the last message. */
  flush(): void {
    const records = this.#records
    if (records === 0 && !this.#isUncertain) return
    const { tell } = this.#deps
    const first = this.#where === undefined ? '' : `, for example in ${this.#where}`
    if (records === 0) tell(`${this.#what} may have been deleted before they were read; how many is not known${first}`)
    else tell(`${this.#isUncertain ? 'at least ' : ''}${records} ${this.#what} were deleted before they were read`)
    this.#records = 0
    this.#isUncertain = false
    this.#where = undefined
  }
}
