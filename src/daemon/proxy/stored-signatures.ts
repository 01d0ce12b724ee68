import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { SPENT_SIGNATURES } from '../../core/model/spent-signature.js'
import { DAEMON } from '../../core/scope.js'
import { changesOf, VersionConflict, type Store, type Write } from '../../core/store.js'
import {
  MAX_SPENT,
  SPENT_GRACE_SECONDS,
  type SpentSignatures,
  type Unspendable,
} from '../../edge/agents/spent-signatures.js'

const SWEEP_MS = 60_000
/** Deletions of one write. */
const MAX_WRITES = 500

/**
 * Signatures that have paid, as records of the store: for all processes of the daemon, after a restart, and for all machines
 * with the same store. A signature is recorded only if it has no record yet, so it pays once.
 */
export class StoredSignatures implements SpentSignatures {
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: Log
  /** Ids by the minute in which the signature is forgotten. */
  readonly #byMinute = new Map<number, Set<string>>()
  readonly #unwatch: () => void
  readonly #closing = new AbortController()
  readonly #sweeping: Promise<void>

  constructor({ store, clock, log }: { store: Store; clock: Clock; log: Log }) {
    this.#store = store
    this.#clock = clock
    this.#log = log
    for (const { id, value } of store.list(SPENT_SIGNATURES)) this.#add(id, value.expires)
    this.#unwatch = store.watch((changes) => {
      for (const { id, value } of changesOf(SPENT_SIGNATURES, changes)) if (value) this.#add(id, value.expires)
    })
    this.#sweeping = this.#sweepAlways()
  }

  async spend(id: string, expires: number): Promise<Unspendable | undefined> {
    if (this.#store.get(SPENT_SIGNATURES, DAEMON, id)) return 'used'
    if (this.#store.count(SPENT_SIGNATURES) >= MAX_SPENT) return 'full'
    try {
      await this.#store.batch([{ kind: SPENT_SIGNATURES, scope: DAEMON, id, value: { expires }, ifVersion: 0 }])
      return undefined
    } catch (error) {
      if (error instanceof VersionConflict) return 'used'
      throw error
    }
  }

  async release(id: string): Promise<void> {
    await this.#store.batch([deletion(id)])
  }

  async close(): Promise<void> {
    this.#unwatch()
    this.#closing.abort()
    await this.#sweeping
  }

  #add(id: string, expires: number): void {
    const minute = minuteOf(expires)
    const ids = this.#byMinute.get(minute)
    if (ids) ids.add(id)
    else this.#byMinute.set(minute, new Set([id]))
  }

  async #sweepAlways(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      await this.#sweep().catch((error: unknown) =>
        this.#log.warn({ event: 'spent_signatures_not_deleted', reason: messageOf(error) }),
      )
      await this.#clock.sleep(SWEEP_MS, signal).catch(() => undefined)
    }
  }

  /** Deletes the signatures that no request can pay with any more. */
  async #sweep(): Promise<void> {
    const now = minuteOf(this.#clock.now() / 1000 - SPENT_GRACE_SECONDS)
    for (const [minute, ids] of this.#byMinute) {
      if (minute >= now) continue
      const old = [...ids]
      for (let at = 0; at < old.length; at += MAX_WRITES) {
        const some = old.slice(at, at + MAX_WRITES)
        const stored = some.filter((id) => this.#store.get(SPENT_SIGNATURES, DAEMON, id))
        if (stored.length > 0) await this.#store.batch(stored.map(deletion))
        for (const id of some) ids.delete(id)
      }
      if (ids.size === 0) this.#byMinute.delete(minute)
    }
  }
}

const minuteOf = (seconds: number): number => Math.floor(seconds / 60)

const deletion = (id: string): Write => ({ kind: SPENT_SIGNATURES, scope: DAEMON, id, value: undefined })
