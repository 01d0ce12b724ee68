import { createHash } from 'node:crypto'
import type { Clock } from './clock.js'
import { DAEMON, type Scope } from './scope.js'
import { VersionConflict, type Kind, type Store, type Stored } from './store.js'

/** Lease of some work. */
export interface Lease {
  readonly owner: string
}

/** Presence of a daemon. The scope is the scope of daemons. The id identifies the daemon. */
export interface Presence {
  /** Grows with each renewal. */
  readonly beat: number
}

/** Subject and duration of a lease. */
export interface LeaseOptions {
  readonly leases: Kind<Lease>
  readonly presence: Kind<Presence>
  /** Further members of the presence record of this daemon. */
  readonly details?: object
  /** Time without renewal, in ms, after which the leases of a daemon are free. */
  readonly expiryMs: number
  /** Name of this daemon. */
  readonly self: string
  /** Called when other daemons may have taken the leases of this daemon. It has none then, and must take them again. */
  readonly lost?: () => void
}

interface Seen {
  readonly version: number
  readonly at: number
}

/**
 * Decides which of several daemons on one store does some work, for example the deliveries of a webhook or a job. The
 * first daemon takes the lease. Another daemon takes the lease after the owner has ended. A daemon renews one presence
 * record, no matter how many leases it has. The others remove that record if it has not changed for the expiry on their
 * own clock, so clocks need not agree.
 */
export class Leases {
  readonly #store: Store
  readonly #clock: Clock
  readonly #options: LeaseOptions
  #seen = new Map<string, Seen>()
  #present: Promise<void> | undefined
  /** When the latest renewal began that succeeded. */
  #renewedAt = -Infinity
  /** Leases that this daemon took since it is present. */
  readonly #taken = new Set<string>()

  constructor(store: Store, clock: Clock, options: LeaseOptions) {
    this.#store = store
    this.#clock = clock
    this.#options = options
  }

  /** Renews the presence of this daemon and removes the presence of daemons that stopped renewing. */
  async renew(): Promise<void> {
    // Nobody can renew while the store is unreachable, so that time does not count.
    if (!this.#store.writable) this.#seen = new Map()
    this.#present = this.#beat(this.#present)
    await Promise.all([this.#present, ...this.#gone().map(async (daemon) => await this.#end(daemon))])
  }

  /**
   * Whether no other daemon can have taken a lease of this daemon. False after a pause or an absence of the store that is
   * longer than the expiry, until the next renewal.
   */
  get isPresent(): boolean {
    return this.#clock.monotonic() - this.#renewedAt < this.#options.expiryMs
  }

  /** Returns whether this daemon has a lease. */
  isHeld(scope: Scope, id: string): boolean {
    return this.#store.get(this.#options.leases, scope, id)?.value.owner === this.#options.self
  }

  /**
   * Returns whether this daemon takes a free lease first. Each present daemon is first for an equal share of the
   * leases.
   */
  isFirst(id: string): boolean {
    const { self, presence } = this.#options
    const own = rank(self, id)
    return this.#store.list(presence).every(({ id: other }) => other === self || rank(other, id) < own)
  }

  /**
   * Takes a lease if it is free. Returns false if another daemon has it. A lease of this daemon from before an absence is
   * written again, so that another daemon that is about to take it gets a conflict.
   */
  async hold(scope: Scope, id: string): Promise<boolean> {
    // The owner of a lease needs a presence record.
    await (this.#present ??= this.#beat())
    const found = this.#store.get(this.#options.leases, scope, id)
    const key = leaseKey(scope, id)
    const isOwn = found?.value.owner === this.#options.self
    if (isOwn && this.#taken.has(key)) return true
    if (
      found !== undefined &&
      !isOwn &&
      this.#store.get(this.#options.presence, DAEMON, found.value.owner) !== undefined
    )
      return false
    const value: Lease = { owner: this.#options.self }
    try {
      await this.#store.batch([{ kind: this.#options.leases, scope, id, value, ifVersion: found?.version ?? 0 }])
      this.#taken.add(key)
      return true
    } catch (error) {
      if (error instanceof VersionConflict) return false
      throw error
    }
  }

  /** Gives up a lease, so that another daemon that is there can take it. */
  async giveUp(scope: Scope, id: string): Promise<void> {
    const found = this.#store.get(this.#options.leases, scope, id)
    if (found?.value.owner !== this.#options.self) return
    this.#taken.delete(leaseKey(scope, id))
    try {
      const of = { kind: this.#options.leases, scope, id }
      await this.#store.batch([{ ...of, value: undefined, ifVersion: found.version }])
    } catch (error) {
      // Another daemon has it by now.
      if (!(error instanceof VersionConflict)) throw error
    }
  }

  /** Releases all leases, so that other daemons need not wait until they expire. */
  async release(): Promise<void> {
    if (this.#present === undefined) return
    await this.#store.batch([{ kind: this.#options.presence, scope: DAEMON, id: this.#options.self, value: undefined }])
  }

  /** Renews the presence, after a renewal that is in progress. */
  async #beat(after?: Promise<void>): Promise<void> {
    await after?.catch(() => undefined)
    const began = this.#clock.monotonic()
    const found = this.#store.get(this.#options.presence, DAEMON, this.#options.self)
    const value = { ...this.#options.details, beat: (found?.value.beat ?? 0) + 1 }
    const write = { kind: this.#options.presence, scope: DAEMON, id: this.#options.self, value }
    let wasPresent = this.isPresent && found !== undefined
    try {
      try {
        await this.#store.batch([{ ...write, ifVersion: found?.version ?? 0 }])
      } catch (error) {
        if (!(error instanceof VersionConflict)) throw error
        // Another daemon has removed it.
        wasPresent = false
        await this.#store.batch([write])
      }
    } catch (error) {
      this.#present = undefined
      throw error
    }
    if (!wasPresent) {
      this.#taken.clear()
      this.#options.lost?.()
    }
    this.#renewedAt = began
  }

  /** Returns the daemons that stopped renewing. */
  #gone(): Stored<Presence>[] {
    const now = this.#clock.monotonic()
    const there = this.#store.list(this.#options.presence).filter(({ id }) => id !== this.#options.self)
    const seen = new Map(
      there.map(({ id, version }) => {
        const known = this.#seen.get(id)
        return [id, known?.version === version ? known : { version, at: now }]
      }),
    )
    this.#seen = seen
    return there.filter(({ id }) => now - (seen.get(id)?.at ?? now) >= this.#options.expiryMs)
  }

  async #end({ id, version }: Stored<Presence>): Promise<void> {
    const write = { kind: this.#options.presence, scope: DAEMON, id, value: undefined, ifVersion: version }
    await this.#store.batch([write]).catch((error: unknown) => {
      // The daemon renewed it, or another one removed it first.
      if (!(error instanceof VersionConflict)) throw error
    })
  }
}

const leaseKey = ({ type, id: scope }: Scope, id: string): string => `${type}/${scope}/${id}`

/** Highest random weight hashing. The daemon with the highest rank takes a lease first. */
const rank = (daemon: string, id: string): string => createHash('sha1').update(`${daemon}/${id}`).digest('hex')
