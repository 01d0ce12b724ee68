import type { Clock } from '../core/clock.js'
import { DELIVERIES, DELIVERY_STATES, type DeliveryState, type Try } from '../core/model/delivery.js'
import type { Scope } from '../core/scope.js'
import type { Change, Store } from '../core/store.js'

const HOUR_MS = 3_600_000
const HOURS = 24

/** Successful and failed attempts of one hour. */
export type HourOfAttempts = readonly [ok: number, failed: number]

interface Counts {
  /** By hour since 1970, modulo the number of hours. */
  readonly hours: Int32Array
  readonly ok: Int32Array
  readonly failed: Int32Array
}

/** Counts the attempts of each webhook in the last 24 hours, of all machines. Follows the store. */
export class WebhookSuccess {
  readonly #store: Store
  readonly #clock: Clock
  readonly #counts = new Map<string, Counts>()
  readonly #stop: () => void

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
    for (const { scope, id, value } of store.list(DELIVERY_STATES))
      for (const attempt of value.tries) this.#add(scope, id, attempt)
    this.#stop = store.watch((changes) => this.#seen(changes))
  }

  /** Returns the attempts of the last 24 hours, the current hour at the end. */
  of(scope: Scope, webhookId: string): HourOfAttempts[] {
    const counts = this.#counts.get(keyOf(scope, webhookId))
    const now = Math.floor(this.#clock.now() / HOUR_MS)
    return Array.from({ length: HOURS }, (_, at) => {
      const hour = now - HOURS + 1 + at
      const place = hour % HOURS
      return counts && counts.hours[place] === hour ? [counts.ok[place]!, counts.failed[place]!] : [0, 0]
    })
  }

  close(): void {
    this.#stop()
  }

  #seen(changes: readonly Change[]): void {
    for (const { kind, scope, id, value } of changes) {
      if (kind !== DELIVERY_STATES.name || value === undefined) continue
      const { attempts, tries, failure_details: details } = value as DeliveryState
      const last = tries.at(-1)
      // Without a number of attempts it waits for a retry by hand; without a status it failed without an attempt.
      if (attempts === undefined || !last || (details && details['status_code'] === undefined)) continue
      this.#add(scope, id, last)
    }
  }

  #add(scope: Scope, id: string, { at, error }: Try): void {
    const delivery = this.#store.get(DELIVERIES, scope, id)?.value
    if (!delivery || delivery.kind === 'test') return
    const hour = Math.floor(Date.parse(at) / HOUR_MS)
    if (!(hour > Math.floor(this.#clock.now() / HOUR_MS) - HOURS)) return
    const key = keyOf(scope, delivery.webhook_id)
    let counts = this.#counts.get(key)
    if (!counts) {
      counts = { hours: new Int32Array(HOURS), ok: new Int32Array(HOURS), failed: new Int32Array(HOURS) }
      this.#counts.set(key, counts)
    }
    const place = hour % HOURS
    if (counts.hours[place] !== hour) {
      counts.hours[place] = hour
      counts.ok[place] = 0
      counts.failed[place] = 0
    }
    const row = error === null ? counts.ok : counts.failed
    row[place]!++
  }
}

const keyOf = (scope: Scope, webhookId: string): string => `${scope.id}/${webhookId}`
