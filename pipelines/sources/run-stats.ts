import type { Progress } from '../logpush/monitor.js'

/** What a run has done so far; the members of its summary. */
export class RunStats {
  /** Records that came in, invalid ones included. */
  read = 0
  rejected = 0
  /** By the filter and by sampling. */
  kept = 0
  delivered = 0
  /** Not delivered, and set aside. */
  dropped = 0
  /** Files of which records may have been lost before they were read. */
  losses = 0
  /** Records that passed the filter and were left out by sampling. */
  sampledOut = 0
  /** Why the destination fails now. */
  failure: string | undefined
  /** Attempts that failed. */
  retried = 0
  /** Returns how far the run is behind; set while it runs. */
  progress: (() => Progress) | undefined
  batches = 0
  /** Text of delivered batches, before compression. */
  bytes = 0
  /** Bytes of input, before anything is decompressed. */
  inputBytes = 0
  readonly #report: (place: string, message: string) => void

  /** Invalid records are handed to `report`, with where they stand. */
  constructor(report: (place: string, message: string) => void) {
    this.#report = report
  }

  reject(place: string, message: string): void {
    this.rejected++
    this.#report(place, message)
  }
}
