import type { Deliveries, Tester } from '../core/model/delivery.js'
import { StoredDeliveries, type DeliveryLimits } from './delivery-store.js'
import { WebhookSender, type SenderDeps, type SenderOptions } from './sender.js'
import { WebhookTester } from './tester.js'

export type { SenderOptions } from './sender.js'

/** The section `webhooks` of the configuration, as far as deliveries go. */
export interface DeliveryConfig extends Omit<SenderOptions, 'in_flight_per_destination' | 'in_flight'> {
  readonly attempts: Pick<SenderOptions, 'in_flight_per_destination' | 'in_flight'>
  readonly quotas: { readonly pending: number; readonly pending_bytes: number }
}

const flat = new WeakMap<DeliveryConfig, SenderOptions>()

/** The options in force; the same object as long as the configuration is the same. */
function optionsOf(config: DeliveryConfig): SenderOptions {
  let options = flat.get(config)
  if (options === undefined) {
    const { attempts: tries, ...more } = config
    flat.set(config, (options = { ...more, ...tries }))
  }
  return options
}

/** The queue of deliveries, and what empties it. */
export interface Webhooks {
  readonly deliveries: Deliveries
  readonly tester: Tester
  close(): Promise<void>
}

/**
 * Begins to send what is accepted, and what is left from before. The configuration in force counts for each try; what
 * concerns a webhook's lane (places, breaker) as it was when the webhook was first sent to. `sharedAs`: see
 * SenderDeps; the same after a restart, so that the daemon goes on at once with what it was to send.
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
  deliveries.showUnderWay((scope, id) => sender.isUnderWay(scope, id))
  sender.start()
  return {
    deliveries,
    tester: new WebhookTester({ ...deps, timeoutMs: () => config().timeout }),
    async close() {
      await sender.close()
      await deliveries.close()
    },
  }
}
