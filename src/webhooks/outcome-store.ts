import type { Clock } from '../core/clock.js'
import type { Log } from '../core/log.js'
import { DELIVERY_STATES, type Delivery, type DeliveryState } from '../core/model/delivery.js'
import type { Store, Write } from '../core/store.js'
import { stateOf } from './delivery-state.js'
import { disableWebhook } from './disable.js'
import { GroupedWrites } from './grouped-writes.js'
import { WEBHOOK_HEALTH } from './health.js'
import { WEBHOOK_LEASES } from './lease-kinds.js'
import { abandoned, outcomeOf } from './outcome.js'
import type { PostResult } from './http-post.js'
import type { SenderMetrics } from './sender-metrics.js'
import type { WebhookState } from './webhook-state.js'

export interface LedgerDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly options: { readonly retry_schedule: readonly number[]; readonly disable_after: number }
  readonly random?: () => number
}

/** Minimum time between two writes of the state of a failing webhook. */
const SAVE_HEALTH_MS = 10 * 60_000
const MAX_BATCH_SIZE = 500

/** Stores the outcomes of attempts and the health of webhooks. */
export class OutcomeStore {
  readonly #deps: LedgerDeps
  readonly #metrics: SenderMetrics
  /** Waits while the store is unavailable, so that a delivery is not sent again because of a full disk. */
  readonly #writes: GroupedWrites

  /** After `closing` aborts, writes to an unavailable store reject. */
  constructor(deps: LedgerDeps, metrics: SenderMetrics, closing: AbortSignal) {
    this.#deps = deps
    this.#metrics = metrics
    this.#writes = new GroupedWrites(deps.store, { clock: deps.clock, closing })
  }

  /**
   * Stores the outcome of an attempt that went to `url`. Resolves with the time of the next attempt, or undefined if the
   * delivery is over. Rejects if the outcome cannot be stored.
   */
  async settle(
    target: WebhookState,
    { id }: Delivery,
    before: DeliveryState,
    result: PostResult,
    url: string | undefined,
  ): Promise<number | undefined> {
    const { clock, options, random = Math.random } = this.#deps
    const schedule = options.retry_schedule
    const { state, againAfter, gone } = outcomeOf(before, result, { schedule, now: clock.now(), random })
    const delivered = state.status === 'completed'
    const now = clock.monotonic()
    this.#metrics.tries.observe(result.durationMs / 1000)
    this.#metrics.ended(delivered ? 'delivered' : againAfter === undefined ? 'failed' : 'retried')

    const { queue, health } = target
    if (delivered) queue.breaker.succeeded()
    else queue.breaker.failed(now)
    await this.#writes.write([
      { kind: DELIVERY_STATES, scope: queue.scope, id, value: state },
      ...this.#healthWrites(target, delivered, now),
    ])
    if (gone) await this.#disable(target, 'the destination responded with 410 Gone', url)
    else if (options.disable_after > 0 && health.failingMs >= options.disable_after)
      await this.#disable(target, 'no delivery succeeded within webhooks.disable_after')
    return againAfter === undefined ? undefined : now + againAfter
  }

  /** Fails the waiting deliveries of a deleted webhook. Attempts in flight continue. */
  async abandon({ queue }: WebhookState): Promise<void> {
    const { store, clock } = this.#deps
    const { scope, webhookId } = queue
    const waiting = [...queue.ids()].filter((id) => !queue.isInFlight(id))
    const writes = waiting.flatMap((id): Write[] => {
      queue.forget(id)
      const state = stateOf(store, scope, id)
      if (state === undefined) return []
      this.#metrics.ended('failed')
      return [{ kind: DELIVERY_STATES, scope, id, value: abandoned(state, 'the webhook was deleted', clock.now()) }]
    })
    for (const kind of [WEBHOOK_HEALTH, WEBHOOK_LEASES])
      if (queue.size === 0 && store.get<unknown>(kind, scope, webhookId) !== undefined)
        writes.push({ kind, scope, id: webhookId, value: undefined })
    for (let at = 0; at < writes.length; at += MAX_BATCH_SIZE)
      await this.#writes.write(writes.slice(at, at + MAX_BATCH_SIZE))
  }

  #healthWrites({ queue: { scope, webhookId: id }, health }: WebhookState, delivered: boolean, now: number): Write[] {
    const { clock, store } = this.#deps
    if (delivered) {
      const stored = health.isFailing
      health.succeeded()
      return stored ? [{ kind: WEBHOOK_HEALTH, scope, id, value: undefined }] : []
    }
    health.failed(now)
    if (!health.needsSaving(SAVE_HEALTH_MS)) return []
    health.saved()
    const since = store.get(WEBHOOK_HEALTH, scope, id)?.value.failing_since
    const value = { failing_since: since ?? new Date(clock.now()).toISOString(), failing_ms: health.failingMs }
    return [{ kind: WEBHOOK_HEALTH, scope, id, value }]
  }

  /** Disables a webhook and resets its failing time, so that it starts from zero once it is enabled again. */
  async #disable({ queue: { scope, webhookId }, health }: WebhookState, reason: string, url?: string): Promise<void> {
    const { store, clock, log } = this.#deps
    health.succeeded()
    await this.#writes.write([{ kind: WEBHOOK_HEALTH, scope, id: webhookId, value: undefined }])
    if (await disableWebhook(store, { scope, id: webhookId }, { reason, now: clock.now(), url }))
      log.warn({ event: 'webhook_disabled', webhook: webhookId, account: scope.id, reason }, 'a webhook was disabled')
  }
}
