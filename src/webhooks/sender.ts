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
import type { Lane } from './delivery-queue.js'
import { Leases, RENEW_MS, WEBHOOK_LEASES, WEBHOOK_SENDERS } from './leases.js'
import { Ledger } from './outcome-store.js'
import { Line } from './fifo.js'
import type { Reply } from './http-post.js'
import { Retention, type RetentionOptions } from './retention.js'
import { longestDelay } from './retry-schedule.js'
import { senderMetrics } from './sender-metrics.js'
import { follow, healthOf, newTarget, type Target } from './webhook-state.js'

/** How deliveries are made. Times in milliseconds. */
export interface SenderOptions {
  /** What lies between two tries; one more try than it has entries. */
  readonly retry_schedule: readonly number[]
  /** For one try. */
  readonly timeout: number
  /** Tries under way: to one destination, and all together. */
  readonly per_destination: number
  readonly at_once: number
  readonly breaker: BreakerOptions
  /** A webhook that has failed for so long is disabled; 0: never. */
  readonly disable_after: number
  /** Tries under way have so long to end when the daemon stops. */
  readonly drain_timeout: number
  readonly keep: RetentionOptions
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

const MOST_SLEEP_MS = 60_000

interface Wake {
  readonly target: Target
  readonly at: number
}

/**
 * Sends what was accepted, at least once each: a delivery is over only when the store says so, and until then it is sent
 * again after a restart, too. Each webhook has a lane of its own, and lanes with something to send take turns, so that none
 * waits for another. Due times run on the monotonic clock: a wall clock that jumps moves nothing.
 */
export class WebhookSender {
  readonly #deps: SenderDeps
  readonly #targets = new Map<string, Target>()
  readonly #leases: Leases | undefined
  readonly #ledger: Ledger
  readonly #retention: Retention
  readonly #closing = new AbortController()
  readonly #giveUp = new AbortController()
  readonly #tasks = new Set<Promise<void>>()
  readonly #loops: Promise<void>[] = []
  /** Tries under way. */
  #underWay = 0
  readonly #ready = new Line<Target>()
  readonly #wakes = new Heap<Wake>(({ at }) => at)
  #sleeper: { readonly until: number; readonly abort: AbortController } | undefined
  #unwatch: (() => void) | undefined

  constructor(deps: SenderDeps) {
    this.#deps = deps
    const { store, clock, metrics, sharedAs } = deps
    // Each try under way listens to it.
    setMaxListeners(0, this.#giveUp.signal)
    this.#leases = sharedAs === undefined ? undefined : new Leases(store, clock, sharedAs)
    this.#retention = new Retention(store, clock, () => deps.options.keep)
    const counts = senderMetrics(
      metrics,
      () => [...this.#targets.values()].map(({ lane }) => lane),
      () => clock.now(),
    )
    this.#ledger = new Ledger(deps, counts, this.#closing.signal)
  }

  /** Begins with what is left from before. */
  start(): void {
    const { store } = this.#deps
    this.#unwatch = store.watch((changes) => this.#seen(changes))
    for (const { scope, id, value } of store.list(DELIVERY_STATES)) this.#notice(scope, id, value)
    this.#loops.push(
      this.#wakeLoop(),
      this.#every(MOST_SLEEP_MS, async () => await this.#retention.forget()),
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
    return webhookId !== undefined && (this.#targets.get(keyOf(scope, webhookId))?.lane.isUnderWay(id) ?? false)
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
    const { lane } = target
    if (lane.has(id)) return
    if (lane.owned) {
      this.#add(lane, id, state)
      this.#queue(target)
      return
    }
    // Whoever holds the lease sends it. When nobody does, the first in line takes it now, and others in their next round.
    lane.know(id)
    if (!target.asking && this.#leases?.isFirst(webhookId) === true) this.#track(this.#holdLease(target))
  }

  /** Another daemon has ended a delivery. */
  #over(scope: Scope, webhookId: string, id: string): void {
    const lane = this.#targets.get(keyOf(scope, webhookId))?.lane
    if (lane?.isUnderWay(id) === false) lane.forget(id)
  }

  #add(lane: Lane, id: string, { attempts = 0, due_at }: DeliveryState): void {
    const { clock, options } = this.#deps
    if (attempts === 0 || due_at === undefined) return lane.add(id)
    const wait = Math.min(Math.max(0, Date.parse(due_at) - clock.now()), longestDelay(options.retry_schedule))
    lane.addAgain(id, clock.monotonic() + wait)
  }

  #target(scope: Scope, webhookId: string): Target {
    const key = keyOf(scope, webhookId)
    const known = this.#targets.get(key)
    if (known !== undefined) return known
    const target = newTarget(this.#deps, scope, webhookId)
    if (this.#leases === undefined) target.lane.own()
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
  async #abandon(target: Target): Promise<void> {
    const { scope, webhookId, underWay } = target.lane
    target.destination.close()
    if (underWay === 0) this.#targets.delete(keyOf(scope, webhookId))
    await this.#ledger.abandon(target)
  }

  #queue(target: Target): void {
    const { lane } = target
    if (lane.queued) return
    lane.queued = true
    this.#ready.push(target)
  }

  /** Begins as many tries as may be under way, one for each lane in turn. */
  #pump(): void {
    const { clock, options } = this.#deps
    while (this.#underWay < options.at_once && !this.#closing.signal.aborted) {
      const target = this.#ready.shift()
      if (target === undefined) return
      const { lane } = target
      const now = clock.monotonic()
      lane.queued = false
      const id = lane.take(now)
      if (id !== undefined) {
        this.#queue(target)
        this.#underWay++
        this.#track(this.#try(target, id))
      } else if (target.gone && lane.owned) this.#track(this.#abandon(target))
      else this.#wakeUp(target, lane.wakeAt(now))
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

  async #try(target: Target, id: string): Promise<void> {
    const { lane } = target
    const { store, clock } = this.#deps
    let again: number | undefined
    try {
      const delivery = store.get(DELIVERIES, lane.scope, id)?.value
      const state = store.get(DELIVERY_STATES, lane.scope, id)?.value
      if (delivery === undefined || (state?.status !== 'pending' && state?.status !== 'processing')) return
      const url = store.get(WEBHOOKS, lane.scope, lane.webhookId)?.value.destination_url
      const reply = await this.#post(target, delivery)
      // Given up for the stop of the daemon: no try that counts.
      if (reply.status === 0 && this.#giveUp.signal.aborted) return
      // Should what came of it not be stored, it is sent once more.
      again = clock.monotonic() + MOST_SLEEP_MS
      again = await this.#ledger.settle(target, delivery, state, reply, url)
    } finally {
      this.#underWay--
      lane.done(id, again)
      this.#queue(target)
      // It may have been sent once more, by hand, before it was done here.
      this.#notice(lane.scope, id, store.get(DELIVERY_STATES, lane.scope, id)?.value)
    }
  }

  async #post({ destination }: Target, { id, payload }: Delivery): Promise<Reply> {
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

  #wakeUp(target: Target, at: number): void {
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
      const until = Math.min(this.#wakes.peek()?.at ?? Infinity, now + MOST_SLEEP_MS)
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

  async #holdLease(target: Target): Promise<void> {
    const { lane } = target
    if (this.#leases === undefined || lane.owned || target.asking || this.#closing.signal.aborted) return
    target.asking = true
    try {
      if (await this.#leases.hold(lane.scope, lane.webhookId)) this.#take(target)
    } finally {
      target.asking = false
    }
  }

  #leaseChanged(scope: Scope, webhookId: string): void {
    const lane = this.#targets.get(keyOf(scope, webhookId))?.lane
    if (lane?.owned === true && this.#leases?.isHeld(scope, webhookId) === false) lane.disown()
  }

  /** Loads a lane that has become this daemon's. */
  #take(target: Target): void {
    const { lane } = target
    const { store } = this.#deps
    if (lane.owned) return
    lane.own()
    target.health = healthOf(this.#deps, lane.scope, lane.webhookId)
    for (const id of lane.ids()) {
      if (lane.isUnderWay(id)) continue
      const state = store.get(DELIVERY_STATES, lane.scope, id)?.value
      if (state?.status === 'pending' || state?.status === 'processing') this.#add(lane, id, state)
      else lane.forget(id)
    }
    this.#queue(target)
    this.#pump()
  }
}

const keyOf = (scope: Scope, webhookId: string) => `${scope.id}/${webhookId}`
