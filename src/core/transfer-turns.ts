import type { Arrivals } from './turn-queue.js'

/** Reads of at least this many bytes are counted: a TLS record, or a quarter of a read without TLS. */
export const LARGE_READ_BYTES = 16_384
/** Maximum large reads in one turn of the event loop. */
const TURN_READS = 8
/** The same while clients connect. */
const ARRIVAL_TURN_READS = 1

/**
 * Bounds the data that connections transfer in one turn of the event loop. The runtime reads up to two megabytes from
 * one connection before the next one, and the connections of hundreds of downloads can be readable at the same time:
 * without a limit small requests of other clients wait behind all that data in every turn that they need.
 */
export class TransferTurns {
  /** Connections that wait for a turn, in order. */
  readonly #waiting = new Set<() => void>()
  readonly #arrivals: Arrivals | undefined
  #arrived = 0
  #left = TURN_READS
  #scheduled = false

  constructor(arrivals?: Arrivals) {
    this.#arrivals = arrivals
  }

  /** Counts a large read. Returns false if the connection should {@link wait} before it reads more. */
  count(): boolean {
    this.#schedule()
    return --this.#left > 0
  }

  /** Calls `resume` in one of the next turns, in order. */
  wait(resume: () => void): void {
    this.#waiting.add(resume)
    this.#schedule()
  }

  delete(resume: () => void): void {
    this.#waiting.delete(resume)
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#scheduled = false
    const count = this.#arrivals?.count ?? 0
    const reads = count === this.#arrived ? TURN_READS : ARRIVAL_TURN_READS
    this.#arrived = count
    this.#left = reads
    let left = reads
    for (const resume of this.#waiting) {
      if (left-- === 0) break
      this.#waiting.delete(resume)
      resume()
    }
    if (this.#waiting.size > 0) this.#schedule()
  }
}
