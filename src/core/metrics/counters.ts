/** A change of the count of one key in one window of a limit that other machines do not have yet. */
export interface Delta {
  /** Identifies the limit on every machine. */
  readonly limit: string
  readonly periodMs: number
  /** Number of the window. */
  readonly window: number
  readonly key: string
  /** A whole number. */
  readonly amount: number
  /** True if the amount replaces the total of all machines. Otherwise the amount is added and is at least 1. */
  readonly anew: boolean
}

/** Counters that several machines share. */
export interface SharedCounters {
  /** Adds or sets each amount. Returns the totals of all machines in order. Rejects if the counters are unreachable. */
  add(deltas: readonly Delta[]): Promise<readonly number[]>
}
