import { randomBytes } from 'node:crypto'
import type { Blobs } from '../../core/blobs.js'
import { AgeClock } from '../../core/age-clock.js'
import type { Clock } from '../../core/clock.js'
import { MAX_SKEW_MS } from '../../core/clock-skew.js'
import { newOrderedUuid } from '../../core/ids.js'
import { KeyedMutex } from '../../core/keyed-mutex.js'
import {
  messageId,
  QUEUE_CONSUMERS,
  QUEUE_MESSAGES,
  QUEUE_NAMES,
  QUEUES,
  type MessageFormat,
  type StoredMessage,
  type StoredQueue,
} from '../../core/model/queues.js'
import type { Scope } from '../../core/scope.js'
import { VersionConflict, type Store, type Stored, type Write } from '../../core/store.js'
import { firstFrom } from './sorted.js'

export const QUEUE_LIMITS = {
  messageBytes: 128_000,
  batch: 100,
  batchBytes: 256_000,
  /** Seconds. */
  delay: 43_200,
  /** Messages of an account. */
  messages: 50_000,
} as const

/** Larger bodies are stored as blobs, because records stay in memory. */
const MAX_INLINE_BYTES = 1024
/** Of a lease that another machine races with. */
const MAX_ATTEMPTS = 5

/** A message to send. */
export interface NewMessage {
  readonly body: Buffer
  readonly format: MessageFormat
  /** Default: the delay of the queue. */
  readonly delaySeconds?: number | undefined
}

/** A message that is delivered. */
export interface LeasedMessage {
  readonly id: string
  readonly lease: string
  readonly sent: number
  readonly attempts: number
  readonly format: MessageFormat
  readonly body: Buffer
}

/** The result of one delivery. */
export interface Settlement {
  readonly acks: readonly string[]
  /** Messages to deliver again, by lease, with the delay. The default delay belongs to the consumer. */
  readonly retries: readonly { readonly lease: string; readonly delaySeconds?: number | undefined }[]
}

export interface QueueMetrics {
  readonly count: number
  readonly bytes: number
  /** Milliseconds since 1970, or 0 if the queue is empty. */
  readonly oldest: number
}

/** The account has as many messages as it may have. */
export class TooManyMessages extends Error {
  override readonly name = 'TooManyMessages'
}

/** Creates a lease from the id of the message and a random part. */
const newLease = (id: string): string => `${id}.${randomBytes(8).toString('hex')}`
const messageOfLease = (lease: string): string => lease.slice(0, lease.lastIndexOf('.'))

/** Returns whether a message can be delivered. Delays and leases from before the clock was set back are over. */
const isVisible = ({ visible, changed = 0 }: StoredMessage, now: number): boolean =>
  visible <= now || changed > now + MAX_SKEW_MS

/** Messages of all queues. Each is delivered at least once. */
export class Queues {
  readonly #store: Store
  readonly #blobs: () => Blobs
  readonly #clock: Clock
  readonly #ages: AgeClock
  readonly #turns = new KeyedMutex()

  constructor({ store, blobs, clock }: { store: Store; blobs: () => Blobs; clock: Clock }) {
    this.#store = store
    this.#blobs = blobs
    this.#clock = clock
    this.#ages = new AgeClock(clock)
  }

  named(scope: Scope, name: string): StoredQueue | undefined {
    const owner = this.#store.get(QUEUE_NAMES, scope, name)?.value
    return owner && this.#store.get(QUEUES, scope, owner.id)?.value
  }

  /** Stores messages, all or none. */
  async send(scope: Scope, queue: StoredQueue, messages: readonly NewMessage[]): Promise<void> {
    if (this.#store.count(QUEUE_MESSAGES, scope) + messages.length > QUEUE_LIMITS.messages)
      throw new TooManyMessages(`the queues of an account hold at most ${QUEUE_LIMITS.messages} messages`)
    const now = this.#clock.now()
    const writes: Write[] = []
    for (const { body, format, delaySeconds = queue.delivery_delay } of messages) {
      const value: StoredMessage = {
        sent: now,
        visible: now + delaySeconds * 1000,
        changed: now,
        attempts: 0,
        format,
        size: body.length,
        ...(body.length <= MAX_INLINE_BYTES
          ? { inline: body.toString('base64') }
          : { blob: await this.#blobs().put(body) }),
      }
      writes.push({ kind: QUEUE_MESSAGES, scope, id: messageId(queue.id, newOrderedUuid(now)), value })
    }
    await this.#store.batch(writes)
    if (!this.#store.get(QUEUES, scope, queue.id))
      await this.#store.batch(writes.map((write) => ({ ...write, value: undefined })))
  }

  metrics(scope: Scope, queueId: string): QueueMetrics {
    let [count, bytes, oldest] = [0, 0, 0]
    for (const { value } of this.#messages(scope, queueId)) {
      count += 1
      bytes += value.size
      oldest ||= value.sent
    }
    return { count, bytes, oldest }
  }

  /** Returns when messages can be delivered: the number that is ready, since when, and the time of the next message. */
  due(scope: Scope, queueId: string): { readonly ready: number; readonly since: number; readonly next: number } {
    const now = this.#clock.now()
    let [ready, since, next] = [0, Infinity, Infinity]
    for (const { value } of this.#messages(scope, queueId)) {
      if (!isVisible(value, now)) next = Math.min(next, value.visible)
      else {
        ready += 1
        since = value.visible > now ? 0 : Math.min(since, value.visible)
      }
    }
    return { ready, since, next }
  }

  /** Delivers up to `limit` messages. Nobody else gets them before the lease ends. */
  async lease(scope: Scope, queueId: string, limit: number, leaseMs: number): Promise<LeasedMessage[]> {
    const leased = await this.#turns.run(`${scope.id}/${queueId}`, async () => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await this.#leaseOnce(scope, queueId, limit, leaseMs)
        } catch (error) {
          if (!(error instanceof VersionConflict) || attempt === MAX_ATTEMPTS) throw error
        }
      }
    })
    return await Promise.all(
      leased.map(async ({ id, lease, value }) => ({
        id,
        lease,
        sent: value.sent,
        attempts: value.attempts,
        format: value.format,
        body: await this.bytes(value),
      })),
    )
  }

  /** Messages in order, whether they can be delivered or not. */
  async peek(scope: Scope, queueId: string, limit: number): Promise<LeasedMessage[]> {
    const found = [...this.#messages(scope, queueId)].slice(0, limit)
    return await Promise.all(
      found.map(async ({ id, value }) => ({
        id: id.slice(queueId.length + 1),
        lease: '',
        sent: value.sent,
        attempts: value.attempts,
        format: value.format,
        body: await this.bytes(value),
      })),
    )
  }

  /** Deletes acknowledged messages and delivers the others again. Leases that ended have no effect. */
  async settle(
    scope: Scope,
    queueId: string,
    { acks, retries }: Settlement,
  ): Promise<{ acked: number; retried: number }> {
    const now = this.#clock.now()
    const consumer = this.#store.get(QUEUE_CONSUMERS, scope, queueId)?.value
    const stored = (lease: string): Stored<StoredMessage> | undefined => {
      const found = this.#store.get(QUEUE_MESSAGES, scope, messageId(queueId, messageOfLease(lease)))
      return found?.value.lease === lease ? found : undefined
    }
    const done = [...new Set(acks)].flatMap((lease) => stored(lease) ?? [])
    const again = retries.flatMap(({ lease, delaySeconds = consumer?.retry_delay ?? 0 }) => {
      const found = stored(lease)
      return found && !done.includes(found) ? [{ found, visible: now + delaySeconds * 1000 }] : []
    })
    const writes = [
      ...done.map(({ id }): Write => ({ kind: QUEUE_MESSAGES, scope, id, value: undefined })),
      ...again.flatMap(({ found, visible }) => this.#retry(scope, queueId, found, visible)),
    ]
    if (writes.length > 0) await this.#store.batch(writes)
    return { acked: done.length, retried: again.length }
  }

  /** Deletes the given messages of a queue, or all messages. */
  async purge(scope: Scope, queueId: string, ids?: readonly string[]): Promise<void> {
    const wanted = ids && new Set(ids.map((id) => messageId(queueId, id)))
    const found = this.removal(scope, queueId).filter(({ id }) => !wanted || wanted.has(id))
    if (found.length > 0) await this.#store.batch(found)
  }

  /** Returns the writes that remove all messages of a queue. */
  removal(scope: Scope, queueId: string): Write[] {
    return [...this.#messages(scope, queueId)].map(({ id }) => ({ kind: QUEUE_MESSAGES, scope, id, value: undefined }))
  }

  /** Ends the leases that a killed process left. Only for a store that no other machine uses. */
  async release(): Promise<void> {
    const now = this.#clock.now()
    const held = this.#store.list(QUEUE_MESSAGES).filter(({ scope, id, value }) => {
      if (value.lease === undefined || isVisible(value, now)) return false
      return this.#store.get(QUEUE_CONSUMERS, scope, id.slice(0, id.indexOf('/')))?.value.type === 'worker'
    })
    const writes = held.map(({ scope, id, value }) => ({
      kind: QUEUE_MESSAGES,
      scope,
      id,
      value: { ...value, visible: now, changed: now },
    }))
    if (writes.length > 0) await this.#store.batch(writes)
  }

  async bytes({ inline, blob }: StoredMessage): Promise<Buffer> {
    if (blob === undefined) return Buffer.from(inline ?? '', 'base64')
    const bytes = await this.#blobs().get(blob)
    if (!bytes) throw new Error(`the blob ${blob} of a message is missing; restore it from a backup`)
    return bytes
  }

  async #leaseOnce(scope: Scope, queueId: string, limit: number, leaseMs: number) {
    const now = this.#clock.now()
    const age = this.#ages.now()
    const queue = this.#store.get(QUEUES, scope, queueId)?.value
    const maxRetries = this.#store.get(QUEUE_CONSUMERS, scope, queueId)?.value.max_retries ?? 0
    if (!queue || queue.delivery_paused) return []
    const writes: Write[] = []
    const leased: { id: string; lease: string; value: StoredMessage }[] = []
    for (const found of this.#messages(scope, queueId)) {
      if (leased.length === limit) break
      const { id, value, version } = found
      if (value.sent + queue.message_retention_period * 1000 <= age)
        writes.push({ kind: QUEUE_MESSAGES, scope, id, value: undefined, ifVersion: version })
      else if (!isVisible(value, now)) continue
      // Its last delivery was neither acknowledged nor rejected.
      else if (value.attempts > maxRetries) writes.push(...this.#retry(scope, queueId, found, now))
      else {
        const message = id.slice(queueId.length + 1)
        const lease = newLease(message)
        const next = { ...value, visible: now + leaseMs, changed: now, attempts: value.attempts + 1, lease }
        leased.push({ id: message, lease, value: next })
        writes.push({ kind: QUEUE_MESSAGES, scope, id, value: next, ifVersion: version })
      }
    }
    if (writes.length > 0) await this.#store.batch(writes)
    return leased
  }

  /** Returns the writes that deliver a message again, or move it to the dead letter queue. */
  #retry(scope: Scope, queueId: string, { id, value, version }: Stored<StoredMessage>, visible: number): Write[] {
    const consumer = this.#store.get(QUEUE_CONSUMERS, scope, queueId)?.value
    const { lease: _lease, ...rest } = value
    const now = this.#clock.now()
    const message = { ...rest, changed: now }
    const again: Write = { kind: QUEUE_MESSAGES, scope, id, value: { ...message, visible }, ifVersion: version }
    if (value.attempts <= (consumer?.max_retries ?? 0)) return [again]
    const dead = consumer?.dead_letter_queue === undefined ? undefined : this.named(scope, consumer.dead_letter_queue)
    return [
      { ...again, value: undefined },
      ...(dead
        ? [
            {
              kind: QUEUE_MESSAGES,
              scope,
              id: messageId(dead.id, newOrderedUuid(now)),
              value: { ...message, sent: now, visible: now, attempts: 0 },
            },
          ]
        : []),
    ]
  }

  *#messages(scope: Scope, queueId: string): Generator<Stored<StoredMessage>> {
    const all = this.#store.list(QUEUE_MESSAGES, scope)
    const first = messageId(queueId, '')
    for (let at = firstFrom(all, first); at < all.length; at++) {
      const found = all[at]!
      if (!found.id.startsWith(first)) return
      yield found
    }
  }
}
