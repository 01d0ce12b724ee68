/** One rate limit, exceeded by more than `threshold` in `periodMs`. */
export interface Limit {
  /** The rule's id, which identifies the limit on every machine. */
  readonly id: string
  readonly periodMs: number
  readonly threshold: number
  /**
   * Duration of the action after the limit is exceeded. With 0, the action lasts while the count exceeds the threshold.
   */
  readonly mitigationMs: number
}

/** A limit that is exceeded by requests with this key. */
export interface Exceeded {
  readonly limit: Limit
  readonly key: string
  /** Seconds after which such a request may pass. */
  readonly retryAfter: number
}
