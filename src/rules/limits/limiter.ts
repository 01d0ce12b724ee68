import type { Clock } from '../../core/clock.js'
import type { Delta, SharedCounters } from '../../core/metrics/counters.js'
import type { CountEvent, CountLog } from './count-log.js'
import type { Limit } from '../limit.js'
import { SlidingWindows, type KeyBudget, type WindowsState } from './windows.js'

/** Interval at which windows of unused limits are checked. */
const SWEEP_MS = 10_000

interface Tracked {
  readonly limit: Limit
  readonly windows: SlidingWindows
  /** Keys under mitigation, and its end (monotonic). All have the same duration, so the oldest ends first. */
  readonly mitigated: Map<string, number>
  readonly pending: Map<string, Delta>
}

export interface LimiterOptions {
  readonly clock: Clock
  /**
   * Maximum number of counted keys, all limits together. A key counts once per quarter of the period in which it
   * occurs. Also the maximum number of keys under mitigation.
   */
  readonly maxKeys?: number
  /** Shares the counts with other processes of this machine. */
  readonly log?: CountLog | undefined
}

/** The counts of one limit, as plain data. */
export interface LimitState {
  readonly limit: Limit
  readonly windows: WindowsState
  /** Ends of mitigations by key, milliseconds since 1970. */
  readonly mitigated: ReadonlyMap<string, number>
}

/**
 * Counts requests and returns which exceed a limit. Synchronous, so that a request never waits for another machine. If
 * counters are shared, {@link Limiter.exchange} sends them the new counts and applies their totals.
 */
export class Limiter {
  readonly #clock: Clock
  #maxKeys: number
  readonly #budget: KeyBudget
  readonly #tracked = new Map<string, Tracked>()
  readonly #log: CountLog | undefined
  #shares = false
  #sweptAt = -Infinity

  constructor({ clock, maxKeys = 1_000_000, log }: LimiterOptions) {
    this.#clock = clock
    this.#maxKeys = maxKeys
    this.#budget = { left: maxKeys }
    this.#log = log
    if (log) log.apply = (event) => this.#apply(event)
  }

  /** Keys beyond a lower number remain until their windows end. */
  set maxKeys(maxKeys: number) {
    this.#budget.left += maxKeys - this.#maxKeys
    this.#maxKeys = maxKeys
  }

  /** Current number of keys. */
  get keys(): number {
    return this.#maxKeys - this.#budget.left
  }

  /**
   * Counts `amount` for the key. Requests during a mitigation do not count. A client that keeps sending is let through
   * again when the mitigation ends.
   */
  count(limit: Limit, key: string, amount = 1): void {
    const tracked = this.#of(limit)
    const now = this.#clock.now()
    if (Math.abs(now - this.#sweptAt) > SWEEP_MS) this.#sweep(now)
    if (limit.mitigationMs > 0 && this.#isMitigated(tracked, key)) return
    if (this.#log) {
      const window = tracked.windows.placeAt(now)
      this.#log.append({ type: 'count', limit, key, window, amount, foreign: false })
      return
    }
    tracked.windows.add(key, amount, now)
    if (this.#shares) this.#note(tracked, key, amount, Math.floor(tracked.windows.placeAt(now)))
  }

  /**
   * Returns whether a request with this key is acted on now. `coming` is its own amount, which is not counted yet.
   * `counted` means that it was counted immediately before this call, so that requests of other processes behind it do
   * not matter.
   */
  over(limit: Limit, key: string, coming = 0, counted = false): boolean {
    if (!counted) this.#log?.sync()
    const tracked = this.#of(limit)
    const threshold = limit.threshold - coming
    if (limit.mitigationMs === 0) return tracked.windows.estimate(key, this.#clock.now()) > threshold
    if (this.#isMitigated(tracked, key)) return true
    if (tracked.windows.estimate(key, this.#clock.now()) <= threshold) return false
    if (this.#log) {
      const until = this.#clock.now() + limit.mitigationMs
      this.#log.append({ type: 'mitigate', limit, key, window: 0, amount: until, foreign: false })
    } else {
      const now = this.#clock.monotonic()
      this.#mitigate(tracked, key, now, now + limit.mitigationMs)
    }
    return true
  }

  #isMitigated({ mitigated }: Tracked, key: string): boolean {
    const until = mitigated.get(key)
    return until !== undefined && until > this.#clock.monotonic()
  }

  /**
   * Returns the seconds, rounded up and at least 1, after which a request with this key may pass. Used for Retry-After.
   */
  retryAfter(limit: Limit, key: string): number {
    const tracked = this.#of(limit)
    const until = tracked.mitigated.get(key)
    // Low enough for one more request to pass, whether it is judged before or after it is counted.
    const wait =
      until === undefined
        ? tracked.windows.untilBelow(key, limit.threshold - 1, this.#clock.now())
        : until - this.#clock.monotonic()
    return Math.max(1, Math.ceil(wait / 1000))
  }

  /** Resets the count of a key, for a client that passed a challenge. */
  reset(limit: Limit, key: string): void {
    if (this.#log) this.#log.append({ type: 'reset', limit, key, window: 0, amount: 0, foreign: false })
    else this.#reset(this.#of(limit), key)
  }

  #reset(tracked: Tracked, key: string): void {
    tracked.windows.forget(key)
    if (this.#shares) for (const index of tracked.windows.indexes()) this.#note(tracked, key, 0, index, true)
    tracked.mitigated.delete(key)
  }

  /** Deletes the counts of removed limits. */
  drop(ids: Iterable<string>): void {
    for (const id of ids) {
      this.#tracked.get(id)?.windows.clear()
      this.#tracked.delete(id)
    }
  }

  /**
   * Sends the counts since the last call to the shared counters and applies their totals. Counts that could not be sent
   * are sent the next time. Until then, this machine uses its own counts. Returns false if there was nothing to send.
   */
  async exchange(shared: SharedCounters): Promise<boolean> {
    this.#shares = true
    this.#log?.sync()
    const deltas = [...this.#tracked.values()].flatMap(({ pending }) => [...pending.values()])
    if (deltas.length === 0) return false
    for (const { pending } of this.#tracked.values()) pending.clear()
    try {
      const totals = await shared.add(deltas)
      for (const [i, { limit, key, window, amount: sent }] of deltas.entries()) {
        const tracked = this.#tracked.get(limit)
        const since = tracked?.pending.get(pendingKey(window, key))
        if (tracked && !since?.anew) this.#settle(tracked, key, (totals[i] ?? sent) + (since?.amount ?? 0), window)
      }
      return true
    } catch (error) {
      for (const { limit, key, window, amount, anew } of deltas) {
        const tracked = this.#tracked.get(limit)
        if (!tracked?.windows.holds(window)) continue
        const since = tracked.pending.get(pendingKey(window, key))
        if (!since?.anew) this.#note(tracked, key, amount + (anew ? (since?.amount ?? 0) : 0), window, anew)
      }
      throw error
    }
  }

  /** Applies what other processes have counted. */
  sync(): void {
    this.#log?.sync()
    const now = this.#clock.now()
    if (Math.abs(now - this.#sweptAt) > SWEEP_MS) this.#sweep(now)
  }

  /** Returns the counts of all limits, for a process that begins to share them. */
  state(): LimitState[] {
    this.#log?.sync()
    const toWallClock = this.#clock.now() - this.#clock.monotonic()
    return [...this.#tracked.values()].map(({ limit, windows, mitigated }) => ({
      limit,
      windows: windows.state(),
      mitigated: new Map([...mitigated].map(([key, until]) => [key, until + toWallClock])),
    }))
  }

  /** Applies the counts of another process, before the first request. */
  restore(state: readonly LimitState[]): void {
    for (const { limit, windows, mitigated } of state) {
      const tracked = this.#of(limit)
      tracked.windows.restore(windows)
      for (const [key, until] of mitigated) this.#mitigateUntil(tracked, key, until)
    }
  }

  #apply({ type, limit, key, window, amount, foreign }: CountEvent): void {
    const known = this.#tracked.get(limit.id)
    // The rule is being changed, and processes apply the change one after the other.
    if (known && known.limit.periodMs !== limit.periodMs) return
    const tracked = known ?? this.#of(limit)
    if (type === 'reset') this.#reset(tracked, key)
    else if (type === 'mitigate') this.#mitigateUntil(tracked, key, amount)
    else if (foreign) tracked.windows.settle(key, amount + (tracked.windows.countAt(key, window) ?? 0), window)
    else {
      tracked.windows.addAt(key, amount, window)
      if (this.#shares) this.#note(tracked, key, amount, Math.floor(window))
    }
  }

  /** Sets the count of a key in a window to the total of all machines. */
  #settle({ limit, windows }: Tracked, key: string, total: number, window: number): void {
    if (!this.#log) {
      windows.settle(key, total, window)
      return
    }
    const amount = total - (windows.countAt(key, window) ?? total)
    if (amount !== 0) this.#log.append({ type: 'count', limit, key, window, amount, foreign: true })
  }

  #mitigateUntil(tracked: Tracked, key: string, until: number): void {
    const now = this.#clock.monotonic()
    const left = Math.min(until - this.#clock.now(), tracked.limit.mitigationMs)
    this.#mitigate(tracked, key, now, now + left)
  }

  #of(limit: Limit): Tracked {
    const known = this.#tracked.get(limit.id)
    // Rules are prepared again with each change of the zones. Requests in flight keep their rules.
    if (known && (known.limit === limit || same(known.limit, limit))) return known
    // The count of a changed rule restarts only if its period changed.
    const windows =
      known?.limit.periodMs === limit.periodMs ? known.windows : new SlidingWindows(limit.periodMs, this.#budget)
    if (known && known.windows !== windows) known.windows.clear()
    const kept = known?.windows === windows
    const tracked = {
      limit,
      windows,
      mitigated: kept && known.limit.mitigationMs === limit.mitigationMs ? known.mitigated : new Map<string, number>(),
      pending: kept ? known.pending : new Map<string, Delta>(),
    }
    this.#tracked.set(limit.id, tracked)
    return tracked
  }

  /** Deletes keys of unused limits. Windows of limits in use end automatically. */
  #sweep(now: number): void {
    this.#sweptAt = now
    for (const { windows } of this.#tracked.values()) windows.moveTo(now)
  }

  #mitigate({ mitigated }: Tracked, key: string, now: number, until: number): void {
    for (const [oldest, end] of mitigated) {
      if (end > now && mitigated.size < this.#maxKeys) break
      mitigated.delete(oldest)
    }
    mitigated.delete(key)
    mitigated.set(key, until)
  }

  /** `anew` sets the count in this window to `amount`, regardless of its previous value. */
  #note({ limit, pending }: Tracked, key: string, amount: number, window: number, anew = false): void {
    const name = pendingKey(window, key)
    const known = pending.get(name)
    // Bounded like the keys themselves. Beyond the bound, this machine uses its own count.
    if (known === undefined && pending.size >= this.#maxKeys) return
    const { id, periodMs } = limit
    if (anew || known === undefined) pending.set(name, { limit: id, periodMs, window, key, amount, anew })
    else pending.set(name, { ...known, amount: known.amount + amount })
  }
}

const same = (a: Limit, b: Limit): boolean =>
  a.periodMs === b.periodMs && a.threshold === b.threshold && a.mitigationMs === b.mitigationMs

const pendingKey = (window: number, key: string): string => `${window} ${key}`
