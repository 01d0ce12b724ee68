import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { systemClock, type Clock } from '../../src/core/clock.js'
import { newOrderedUuid, newUuid } from '../../src/core/ids.js'
import { silentLog } from '../../src/core/log.js'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import type { Delivery, DeliveryState } from '../../src/core/model/delivery.js'
import { WEBHOOKS, type StoredWebhook } from '../../src/core/model/webhook.js'
import { account } from '../../src/core/scope.js'
import type { Store } from '../../src/core/store.js'
import { secretOf } from '../../src/core/vault.js'
import type { Egress } from '../../src/egress/egress.js'
import { Keyring } from '../../src/store/secrets/keyring.js'
import { openMemory } from '../../src/store/memory.js'
import { StoredDeliveries } from '../../src/webhooks/delivery-store.js'
import { stateOf } from '../../src/webhooks/delivery-state.js'
import { WebhookSender, type SenderOptions } from '../../src/webhooks/sender.js'
import { Receiver, type Responding } from '../helpers/receiver.js'

export const ACCOUNT = account('a'.repeat(32))
const vault = new Keyring([randomBytes(32)])

const OPTIONS: SenderOptions = {
  retry_schedule: [5000, 300_000, 1_800_000],
  timeout: 20_000,
  in_flight_per_destination: 4,
  in_flight: 64,
  circuit_breaker: { failures: 10, open_for: 30_000, max_open_for: 900_000 },
  disable_after: 432_000_000,
  drain_timeout: 1000,
  retention: { jobs: 10_000, age: 86_400_000 },
}

export const memory = (clock: Clock): Store =>
  openMemory({ folder: '', log: silentLog, clock, retention: { entries: 1000 } })

/** A sender on a store, and operations of the tests on both. */
export class Workbench {
  readonly store: Store
  readonly sender: WebhookSender
  readonly deliveries: StoredDeliveries
  readonly clock: Clock
  /** Current settings; may be changed. */
  readonly options: { -readonly [name in keyof SenderOptions]: SenderOptions[name] }

  constructor(
    t: Test,
    egress: Egress,
    {
      clock = systemClock,
      store = memory(clock),
      options = {},
      sharedAs,
    }: { clock?: Clock; store?: Store; options?: Partial<SenderOptions>; sharedAs?: string } = {},
  ) {
    this.clock = clock
    this.store = store
    this.options = { ...OPTIONS, ...options }
    const metrics = openMetrics({ process: false })
    this.deliveries = new StoredDeliveries(store, clock, () => ({ jobs: 100_000, bytes: 2 ** 30 }), metrics)
    this.sender = new WebhookSender({
      store,
      vault,
      egress,
      clock,
      log: silentLog,
      metrics,
      options: this.options,
      sharedAs,
      random: () => 0.5,
    })
    this.sender.start()
    t.teardown(() => this.sender.close())
  }

  async webhook(destination_url: string, more: Partial<StoredWebhook> = {}): Promise<string> {
    const id = newUuid()
    const at = new Date(this.clock.now()).toISOString()
    const value: StoredWebhook = {
      id,
      label: 'a webhook',
      destination_url,
      authentication_type: 'None',
      status: 'enabled',
      version: 1,
      created_at: at,
      updated_at: at,
      headers: [],
      ...more,
    }
    await this.store.batch([{ kind: WEBHOOKS, scope: ACCOUNT, id, value }])
    return id
  }

  async edit(id: string, change: Partial<StoredWebhook>): Promise<void> {
    await this.store.change(WEBHOOKS, ACCOUNT, id, (old) => (old ? { ...old, ...change } : old))
  }

  seal(webhookId: string, text: string) {
    return { sealed: vault.seal(text, secretOf(WEBHOOKS, ACCOUNT, webhookId)) }
  }

  /** Accepts one delivery to each of these webhooks, in order. The payload contains its number. */
  async send(...webhookIds: string[]): Promise<string[]> {
    const made = webhookIds.map((webhook_id, index): Delivery => {
      const id = newOrderedUuid(this.clock.now())
      return {
        id,
        webhook_id,
        finding_instance_id: newUuid(),
        integration_id: newUuid(),
        created_at: new Date(this.clock.now()).toISOString(),
        triggered_by_actor: 'user',
        triggered_by_id: 'u',
        payload: JSON.stringify({ id, index }),
      }
    })
    await this.deliveries.accept(ACCOUNT, made)
    return made.map(({ id }) => id)
  }

  state(id: string): DeliveryState | undefined {
    return stateOf(this.store, ACCOUNT, id)
  }

  status(webhookId: string): string | undefined {
    return this.store.get(WEBHOOKS, ACCOUNT, webhookId)?.value.status
  }
}

/** Starts a receiver of deliveries that is closed after the test. */
export async function receiver(t: Test, response?: Responding): Promise<Receiver> {
  const made = await Receiver.start(response)
  t.teardown(() => made.close())
  return made
}
