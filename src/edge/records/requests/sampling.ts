/** Requests of a zone and second that are all kept. */
export const KEPT_WHOLE = 50
/** Above that, errors, rule hits and agents that are kept, and as many of the other requests. */
const SHARE = 25

/** Chooses the requests of one zone that are kept. */
export class ZoneSample {
  /** Number of processes that serve the zone: each keeps its part. */
  readonly #whole: number
  readonly #share: number
  #second = -1
  #seen = 0
  #important = 0
  /** Requests that compete for the other share. */
  #rest = 0
  /** Of this number of such requests one is kept, as the second before had them. */
  #interval = 1
  /** Parts of a request that was not kept yet. */
  #credit = 0

  constructor(processes = 1) {
    this.#whole = Math.max(1, KEPT_WHOLE / processes)
    this.#share = Math.max(1, SHARE / processes)
  }

  /** Returns the number of requests that this one stands for, or 0 if it is not kept. */
  intervalOf(second: number, isImportant: boolean): number {
    if (second !== this.#second) this.#turn(second)
    this.#seen++
    if (isImportant && this.#important < this.#share) {
      this.#important++
      return 1
    }
    this.#rest++
    const interval = Math.max(this.#interval, Math.ceil(this.#seen / this.#whole))
    this.#credit += 1 / interval
    // Sums of fractions are a little below the whole.
    if (this.#credit < 0.999_999) return 0
    this.#credit -= 1
    return interval
  }

  #turn(second: number): void {
    const isBusy = second === this.#second + 1 && this.#seen > this.#whole
    this.#interval = isBusy ? Math.max(1, Math.ceil(this.#rest / this.#share)) : 1
    if (!isBusy) this.#credit = 0
    this.#second = second
    this.#seen = 0
    this.#important = 0
    this.#rest = 0
  }
}
