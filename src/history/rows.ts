import { addRow, newRow, OTHER, REQUESTS, SEPARATOR, type Row } from './layout.js'

/** Rows in memory. Counting does not allocate: rows are used again. */
export class RowPool {
  readonly #max: number
  readonly #free: Row[] = []
  #taken = 0

  /** `max`: rows in use at the same time. */
  constructor(max = Infinity) {
    this.#max = max
  }

  /** Returns a row of zeros, or undefined if too many are in use. `isNeeded`: always returns one. */
  take(isNeeded: true): Row
  take(isNeeded?: boolean): Row | undefined
  take(isNeeded = false): Row | undefined {
    if (this.#taken >= this.#max && !isNeeded) return undefined
    this.#taken++
    return this.#free.pop() ?? newRow()
  }

  give(row: Row): void {
    this.#taken--
    row.fill(0)
    this.#free.push(row)
  }
}

/**
 * The rows of one dimension, with the most frequent values. With all places taken, a request with another value takes the
 * place of the least frequent value, of c requests, with the probability 1/(c+1), else it is counted in `other` (Space-Saving
 * with randomized admission; Metwally, Agrawal, El Abbadi 2005; Ben-Basat, Chen, Einziger, Friedman 2019). The counts of the
 * value that leaves move to `other`, so that the counts of all rows together remain exact.
 */
export class Rows {
  readonly #limit: number
  readonly #pool: RowPool
  readonly #places = new Map<string, number>()
  readonly #keys: string[] = []
  readonly #rows: Row[] = []
  /** Estimated requests of each value. */
  readonly #estimates: number[] = []
  #other: Row | undefined
  /** Place and estimate of the least frequent value when it was last sought. Estimates only grow. */
  #least = 0
  #leastEstimate = -1
  #random = 1
  /** The last value with a row, which is often the next one. */
  #lastKey: string | undefined
  #lastPlace = 0

  constructor(limit: number, pool: RowPool) {
    this.#limit = limit
    this.#pool = pool
  }

  get size(): number {
    return this.#keys.length
  }

  /** Returns the row of a value that `requests` more requests have. */
  of(key: string, requests = 1): Row {
    let place: number | undefined = this.#lastPlace
    if (key !== this.#lastKey) {
      place = this.#places.get(key)
      if (place === undefined) return this.#enter(key, requests)
      this.#lastKey = this.#keys[place]!
      this.#lastPlace = place
    }
    this.#estimates[place]! += requests
    return this.#rows[place]!
  }

  /** Returns the row of values without a row of their own. */
  get other(): Row {
    return (this.#other ??= this.#pool.take(true))
  }

  /** Returns the rows, the most frequent `limit` ones by number of requests, and `other` if it has any. */
  top(limit = this.#limit): (readonly [key: string, row: Row])[] {
    const all = this.#keys.map((key, place) => [key, this.#rows[place]!] as const)
    if (all.length <= limit) return this.#other ? [...all, [OTHER, this.#other]] : all
    const sorted = all.toSorted(([, a], [, b]) => b[REQUESTS]! - a[REQUESTS]!)
    // A copy: the rows can be asked for again.
    const other = this.#other ? Float64Array.from(this.#other) : newRow()
    for (const [, row] of sorted.slice(limit)) addRow(other, row)
    return [...sorted.slice(0, limit), [OTHER, other]]
  }

  /** Gives all rows back. */
  clear(): void {
    for (const row of this.#rows) this.#pool.give(row)
    if (this.#other) this.#pool.give(this.#other)
    this.#other = undefined
    this.#rows.length = 0
    this.#keys.length = 0
    this.#estimates.length = 0
    this.#places.clear()
    this.#lastKey = undefined
    this.#leastEstimate = -1
  }

  #enter(key: string, requests: number): Row {
    const { length } = this.#keys
    if (length < this.#limit) {
      const row = this.#pool.take()
      if (row) {
        const kept = unshared(key)
        this.#places.set(kept, length)
        this.#keys.push(kept)
        this.#estimates.push(requests)
        this.#rows.push(row)
        return row
      }
    }
    return length === 0 ? this.other : this.#replace(key, requests)
  }

  #replace(key: string, requests: number): Row {
    const estimates = this.#estimates
    if (estimates[this.#least] !== this.#leastEstimate) this.#seekLeast()
    const least = this.#least
    // A Lehmer generator: the same requests always have the same counts.
    this.#random = (this.#random * 48_271) % 0x7fffffff
    if (this.#random * (this.#leastEstimate + requests) >= requests * 0x7fffffff) return this.other
    const row = this.#rows[least]!
    addRow(this.other, row)
    row.fill(0)
    const kept = unshared(key)
    this.#places.delete(this.#keys[least]!)
    if (least === this.#lastPlace) this.#lastKey = undefined
    this.#places.set(kept, least)
    this.#keys[least] = kept
    estimates[least]! += requests
    return row
  }

  #seekLeast(): void {
    const estimates = this.#estimates
    let least = 0
    for (let place = 1; place < estimates.length; place++) if (estimates[place]! < estimates[least]!) least = place
    this.#least = least
    this.#leastEstimate = estimates[least]!
  }
}

/** Copies a text: a part of the head of a request would keep the whole head in memory. */
const unshared = (text: string): string => Buffer.from(text).toString()

/** Returns a value without its description. */
export function valueOf(key: string): string {
  const end = key.indexOf(SEPARATOR)
  return end < 0 ? key : key.slice(0, end)
}
