/** What happened to the count of one key in one window of a limit and is not told to other machines yet. */
export interface Delta {
  /** Names the limit on every machine. */
  readonly limit: string
  readonly periodMs: number
  /** Number of the window. */
  readonly window: number
  readonly key: string
  /** A whole number. */
  readonly amount: number
  /** True: the amount takes the place of what all machines have counted; otherwise it is added, and at least 1. */
  readonly anew: boolean
}

/** Counters that several machines share. */
export interface SharedCounters {
  /** Adds or sets each amount; gives the totals of all machines in the same order. Rejects when the counters are out of reach. */
  add(deltas: readonly Delta[]): Promise<readonly number[]>
}
