import { Counter } from 'prom-client'
import type { Clock } from '../core/clock.js'
import type { Metrics } from '../core/metrics/metrics.js'
import {
  DELIVERIES,
  DELIVERY_STATES,
  kindOf,
  type Deliveries,
  type Delivery,
  type DeliveryState,
  type Job,
  type JobFilter,
  type RetryResult,
  type Together,
  type Try,
} from '../core/model/delivery.js'
import type { Scope } from '../core/scope.js'
import { timeOf } from '../core/model/finding.js'
import { stateOf } from './delivery-state.js'
import { GroupedWrites } from './grouped-writes.js'
import { VersionConflict, type Change, type Store, type Write } from '../core/store.js'

/** Jobs that one batch of a bulk retry changes. */
const MAX_IN_BATCH = 500
/** Calls with more writes are stored in a separate batch. */
const MAX_GROUPED = 100

/** Limits of the waiting deliveries of an account. */
export interface DeliveryLimits {
  readonly jobs: number
  /** Bytes of payloads. */
  readonly bytes: number
}

/** Counts of the deliveries of one account. */
interface DeliveryCount {
  /** Payload bytes of each unfinished delivery. */
  readonly waiting: Map<string, number>
  bytes: number
  /** Ids of the newest delivery to each webhook, by instance. */
  readonly latest: Map<string, string[]>
  /** Instance of each delivery. */
  readonly instances: Map<string, string>
}

/**
 * Deliveries in the store. One record has the accepted delivery, and one has its state after the first attempt. The
 * counts follow the store, so they are correct with several machines on one store.
 */
export class StoredDeliveries implements Deliveries {
  readonly #store: Store
  readonly #clock: Clock
  readonly #limits: () => DeliveryLimits
  readonly #accepted: Counter
  readonly #countsByAccount = new Map<string, DeliveryCount>()
  #isInFlight: (scope: Scope, id: string) => boolean = () => false
  readonly #stop: () => void
  readonly #grouped: GroupedWrites

  constructor(store: Store, clock: Clock, limits: () => DeliveryLimits, metrics: Metrics) {
    this.#store = store
    this.#grouped = new GroupedWrites(store)
    this.#clock = clock
    this.#limits = limits
    this.#accepted = new Counter({
      name: 'edged_webhook_deliveries_accepted_total',
      help: 'Webhook deliveries accepted by this daemon.',
      registers: [metrics],
    })
    for (const { scope, id, value } of store.list(DELIVERIES)) {
      this.#count(scope, id, value)
      this.#follow(scope, id, stateOf(store, scope, id))
    }
    this.#stop = store.watch((changes) => this.#seen(changes))
  }

  /** Sets the predicate for deliveries in flight. They are shown as `processing`, which is not stored. */
  showInFlight(isInFlight: (scope: Scope, id: string) => boolean): void {
    this.#isInFlight = isInFlight
  }

  room(scope: Scope): number {
    const { jobs, bytes } = this.#limits()
    const accountCount = this.#countsByAccount.get(scope.id)
    if (!accountCount) return jobs
    return accountCount.bytes >= bytes ? 0 : Math.max(0, jobs - accountCount.waiting.size)
  }

  async accept(
    scope: Scope,
    deliveries: readonly Delivery[],
    { writes = [], audit = [] }: Together = {},
  ): Promise<void> {
    const made = deliveries.map(
      // The store uses frozen values unchanged, and parses others again.
      (delivery): Write => ({ kind: DELIVERIES, scope, id: delivery.id, value: Object.freeze(delivery), ifVersion: 0 }),
    )
    if (writes.length > 0 || audit.length > 0 || made.length > MAX_GROUPED)
      await this.#store.batch([...writes, ...made], audit)
    else await this.#storeGrouped(made)
    this.#accepted.inc(deliveries.length)
  }

  /** Stores the deliveries of concurrent calls in one batch. */
  async #storeGrouped(made: readonly Write[]): Promise<void> {
    try {
      await this.#grouped.write(made)
    } catch (error) {
      if (!(error instanceof VersionConflict)) throw error
      // One call of the group conflicts, and nothing of the group is stored. Each call is decided separately.
      await this.#store.batch(made)
    }
  }

  get(scope: Scope, id: string): Job | undefined {
    const delivery = this.#store.get(DELIVERIES, scope, id)?.value
    const state = this.#state(scope, id)
    return delivery && state && { delivery, state }
  }

  list(scope: Scope, filter: JobFilter, from: number, max: number): { jobs: Job[]; total: number } {
    const jobs: Job[] = []
    let total = 0
    const all = this.#store.list(DELIVERIES, scope)
    const fits = matcher(filter)
    // Ids sort by time, the oldest first.
    for (let at = all.length - 1; at >= 0; at -= 1) {
      const delivery = all[at]?.value
      if (!delivery || !fits(delivery)) continue
      const state = this.#state(scope, delivery.id)
      if (!state || (filter.status !== undefined && state.status !== filter.status)) continue
      if (total >= from && jobs.length < max) jobs.push({ delivery, state })
      total += 1
    }
    return { jobs, total }
  }

  latest(scope: Scope, instanceId: string): Job[] {
    const ids = this.#countsByAccount.get(scope.id)?.latest.get(instanceId) ?? []
    return ids.flatMap((id) => this.get(scope, id) ?? [])
  }

  async retry(scope: Scope, id: string): Promise<Job | undefined> {
    const now = new Date(this.#clock.now()).toISOString()
    let again = false
    await this.#store.change(DELIVERY_STATES, scope, id, (old): DeliveryState | undefined => {
      again = isOver(old)
      return old && again ? retried(old, now) : old
    })
    return again ? this.get(scope, id) : undefined
  }

  async retryAll(
    scope: Scope,
    { status, ...filter }: JobFilter,
    isEnabled: (webhookId: string) => boolean,
    { countOnly = false }: { readonly countOnly?: boolean } = {},
  ): Promise<RetryResult> {
    const result = { retried: 0, pending: 0, disabled: 0, over_limit: 0 }
    const fits = matcher(filter)
    const ids: string[] = []
    for (const { id, value } of this.#store.list(DELIVERIES, scope)) {
      const state = fits(value) ? this.#state(scope, id) : undefined
      if (!state || (status !== undefined && state.status !== status)) continue
      if (!isOver(state)) result.pending += 1
      else if (isEnabled(value.webhook_id)) ids.push(id)
      else result.disabled += 1
    }
    if (countOnly) {
      const room = Math.min(ids.length, this.room(scope))
      return { ...result, retried: room, over_limit: ids.length - room }
    }
    for (let from = 0; from < ids.length; from += MAX_IN_BATCH) {
      const some = ids.slice(from, Math.min(from + MAX_IN_BATCH, from + this.room(scope)))
      const done = await this.#retrySome(scope, some)
      result.retried += done
      result.pending += some.length - done
      if (some.length < MAX_IN_BATCH) {
        result.over_limit = Math.max(0, ids.length - from - some.length)
        break
      }
    }
    return result
  }

  async tested(scope: Scope, delivery: Delivery, attempt: Try): Promise<void> {
    const { id } = delivery
    const state: DeliveryState = {
      status: attempt.error === null ? 'completed' : 'failed',
      last_updated_at: new Date(this.#clock.now()).toISOString(),
      tries: [attempt],
      attempts: 1,
    }
    await this.#store.batch([
      { kind: DELIVERIES, scope, id, value: delivery, ifVersion: 0 },
      { kind: DELIVERY_STATES, scope, id, value: state },
    ])
  }

  /** Retries the jobs that are over, and returns their number. */
  async #retrySome(scope: Scope, ids: readonly string[]): Promise<number> {
    const now = new Date(this.#clock.now()).toISOString()
    const writes = ids.flatMap((id): Write[] => {
      const stored = this.#store.get(DELIVERY_STATES, scope, id)
      if (!stored || !isOver(stored.value)) return []
      return [{ kind: DELIVERY_STATES, scope, id, value: retried(stored.value, now), ifVersion: stored.version }]
    })
    try {
      if (writes.length > 0) await this.#store.batch(writes)
      return writes.length
    } catch (error) {
      if (!(error instanceof VersionConflict)) throw error
      // Another request or daemon changed a job, so each job is decided separately.
      const jobs = await Promise.all(ids.map(async (id) => await this.retry(scope, id)))
      return jobs.filter((job) => job !== undefined).length
    }
  }

  async close(): Promise<void> {
    this.#stop()
  }

  #state(scope: Scope, id: string): DeliveryState | undefined {
    const state = stateOf(this.#store, scope, id)
    return state?.status === 'pending' && this.#isInFlight(scope, id) ? { ...state, status: 'processing' } : state
  }

  #seen(changes: readonly Change[]): void {
    for (const change of changes) {
      const { kind, scope, id } = change
      if (kind === DELIVERIES.name) {
        this.#count(scope, id, change.value as Delivery | undefined)
        this.#follow(scope, id, stateOf(this.#store, scope, id))
      } else if (kind === DELIVERY_STATES.name) this.#follow(scope, id, change.value as DeliveryState | undefined)
    }
  }

  #count(scope: Scope, id: string, delivery: Delivery | undefined): void {
    const { latest, instances } = this.#accountCount(scope)
    if (!delivery) {
      const instance = instances.get(id) ?? ''
      const left = latest.get(instance)?.filter((newest) => newest !== id) ?? []
      if (left.length > 0) latest.set(instance, left)
      else latest.delete(instance)
      instances.delete(id)
      return
    }
    const { finding_instance_id: instance, webhook_id: webhook } = delivery
    instances.set(id, instance)
    const ids = latest.get(instance)
    const at = ids?.findIndex((one) => this.#store.get(DELIVERIES, scope, one)?.value.webhook_id === webhook) ?? -1
    if (!ids) latest.set(instance, [id])
    else if (at < 0) ids.push(id)
    else if (ids[at]! < id) ids[at] = id
  }

  #follow(scope: Scope, id: string, state: DeliveryState | undefined): void {
    const accountCount = this.#accountCount(scope)
    const known = accountCount.waiting.get(id)
    const waits = state?.status === 'pending' || state?.status === 'processing'
    if (waits === (known !== undefined)) return
    if (waits) {
      const bytes = Buffer.byteLength(this.#store.get(DELIVERIES, scope, id)?.value.payload ?? '')
      accountCount.waiting.set(id, bytes)
      accountCount.bytes += bytes
    } else {
      accountCount.waiting.delete(id)
      accountCount.bytes -= known ?? 0
    }
  }

  #accountCount({ id }: Scope): DeliveryCount {
    const known = this.#countsByAccount.get(id)
    if (known) return known
    const accountCount: DeliveryCount = { waiting: new Map(), bytes: 0, latest: new Map(), instances: new Map() }
    this.#countsByAccount.set(id, accountCount)
    return accountCount
  }
}

const isOver = (state: DeliveryState | undefined): boolean =>
  state?.status === 'completed' || state?.status === 'failed'

/** Returns the new state of a job that is over and is retried now. */
function retried({ tries, attempts = 0, earlier_attempts: earlier = 0 }: DeliveryState, now: string): DeliveryState {
  return { status: 'pending', last_updated_at: now, tries, earlier_attempts: earlier + attempts, due_at: now }
}

/** Returns a predicate for the members of a filter that concern the delivery itself. */
function matcher({ kind, webhook_id, finding_instance_id, since, until }: Omit<JobFilter, 'status'>) {
  const from = since === undefined ? undefined : timeOf(since)
  const to = until === undefined ? undefined : timeOf(until)
  return (delivery: Delivery): boolean =>
    (kind === undefined ? delivery.kind !== 'test' : kindOf(delivery) === kind) &&
    (webhook_id === undefined || delivery.webhook_id === webhook_id) &&
    (finding_instance_id === undefined || delivery.finding_instance_id === finding_instance_id) &&
    (from === undefined || Date.parse(delivery.created_at) >= from) &&
    (to === undefined || Date.parse(delivery.created_at) < to)
}
