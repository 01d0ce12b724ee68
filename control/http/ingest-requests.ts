import type { Pause } from '../../src/core/schedule/event-loop-yield.js'
import { INGEST_SLICES } from '../../src/core/schedule/fair-slices.js'
import { ApiError, type ErrorKind } from './errors.js'

/** Maximum requests that are read concurrently. */
export interface IngestLimits {
  readonly total: number
  /** The rest is for other accounts. */
  readonly perAccount: number
}

/** Requests with records or findings that are being read: their number is limited, and accounts share the thread. */
export class IngestRequests {
  readonly #busy: ErrorKind
  readonly #limits: IngestLimits
  readonly #reading = new Map<string, number>()
  #total = 0

  /** `busy`: the error beyond the limits. */
  constructor(busy: ErrorKind, limits: IngestLimits) {
    this.#busy = busy
    this.#limits = limits
  }

  /** Runs `read`, which calls `pause` between short steps. Throws the error for too many requests. */
  async run<T>(account: string, read: (pause: Pause) => Promise<T>): Promise<T> {
    const own = this.#reading.get(account) ?? 0
    if (this.#total >= this.#limits.total || own >= this.#limits.perAccount)
      throw new ApiError(this.#busy, undefined, { headers: { 'retry-after': '1' } })
    this.#reading.set(account, own + 1)
    this.#total++
    try {
      return await INGEST_SLICES.run(account, read)
    } finally {
      this.#total--
      const left = this.#reading.get(account)! - 1
      if (left > 0) this.#reading.set(account, left)
      else this.#reading.delete(account)
    }
  }
}
