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
 * The rows of one dimension, with the most frequent values. A value beyond the limit takes the place of the least
 * frequent one, whose counts move to `other`: the counts of all rows together remain exact, and each value with more than
 * 1/limit of the requests has a row (Space-Saving; Metwally, Agrawal, El Abbadi 2005).
 */
export class Rows {
  readonly #limit: number
  readonly #pool: RowPool
  readonly #places = new Map<string, number>()
  readonly #keys: string[] = []
  readonly #rows: Row[] = []
  /** Requests that each value has at most had. */
  readonly #estimates: number[] = []
  #other: Row | undefined

  constructor(limit: number, pool: RowPool) {
    this.#limit = limit
    this.#pool = pool
  }

  get size(): number {
    return this.#keys.length
  }

  /** Returns the row of a value that `requests` more requests have. */
  of(key: string, requests = 1): Row {
    const place = this.#places.get(key)
    if (place === undefined) return this.#enter(key, requests)
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
    let found = all
    if (all.length > limit) {
      found = all.toSorted(([, a], [, b]) => b[REQUESTS]! - a[REQUESTS]!)
      for (const [, row] of found.slice(limit)) addRow(this.other, row)
      found = found.slice(0, limit)
    }
    return this.#other ? [...found, [OTHER, this.#other]] : found
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
    let least = 0
    for (let place = 1; place < estimates.length; place++) if (estimates[place]! < estimates[least]!) least = place
    const row = this.#rows[least]!
    addRow(this.other, row)
    row.fill(0)
    const kept = unshared(key)
    this.#places.delete(this.#keys[least]!)
    this.#places.set(kept, least)
    this.#keys[least] = kept
    estimates[least]! += requests
    return row
  }
}

/** Copies a text: a part of the head of a request would keep the whole head in memory. */
const unshared = (text: string): string => Buffer.from(text).toString()

/** Returns a value without its description. */
export function valueOf(key: string): string {
  const end = key.indexOf(SEPARATOR)
  return end < 0 ? key : key.slice(0, end)
}
