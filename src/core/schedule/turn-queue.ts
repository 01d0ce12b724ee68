/** Limits of one kind of work in a turn of the event loop. */
export interface TurnLimits {
  /** Maximum amount in one turn, in the unit of {@link TurnQueue.spend}. */
  readonly amount: number
  /** The same while connections arrive. */
  readonly arrivalAmount: number
  /** Maximum turns in a row without queued work while connections arrive. */
  readonly maxSkipped: number
  /** Each piece of queued work counts as one when it begins, in addition to the amount that it spends. */
  readonly limitsPieces?: boolean
}

/** Limits of conversions of pages, in milliseconds. */
export const CONVERSIONS: TurnLimits = { amount: 10, arrivalAmount: 1, maxSkipped: 3 }
/** Limits of TLS handshakes and of beginning requests, each, in milliseconds. */
export const BEGINNINGS: TurnLimits = { amount: 5, arrivalAmount: 5, maxSkipped: 0 }
/**
 * Limits of large reads. The runtime reads up to two megabytes from one connection before the next one, and the
 * connections of hundreds of downloads can be readable at the same time. Without a limit, small requests of other
 * clients wait behind all that data in every turn that they need.
 */
export const LARGE_READS: TurnLimits = { amount: 16, arrivalAmount: 1, maxSkipped: 0, limitsPieces: true }
/** Reads of at least this many bytes are large, which is a TLS record, or a quarter of a read without TLS. */
export const LARGE_READ_BYTES = 16_384

/**
 * Counts the connections that were accepted. The runtime accepts one per turn of the event loop, so a burst of clients
 * waits for as many turns as it has connections. During a burst, turns must be short.
 */
export class Arrivals {
  count = 0
}

/**
 * Bounds one kind of work in a turn of the event loop. Without a limit, other connections would wait for all work. Work
 * beyond the limit waits for one of the next turns, in order.
 */
export class TurnQueue {
  readonly #limits: TurnLimits
  readonly #arrivals: Arrivals | undefined
  readonly #queue = new Set<() => void>()
  #spent = 0
  /** Maximum of this turn. */
  #limit: number
  /** Pieces of queued work that may still begin in this turn. */
  #pieces = 0
  #scheduled = false
  #running = false
  /** Connections that had arrived at the last turn. */
  #arrived = 0
  #skipped = 0

  constructor(limits: TurnLimits, arrivals?: Arrivals) {
    this.#limits = limits
    this.#limit = limits.amount
    this.#arrivals = arrivals
  }

  /**
   * Returns whether work may be done now. True if the limit of this turn is not reached, and nothing is queued before
   * it.
   */
  get open(): boolean {
    return this.#spent < this.#limit && (this.#running || this.#queue.size === 0)
  }

  /** Adds an amount to the work of this turn. Returns whether the limit is not reached. */
  spend(amount: number): boolean {
    this.#spent += amount
    this.#schedule()
    return this.#spent < this.#limit
  }

  /** Calls `work`, which reports its amount to {@link spend}, in one of the next turns. Adding it again has no effect. */
  add(work: () => void): void {
    this.#queue.add(work)
    this.#schedule()
  }

  delete(work: () => void): void {
    this.#queue.delete(work)
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    const { amount, arrivalAmount, maxSkipped, limitsPieces } = this.#limits
    this.#scheduled = false
    this.#spent = 0
    const count = this.#arrivals?.count ?? 0
    const hasArrivals = count !== this.#arrived
    this.#arrived = count
    const skips = hasArrivals && this.#queue.size > 0 && this.#skipped < maxSkipped
    this.#skipped = skips ? this.#skipped + 1 : 0
    this.#limit = skips ? 0 : hasArrivals ? arrivalAmount : amount
    this.#pieces = limitsPieces ? this.#limit : Infinity
    this.#next()
  }

  /**
   * Does one piece of queued work and then the next one, with the ticks of the process between them. The runtime does a
   * part of a TLS handshake in a tick.
   */
  readonly #next = (): void => {
    this.#running = false
    if (this.#queue.size === 0) return
    if (this.#spent >= this.#limit || this.#pieces-- <= 0) {
      this.#schedule()
      return
    }
    const work = this.#queue.values().next().value!
    this.#queue.delete(work)
    this.#running = true
    work()
    process.nextTick(this.#next)
  }
}
