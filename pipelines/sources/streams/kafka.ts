/**
 * Reads topics of Kafka as one member of a consumer group. The work is divided among at most as many runs as there are
 * partitions. Offsets are committed after the records are safe on disk, so a partition that moves to another member
 * loses nothing.
 */
import type { ConnectionOptions } from 'node:tls'
import type { Consumer, EachBatchPayload, Kafka, logCreator, Mechanism, SASLOptions } from 'kafkajs'
import { messageOf } from '../../../src/core/errors.js'
import { UnfitRecord } from '../../records/index.js'
import type { Input } from '../intake/input.js'
import { PartitionPositions } from './kafka-positions.js'
import { MessageIntake } from '../intake/message-intake.js'
import { NotStored, orAborted, reconnecting, SourceRejected } from '../intake/reconnect.js'
import { SourceLosses } from '../intake/source-losses.js'
import { spoolInput, type TakingDeps } from '../intake/spool-input.js'

export interface KafkaOptions {
  /** Some brokers as `host:port`. They report the others. */
  readonly brokers: readonly string[]
  readonly topics: readonly string[]
  readonly group?: string | undefined
  readonly tls?: boolean | ConnectionOptions | undefined
  readonly sasl?: SASLOptions | Mechanism | undefined
  readonly sessionMs?: number | undefined
  /** Called with messages for the user. */
  readonly tell: (message: string) => void
}

/** Bytes of one response of a broker, and of one partition in it. A larger message arrives alone. */
const RESPONSE_BYTES = 4 * 1024 * 1024
const PARTITION_BYTES = 1024 * 1024
const CONNECT_MS = 10_000
const REQUEST_MS = 30_000
/** A member that sends no heartbeat for this time loses its partitions to the others. */
const SESSION_MS = 30_000
const REBALANCE_MS = 60_000
/** Time that a fetch waits for messages. */
const FETCH_MS = 1000
/** Maximum time to leave the group. Brokers remove a member that does not leave in time. */
const LEAVE_MS = 10_000

/** Reads the messages of topics, in a new group from the beginning. Waits while no broker can be reached. */
export async function kafkaInput(options: KafkaOptions, deps: TakingDeps): Promise<Input> {
  const { brokers, topics, tell } = options
  const place = `${topics.join(', ')} of ${brokers.join(', ')}`
  return await spoolInput(deps, {
    endless: true,
    async take(writer, signal) {
      const losses = new SourceLosses({ ...deps, tell }, `messages of ${place}`)
      const fresh = () => new MessageIntake(writer(), deps.stats, deps.lines)
      const reader = new GroupReader(options, deps, { fresh, losses }, signal)
      try {
        await reconnecting(async (working) => await reader.read(working), { place, tell, clock: deps.clock, signal })
      } finally {
        losses.flush()
      }
    },
  })
}

/** Reads the partitions that the group assigns to this member. */
class GroupReader {
  readonly #options: KafkaOptions
  readonly #deps: TakingDeps
  readonly #fresh: () => MessageIntake
  readonly #signal: AbortSignal
  readonly #losses: SourceLosses
  #intake: MessageIntake
  #storing: Promise<void> | undefined
  /**
   * Offset after the last message in the spool, by topic and partition. A rebalance can prevent the commit of an
   * offset. The messages then arrive again, possibly here.
   */
  readonly #stored = new Map<string, bigint>()

  constructor(
    options: KafkaOptions,
    deps: TakingDeps,
    { fresh, losses }: { readonly fresh: () => MessageIntake; readonly losses: SourceLosses },
    signal: AbortSignal,
  ) {
    this.#losses = losses
    this.#options = options
    this.#deps = deps
    this.#fresh = fresh
    this.#signal = signal
    this.#intake = fresh()
  }

  /** Reads as a new member of the group. Resolves at a stop, rejects if the member cannot go on. */
  async read(working: () => void): Promise<void> {
    const { topics, group = 'edged' } = this.#options
    const { clock } = this.#deps
    const client = await this.#client()
    const consumer = this.#consumer(client, group)
    const admin = client.admin()
    const positions = new PartitionPositions(admin, group, this.#losses)
    let fail: (error: unknown) => void
    const failed = new Promise<never>((_, reject) => (fail = reject))
    failed.catch(() => {})
    consumer.on(consumer.events.CRASH, ({ payload }) => fail(payload.error))
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      working()
      positions.assign(payload.memberAssignment)
    })
    const run = async () => {
      await admin.connect()
      await consumer.connect()
      await consumer.subscribe({ topics: [...topics], fromBeginning: true })
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: async (batch) => {
          if (this.#signal.aborted) return
          try {
            this.#storing = this.#store(batch, consumer, positions)
            await this.#storing
          } catch (error) {
            // Messages without a commit arrive again.
            this.#intake = this.#fresh()
            if (this.#signal.aborted) return
            if (!isKafkaError(error)) fail(new NotStored(error))
            throw error
          }
        },
      })
      await failed
    }
    try {
      await orAborted(run(), this.#signal)
      // Messages in the spool are committed before the member leaves.
      await Promise.race([this.#storing, clock.sleep(LEAVE_MS)]).catch(() => {})
    } catch (error) {
      throw explained(error)
    } finally {
      const leaving = Promise.all([consumer.disconnect(), admin.disconnect()])
      await Promise.race([leaving, clock.sleep(LEAVE_MS)]).catch(() => {})
    }
  }

  async #client(): Promise<Kafka> {
    const { brokers, tls = false, sasl } = this.#options
    const { Kafka, logLevel } = (await import('kafkajs')).default
    return new Kafka({
      clientId: 'edged',
      brokers: [...brokers],
      ssl: tls,
      ...(sasl && { sasl }),
      connectionTimeout: CONNECT_MS,
      authenticationTimeout: CONNECT_MS,
      requestTimeout: REQUEST_MS,
      retry: { retries: 2 },
      logLevel: logLevel.ERROR,
      logCreator: this.#logs,
    })
  }

  #consumer(client: Kafka, groupId: string): Consumer {
    const { sessionMs = SESSION_MS } = this.#options
    return client.consumer({
      groupId,
      sessionTimeout: sessionMs,
      heartbeatInterval: sessionMs / 10,
      rebalanceTimeout: REBALANCE_MS,
      maxBytes: RESPONSE_BYTES,
      maxBytesPerPartition: PARTITION_BYTES,
      maxWaitTimeInMs: FETCH_MS,
      allowAutoTopicCreation: false,
      // A new member follows one that failed.
      retry: { retries: 2, restartOnFailure: () => Promise.resolve(false) },
    })
  }

  readonly #logs: logCreator = () => {
    const { log } = this.#deps
    return ({ log: { message, error } }) => log.debug({ event: 'kafka_client', error }, message)
  }

  /** Adds the messages of a partition to the spool, and commits their offsets after it has synced them. */
  async #store(payload: EachBatchPayload, consumer: Consumer, positions: PartitionPositions): Promise<void> {
    const { clock } = this.#deps
    const { batch } = payload
    const { topic, partition, messages } = batch
    const key = `${topic} ${partition}`
    // A topic that was deleted and created again begins with 0.
    if ((this.#stored.get(key) ?? 0n) > BigInt(batch.highWatermark)) this.#stored.delete(key)
    const known = this.#stored.get(key) ?? 0n
    await positions.follow(batch)
    let last: string | undefined
    const commit = async () => {
      if (last === undefined) return
      // While the spool is full the member stays in its group.
      await this.#intake.commit(clock, this.#signal, async () => await payload.heartbeat())
      const next = BigInt(last) + 1n
      if (next > known) this.#stored.set(key, next)
      await consumer.commitOffsets([{ topic, partition, offset: String(next) }])
      positions.committed(topic, partition, next)
      payload.resolveOffset(last)
      last = undefined
      await payload.heartbeat()
    }
    for (const { offset, value } of messages) {
      if (this.#signal.aborted || !payload.isRunning() || payload.isStale()) break
      if (BigInt(offset) >= known) this.#intake.add(() => `${topic}/${partition} ${offset}`, recordOf(value))
      last = offset
      if (this.#intake.full) await commit()
    }
    await commit()
  }
}

const recordOf = (value: Buffer | null) => (): Buffer => {
  if (value === null) throw new UnfitRecord('the message has no value')
  return value
}

const isKafkaError = (error: unknown): boolean => error instanceof Error && error.name.startsWith('KafkaJS')

/** Returns the error with its reason instead of the library's text. Permanent errors become SourceRejected. */
function explained(error: unknown): Error {
  let reason: unknown = error
  for (let depth = 0; depth < 5 && reason instanceof Error; depth++) {
    const { name, message, cause } = reason
    if (name === 'KafkaJSNotImplemented')
      return new SourceRejected(`a topic has messages that cannot be decompressed: ${message}; use gzip or none`)
    if (name.includes('SASL')) return new SourceRejected(`the broker rejected the credentials: ${message}`)
    if (!(cause instanceof Error)) break
    reason = cause
  }
  return error instanceof NotStored ? error : new Error(messageOf(reason), { cause: error })
}
