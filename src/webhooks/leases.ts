import { createHash } from 'node:crypto'
import type { Clock } from '../core/clock.js'
import { kind, VersionConflict, type Store, type Stored } from '../core/store.js'
import { DAEMON, type Scope } from '../core/scope.js'

/** Which daemon sends the deliveries of a webhook. Scope: the account; id: the webhook's. */
interface Lease {
  readonly owner: string
}

/** That a daemon is there to send. Scope: that of daemons; id: the daemon's. */
interface Presence {
  /** Grows with each renewal. */
  readonly beat: number
}

export const WEBHOOK_LEASES = kind<Lease>('webhook_lease')
export const WEBHOOK_SENDERS = kind<Presence>('webhook_sender')

export const RENEW_MS = 5000
/** The leases of a daemon that has not been heard of for so long are anyone's. */
export const LEASE_MS = 15_000

interface Seen {
  readonly version: number
  readonly at: number
}

/**
 * Says which of several daemons on one store sends for a webhook: first come, and another one once the owner is gone. A
 * daemon is there while there is its record; the others remove that when it has not changed for {@link LEASE_MS} while
 * they looked at it, which takes no clock that machines agree on. So a daemon renews one record, however many webhooks it
 * sends for.
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

  /** Renews all leases of this daemon, and ends those of daemons that are gone. */
  async renew(): Promise<void> {
    this.#present = this.#beat()
    await Promise.all([this.#present, ...this.#gone().map(async (daemon) => await this.#end(daemon))])
  }

  /** Whether the lease of a webhook is this daemon's. */
  isHeld(scope: Scope, webhookId: string): boolean {
    return this.#store.get(WEBHOOK_LEASES, scope, webhookId)?.value.owner === this.#self
  }

  /** Whether a free lease is for this daemon to take first: each of those that are there has an equal share of all webhooks. */
  isFirst(webhookId: string): boolean {
    const own = rank(this.#self, webhookId)
    return this.#store.list(WEBHOOK_SENDERS).every(({ id }) => id === this.#self || rank(id, webhookId) < own)
  }

  /** Takes a lease that is free. False: it is another daemon's. */
  async hold(scope: Scope, webhookId: string): Promise<boolean> {
    // Whoever holds a lease must be seen to be there.
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

  /** Gives all leases back, so that other daemons need not wait for their end. */
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

  /** Daemons whose record has not changed for long. */
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
      // It is there after all, or another daemon was faster.
      if (!(error instanceof VersionConflict)) throw error
    })
  }
}

/** Highest random weight: the daemon with the highest rank for a webhook comes first, and each is that for its share. */
const rank = (daemon: string, webhookId: string): string =>
  createHash('sha1').update(`${daemon}/${webhookId}`).digest('hex')
