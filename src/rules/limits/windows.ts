const PARTS = 4
const OVERFLOW_BUCKETS = 65_536

/** Maximum number of keys, all limits together. A key counts once for each window that contains it. */
export interface KeyBudget {
  left: number
}

/** The amount that was counted for a key in one window, and the times as fractions of the window. */
interface Count {
  amount: number
  first: number
  last: number
}

/** The counts of all windows, as plain data. */
export interface WindowsState {
  /** Number of the current window. */
  readonly index: number
  /** The current window, then earlier windows. */
  readonly windows: readonly ReadonlyMap<string, Readonly<Count>>[]
  readonly overflow: Float64Array | undefined
}

/**
 * A sliding counter. The period is cut into four windows, and the count of the window that the period covers in part is
 * weighted by the covered share of the time between its first and its last request. Nothing counts for longer than the
 * period, and a burst counts for exactly that long. Within 2 % of a log of every request. Windows are dropped whole, so
 * nothing needs to be swept.
 *
 * When the budget of keys is used up, further keys share 65,536 buckets of this limit. Their counts may then be too
 * high, never too low, and memory does not grow.
 */
export class SlidingWindows {
  readonly #windowMs: number
  readonly #budget: KeyBudget
  #index = 0
  /** The current window, then earlier windows. */
  #windows: Map<string, Count>[] = emptyWindows()
  /** Counts of keys beyond the budget, by a hash of the key. Created on first use. */
  #overflow: Float64Array | undefined

  constructor(periodMs: number, budget: KeyBudget) {
    this.#windowMs = periodMs / PARTS
    this.#budget = budget
  }

  /**
   * Returns `now` in windows, which is the number of the current window, the same on every machine, and its elapsed
   * part.
   */
  placeAt(now: number): number {
    return now / this.#windowMs
  }

  /** Returns whether the window `index` still counts. */
  holds(index: number): boolean {
    return index >= this.#index - PARTS
  }

  add(key: string, amount: number, now: number): void {
    this.moveTo(now)
    this.#add(this.#windows[0]!, key, amount, this.#elapsed(now))
  }

  /** Adds to the window of a place, which may be an earlier one. */
  addAt(key: string, amount: number, place: number): void {
    const index = Math.floor(place)
    this.#moveToIndex(index)
    const window = this.#windows[this.#index - index]
    if (window) this.#add(window, key, amount, place - index)
  }

  /** Returns the count of a key in the window `index`. */
  countAt(key: string, index: number): number | undefined {
    return this.#windows[this.#index - index]?.get(key)?.amount
  }

  #add(current: Map<string, Count>, key: string, amount: number, elapsed: number): void {
    const count = current.get(key)
    if (count !== undefined) {
      count.amount += amount
      count.first = Math.min(count.first, elapsed)
      count.last = Math.max(count.last, elapsed)
    } else if (this.#budget.left > 0) {
      this.#budget.left--
      current.set(key, { amount, first: elapsed, last: elapsed })
    } else {
      const buckets = (this.#overflow ??= new Float64Array(OVERFLOW_BUCKETS))
      const bucket = bucketOf(key)
      buckets[bucket] = (buckets[bucket] ?? 0) + amount
    }
  }

  /** Sets the count of a key in the window `index`, as totaled by all machines. */
  settle(key: string, total: number, index: number): void {
    const count = this.#windows[this.#index - index]?.get(key)
    if (count) count.amount = total
  }

  /** Returns the count over the period that ends at `now`. */
  estimate(key: string, now: number): number {
    this.moveTo(now)
    let sum = this.#overflow ? (this.#overflow[bucketOf(key)] ?? 0) : 0
    for (let i = 0; i < PARTS; i++) sum += this.#windows[i]!.get(key)?.amount ?? 0
    const oldest = this.#windows[PARTS]!.get(key)
    return oldest ? sum + oldest.amount * shareAfter(oldest, this.#elapsed(now)) : sum
  }

  /** Returns the milliseconds until the estimate is at most `threshold`, if nothing more is counted. */
  untilBelow(key: string, threshold: number, now: number): number {
    let sum = this.estimate(key, now)
    const elapsed = this.#elapsed(now)
    let waited = 0
    // The oldest window fades first, then the one after it, each from its first request to its last.
    for (let age = PARTS; age >= 0 && sum > threshold; age--) {
      const count = this.#windows[age]!.get(key)
      if (!count) continue
      const { amount, first, last } = count
      const fading = age === PARTS ? amount * shareAfter(count, elapsed) : amount
      const left = Math.max(0, threshold - (sum - fading)) / amount
      waited = PARTS - age - elapsed + last - left * (last - first)
      sum -= fading
    }
    return Math.max(0, waited) * this.#windowMs
  }

  /** Deletes the counts of a key. */
  forget(key: string): void {
    for (const window of this.#windows) if (window.delete(key)) this.#budget.left++
    if (this.#overflow) this.#overflow[bucketOf(key)] = 0
  }

  /** Returns the numbers of the windows that count now. */
  indexes(): number[] {
    return this.#windows.map((_, age) => this.#index - age)
  }

  state(): WindowsState {
    return { index: this.#index, windows: this.#windows, overflow: this.#overflow }
  }

  /** Replaces all counts. */
  restore({ index, windows, overflow }: WindowsState): void {
    this.clear()
    this.#index = index
    this.#windows = windows.map((window) => new Map([...window].map(([key, count]) => [key, { ...count }])))
    this.#overflow = overflow
    for (const { size } of windows) this.#budget.left -= size
  }

  /** Releases its keys to the budget. */
  clear(): void {
    for (const { size } of this.#windows) this.#budget.left += size
    this.#windows = emptyWindows()
    this.#overflow = undefined
  }

  #elapsed(now: number): number {
    // The clock was set back by less than a window. The window does not change until the clock has caught up.
    return Math.max(0, this.placeAt(now) - this.#index)
  }

  /** Drops the windows that are over at `now`. If the clock was set back, counts keep their age. */
  moveTo(now: number): void {
    const index = Math.floor(this.placeAt(now))
    if (index < this.#index - 1) this.#index = index
    else this.#moveToIndex(index)
  }

  #moveToIndex(index: number): void {
    for (let i = 0; this.#index < index && i <= PARTS; i++, this.#index++) {
      this.#budget.left += this.#windows.pop()?.size ?? 0
      this.#windows.unshift(new Map())
      // The age of shared buckets is unknown, so that they start again with each period.
      if (this.#index % PARTS === 0) this.#overflow = undefined
    }
    this.#index = Math.max(this.#index, index)
  }
}

const emptyWindows = (): Map<string, Count>[] => Array.from({ length: PARTS + 1 }, () => new Map<string, Count>())

/** Returns the share of a count that is later than `elapsed`, if its requests are spread evenly between first and last. */
function shareAfter({ first, last }: Count, elapsed: number): number {
  if (elapsed >= last) return 0
  return elapsed <= first ? 1 : (last - elapsed) / (last - first)
}

/** Returns the FNV-1a hash of the key's characters. */
function bucketOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % OVERFLOW_BUCKETS
}
