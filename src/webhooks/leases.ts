import type { Clock } from '../core/clock.js'
import { kind, VersionConflict, type Store } from '../core/store.js'
import type { Scope } from '../core/scope.js'

/** Which daemon sends the deliveries of a webhook. Scope: the account; id: the webhook's. */
interface Lease {
  readonly owner: string
  /** Grows with each renewal. */
  readonly beat: number
}

export const WEBHOOK_LEASES = kind<Lease>('webhook_lease')

export const RENEW_MS = 5000
/** A lease that has not been renewed for so long is anyone's. */
export const LEASE_MS = 15_000

interface Seen {
  readonly version: number
  readonly at: number
}

/**
 * Says which of several daemons on one store sends for a webhook: first come, and another one once the owner has not been
 * heard of for {@link LEASE_MS}. That is told by the record not changing while this daemon looks at it, so it takes no
 * clock that machines agree on.
 */
export class Leases {
  readonly #store: Store
  readonly #clock: Clock
  readonly #owner: string
  readonly #seen = new Map<string, Seen>()

  constructor(store: Store, clock: Clock, owner: string) {
    this.#store = store
    this.#clock = clock
    this.#owner = owner
  }

  /** Takes or renews a lease. False: it is another daemon's, or the store takes no writes now. */
  async hold(scope: Scope, webhookId: string): Promise<boolean> {
    const found = this.#store.get(WEBHOOK_LEASES, scope, webhookId)
    if (found !== undefined && found.value.owner !== this.#owner && !this.#isStale(scope, webhookId, found.version))
      return false
    const value: Lease = { owner: this.#owner, beat: (found?.value.beat ?? 0) + 1 }
    try {
      await this.#store.batch([{ kind: WEBHOOK_LEASES, scope, id: webhookId, value, ifVersion: found?.version ?? 0 }])
      return true
    } catch (error) {
      if (error instanceof VersionConflict) return false
      throw error
    }
  }

  /** Gives a lease back, so that another daemon need not wait for its end. */
  async release(scope: Scope, webhookId: string): Promise<void> {
    this.#seen.delete(keyOf(scope, webhookId))
    const found = this.#store.get(WEBHOOK_LEASES, scope, webhookId)
    if (found?.value.owner !== this.#owner) return
    const write = { kind: WEBHOOK_LEASES, scope, id: webhookId, value: undefined, ifVersion: found.version }
    await this.#store.batch([write]).catch((error: unknown) => {
      if (!(error instanceof VersionConflict)) throw error
    })
  }

  #isStale(scope: Scope, webhookId: string, version: number): boolean {
    const key = keyOf(scope, webhookId)
    const now = this.#clock.monotonic()
    const seen = this.#seen.get(key)
    if (seen === undefined || seen.version !== version) {
      this.#seen.set(key, { version, at: now })
      return false
    }
    return now - seen.at >= LEASE_MS
  }
}

const keyOf = (scope: Scope, webhookId: string) => `${scope.id}/${webhookId}`
