/**
 * Clocks of machines may differ by this time. A stored time that is further ahead of the clock was written before the clock
 * was set back.
 */
export const MAX_SKEW_MS = 900_000
