import type { Scope } from '../core/scope.js'
import type { Deliveries, Tester, WebhookHealthState } from '../core/model/delivery.js'
import { StoredDeliveries, type DeliveryLimits } from './delivery-store.js'
import { WebhookSender, type SenderDeps, type SenderOptions } from './sender.js'
import { WEBHOOK_HEALTH } from './health.js'
import { WebhookSuccess } from './success.js'
import { WebhookTester } from './tester.js'

export type { SenderOptions } from './sender.js'

/** The part of the section `webhooks` of the configuration that concerns deliveries. */
export interface DeliveryConfig extends Omit<SenderOptions, 'in_flight_per_destination' | 'in_flight'> {
  readonly attempts: Pick<SenderOptions, 'in_flight_per_destination' | 'in_flight'>
  readonly quotas: { readonly pending: number; readonly pending_bytes: number }
}

const flat = new WeakMap<DeliveryConfig, SenderOptions>()

/** Returns the options in force, the same object for the same configuration. */
function optionsOf(config: DeliveryConfig): SenderOptions {
  let options = flat.get(config)
  if (options === undefined) {
    const { attempts: tries, ...more } = config
    flat.set(config, (options = { ...more, ...tries }))
  }
  return options
}

/** The stored deliveries and their sender. */
export interface Webhooks {
  readonly deliveries: Deliveries
  readonly tester: Tester
  /** Yields the webhooks whose circuit breaker is open. */
  openBreakers(): Iterable<{ readonly scope: Scope; readonly webhookId: string }>
  /** Yields the webhooks whose last attempt failed. */
  failing(): Iterable<{ readonly scope: Scope; readonly webhookId: string }>
  /** Returns how a webhook fares. */
  health(scope: Scope, webhookId: string): WebhookHealthState
  /** Attempts one waiting delivery now, also if the circuit breaker is open. Returns false if none waits on this machine. */
  tryNow(scope: Scope, webhookId: string): boolean
  close(): Promise<void>
}

/**
 * Starts to send accepted deliveries, including deliveries from before a restart. Each attempt uses the configuration
 * in force. Concurrency and circuit breaker of a webhook are fixed at its first delivery. `sharedAs` (see SenderDeps)
 * is stable over restarts, so that the daemon continues with its own deliveries immediately.
 */
export function startWebhooks(deps: Omit<SenderDeps, 'options'> & { readonly config: () => DeliveryConfig }): Webhooks {
  const { config, store, clock, metrics } = deps
  const limits = (): DeliveryLimits => {
    const { pending, pending_bytes } = config().quotas
    return { jobs: pending, bytes: pending_bytes }
  }
  const deliveries = new StoredDeliveries(store, clock, limits, metrics)
  const sender = new WebhookSender({
    ...deps,
    get options() {
      return optionsOf(config())
    },
  })
  deliveries.showInFlight((scope, id) => sender.isInFlight(scope, id))
  const success = new WebhookSuccess(store, clock)
  sender.start()
  return {
    deliveries,
    tester: new WebhookTester({ ...deps, timeoutMs: () => config().timeout }),
    openBreakers: () => sender.openBreakers(),
    *failing() {
      for (const { scope, id } of store.list(WEBHOOK_HEALTH)) yield { scope, webhookId: id }
    },
    tryNow: (scope, id) => sender.tryNow(scope, id),
    health(scope, id) {
      const since = store.get(WEBHOOK_HEALTH, scope, id)?.value.failing_since ?? null
      const queue = sender.queueOf(scope, id)
      const { isOpen = false, failures = 0, until = 0 } = queue?.breaker ?? {}
      const pauseMs = until - clock.monotonic()
      return {
        state: isOpen ? 'paused' : since === null ? 'healthy' : 'failing',
        failing_since: since,
        failures,
        next_try_at: isOpen ? new Date(clock.now() + Math.max(0, pauseMs)).toISOString() : null,
        waiting: queue?.size ?? 0,
        success: success.of(scope, id),
      }
    },
    async close() {
      success.close()
      await sender.close()
      await deliveries.close()
    },
  }
}
