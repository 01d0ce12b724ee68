/** One rate limit, exceeded by more than `threshold` in `periodMs`. */
export interface Limit {
  /** Identifies the limit on every machine: the rule's id. */
  readonly id: string
  readonly periodMs: number
  readonly threshold: number
  /** Duration of the action once the limit is exceeded. 0: as long as the count exceeds the threshold. */
  readonly mitigationMs: number
}
