import { newOrderedUuid, newUuid } from '../../../src/core/ids.js'
import { silentLog } from '../../../src/core/log.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { DELIVERIES, DELIVERY_STATES, acceptedState, type DeliveryState } from '../../../src/core/model/delivery.js'
import { WEBHOOKS, type StoredWebhook } from '../../../src/core/model/webhook.js'
import { account } from '../../../src/core/scope.js'
import { StoreUnavailable, type Store } from '../../../src/core/store.js'
import type { Egress } from '../../../src/egress/egress.js'
import { recordName } from '../../../src/store/records/record.js'
import { StoredDeliveries } from '../../../src/webhooks/delivery-store.js'
import type { Poster, PostResult } from '../../../src/webhooks/http-post.js'
import { WEBHOOK_LEASES } from '../../../src/webhooks/lease-kinds.js'
import { WebhookSender } from '../../../src/webhooks/sender.js'
import { drawPlan, type Plan } from '../plan.js'
import type { Life } from '../scheduler.js'
import { SimulatedStore } from '../store.js'
import type { Subject, World } from '../world.js'
import type { WebhookFlaws } from './flawed.js'
import { DeliveryHistory } from './history.js'

const ACCOUNT = account('a'.repeat(32))
const KINDS = ['away', 'away', 'unheard', 'refused', 'late'] as const
const OPTIONS = {
  retry_schedule: [5000, 30_000, 120_000],
  timeout: 20_000,
  in_flight_per_destination: 4,
  in_flight: 64,
  circuit_breaker: { failures: 10, open_for: 30_000, max_open_for: 900_000 },
  disable_after: 0,
  drain_timeout: 1000,
  retention: { jobs: 10_000, age: 864_000_000 },
}

export const webhooksPlan = (seed: number): Plan =>
  drawPlan('webhooks', seed, {
    kinds: KINDS,
    rate: 0.1,
    steps: 200,
    work: (random) => ({
      machines: 1 + random.below(2),
      webhooks: 1 + random.below(2),
      deliveries: 5 + random.below(20),
    }),
  })

interface Running {
  readonly machine: string
  readonly sender: WebhookSender
  readonly deliveries: StoredDeliveries
  stopping: boolean
}

/** Webhooks on one or two machines with one store, and clients that add deliveries. */
export class WebhooksSubject implements Subject {
  readonly #world: World
  readonly #store: SimulatedStore
  readonly #history = new DeliveryHistory()
  readonly #webhooks: readonly string[]
  readonly #lives = new Map<Life, Running>()
  readonly #flaws: WebhookFlaws

  /** `flaws` make the ports worse than they are, to prove that a run notices. */
  constructor(world: World, flaws: WebhookFlaws = {}) {
    this.#world = world
    this.#flaws = flaws
    this.#store = new SimulatedStore(world)
    this.#webhooks = Array.from({ length: world.plan.work['webhooks']! }, (_, index) => `webhook-${index}`)
  }

  get isDone(): boolean {
    return this.#history.accepted.size >= this.#world.plan.work['deliveries']! && this.#unfinished().length === 0
  }

  missing(): void {
    const unfinished = this.#unfinished()
    if (unfinished.length > 0) throw new Error(`accepted and neither delivered nor given up: ${unfinished.join()}`)
  }

  boot(life: Life, machine: number): void {
    const { scheduler, plan } = this.#world
    const name = 'ab'[machine]!
    const same = <T>(port: T): T => port
    const { clock: clockOf = same, store: storeOf = same, post: postOf = same } = this.#flaws
    const clock = clockOf(scheduler.clock(life))
    const store = storeOf(this.#store.open(life))
    const metrics = openMetrics({ process: false })
    const isShared = plan.work['machines']! > 1
    const sender = new WebhookSender({
      store,
      clock,
      metrics,
      vault: { seal: (text) => text, open: (text) => text },
      egress: { agents: () => ({ retire: () => {} }) } as unknown as Egress,
      post: postOf(this.#poster(life, isShared ? name : undefined)),
      log: silentLog,
      options: OPTIONS,
      random: () => this.#world.work.next(),
      ...(isShared && { sharedAs: name }),
    })
    const deliveries = new StoredDeliveries(store, clock, () => ({ jobs: 100_000, bytes: 2 ** 30 }), metrics)
    const running: Running = { machine: name, sender, deliveries, stopping: false }
    this.#lives.set(life, running)
    sender.start()
    this.#world.start(life, async () => await this.#add(life, store, running))
  }

  async stop(life: Life): Promise<void> {
    const running = this.#lives.get(life)!
    running.stopping = true
    await running.sender.close()
    await running.deliveries.close()
  }

  #unfinished(): string[] {
    return this.#history.unfinished((id) => this.#stateOf(id), OPTIONS.retry_schedule.length + 1)
  }

  #stateOf(id: string): DeliveryState | undefined {
    const state = this.#store.row(recordName(DELIVERY_STATES.name, ACCOUNT, id))
    if (state !== undefined) return state.stored.value as DeliveryState
    const delivery = this.#store.row(recordName(DELIVERIES.name, ACCOUNT, id))
    return delivery && acceptedState(delivery.stored.value as Parameters<typeof acceptedState>[0])
  }

  /** A client of this machine: creates the webhooks if they do not exist, and adds deliveries. */
  async #add(life: Life, store: Store, { deliveries, ...running }: Running): Promise<void> {
    const { scheduler, work, plan } = this.#world
    const clock = scheduler.clock(life)
    const repeated = async (run: () => Promise<unknown>): Promise<boolean> => {
      try {
        await run()
        return true
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        await clock.sleep(1000)
        return false
      }
    }
    for (const id of this.#webhooks)
      while (!(await repeated(async () => await store.change(WEBHOOKS, ACCOUNT, id, (old) => old ?? webhook(id)))));
    while (life.alive && !running.stopping && this.#history.accepted.size < plan.work['deliveries']!) {
      const id = newOrderedUuid(clock.now())
      const delivery = {
        id,
        webhook_id: work.pick(this.#webhooks),
        finding_instance_id: newUuid(),
        integration_id: newUuid(),
        created_at: new Date(clock.now()).toISOString(),
        triggered_by_actor: 'user' as const,
        triggered_by_id: 'u',
        payload: '{}',
      }
      if (await repeated(async () => await deliveries.accept(ACCOUNT, [delivery]))) this.#history.accepted.add(id)
      if (work.chance(0.5)) await clock.sleep(work.below(10_000))
    }
  }

  /** Sends an attempt. The receiver has it although the machine ends meanwhile. */
  #poster(life: Life, machine: string | undefined): Poster {
    const { scheduler, faults } = this.#world
    return async ({ headers, timeoutMs, signal }) => {
      const id = headers['webhook-id']!
      const result = (status: number): PostResult => ({
        status,
        durationMs: 1,
        response: '',
        retryAfter: undefined,
        error: status === 0 ? 'timed out' : undefined,
      })
      this.#world.check(() => this.#history.start(id, life.name, { machine, owner: machine && this.#ownerOf(id) }))
      const refuses = faults.has('refused')
      const late = faults.has('late') ? faults.random.below(2 * timeoutMs) : faults.random.below(100)
      const answered = scheduler.call(
        life,
        `answer ${refuses ? 503 : 200}`,
        () => {
          if (!refuses) this.#history.take(id)
          return result(late > timeoutMs ? 0 : refuses ? 503 : 200)
        },
        Math.min(late, timeoutMs),
      )
      const aborted = new Promise<PostResult>((resolve) => {
        signal?.addEventListener('abort', () => resolve(result(0)), { once: true })
      })
      return await Promise.race([answered, aborted])
    }
  }

  /** Returns the machine that has the lease for a delivery, as the store has it. */
  #ownerOf(id: string): string | undefined {
    const delivery = this.#store.row(recordName(DELIVERIES.name, ACCOUNT, id))
    const { webhook_id: webhookId } = delivery!.stored.value as { webhook_id: string }
    const lease = this.#store.row(recordName(WEBHOOK_LEASES.name, ACCOUNT, webhookId))
    return (lease?.stored.value as { owner: string } | undefined)?.owner
  }
}

const webhook = (id: string): StoredWebhook => ({
  id,
  label: id,
  destination_url: 'https://receiver.test/',
  authentication_type: 'None',
  status: 'enabled',
  version: 1,
  created_at: '2026-11-21T12:00:00Z',
  updated_at: '2026-11-21T12:00:00Z',
  headers: [],
})
