/**
 * Reads a stream of NATS JetStream through a durable pull consumer that any number of runs share. Messages are
 * acknowledged after their records are safe on disk. Messages without a timely acknowledgement are delivered again.
 */
import type { ConsumerInfo, ConsumerMessages, JsMsg } from '@nats-io/jetstream'
import type { NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node'
import { messageOf } from '../../../src/core/errors.js'
import type { Input } from '../intake/input.js'
import { MessageIntake } from '../intake/message-intake.js'
import { DeliveredSequences } from './nats-sequences.js'
import { NotStored, orAborted, reconnecting, SourceRejected } from '../intake/reconnect.js'
import { SourceLosses } from '../intake/source-losses.js'
import { spoolInput, type TakingDeps } from '../intake/spool-input.js'

export interface NatsOptions {
  /** Some servers as `nats://host:port`. They report the others of a cluster. */
  readonly servers: readonly string[]
  readonly stream: string
  readonly consumer?: string | undefined
  readonly tls?: NodeConnectionOptions['tls'] | undefined
  readonly user?: string | undefined
  readonly pass?: string | undefined
  readonly token?: string | undefined
  /** Content of a credentials file. */
  readonly credentials?: Uint8Array | undefined
  /** Called with messages for the user. */
  readonly tell: (message: string) => void
}

/** Maximum bytes of messages that wait in memory. A server reports the maximum size of one message. */
const BUFFER_BYTES = 32 * 1024 * 1024
const DEFAULT_PAYLOAD = 1024 * 1024
const MIN_MESSAGES = 4
/** Messages of one commit at most. */
const MAX_UNACKNOWLEDGED = 1000
const CONNECT_MS = 10_000
/** Time in nanoseconds without an acknowledgement after which the server delivers a message again. */
const ACK_WAIT_NS = 30 * 1e9
const MAX_ACK_PENDING = 10_000
/** Parts of that time between two reports that messages still wait for the spool. */
const WORKING_PARTS = 4
const CLOSE_MS = 5000

/** Reads the messages of a stream, with a new consumer from its beginning. Waits while no server can be reached. */
export async function natsInput(options: NatsOptions, deps: TakingDeps): Promise<Input> {
  const { servers, stream, tell } = options
  const place = `the stream ${stream} of ${servers.join(', ')}`
  return await spoolInput(deps, {
    endless: true,
    async take(writer, signal) {
      const stored = new RecentSequences()
      const losses = new SourceLosses({ ...deps, tell }, `messages of ${place}`)
      const sequences = new DeliveredSequences(losses)
      const session = async (working: () => void) => {
        const connection = await connected(options)
        try {
          const intake = new MessageIntake(writer(), deps.stats, deps.lines)
          await new StreamReader(connection, intake, { stored, sequences }, options, deps).read(working, signal)
        } finally {
          await Promise.race([connection.close(), deps.clock.sleep(CLOSE_MS)]).catch(() => {})
        }
      }
      try {
        await reconnecting(session, { place, tell, clock: deps.clock, signal })
      } finally {
        losses.flush()
      }
    },
  })
}

async function connected({ servers, credentials, tls, user, pass, token }: NatsOptions): Promise<NatsConnection> {
  const { connect, credsAuthenticator } = await import('@nats-io/transport-node')
  try {
    return await connect({
      servers: [...servers],
      name: 'edged',
      timeout: CONNECT_MS,
      // A new connection follows a failed one. Unacknowledged messages are read again.
      reconnect: false,
      ...(tls && { tls }),
      ...(user !== undefined && { user }),
      ...(pass !== undefined && { pass }),
      ...(token !== undefined && { token }),
      ...(credentials && { authenticator: credsAuthenticator(credentials) }),
    })
  } catch (error) {
    if (isDenied(error)) throw new SourceRejected(`the server rejected the credentials: ${messageOf(error)}`)
    throw error
  }
}

const isDenied = (error: unknown): boolean =>
  error instanceof Error && /^(AuthorizationError|UserAuthenticationExpiredError)$/.test(error.name)

/**
 * Sequences of the last messages that are in the spool. A message whose acknowledgement was late or lost is delivered
 * again, and is then only acknowledged.
 */
class RecentSequences {
  readonly #sequences = new Set<number>()
  #consumer = ''

  /**
   * Forgets the sequences if the consumer is a new one, because a stream that was deleted and created again begins with
   * 1.
   */
  follow(created: string): void {
    if (created !== this.#consumer) this.#sequences.clear()
    this.#consumer = created
  }

  has(sequence: number): boolean {
    return this.#sequences.has(sequence)
  }

  add(sequence: number): void {
    this.#sequences.add(sequence)
    if (this.#sequences.size <= MAX_ACK_PENDING) return
    for (const oldest of this.#sequences) return void this.#sequences.delete(oldest)
  }
}

/** Reads over one connection. */
class StreamReader {
  readonly #connection: NatsConnection
  readonly #intake: MessageIntake
  readonly #options: NatsOptions
  readonly #deps: TakingDeps
  readonly #stored: RecentSequences
  readonly #sequences: DeliveredSequences
  #messages: ConsumerMessages | undefined

  constructor(
    connection: NatsConnection,
    intake: MessageIntake,
    { stored, sequences }: { readonly stored: RecentSequences; readonly sequences: DeliveredSequences },
    options: NatsOptions,
    deps: TakingDeps,
  ) {
    this.#stored = stored
    this.#sequences = sequences
    this.#connection = connection
    this.#intake = intake
    this.#options = options
    this.#deps = deps
  }

  /** Reads until a stop. Rejects if the connection ends. */
  async read(working: () => void, signal: AbortSignal): Promise<void> {
    const closed = this.#connection.closed().then((error) => {
      throw error ?? new Error('the connection was closed')
    })
    const pulling = this.#pull(working, signal)
    await orAborted(Promise.race([pulling, closed]), signal)
    // Messages read before the stop are acknowledged if possible.
    void this.#messages?.close()
    await Promise.race([pulling, this.#deps.clock.sleep(CLOSE_MS)]).catch(() => {})
  }

  async #pull(working: () => void, signal: AbortSignal): Promise<void> {
    const { stream } = this.#options
    const { jetstream } = await import('@nats-io/jetstream')
    const { name, config, created } = await this.#consumer()
    this.#stored.follow(created)
    const consumer = await jetstream(this.#connection).consumers.get(stream, name)
    working()
    const { max_payload: maxPayload = DEFAULT_PAYLOAD } = this.#connection.info ?? {}
    const count = Math.max(MIN_MESSAGES, Math.floor(BUFFER_BYTES / maxPayload))
    const patience = (config.ack_wait ?? ACK_WAIT_NS) / 1e6 / WORKING_PARTS
    if (signal.aborted) return
    this.#messages = await consumer.consume({ max_messages: count, abort_on_missing_resource: true })
    await this.#take(this.#messages, `${stream} ${name}`, patience, signal)
  }

  async #take(messages: ConsumerMessages, place: string, patienceMs: number, signal: AbortSignal): Promise<void> {
    const iterator = messages[Symbol.asyncIterator]()
    let added: JsMsg[] = []
    let next = iterator.next()
    for (;;) {
      // The count of waiting messages of the library includes calls of its own.
      const found = added.length > 0 ? await ifArrived(next) : await next
      if (found?.done) break
      if (found !== undefined) {
        const message = found.value
        added.push(message)
        this.#sequences.follow(message)
        if (!message.redelivered || !this.#stored.has(message.seq))
          this.#intake.add(
            () => `${place} ${message.seq}`,
            () => message.data,
          )
        next = iterator.next()
        // The next call that waits for it reports its error.
        next.catch(() => {})
        if (!this.#intake.full && added.length < MAX_UNACKNOWLEDGED) continue
      }
      await this.#store(added, patienceMs, signal)
      added = []
    }
    await this.#store(added, patienceMs, signal)
  }

  /** Acknowledges messages after their records are durable. While the spool is full the server is kept from delivering them again. */
  async #store(messages: readonly JsMsg[], patienceMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps
    let reported = clock.monotonic()
    const waiting = async () => {
      if (clock.monotonic() < reported + patienceMs) return
      reported = clock.monotonic()
      for (const message of messages) message.working()
      await this.#connection.flush()
    }
    try {
      await this.#intake.commit(clock, signal, waiting)
    } catch (error) {
      if (signal.aborted || this.#connection.isClosed()) throw error
      throw new NotStored(error)
    }
    for (const message of messages) {
      this.#stored.add(message.seq)
      message.ack()
    }
    await this.#connection.flush()
  }

  /** Returns the consumer, and creates it if the stream has none of that name. */
  async #consumer(): Promise<ConsumerInfo> {
    const { stream, consumer = 'edged' } = this.#options
    const { AckPolicy, JetStreamApiCodes, JetStreamApiError, jetstreamManager } = await import('@nats-io/jetstream')
    const { consumers } = await jetstreamManager(this.#connection)
    const found = await consumers.info(stream, consumer).catch((error: unknown) => {
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound) return undefined
      throw error
    })
    const info =
      found ??
      (await consumers.add(stream, {
        durable_name: consumer,
        ack_policy: AckPolicy.Explicit,
        ack_wait: ACK_WAIT_NS,
        max_ack_pending: MAX_ACK_PENDING,
      }))
    if (info.config.ack_policy !== AckPolicy.Explicit || info.config.deliver_subject !== undefined)
      throw new SourceRejected(
        `the consumer ${consumer} of the stream ${stream} cannot be used: it must be a pull consumer with explicit acknowledgement`,
      )
    this.#sequences.begin(info)
    return info
  }
}

/** Returns the result of a promise, or undefined if it does not resolve in this turn of the event loop. */
async function ifArrived<T>(promise: Promise<T>): Promise<T | undefined> {
  let turn: NodeJS.Immediate
  const over = new Promise<undefined>((resolve) => (turn = setImmediate(resolve, undefined)))
  try {
    return await Promise.race([promise, over])
  } finally {
    clearImmediate(turn!)
  }
}
