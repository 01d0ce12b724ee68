import { setMaxListeners } from 'node:events'
import type { Clock } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { Heap } from '../core/heap.js'
import type { Log } from '../core/log.js'
import type { Metrics } from '../core/metrics.js'
import { DELIVERIES, DELIVERY_STATES, type Delivery, type DeliveryState } from '../core/model/delivery.js'
import { WEBHOOKS } from '../core/model/webhook.js'
import type { Scope } from '../core/scope.js'
import type { Change, Store } from '../core/store.js'
import type { Vault } from '../core/vault.js'
import type { Egress } from '../egress/egress.js'
import { requestHeaders } from './auth-headers.js'
import type { BreakerOptions } from './breaker.js'
import type { DeliveryQueue } from './delivery-queue.js'
import { Leases, RENEW_MS, WEBHOOK_LEASES, WEBHOOK_SENDERS } from './leases.js'
import { OutcomeStore } from './outcome-store.js'
import { Fifo } from './fifo.js'
import type { PostResult } from './http-post.js'
import { Retention, type RetentionOptions } from './retention.js'
import { longestDelay } from './retry-schedule.js'
import { senderMetrics } from './sender-metrics.js'
import { follow, healthOf, newWebhookState, type WebhookState } from './webhook-state.js'

/** How deliveries are made. Times in milliseconds. */
export interface SenderOptions {
  /** What lies between two tries; one more try than it has entries. */
  readonly retry_schedule: readonly number[]
  /** For one try. */
  readonly timeout: number
  /** Tries under way: to one destination, and all together. */
  readonly in_flight_per_destination: number
  readonly in_flight: number
  readonly circuit_breaker: BreakerOptions
  /** A webhook that has failed for so long is disabled; 0: never. */
  readonly disable_after: number
  /** Tries under way have so long to end when the daemon stops. */
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
  /** Names this daemon where several work on one store; undefined where it has the store to itself. */
  readonly sharedAs?: string | undefined
  /** From 0 to 1, for what is spread. */
  readonly random?: () => number
}

const MAX_SLEEP_MS = 60_000

interface Wake {
  readonly target: WebhookState
  readonly at: number
}

/**
 * Sends what was accepted, at least once each: a delivery is over only when the store says so, and until then it is sent
 * again after a restart, too. Each webhook has a lane of its own, and lanes with something to send take turns, so that none
 * waits for another. Due times run on the monotonic clock: a wall clock that jumps moves nothing.
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
  /** Tries under way. */
  #underWay = 0
  readonly #ready = new Fifo<WebhookState>()
  readonly #wakes = new Heap<Wake>(({ at }) => at)
  #sleeper: { readonly until: number; readonly abort: AbortController } | undefined
  #unwatch: (() => void) | undefined

  constructor(deps: SenderDeps) {
    this.#deps = deps
    const { store, clock, metrics, sharedAs } = deps
    // Each try under way listens to it.
    setMaxListeners(0, this.#giveUp.signal)
    this.#leases = sharedAs === undefined ? undefined : new Leases(store, clock, sharedAs)
    this.#retention = new Retention(store, clock, () => deps.options.retention)
    const counts = senderMetrics(
      metrics,
      () => [...this.#targets.values()].map(({ queue }) => queue),
      () => clock.now(),
    )
    this.#outcomes = new OutcomeStore(deps, counts, this.#closing.signal)
  }

  /** Begins with what is left from before. */
  start(): void {
    const { store } = this.#deps
    this.#unwatch = store.watch((changes) => this.#seen(changes))
    for (const { scope, id, value } of store.list(DELIVERY_STATES)) this.#notice(scope, id, value)
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
        }),
      )
    this.#pump()
  }

  /** Whether a try of that delivery is under way in this daemon. */
  isUnderWay(scope: Scope, id: string): boolean {
    const webhookId = this.#deps.store.get(DELIVERIES, scope, id)?.value.webhook_id
    return webhookId !== undefined && (this.#targets.get(keyOf(scope, webhookId))?.queue.isUnderWay(id) ?? false)
  }

  /** Stops: tries under way have a while to end, what is left is sent after the next start. */
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
    for (const { kind, scope, id, value } of changes) {
      if (kind === DELIVERY_STATES.name) this.#notice(scope, id, value as DeliveryState | undefined)
      else if (kind === WEBHOOKS.name) this.#webhookChanged(scope, id)
      else if (kind === WEBHOOK_LEASES.name) this.#leaseChanged(scope, id)
      else if (kind === WEBHOOK_SENDERS.name && value === undefined) this.#track(this.#holdLeases())
    }
    this.#pump()
  }

  /** Takes note of a delivery that waits, unless it is known. */
  #notice(scope: Scope, id: string, state: DeliveryState | undefined): void {
    const waits = state?.status === 'pending' || state?.status === 'processing'
    // What is over here has been seen by the try itself.
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
    // Whoever holds the lease sends it. When nobody does, the first in line takes it now, and others in their next round.
    queue.know(id)
    if (!target.asking && this.#leases?.isFirst(webhookId) === true) this.#track(this.#holdLease(target))
  }

  /** Another daemon has ended a delivery. */
  #over(scope: Scope, webhookId: string, id: string): void {
    const queue = this.#targets.get(keyOf(scope, webhookId))?.queue
    if (queue?.isUnderWay(id) === false) queue.forget(id)
  }

  #add(queue: DeliveryQueue, id: string, { attempts = 0, due_at }: DeliveryState): void {
    const { clock, options } = this.#deps
    if (attempts === 0 || due_at === undefined) return queue.add(id)
    const wait = Math.min(Math.max(0, Date.parse(due_at) - clock.now()), longestDelay(options.retry_schedule))
    queue.addAgain(id, clock.monotonic() + wait)
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

  /** What is under way comes by here again when its try is over. */
  async #abandon(target: WebhookState): Promise<void> {
    const { scope, webhookId, underWay } = target.queue
    target.destination.close()
    if (underWay === 0) this.#targets.delete(keyOf(scope, webhookId))
    await this.#outcomes.abandon(target)
  }

  #queue(target: WebhookState): void {
    const { queue } = target
    if (queue.queued) return
    queue.queued = true
    this.#ready.push(target)
  }

  /** Begins as many tries as may be under way, one for each lane in turn. */
  #pump(): void {
    const { clock, options } = this.#deps
    while (this.#underWay < options.in_flight && !this.#closing.signal.aborted) {
      const target = this.#ready.shift()
      if (target === undefined) return
      const { queue } = target
      const now = clock.monotonic()
      queue.queued = false
      const id = queue.take(now)
      if (id !== undefined) {
        this.#queue(target)
        this.#underWay++
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
      const state = store.get(DELIVERY_STATES, queue.scope, id)?.value
      if (delivery === undefined || (state?.status !== 'pending' && state?.status !== 'processing')) return
      const url = store.get(WEBHOOKS, queue.scope, queue.webhookId)?.value.destination_url
      const result = await this.#post(target, delivery)
      // Given up for the stop of the daemon: no try that counts.
      if (result.status === 0 && this.#giveUp.signal.aborted) return
      // Should what came of it not be stored, it is sent once more.
      again = clock.monotonic() + MAX_SLEEP_MS
      again = await this.#outcomes.settle(target, delivery, state, result, url)
    } finally {
      this.#underWay--
      queue.done(id, again)
      this.#queue(target)
      // It may have been sent once more, by hand, before it was done here.
      this.#notice(queue.scope, id, store.get(DELIVERY_STATES, queue.scope, id)?.value)
    }
  }

  async #post({ destination }: WebhookState, { id, payload }: Delivery): Promise<PostResult> {
    const { clock, options, log } = this.#deps
    try {
      const { destination: to, post } = destination.open()
      const headers = requestHeaders(to, id, clock.now(), payload)
      const { signal } = this.#giveUp
      return await post({
        url: to.destination_url,
        headers,
        body: payload,
        timeoutMs: options.timeout,
        clock,
        signal,
      })
    } catch (error) {
      log.error({ event: 'webhook_not_sent', delivery: id, error: messageOf(error) }, 'a webhook could not be sent')
      return { status: 0, durationMs: 0, response: '', retryAfter: undefined, error: 'internal' }
    }
  }

  #wakeUp(target: WebhookState, at: number): void {
    if (at >= target.wakeAt) return
    target.wakeAt = at
    this.#wakes.push({ target, at })
    if (this.#sleeper !== undefined && at < this.#sleeper.until) this.#sleeper.abort.abort()
  }

  /** Queues lanes when something in them is due. */
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

  /** Takes leases that are free. */
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

  /** Loads a lane that has become this daemon's. */
  #take(target: WebhookState): void {
    const { queue } = target
    const { store } = this.#deps
    if (queue.owned) return
    queue.own()
    target.health = healthOf(this.#deps, queue.scope, queue.webhookId)
    for (const id of queue.ids()) {
      if (queue.isUnderWay(id)) continue
      const state = store.get(DELIVERY_STATES, queue.scope, id)?.value
      if (state?.status === 'pending' || state?.status === 'processing') this.#add(queue, id, state)
      else queue.forget(id)
    }
    this.#queue(target)
    this.#pump()
  }
}

const keyOf = (scope: Scope, webhookId: string) => `${scope.id}/${webhookId}`
