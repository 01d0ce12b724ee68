import { WEBHOOKS, type StoredWebhook } from '../core/model/webhook.js'
import type { Scope } from '../core/scope.js'
import type { Store } from '../core/store.js'
import { Breaker, type BreakerOptions } from './breaker.js'
import { DestinationOf, type DestinationDeps } from './destinations.js'
import { Health, WEBHOOK_HEALTH } from './health.js'
import { DeliveryQueue } from './delivery-queue.js'
import { longestDelay } from './retry-schedule.js'

/** A webhook with unfinished deliveries. */
export interface WebhookState {
  readonly queue: DeliveryQueue
  readonly destination: DestinationOf
  health: Health
  /** Time at which it is queued again; Infinity if none is scheduled. */
  wakeAt: number
  /** A request for its lease is in progress. */
  asking: boolean
  /** The webhook was deleted, so its waiting deliveries fail. */
  gone: boolean
}

export interface WebhookStateDeps extends DestinationDeps {
  readonly options: {
    readonly retry_schedule: readonly number[]
    readonly in_flight_per_destination: number
    readonly circuit_breaker: BreakerOptions
  }
}

/** Creates the state of a webhook with an empty queue that no daemon owns. */
export function newWebhookState(deps: WebhookStateDeps, scope: Scope, webhookId: string): WebhookState {
  const { in_flight_per_destination: max, circuit_breaker: breaker } = deps.options
  const target: WebhookState = {
    queue: new DeliveryQueue(scope, webhookId, new Breaker(breaker), max),
    destination: new DestinationOf(deps, scope, webhookId, max),
    health: healthOf(deps, scope, webhookId),
    wakeAt: Infinity,
    asking: false,
    gone: false,
  }
  follow(deps.store, target)
  return target
}

/** Updates the state from the stored webhook. */
export function follow(store: Store, target: WebhookState): void {
  const webhook: StoredWebhook | undefined = store.get(WEBHOOKS, target.queue.scope, target.queue.webhookId)?.value
  target.gone = webhook === undefined || webhook.deleted_at !== undefined
  target.queue.enabled = webhook?.status === 'enabled' && !target.gone
}

/** Returns the stored health of a webhook. */
export const healthOf = ({ store, options }: WebhookStateDeps, scope: Scope, webhookId: string): Health =>
  new Health(store.get(WEBHOOK_HEALTH, scope, webhookId)?.value, longestDelay(options.retry_schedule))
