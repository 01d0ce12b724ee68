import { ApiError, type ErrorKind } from '../http/errors.js'

/** Enforces a quota among concurrent requests: a slot is reserved before the store has the new record. */
export class QuotaReservation {
  readonly #taken = new Map<string, number>()

  /** Runs the work if a slot is available besides those reserved by others; otherwise rejects. */
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
