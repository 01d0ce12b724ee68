/** Attempts of a job that are remembered. */
const MAX_ATTEMPTS = 50

/** One attempt to deliver a batch. */
export interface BatchAttempt {
  /** RFC 3339. Start of the attempt. */
  readonly at: string
  readonly records: number
  /** Before compression. */
  readonly bytes: number
  readonly ms: number
  /** `set_aside`: records of the batch went to the dead letter destination, or were dropped without one. */
  readonly status: 'delivered' | 'failed' | 'set_aside'
  /** Null if it was delivered. */
  readonly error: string | null
}

/** The last attempts of a job. */
export class AttemptLog {
  #attempts: BatchAttempt[] = []
  /** Newest first. */
  get latest(): readonly BatchAttempt[] {
    return this.#attempts.toReversed()
  }

  add(attempt: BatchAttempt): void {
    this.#attempts.push(attempt)
    if (this.#attempts.length > MAX_ATTEMPTS) this.#attempts.shift()
  }
}
