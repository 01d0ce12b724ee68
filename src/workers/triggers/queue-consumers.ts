import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { QUEUE_CONSUMERS, QUEUE_MESSAGES, QUEUES, type StoredConsumer } from '../../core/model/queues.js'
import type { Scope } from '../../core/scope.js'
import type { Change, Store } from '../../core/store.js'
import type { LeasedMessage, Queues, Settlement } from '../storage/queues.js'

/** A delivery that does not end counts as failed after this time. */
const LEASE_MS = 15 * 60_000
/** Concurrent deliveries of a queue whose consumer sets no maximum. */
const CONCURRENCY = 4
/** Checks for messages that other machines released, and for leases that ended. */
const CHECK_MS = 30_000
/** After a call that failed. */
const FAILURE_DELAY_MS = 5000
/** Interval of checks whether a stopped script runs again. */
const STOPPED_CHECK_MS = 1000

/** Response of a `queue` handler as the runtime reports it. */
interface QueueOutcome {
  readonly outcome?: string
  readonly retryBatch?: { readonly retry?: boolean; readonly delaySeconds?: number }
  readonly explicitAcks?: readonly string[]
  readonly retryMessages?: readonly { readonly msgId: string; readonly delaySeconds?: number }[]
}

export interface QueueConsumersDeps {
  readonly store: Store
  readonly queues: Queues
  readonly clock: Clock
  readonly log: Log
  /** Whether this machine runs a script, and not another one that has its data. */
  readonly isHere: (scope: Scope, script: string) => boolean
  readonly call: (scope: Scope, script: string, event: object) => Promise<unknown>
  /** Returns why the script does not run now. Undefined if it runs. */
  readonly stopped: (scope: Scope, script: string) => string | undefined
}

interface Line {
  readonly scope: Scope
  readonly id: string
  running: number
  timer: NodeJS.Timeout | undefined
  /** Messages wait because the script does not run. */
  isStopped: boolean
}

/** Delivers messages of queues to the scripts that consume them. */
export class QueueConsumers {
  readonly #deps: QueueConsumersDeps
  readonly #lines = new Map<string, Line>()
  readonly #running = new Set<Promise<void>>()
  readonly #unwatch: () => void
  readonly #timer: NodeJS.Timeout
  #closed = false

  constructor(deps: QueueConsumersDeps) {
    this.#deps = deps
    this.#unwatch = deps.store.watch((changes) => this.#changed(changes))
    this.#timer = setInterval(() => this.#checkAll(), CHECK_MS)
    this.#timer.unref()
    this.#checkAll()
  }

  /** Resolves when the deliveries in progress have ended. */
  async close(): Promise<void> {
    this.#closed = true
    this.#unwatch()
    clearInterval(this.#timer)
    for (const { timer } of this.#lines.values()) clearTimeout(timer)
    await Promise.allSettled(this.#running)
  }

  #checkAll(): void {
    for (const { scope, id } of this.#deps.store.list(QUEUE_CONSUMERS)) this.#check(scope, id)
  }

  #changed(changes: readonly Change[]): void {
    const seen = new Set<string>()
    for (const { kind, scope, id } of changes) {
      const queue = kind === QUEUE_MESSAGES.name ? id.slice(0, id.indexOf('/')) : id
      const isQueue = kind === QUEUE_MESSAGES.name || kind === QUEUE_CONSUMERS.name || kind === QUEUES.name
      if (!isQueue || seen.has(`${scope.id}/${queue}`)) continue
      seen.add(`${scope.id}/${queue}`)
      this.#check(scope, queue)
    }
  }

  /** Delivers a batch if one is complete or has waited long enough. Otherwise waits until then. */
  #check(scope: Scope, id: string): void {
    const { store, queues, clock, isHere } = this.#deps
    const key = `${scope.id}/${id}`
    const consumer = store.get(QUEUE_CONSUMERS, scope, id)?.value
    const isOurs = consumer?.type === 'worker' && consumer.script !== undefined && isHere(scope, consumer.script)
    if (this.#closed || !isOurs || consumer.script === undefined) {
      clearTimeout(this.#lines.get(key)?.timer)
      if (this.#lines.get(key)?.running === 0) this.#lines.delete(key)
      return
    }
    const line = this.#lines.get(key) ?? { scope, id, running: 0, timer: undefined, isStopped: false }
    this.#lines.set(key, line)
    if (line.running >= (consumer.max_concurrency ?? CONCURRENCY)) return
    const { ready, since, next } = queues.due(scope, id)
    const now = clock.now()
    const until = ready === 0 ? next : since + consumer.max_wait_time_ms
    if (ready >= consumer.batch_size || (ready > 0 && until <= now)) {
      if (this.#stops(line, consumer.script)) this.#wait(line, STOPPED_CHECK_MS)
      else this.#deliver(line, consumer, consumer.script)
    } else if (until < Infinity) this.#wait(line, Math.min(until, next + consumer.max_wait_time_ms) - now)
  }

  /** Returns whether messages have to wait because the script does not run. Such waits do not count as deliveries. */
  #stops(line: Line, script: string): boolean {
    const { stopped, log } = this.#deps
    const reason = stopped(line.scope, script)
    if (line.isStopped !== (reason !== undefined)) {
      const about = { account: line.scope.id, queue: line.id, script }
      if (reason === undefined) log.info({ event: 'queue_resumed', ...about })
      else log.warn({ event: 'queue_stopped', ...about, reason })
    }
    line.isStopped = reason !== undefined
    return line.isStopped
  }

  #wait(line: Line, ms: number): void {
    clearTimeout(line.timer)
    line.timer = setTimeout(() => this.#check(line.scope, line.id), Math.min(Math.max(ms, 1), CHECK_MS))
    line.timer.unref()
  }

  #deliver(line: Line, consumer: StoredConsumer, script: string): void {
    const { scope, id } = line
    line.running += 1
    let delay = 0
    const delivered = this.#deliverBatch(scope, id, consumer, script)
      .catch((error: unknown) => {
        delay = FAILURE_DELAY_MS
        this.#deps.log.warn({
          event: 'queue_delivery_failed',
          account: scope.id,
          queue: id,
          script,
          error: messageOf(error),
        })
      })
      .finally(() => {
        line.running -= 1
        this.#running.delete(delivered)
        if (delay === 0) this.#check(scope, id)
        else if (!this.#closed) this.#wait(line, delay)
      })
    this.#running.add(delivered)
  }

  async #deliverBatch(scope: Scope, id: string, { batch_size: size }: StoredConsumer, script: string): Promise<void> {
    const { store, queues, call } = this.#deps
    const messages = await queues.lease(scope, id, size, LEASE_MS)
    if (messages.length === 0) return
    const queue = store.get(QUEUES, scope, id)?.value.name ?? ''
    try {
      const outcome = (await call(scope, script, { queue, messages: messages.map(sentMessage) })) as QueueOutcome
      await queues.settle(scope, id, settlement(messages, outcome))
    } catch (error) {
      await queues.settle(scope, id, { acks: [], retries: messages.map(({ lease }) => ({ lease })) })
      throw error
    }
  }
}

const sentMessage = ({ id, sent, attempts, format, body }: LeasedMessage): object => ({
  id,
  timestamp: sent,
  attempts,
  format,
  body: body.toString('base64'),
})

function settlement(messages: readonly LeasedMessage[], outcome: QueueOutcome): Settlement {
  const { retryBatch, explicitAcks = [], retryMessages = [] } = outcome
  const isFailed = outcome.outcome !== 'ok' || retryBatch?.retry === true
  const acked = new Set(explicitAcks)
  const named = new Map(retryMessages.map((one) => [one.msgId, one.delaySeconds]))
  const isRetried = ({ id }: LeasedMessage): boolean => named.has(id) || (isFailed && !acked.has(id))
  return {
    acks: messages.filter((message) => !isRetried(message)).map(({ lease }) => lease),
    retries: messages
      .filter(isRetried)
      .map(({ id, lease }) => ({ lease, delaySeconds: named.get(id) ?? retryBatch?.delaySeconds })),
  }
}
