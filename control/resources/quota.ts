import { ApiError, type ErrorKind } from '../http/errors.js'

/** Keeps a quota among requests that run at once: a place is taken before the store has the new record. */
export class QuotaReservation {
  readonly #taken = new Map<string, number>()

  /** Does the work when there is a place besides those that others are about to fill, else refuses. */
  async take<T>(key: string, places: number, refusal: ErrorKind, work: () => Promise<T>): Promise<T> {
    const taken = this.#taken.get(key) ?? 0
    if (taken >= places) throw new ApiError(refusal)
    this.#taken.set(key, taken + 1)
    try {
      return await work()
    } finally {
      const left = (this.#taken.get(key) ?? 1) - 1
      if (left === 0) this.#taken.delete(key)
      else this.#taken.set(key, left)
    }
  }
}
