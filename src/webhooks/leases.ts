import { createHash } from 'node:crypto'
import type { Clock } from '../core/clock.js'
import { kind, VersionConflict, type Store, type Stored } from '../core/store.js'
import { DAEMON, type Scope } from '../core/scope.js'

/** Lease of the deliveries of a webhook. Scope: the account; id: the webhook's. */
interface Lease {
  readonly owner: string
}

/** Presence of a sending daemon. Scope: that of daemons; id: the daemon's. */
interface Presence {
  /** Grows with each renewal. */
  readonly beat: number
}

export const WEBHOOK_LEASES = kind<Lease>('webhook_lease')
export const WEBHOOK_SENDERS = kind<Presence>('webhook_sender')

export const RENEW_MS = 5000
/** Time without renewal after which the leases of a daemon are free. */
export const LEASE_MS = 15_000

interface Seen {
  readonly version: number
  readonly at: number
}

/**
 * Decides which of several daemons on one store sends for a webhook. The first one takes the lease; another one takes it
 * after the owner is gone. A daemon renews one presence record, no matter how many leases it has. The others remove that
 * record if it has not changed for {@link LEASE_MS} on their own clock, so clocks need not agree.
 */
export class Leases {
  readonly #store: Store
  readonly #clock: Clock
  readonly #self: string
  #seen = new Map<string, Seen>()
  #present: Promise<void> | undefined

  /** `self`: the name of this daemon. */
  constructor(store: Store, clock: Clock, self: string) {
    this.#store = store
    this.#clock = clock
    this.#self = self
  }

  /** Renews the presence of this daemon and removes that of daemons that stopped renewing. */
  async renew(): Promise<void> {
    this.#present = this.#beat()
    await Promise.all([this.#present, ...this.#gone().map(async (daemon) => await this.#end(daemon))])
  }

  /** Whether this daemon has the lease of a webhook. */
  isHeld(scope: Scope, webhookId: string): boolean {
    return this.#store.get(WEBHOOK_LEASES, scope, webhookId)?.value.owner === this.#self
  }

  /** Whether this daemon takes a free lease first. Each present daemon is first for an equal share of the webhooks. */
  isFirst(webhookId: string): boolean {
    const own = rank(this.#self, webhookId)
    return this.#store.list(WEBHOOK_SENDERS).every(({ id }) => id === this.#self || rank(id, webhookId) < own)
  }

  /** Takes a lease if it is free. Returns false if another daemon has it. */
  async hold(scope: Scope, webhookId: string): Promise<boolean> {
    // The owner of a lease needs a presence record.
    await (this.#present ??= this.#beat())
    const found = this.#store.get(WEBHOOK_LEASES, scope, webhookId)
    if (found?.value.owner === this.#self) return true
    if (found !== undefined && this.#store.get(WEBHOOK_SENDERS, DAEMON, found.value.owner) !== undefined) return false
    const value: Lease = { owner: this.#self }
    try {
      await this.#store.batch([{ kind: WEBHOOK_LEASES, scope, id: webhookId, value, ifVersion: found?.version ?? 0 }])
      return true
    } catch (error) {
      if (error instanceof VersionConflict) return false
      throw error
    }
  }

  /** Releases all leases, so that other daemons need not wait until they expire. */
  async release(): Promise<void> {
    if (this.#present === undefined) return
    await this.#store.batch([{ kind: WEBHOOK_SENDERS, scope: DAEMON, id: this.#self, value: undefined }])
  }

  async #beat(): Promise<void> {
    const { value } = this.#store.get(WEBHOOK_SENDERS, DAEMON, this.#self) ?? {}
    const next: Presence = { beat: (value?.beat ?? 0) + 1 }
    try {
      await this.#store.batch([{ kind: WEBHOOK_SENDERS, scope: DAEMON, id: this.#self, value: next }])
    } catch (error) {
      this.#present = undefined
      throw error
    }
  }

  /** Returns the daemons that stopped renewing. */
  #gone(): Stored<Presence>[] {
    const now = this.#clock.monotonic()
    const there = this.#store.list(WEBHOOK_SENDERS).filter(({ id }) => id !== this.#self)
    const seen = new Map(
      there.map(({ id, version }) => {
        const known = this.#seen.get(id)
        return [id, known?.version === version ? known : { version, at: now }]
      }),
    )
    this.#seen = seen
    return there.filter(({ id }) => now - (seen.get(id)?.at ?? now) >= LEASE_MS)
  }

  async #end({ id, version }: Stored<Presence>): Promise<void> {
    const write = { kind: WEBHOOK_SENDERS, scope: DAEMON, id, value: undefined, ifVersion: version }
    await this.#store.batch([write]).catch((error: unknown) => {
      // The daemon renewed it, or another one removed it first.
      if (!(error instanceof VersionConflict)) throw error
    })
  }
}

/** Highest random weight hashing: the daemon with the highest rank for a webhook takes it first. */
const rank = (daemon: string, webhookId: string): string =>
  createHash('sha1').update(`${daemon}/${webhookId}`).digest('hex')
