import { AgeClock } from '../core/age-clock.js'
import type { Clock } from '../core/clock.js'
import { DELIVERIES, DELIVERY_STATES } from '../core/model/delivery.js'
import type { Scope } from '../core/scope.js'
import { VersionConflict, type Store, type Write } from '../core/store.js'

/** Limits of finished deliveries. Beyond the limits, the oldest are deleted. */
export interface RetentionOptions {
  /** Finished deliveries per account. */
  readonly jobs: number
  /** Milliseconds since the last attempt. */
  readonly age: number
}

const MAX_BATCH_SIZE = 250

/** Deletes finished deliveries beyond a number or age. */
export class Retention {
  readonly #store: Store
  readonly #ages: AgeClock
  readonly #options: () => RetentionOptions

  /** `options` returns the options in force. */
  constructor(store: Store, clock: Clock, options: () => RetentionOptions) {
    this.#store = store
    this.#ages = new AgeClock(clock)
    this.#options = options
  }

  async forget(): Promise<void> {
    const scopes = new Map<string, Scope>()
    for (const { scope } of this.#store.list(DELIVERIES)) scopes.set(scope.id, scope)
    for (const scope of scopes.values()) await this.#forget(scope)
  }

  async #forget(scope: Scope): Promise<void> {
    const { jobs, age } = this.#options()
    const old = new Date(this.#ages.now() - age).toISOString()
    const over = this.#store
      .list(DELIVERY_STATES, scope)
      .filter(({ value }) => value.status === 'completed' || value.status === 'failed')
    // Sorted by id, which is the order of acceptance.
    const gone = over.filter(({ value }, index) => index < over.length - jobs || value.last_updated_at < old)
    for (let at = 0; at < gone.length; at += MAX_BATCH_SIZE) {
      const writes = gone.slice(at, at + MAX_BATCH_SIZE).flatMap(({ id, version }): Write[] => [
        { kind: DELIVERIES, scope, id, value: undefined },
        { kind: DELIVERY_STATES, scope, id, value: undefined, ifVersion: version },
      ])
      try {
        await this.#store.batch(writes)
      } catch (error) {
        // A retry or another daemon changed a delivery. The next round deletes the rest.
        if (!(error instanceof VersionConflict)) throw error
      }
    }
  }
}
