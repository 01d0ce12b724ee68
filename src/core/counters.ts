/** What was counted for one key in one window of a limit and not told to other machines yet. */
export interface Delta {
  /** Names the limit on every machine. */
  readonly limit: string
  readonly periodMs: number
  /** Number of the window. */
  readonly window: number
  readonly key: string
  /** A whole number, at least 1. */
  readonly amount: number
}

/** Counters that several machines share. */
export interface SharedCounters {
  /** Adds each amount; gives the totals of all machines in the same order. Rejects when the counters are out of reach. */
  add(deltas: readonly Delta[]): Promise<readonly number[]>
}
