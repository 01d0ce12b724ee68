import { WEBHOOKS, type StoredWebhook } from '../core/model/webhook.js'
import type { Scope } from '../core/scope.js'
import type { Store } from '../core/store.js'
import { Breaker, type BreakerOptions } from './breaker.js'
import { DestinationOf, type DestinationDeps } from './destinations.js'
import { Health, WEBHOOK_HEALTH } from './health.js'
import { Lane } from './delivery-queue.js'
import { longestDelay } from './retry-schedule.js'

/** A webhook with deliveries that are not over. */
export interface Target {
  readonly lane: Lane
  readonly destination: DestinationOf
  health: Health
  /** When it is queued again at the latest; Infinity: not by time. */
  wakeAt: number
  /** Its lease is being asked for. */
  asking: boolean
  /** The webhook was deleted: what waits for it fails. */
  gone: boolean
}

export interface TargetDeps extends DestinationDeps {
  readonly options: {
    readonly retry_schedule: readonly number[]
    readonly per_destination: number
    readonly breaker: BreakerOptions
  }
}

/** A target with nothing in its lane, which is nobody's yet. */
export function newTarget(deps: TargetDeps, scope: Scope, webhookId: string): Target {
  const { per_destination: most, breaker } = deps.options
  const target: Target = {
    lane: new Lane(scope, webhookId, new Breaker(breaker), most),
    destination: new DestinationOf(deps, scope, webhookId, most),
    health: healthOf(deps, scope, webhookId),
    wakeAt: Infinity,
    asking: false,
    gone: false,
  }
  follow(deps.store, target)
  return target
}

/** Takes over what the store says of a target's webhook. */
export function follow(store: Store, target: Target): void {
  const webhook: StoredWebhook | undefined = store.get(WEBHOOKS, target.lane.scope, target.lane.webhookId)?.value
  target.gone = webhook === undefined || webhook.deleted_at !== undefined
  target.lane.enabled = webhook?.status === 'enabled' && !target.gone
}

/** How a webhook has fared so far, as the store knows it. */
export const healthOf = ({ store, options }: TargetDeps, scope: Scope, webhookId: string): Health =>
  new Health(store.get(WEBHOOK_HEALTH, scope, webhookId)?.value, longestDelay(options.retry_schedule))
