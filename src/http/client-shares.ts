/** Smaller pools have no shares: an eighth of them would be less than one connection. */
const MIN_SHARED = 8
const SHARE = 8

/**
 * Limits the use of a pool per client. While less than half of the pool is in use, clients are not counted. Beyond that
 * a client starts nothing new while it has an eighth of the pool or more, so that the other half is left to other
 * clients.
 */
export class ClientShares {
  readonly #half: number
  readonly #share: number
  readonly #inUse: () => Iterable<string | undefined>
  /** Slots in use by client. Undefined while clients are not counted. */
  #counts: Map<string | undefined, number> | undefined

  /** `inUse` returns the client of each slot in use. */
  constructor(size: number, inUse: () => Iterable<string | undefined>) {
    this.#half = size < MIN_SHARED ? Infinity : size / 2
    this.#share = Math.max(1, Math.floor(size / SHARE))
    this.#inUse = inUse
  }

  /** Returns whether a client may use one more slot if `used` slots are in use. An undefined client has no limit. */
  mayStart(client: string | undefined, used: number): boolean {
    if (used < this.#half || client === undefined) return true
    this.#counts ??= this.#count()
    return (this.#counts.get(client) ?? 0) < this.#share
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
