import { setMaxListeners } from 'node:events'
import type { Clock } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { Heap } from '../core/heap.js'
import type { Log } from '../core/log.js'
import type { Metrics } from '../core/metrics.js'
import { DELIVERIES, DELIVERY_STATES, type Delivery, type DeliveryState } from '../core/model/delivery.js'
import { WEBHOOKS, type StoredWebhook } from '../core/model/webhook.js'
import type { Scope } from '../core/scope.js'
import { StoreUnavailable, type Change, type Store, type Write } from '../core/store.js'
import type { Vault } from '../core/vault.js'
import type { Egress } from '../net/egress.js'
import { requestHeaders } from './auth-headers.js'
import { Breaker, type BreakerOptions } from './breaker.js'
import { DestinationOf } from './destinations.js'
import { disableWebhook } from './disable.js'
import { Health, WEBHOOK_HEALTH } from './health.js'
import { Lane } from './lane.js'
import { Leases, RENEW_MS } from './leases.js'
import { abandoned, outcomeOf } from './outcome.js'
import { post, type Reply } from './post.js'
import { Retention, type RetentionOptions } from './retention.js'
import { longestDelay } from './schedule.js'
import { senderMetrics, type SenderMetrics } from './sender-metrics.js'

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

/** How often the state of a failing webhook is worth a write. */
const SAVE_HEALTH_MS = 10 * 60_000
const MOST_SLEEP_MS = 60_000

interface Target {
  readonly lane: Lane
  readonly destination: DestinationOf
  readonly health: Health
  /** When it is queued again at the latest; Infinity: not by time. */
  wakeAt: number
  /** Its lease is being asked for. */
  asking: boolean
}

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
  readonly #metrics: SenderMetrics
  readonly #leases: Leases | undefined
  readonly #retention: Retention
  readonly #closing = new AbortController()
  readonly #giveUp = new AbortController()
  readonly #underWay = new Set<Promise<void>>()
  readonly #loops: Promise<void>[] = []
  #ready: Target[] = []
  readonly #wakes = new Heap<Wake>(({ at }) => at)
  #sleeper: { readonly until: number; readonly abort: AbortController } | undefined
  #unwatch: (() => void) | undefined

  constructor(deps: SenderDeps) {
    this.#deps = deps
    const { store, clock, metrics, sharedAs, options } = deps
    // Each try under way listens to it.
    setMaxListeners(0, this.#giveUp.signal)
    this.#leases = sharedAs === undefined ? undefined : new Leases(store, clock, sharedAs)
    this.#retention = new Retention(store, clock, options.keep)
    this.#metrics = senderMetrics(
      metrics,
      () => [...this.#targets.values()].map(({ lane }) => lane),
      () => clock.now(),
    )
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
    if (this.#leases) this.#loops.push(this.#every(RENEW_MS, async () => await this.#holdLeases()))
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
    const ended = Promise.all(this.#underWay)
    await Promise.race([ended, clock.sleep(options.drain_timeout)])
    this.#giveUp.abort()
    await Promise.all([...this.#loops, ended])
    for (const { lane, destination } of this.#targets.values()) {
      destination.close()
      if (lane.owned) await this.#leases?.release(lane.scope, lane.webhookId).catch(() => undefined)
    }
  }

  #seen(changes: readonly Change[]): void {
    for (const { kind, scope, id, value } of changes) {
      if (kind === DELIVERIES.name && value !== undefined) this.#metrics.accepted.inc()
      else if (kind === DELIVERY_STATES.name) this.#notice(scope, id, value as DeliveryState | undefined)
      else if (kind === WEBHOOKS.name) this.#webhookChanged(scope, id)
    }
    this.#pump()
  }

  /** Takes note of a delivery that waits, unless it is known. */
  #notice(scope: Scope, id: string, state: DeliveryState | undefined): void {
    if (state?.status !== 'pending' && state?.status !== 'processing') return
    const webhookId = this.#deps.store.get(DELIVERIES, scope, id)?.value.webhook_id
    if (webhookId === undefined) return
    const target = this.#target(scope, webhookId)
    const { lane } = target
    if (!lane.owned) {
      // Whoever holds the lease sends it; when nobody does, this daemon need not wait for its next round.
      if (this.#unwatch !== undefined && !target.asking) this.#track(this.#holdLease(target))
      return
    }
    if (lane.has(id)) return
    this.#add(lane, id, state)
    this.#queue(target)
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
    const { store, options } = this.#deps
    const { per_destination: most, breaker } = options
    const lane = new Lane(scope, webhookId, new Breaker(breaker), most)
    lane.owned = this.#leases === undefined
    lane.enabled = isEnabled(store.get(WEBHOOKS, scope, webhookId)?.value)
    const stored = store.get(WEBHOOK_HEALTH, scope, webhookId)?.value
    const target: Target = {
      lane,
      destination: new DestinationOf(this.#deps, scope, webhookId, most),
      health: new Health(stored, longestDelay(options.retry_schedule)),
      wakeAt: Infinity,
      asking: false,
    }
    this.#targets.set(key, target)
    return target
  }

  #webhookChanged(scope: Scope, id: string): void {
    const target = this.#targets.get(keyOf(scope, id))
    if (target === undefined) return
    const webhook = this.#deps.store.get(WEBHOOKS, scope, id)?.value
    target.lane.enabled = isEnabled(webhook)
    if (webhook === undefined || webhook.deleted_at !== undefined) this.#track(this.#abandon(target))
    else this.#queue(target)
  }

  /** Ends what waits for a webhook that is no more. */
  async #abandon({ lane, destination }: Target): Promise<void> {
    const { store, clock } = this.#deps
    destination.close()
    const waiting = [...lane.ids()].filter((id) => !lane.isUnderWay(id))
    const writes = waiting.flatMap((id): Write[] => {
      lane.forget(id)
      const state = store.get(DELIVERY_STATES, lane.scope, id)
      if (state === undefined) return []
      this.#metrics.ended('failed')
      const value = abandoned(state.value, 'the webhook was deleted', clock.now())
      return [{ kind: DELIVERY_STATES, scope: lane.scope, id, value }]
    })
    for (let at = 0; at < writes.length; at += 500) await this.#write(writes.slice(at, at + 500))
    if (lane.size === 0) this.#targets.delete(keyOf(lane.scope, lane.webhookId))
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
    const turn = () => this.#ready.length > 0 && this.#underWay.size < options.at_once
    while (turn() && !this.#closing.signal.aborted) {
      const round = this.#ready
      this.#ready = []
      for (const [index, target] of round.entries()) {
        if (this.#underWay.size >= options.at_once) {
          this.#ready = [...round.slice(index), ...this.#ready]
          return
        }
        const now = clock.monotonic()
        const id = target.lane.take(now)
        target.lane.queued = false
        if (id !== undefined) {
          this.#queue(target)
          this.#track(this.#try(target, id))
        } else this.#wakeUp(target, target.lane.wakeAt(now))
      }
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => this.#deps.log.error({ event: 'webhook_sender_failed', error: messageOf(error) }))
      .finally(() => {
        this.#underWay.delete(tracked)
        this.#pump()
      })
    this.#underWay.add(tracked)
  }

  async #try(target: Target, id: string): Promise<void> {
    const { lane } = target
    const { store } = this.#deps
    const delivery = store.get(DELIVERIES, lane.scope, id)?.value
    const state = store.get(DELIVERY_STATES, lane.scope, id)?.value
    if (delivery === undefined || (state?.status !== 'pending' && state?.status !== 'processing')) return lane.done(id)
    const reply = await this.#post(target, delivery)
    // Given up for the stop of the daemon: no try that counts.
    if (reply.status === 0 && this.#giveUp.signal.aborted) return lane.done(id)
    await this.#settle(target, delivery, state, reply)
    this.#queue(target)
  }

  async #post({ destination }: Target, { id, payload }: Delivery): Promise<Reply> {
    const { clock, options, log } = this.#deps
    try {
      const { destination: to, agents } = destination.open()
      const headers = requestHeaders(to, id, clock.now(), payload)
      const { signal } = this.#giveUp
      return await post({
        url: to.destination_url,
        headers,
        body: payload,
        agents,
        timeoutMs: options.timeout,
        clock,
        signal,
      })
    } catch (error) {
      log.error({ event: 'webhook_not_sent', delivery: id, error: messageOf(error) }, 'a webhook could not be sent')
      return { status: 0, durationMs: 0, response: '', retryAfter: undefined, error: 'internal' }
    }
  }

  async #settle({ lane, health }: Target, { id }: Delivery, before: DeliveryState, reply: Reply): Promise<void> {
    const { clock, options, random = Math.random, store } = this.#deps
    const schedule = options.retry_schedule
    const { state, againAfter, gone } = outcomeOf(before, reply, { schedule, now: clock.now(), random })
    const delivered = state.status === 'completed'
    const now = clock.monotonic()
    this.#metrics.tries.observe(reply.durationMs / 1000)
    this.#metrics.ended(delivered ? 'delivered' : againAfter === undefined ? 'failed' : 'retried')

    const { scope, webhookId } = lane
    const writes: Write[] = [{ kind: DELIVERY_STATES, scope, id, value: state }]
    if (delivered) {
      lane.breaker.succeeded()
      if (health.isFailing) writes.push({ kind: WEBHOOK_HEALTH, scope, id: webhookId, value: undefined })
      health.succeeded()
    } else {
      lane.breaker.failed(now)
      health.failed(now)
      if (health.needsSaving(SAVE_HEALTH_MS)) {
        health.saved()
        const since = store.get(WEBHOOK_HEALTH, scope, webhookId)?.value.failing_since
        const value = { failing_since: since ?? new Date(clock.now()).toISOString(), failing_ms: health.failingMs }
        writes.push({ kind: WEBHOOK_HEALTH, scope, id: webhookId, value })
      }
    }
    await this.#write(writes)
    lane.done(id, againAfter === undefined ? undefined : now + againAfter)
    if (gone) await this.#disable(lane, 'it answered 410 Gone')
    else if (options.disable_after > 0 && health.failingMs >= options.disable_after) {
      health.succeeded()
      await this.#disable(lane, 'nothing has been delivered for as long as webhooks.disable_after says')
    }
  }

  async #disable({ scope, webhookId }: Lane, reason: string): Promise<void> {
    const { store, clock, log } = this.#deps
    await this.#write([{ kind: WEBHOOK_HEALTH, scope, id: webhookId, value: undefined }])
    if (await disableWebhook(store, scope, webhookId, clock.now()))
      log.warn({ event: 'webhook_disabled', webhook: webhookId, account: scope.id, reason }, 'a webhook was disabled')
  }

  /** Stores what happened. What was sent must not be sent again for want of a disk: it waits until the store takes it. */
  async #write(writes: readonly Write[]): Promise<void> {
    const { store, clock } = this.#deps
    for (;;) {
      try {
        await store.batch(writes)
        return
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || this.#closing.signal.aborted) throw error
        await clock.sleep(1000, this.#closing.signal).catch(() => undefined)
      }
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

  /** Renews the leases of this daemon, and takes those that are free. */
  async #holdLeases(): Promise<void> {
    for (const target of this.#targets.values()) {
      if (this.#closing.signal.aborted) return
      await this.#holdLease(target)
    }
    this.#pump()
  }

  async #holdLease(target: Target): Promise<void> {
    const { lane } = target
    if (this.#leases === undefined || target.asking) return
    target.asking = true
    try {
      const held = await this.#leases.hold(lane.scope, lane.webhookId)
      if (held === lane.owned) return
      lane.owned = held
      if (held) this.#take(target)
      else lane.clear()
    } finally {
      target.asking = false
    }
  }

  /** Loads a lane that has become this daemon's. */
  #take(target: Target): void {
    const { lane } = target
    const { store } = this.#deps
    for (const { id, value } of store.list(DELIVERIES, lane.scope)) {
      if (value.webhook_id !== lane.webhookId || lane.has(id)) continue
      const state = store.get(DELIVERY_STATES, lane.scope, id)?.value
      if (state?.status === 'pending' || state?.status === 'processing') this.#add(lane, id, state)
    }
    this.#webhookChanged(lane.scope, lane.webhookId)
  }
}

const keyOf = (scope: Scope, webhookId: string) => `${scope.id}/${webhookId}`

const isEnabled = (webhook: StoredWebhook | undefined) =>
  webhook?.status === 'enabled' && webhook.deleted_at === undefined
