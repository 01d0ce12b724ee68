/** Smaller pools have no shares, because an eighth would be less than one connection. */
const MIN_SHARED = 8
/** A client gets at most one in this many of the free slots. */
const FREE_SHARE = 4
/** Time during which a client that was too slow uses one slot only, and further clients that replace the oldest. */
const SLOW_MS = 60_000
const MAX_SLOW = 1000

/**
 * Limits the use of a pool per client. While less than half of the pool is in use, clients are not counted. Beyond that
 * a client starts nothing new while it has a quarter of the free slots or more. This is an eighth of the pool if half
 * is free, and less when more is in use. A few clients together cannot use all slots, and another client does not wait
 * for them. A client that was too slow while others waited has one slot instead, for a minute.
 */
export class ClientShares {
  readonly #half: number
  readonly #size: number
  readonly #inUse: () => Iterable<string | undefined>
  /** Slots in use by client. Undefined while clients are not counted. */
  #counts: Map<string | undefined, number> | undefined
  /** Milliseconds for which clients were too slow. */
  readonly #slow = new Map<string, number>()

  /** `inUse` returns the client of each slot in use. */
  constructor(size: number, inUse: () => Iterable<string | undefined>) {
    this.#half = size < MIN_SHARED ? Infinity : size / 2
    this.#size = size
    this.#inUse = inUse
  }

  /** Returns whether a client may use one more slot if `used` slots are in use. An undefined client has no limit. */
  mayStart(client: string | undefined, used: number): boolean {
    if (used < this.#half || client === undefined) return true
    this.#counts ??= this.#count()
    const share = this.#slow.has(client) ? 1 : Math.max(1, Math.floor((this.#size - used) / FREE_SHARE))
    return (this.#counts.get(client) ?? 0) < share
  }

  /** Notes that a client was too slow while others waited. */
  wasSlow(client: string | undefined): void {
    if (client === undefined) return
    this.#slow.delete(client)
    this.#slow.set(client, SLOW_MS)
    if (this.#slow.size > MAX_SLOW) this.#slow.delete(this.#slow.keys().next().value!)
  }

  /** Must be called repeatedly, with the milliseconds since the last call. */
  tick(ms: number): void {
    for (const [client, left] of this.#slow)
      if (left <= ms) this.#slow.delete(client)
      else this.#slow.set(client, left - ms)
  }

  started(client: string | undefined): void {
    if (this.#counts) this.#counts.set(client, (this.#counts.get(client) ?? 0) + 1)
  }

  /** Releases a slot; `used` are still in use. */
  ended(client: string | undefined, used: number): void {
    if (!this.#counts) return
    const left = (this.#counts.get(client) ?? 1) - 1
    // Not as soon as it is less than half, because counting again reads every slot.
    if (used < this.#half / 2) this.#counts = undefined
    else if (left > 0) this.#counts.set(client, left)
    else this.#counts.delete(client)
  }

  #count(): Map<string | undefined, number> {
    const counts = new Map<string | undefined, number>()
    for (const client of this.#inUse()) counts.set(client, (counts.get(client) ?? 0) + 1)
    return counts
  }
}
