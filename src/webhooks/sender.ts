import { setMaxListeners } from 'node:events'
import type { Clock } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { Heap } from '../core/heap.js'
import { Leases } from '../core/leases.js'
import type { Log } from '../core/log.js'
import type { OutgoingTraces } from '../core/outgoing-traces.js'
import type { Metrics } from '../core/metrics/metrics.js'
import { DELIVERIES, DELIVERY_STATES, type Delivery, type DeliveryState } from '../core/model/delivery.js'
import { WEBHOOKS } from '../core/model/webhook.js'
import type { Scope } from '../core/scope.js'
import type { Change, Store } from '../core/store.js'
import type { Vault } from '../core/vault.js'
import type { Egress } from '../egress/egress.js'
import { requestHeaders } from './auth-headers.js'
import type { BreakerOptions } from './breaker.js'
import type { DeliveryQueue } from './delivery-queue.js'
import { stateOf } from './delivery-state.js'
import { LEASE_MS, RENEW_MS, WEBHOOK_LEASES, WEBHOOK_SENDERS } from './lease-kinds.js'
import { OutcomeStore } from './outcome-store.js'
import { Fifo } from './fifo.js'
import type { Poster, PostResult } from './http-post.js'
import { Retention, type RetentionOptions } from './retention.js'
import { longestDelay } from './retry-schedule.js'
import { senderMetrics } from './sender-metrics.js'
import { follow, healthOf, newWebhookState, type WebhookState } from './webhook-state.js'

/** Options of the sender. Times in milliseconds. */
export interface SenderOptions {
  /** Delays between attempts. There is one attempt more than delays. */
  readonly retry_schedule: readonly number[]
  /** Timeout of one attempt. */
  readonly timeout: number
  /** Maximum concurrent attempts per destination, and in total. */
  readonly in_flight_per_destination: number
  readonly in_flight: number
  readonly circuit_breaker: BreakerOptions
  /** Failing time after which a webhook is disabled. 0 for never. */
  readonly disable_after: number
  /** Time that attempts in flight have to end when the daemon stops. */
  readonly drain_timeout: number
  readonly retention: RetentionOptions
}

export interface SenderDeps {
  readonly store: Store
  readonly vault: Vault
  readonly egress: Egress
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly options: SenderOptions
  /** Name of this daemon if several share the store. Undefined if it is the only one. */
  readonly sharedAs?: string | undefined
  /** Traces attempts, if present. */
  readonly traces?: OutgoingTraces
  /** Random number from 0 to 1, for the jitter of retries. */
  readonly random?: () => number
  /** Sends the attempts. Default is HTTP. */
  readonly post?: Poster
}

const MAX_SLEEP_MS = 60_000

interface Wake {
  readonly target: WebhookState
  readonly at: number
}

/**
 * Sends accepted deliveries at least once. A delivery is over only after its outcome is stored. Before that it is sent
 * again, also after a restart. Each webhook has a separate queue, and queues are served round-robin, so that none waits
 * for another. Due times use the monotonic clock, so jumps of the wall clock change nothing.
 */
export class WebhookSender {
  readonly #deps: SenderDeps
  readonly #targets = new Map<string, WebhookState>()
  readonly #leases: Leases | undefined
  readonly #outcomes: OutcomeStore
  readonly #retention: Retention
  readonly #closing = new AbortController()
  readonly #giveUp = new AbortController()
  readonly #tasks = new Set<Promise<void>>()
  readonly #loops: Promise<void>[] = []
  /** Attempts in flight. */
  #inFlight = 0
  readonly #ready = new Fifo<WebhookState>()
  readonly #wakes = new Heap<Wake>(({ at }) => at)
  #sleeper: { readonly until: number; readonly abort: AbortController } | undefined
  #unwatch: (() => void) | undefined

  constructor(deps: SenderDeps) {
    this.#deps = deps
    const { store, clock, metrics, sharedAs } = deps
    // Every attempt in flight listens to it.
    setMaxListeners(0, this.#giveUp.signal)
    const lost = () => {
      for (const { queue } of this.#targets.values()) if (queue.owned) queue.disown()
    }
    const leased = { leases: WEBHOOK_LEASES, presence: WEBHOOK_SENDERS, expiryMs: LEASE_MS, lost }
    this.#leases = sharedAs === undefined ? undefined : new Leases(store, clock, { ...leased, self: sharedAs })
    this.#retention = new Retention(store, clock, () => deps.options.retention)
    const counts = senderMetrics(
      metrics,
      () => [...this.#targets.values()].map(({ queue }) => queue),
      () => clock.now(),
    )
    this.#outcomes = new OutcomeStore(deps, counts, this.#closing.signal)
  }

  /** Starts with the unfinished deliveries of the store. */
  start(): void {
    const { store } = this.#deps
    this.#unwatch = store.watch((changes) => this.#seen(changes))
    for (const { scope, id } of store.list(DELIVERIES)) this.#notice(scope, id, stateOf(store, scope, id))
    this.#loops.push(
      this.#wakeLoop(),
      this.#every(MAX_SLEEP_MS, async () => await this.#retention.forget()),
    )
    const leases = this.#leases
    if (leases)
      this.#loops.push(
        this.#every(RENEW_MS, async () => {
          await leases.renew()
          await this.#holdLeases()
          this.#pump()
        }),
      )
    this.#pump()
  }

  /** Yields the webhooks whose circuit breaker is open. */
  *openBreakers(): Generator<{ readonly scope: Scope; readonly webhookId: string }> {
    for (const { queue } of this.#targets.values())
      if (queue.breaker.isOpen) yield { scope: queue.scope, webhookId: queue.webhookId }
  }

  /** Returns the queue of a webhook. Undefined if it had no delivery since the start. */
  queueOf(scope: Scope, webhookId: string): DeliveryQueue | undefined {
    return this.#targets.get(keyOf(scope, webhookId))?.queue
  }

  /** Attempts one waiting delivery of a webhook now, also if its circuit breaker is open. Returns false if none waits here. */
  tryNow(scope: Scope, webhookId: string): boolean {
    const target = this.#targets.get(keyOf(scope, webhookId))
    if (target?.queue.owned !== true || !target.queue.hasten(this.#deps.clock.monotonic())) return false
    this.#queue(target)
    this.#pump()
    return true
  }

  /** Returns whether this daemon has an attempt of that delivery in flight. */
  isInFlight(scope: Scope, id: string): boolean {
    const webhookId = this.#deps.store.get(DELIVERIES, scope, id)?.value.webhook_id
    return webhookId !== undefined && (this.#targets.get(keyOf(scope, webhookId))?.queue.isInFlight(id) ?? false)
  }

  /** Stops the sender. Attempts in flight have `drain_timeout` to end. The rest is sent after the next start. */
  async close(): Promise<void> {
    const { clock, options } = this.#deps
    this.#closing.abort()
    this.#sleeper?.abort.abort()
    this.#unwatch?.()
    const ended = Promise.all(this.#tasks)
    await Promise.race([ended, clock.sleep(options.drain_timeout)])
    this.#giveUp.abort()
    await Promise.all([...this.#loops, ended])
    for (const { destination } of this.#targets.values()) destination.close()
    await this.#leases?.release().catch(() => undefined)
  }

  #seen(changes: readonly Change[]): void {
    for (const change of changes) {
      const { kind, scope, id } = change
      if (kind === DELIVERY_STATES.name) this.#notice(scope, id, change.value as DeliveryState | undefined)
      else if (kind === DELIVERIES.name) this.#notice(scope, id, stateOf(this.#deps.store, scope, id))
      else if (kind === WEBHOOKS.name) this.#webhookChanged(scope, id)
      else if (kind === WEBHOOK_LEASES.name) this.#leaseChanged(scope, id)
      else if (kind === WEBHOOK_SENDERS.name && change.value === undefined) this.#track(this.#holdLeases())
    }
    this.#pump()
  }

  /** Adds a waiting delivery unless it is known. */
  #notice(scope: Scope, id: string, state: DeliveryState | undefined): void {
    const waits = state?.status === 'pending' || state?.status === 'processing'
    // Without other daemons, the attempt itself has recorded the end.
    if (!waits && this.#leases === undefined) return
    const webhookId = this.#deps.store.get(DELIVERIES, scope, id)?.value.webhook_id
    if (webhookId === undefined) return
    if (!waits) return this.#over(scope, webhookId, id)
    const target = this.#target(scope, webhookId)
    const { queue } = target
    if (queue.has(id)) return
    if (queue.owned) {
      this.#add(queue, id, state)
      this.#queue(target)
      return
    }
    // The owner of the lease sends it. Without an owner, the first daemon in rank takes it now, others in their next round.
    queue.know(id)
    if (!target.asking && this.#leases?.isFirst(webhookId) === true) this.#track(this.#holdLease(target))
  }

  /** Removes a delivery that another daemon finished. */
  #over(scope: Scope, webhookId: string, id: string): void {
    const queue = this.#targets.get(keyOf(scope, webhookId))?.queue
    if (queue?.isInFlight(id) === false) queue.forget(id)
  }

  #add(queue: DeliveryQueue, id: string, { attempts = 0, due_at, last_updated_at }: DeliveryState): void {
    const { store, clock, options } = this.#deps
    const delivery = store.get(DELIVERIES, queue.scope, id)?.value
    const key = delivery && orderKeyOf(delivery)
    if (attempts === 0 || due_at === undefined) return queue.add(id, key)
    const due = Date.parse(due_at)
    // The clock may have been set back since. No delivery waits longer than the delay that was chosen.
    const longest = Math.min(due - Date.parse(last_updated_at), longestDelay(options.retry_schedule))
    queue.addAgain(id, clock.monotonic() + Math.max(0, Math.min(due - clock.now(), longest)), key)
  }

  #target(scope: Scope, webhookId: string): WebhookState {
    const key = keyOf(scope, webhookId)
    const known = this.#targets.get(key)
    if (known !== undefined) return known
    const target = newWebhookState(this.#deps, scope, webhookId)
    if (this.#leases === undefined) target.queue.own()
    this.#targets.set(key, target)
    return target
  }

  #webhookChanged(scope: Scope, id: string): void {
    const target = this.#targets.get(keyOf(scope, id))
    if (target === undefined) return
    follow(this.#deps.store, target)
    this.#queue(target)
  }

  /** Called again when an attempt in flight ends. */
  async #abandon(target: WebhookState): Promise<void> {
    const { scope, webhookId, inFlight } = target.queue
    target.destination.close()
    if (inFlight === 0) this.#targets.delete(keyOf(scope, webhookId))
    await this.#outcomes.abandon(target)
  }

  #queue(target: WebhookState): void {
    const { queue } = target
    if (queue.queued) return
    queue.queued = true
    this.#ready.push(target)
  }

  /** Starts attempts up to the limit, round-robin over the queues. */
  #pump(): void {
    const { clock, options } = this.#deps
    // Another daemon may send by now.
    if (this.#leases?.isPresent === false) return
    while (this.#inFlight < options.in_flight && !this.#closing.signal.aborted) {
      const target = this.#ready.shift()
      if (target === undefined) return
      const { queue } = target
      const now = clock.monotonic()
      queue.queued = false
      const id = queue.take(now)
      if (id !== undefined) {
        this.#queue(target)
        this.#inFlight++
        this.#track(this.#try(target, id))
      } else if (target.gone && queue.owned) this.#track(this.#abandon(target))
      else this.#wakeUp(target, queue.wakeAt(now))
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => this.#deps.log.error({ event: 'webhook_sender_failed', error: messageOf(error) }))
      .finally(() => {
        this.#tasks.delete(tracked)
        this.#pump()
      })
    this.#tasks.add(tracked)
  }

  async #try(target: WebhookState, id: string): Promise<void> {
    const { queue } = target
    const { store, clock } = this.#deps
    let again: number | undefined
    try {
      const delivery = store.get(DELIVERIES, queue.scope, id)?.value
      const state = stateOf(store, queue.scope, id)
      if (delivery === undefined || (state?.status !== 'pending' && state?.status !== 'processing')) return
      const url = store.get(WEBHOOKS, queue.scope, queue.webhookId)?.value.destination_url
      const result = await this.#post(target, delivery)
      // Aborted because the daemon stops. This attempt does not count.
      if (result.status === 0 && this.#giveUp.signal.aborted) return
      // If the outcome cannot be stored, the delivery is sent again.
      again = clock.monotonic() + MAX_SLEEP_MS
      again = await this.#outcomes.settle(target, delivery, state, result, url)
    } finally {
      this.#inFlight--
      queue.done(id, again)
      this.#queue(target)
      // A manual retry may have been stored before this attempt ended.
      this.#notice(queue.scope, id, stateOf(store, queue.scope, id))
    }
  }

  async #post({ destination }: WebhookState, { id, payload }: Delivery): Promise<PostResult> {
    const { clock, options, log, traces } = this.#deps
    try {
      const { destination: to, post } = destination.open()
      const url = new URL(to.destination_url)
      const span = traces?.outgoing('webhook delivery', { 'server.address': url.host, 'edged.delivery': id })
      const headers = requestHeaders(to, id, clock.now(), payload)
      const { signal } = this.#giveUp
      const result = await post({
        url: to.destination_url,
        headers: span ? { ...headers, traceparent: span.traceparent } : headers,
        body: payload,
        timeoutMs: options.timeout,
        clock,
        signal,
      })
      span?.end(result)
      return result
    } catch (error) {
      log.error({ event: 'webhook_not_sent', delivery: id, error: messageOf(error) }, 'webhook delivery not sent')
      return { status: 0, durationMs: 0, response: '', retryAfter: undefined, error: 'internal' }
    }
  }

  #wakeUp(target: WebhookState, at: number): void {
    if (at >= target.wakeAt) return
    target.wakeAt = at
    this.#wakes.push({ target, at })
    if (this.#sleeper !== undefined && at < this.#sleeper.until) this.#sleeper.abort.abort()
  }

  /** Queues the webhooks whose retries are due. */
  async #wakeLoop(): Promise<void> {
    const { clock } = this.#deps
    while (!this.#closing.signal.aborted) {
      const now = clock.monotonic()
      for (let next = this.#wakes.peek(); next !== undefined && next.at <= now; next = this.#wakes.peek()) {
        this.#wakes.pop()
        if (next.at === next.target.wakeAt) next.target.wakeAt = Infinity
        this.#queue(next.target)
      }
      this.#pump()
      const until = Math.min(this.#wakes.peek()?.at ?? Infinity, now + MAX_SLEEP_MS)
      const abort = new AbortController()
      this.#sleeper = { until, abort }
      await clock.sleep(Math.max(1, until - now), abort.signal).catch(() => undefined)
      this.#sleeper = undefined
    }
  }

  async #every(ms: number, work: () => Promise<void>): Promise<void> {
    const { clock, log } = this.#deps
    const { signal } = this.#closing
    while (!signal.aborted) {
      await work().catch((error: unknown) => log.warn({ event: 'webhook_upkeep_failed', error: messageOf(error) }))
      await clock.sleep(ms, signal).catch(() => undefined)
    }
  }

  /** Takes free leases. */
  async #holdLeases(): Promise<void> {
    await Promise.all([...this.#targets.values()].map(async (target) => await this.#holdLease(target)))
  }

  async #holdLease(target: WebhookState): Promise<void> {
    const { queue } = target
    if (this.#leases === undefined || queue.owned || target.asking || this.#closing.signal.aborted) return
    target.asking = true
    try {
      if (await this.#leases.hold(queue.scope, queue.webhookId)) this.#take(target)
    } finally {
      target.asking = false
    }
  }

  #leaseChanged(scope: Scope, webhookId: string): void {
    const queue = this.#targets.get(keyOf(scope, webhookId))?.queue
    if (queue?.owned === true && this.#leases?.isHeld(scope, webhookId) === false) queue.disown()
  }

  /** Loads a queue after its lease was taken. */
  #take(target: WebhookState): void {
    const { queue } = target
    const { store } = this.#deps
    if (queue.owned) return
    queue.own()
    target.health = healthOf(this.#deps, queue.scope, queue.webhookId)
    for (const id of queue.ids()) {
      if (queue.isInFlight(id)) continue
      const state = stateOf(store, queue.scope, id)
      if (state?.status === 'pending' || state?.status === 'processing') this.#add(queue, id, state)
      else queue.forget(id)
    }
    this.#queue(target)
    this.#pump()
  }
}

/** Deliveries with the same key arrive in order. Undefined for test deliveries. */
const orderKeyOf = ({ kind, finding_id: finding, finding_instance_id: instance }: Delivery): string | undefined =>
  kind === 'test' ? undefined : (finding ?? instance)

const keyOf = (scope: Scope, webhookId: string) => `${scope.id}/${webhookId}`
