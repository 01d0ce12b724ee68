import type { Kafka, KafkaConfig, Message, SASLOptions } from 'kafkajs'
import { Type, type Static } from 'typebox'
import { strict } from '../src/core/schema.js'
import { SinkError } from '../src/core/sink.js'
import { NotPublic } from '../src/egress/egress.js'
import { unreachable } from './contract/failure.js'
import { choice, flag, pathOf, reject, secret, shown, text } from './contract/params.js'
import type { SinkDeps } from './contract/sink-type.js'
import { FixedPartitions } from './streams/fixed-partitions.js'
import { LateSocket } from './streams/late-socket.js'
import { lineSinkType, type LineBatch } from './streams/line-sink.js'
import { boundedScram, TOO_MANY_ITERATIONS } from './streams/scram.js'
import { CONNECT_MS, serverOf, TRANSPORT, transportOf, type Server, type Transport } from './streams/server.js'

const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const
const PARAMS = Type.Object(
  {
    brokers: Type.Optional(text('More brokers: HOST:PORT, comma-separated.')),
    sasl: Type.Optional(choice('Mechanism that the client authenticates with.', [...MECHANISMS])),
    username: Type.Optional(text('User for `sasl`.')),
    password: Type.Optional(secret('Password for `sasl`.')),
    compression: Type.Optional(choice('Compression of messages. Default: gzip.', ['gzip', 'none'])),
    idempotent: flag(
      'Number messages, so that brokers drop those that a repeated request repeats. Needs brokers that return producer ids, and ' +
        'the permission for it.',
      false,
    ),
    key: Type.Optional(
      shown(
        'Field of the line, or JSON pointer such as /user/id, whose value is the key of its message; lines without it have no ' +
          'key. Default: RayID, else ClientIP.',
      ),
    ),
    ...TRANSPORT,
  },
  strict,
)

/**
 * Sends each line of a batch as a message, confirmed by all in-sync replicas. The addresses that brokers return for
 * each other are guarded like the address of the destination.
 *
 * Messages have the headers `batch`, the name of the batch, and `record`, the number of the line from 0. A batch that
 * failed midway is sent again from its beginning. A consumer recognizes duplicates by these two headers.
 *
 * With `idempotent`, requests whose response is lost are repeated under the same numbers before the batch fails.
 * Numbers do not outlive an attempt. A later attempt splits the requests and chooses partitions again.
 */
export const kafka = lineSinkType({
  scheme: 'kafka',
  form: 'kafka://broker:9092/topic',
  summary: 'messages of a topic, one per line',
  params: PARAMS,
  settings: settingsOf,
  send: produce,
})

interface Settings {
  readonly brokers: readonly Server[]
  readonly topic: string
  readonly transport: Transport
  readonly sasl: Sasl | undefined
  readonly gzip: boolean
  readonly idempotent: boolean
  /** Possible paths to the key. Each is a list of member names, outermost first. */
  readonly keys: readonly (readonly string[])[]
}

function settingsOf(destination: URL, given: Static<typeof PARAMS>, deps: SinkDeps): Settings {
  const topic = pathOf(destination)
  if (!/^[A-Za-z0-9._-]{1,249}$/.test(topic) || /^\.\.?$/.test(topic))
    reject('has an invalid topic; use letters, digits, ".", "_" and "-"')
  if (destination.username !== '' || destination.password !== '')
    reject('has a user name; use the parameters sasl, username and password')
  const more = given.brokers?.split(',') ?? []
  if (more.length > MAX_BROKERS) reject(`has more than ${MAX_BROKERS} brokers`)
  const brokers = [destination, ...more.map(brokerUrl)].map((url) => serverOf(url, 9092))
  const transport = transportOf(given, deps, brokers)
  return {
    brokers,
    topic,
    transport,
    sasl: saslOf(given),
    gzip: given.compression !== 'none',
    idempotent: given.idempotent ?? false,
    keys: given.key === undefined ? DEFAULT_KEYS : [keyPath(given.key)],
  }
}

function brokerUrl(text: string): URL {
  const url =
    /^[A-Za-z0-9.:[\]-]+$/.test(text) && URL.canParse(`kafka://${text}`) ? new URL(`kafka://${text}`) : undefined
  return url ?? reject('has a parameter brokers that is not a list of HOST:PORT')
}

const MAX_BROKERS = 20
type Sasl = Extract<SASLOptions, { mechanism: (typeof MECHANISMS)[number] }>

function saslOf({ sasl: mechanism, username, password }: Static<typeof PARAMS>): Sasl | undefined {
  if (mechanism === undefined) {
    if (username !== undefined || password !== undefined) reject('has credentials, which need the parameter sasl')
    return undefined
  }
  if (username === undefined || password === undefined)
    reject('has the parameter sasl, which needs username and password')
  return { mechanism, username, password }
}

/** Opens one connection per batch, because brokers may start and stop between two batches. */
async function produce(
  { brokers, topic, transport, sasl, gzip, idempotent, keys }: Settings,
  batch: LineBatch,
  deps: SinkDeps,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  const place = `kafka topic ${topic}`
  const sockets = new Set<LateSocket>()
  let blocked: NotPublic | undefined

  const dial = async (host: string, port: number) => {
    try {
      return await deps.egress.connect({ host, port, ...transport, timeoutMs: CONNECT_MS, signal })
    } catch (error) {
      if (error instanceof NotPublic) blocked = error
      throw error
    }
  }
  const socketFactory: KafkaConfig['socketFactory'] = ({ host, port, onConnect }) => {
    const socket = new LateSocket(dial(host, port), MAX_RECEIVED)
    sockets.add(socket)
    socket.once('connect', onConnect).once('close', () => sockets.delete(socket))
    // It has all members of a socket that the library uses.
    return socket as unknown as ReturnType<NonNullable<KafkaConfig['socketFactory']>>
  }
  const abort = () => sockets.forEach((socket) => socket.destroy(new Error('given up')))
  signal.addEventListener('abort', abort, { once: true })

  const { CompressionTypes, Kafka, logLevel, Partitioners } = (await import('kafkajs')).default
  const client: Kafka = new Kafka({
    clientId: 'edged',
    brokers: brokers.map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)),
    ...(sasl && { sasl: sasl.mechanism === 'plain' ? sasl : boundedScram(sasl) }),
    socketFactory,
    connectionTimeout: CONNECT_MS,
    requestTimeout: ANSWER_MS,
    // The loop of the job retries, because it knows about other waiting work.
    retry: { retries: 0 },
    logLevel: logLevel.NOTHING,
  })
  const partitions = new FixedPartitions()
  const producer = client.producer({
    createPartitioner: partitions.of(Partitioners.DefaultPartitioner),
    allowAutoTopicCreation: false,
    ...(idempotent && { idempotent, retry: REPEATS }),
  })
  try {
    await producer.connect()
    const compression = gzip ? CompressionTypes.GZIP : CompressionTypes.None
    for await (const messages of requests(batch, keys)) {
      const responses = await producer.send({ topic, messages, acks: ALL, timeout: ANSWER_MS, compression })
      if (!partitions.confirmed(messages, responses))
        throw new SinkError('transient', `${place}: a partition got another leader`)
    }
  } catch (error) {
    signal.throwIfAborted()
    throw blocked ? new SinkError('refused', blocked.message) : failed(place, error)
  } finally {
    signal.removeEventListener('abort', abort)
    await producer.disconnect().catch(() => {})
    abort()
  }
}

const ALL = -1
const ANSWER_MS = 30_000
/** Repetitions of a request. Brokers drop messages that they already have. */
const REPEATS = { retries: 2, initialRetryTime: 200 }
/** Maximum size of broker responses. They are small. The largest one names the topic's partitions. */
const MAX_RECEIVED = 16 * 1024 * 1024

/** Messages in the sizes of requests. Brokers take 1 MiB in one by default, after compression. */
async function* requests({ name, groups }: LineBatch, keys: Settings['keys']): AsyncGenerator<Message[]> {
  let waiting: Message[] = []
  let bytes = 0
  let record = 0
  for await (const group of groups) {
    for (const line of group) {
      const key = keyOf(line, keys)
      const size = line.length + (key?.length ?? 0) + OVERHEAD
      if (waiting.length > 0 && bytes + size > REQUEST_BYTES) {
        yield waiting
        waiting = []
        bytes = 0
      }
      // A copy, because the line is a view of bytes that may change with the next group.
      waiting.push({ key, value: Buffer.from(line), headers: { batch: name, record: String(record) } })
      bytes += size
      record += 1
    }
  }
  if (waiting.length > 0) yield waiting
}

/** Returns the path of a key. A key that begins with a slash is a JSON pointer (RFC 6901, 4). */
const keyPath = (key: string): string[] =>
  key.startsWith('/')
    ? key
        .slice(1)
        .split('/')
        .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    : [key]

/** Requests of the same visit stay in one partition, and in order. */
const DEFAULT_KEYS: Settings['keys'] = [['RayID'], ['ClientIP']]

/**
 * Returns the key of a line. A string is used as it is, another value as JSON text. Null if the line has no such value.
 */
function keyOf(line: Uint8Array, keys: Settings['keys']): string | null {
  if (line[0] !== 0x7b) return null
  let record: unknown
  try {
    record = JSON.parse(Buffer.from(line.buffer, line.byteOffset, line.length).toString())
  } catch {
    return null
  }
  for (const path of keys) {
    const value = path.reduce<unknown>(memberOf, record)
    if (value !== undefined && value !== null) return typeof value === 'string' ? value : JSON.stringify(value)
  }
  return null
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined

const REQUEST_BYTES = 900_000
/** Bytes of a message besides its value, including headers. */
const OVERHEAD = 100

/** Converts an error of the library to a SinkError, with the broker's code if there is one. */
function failed(place: string, error: unknown): SinkError {
  for (let cause: unknown = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    const { type, name, message } = cause as { type?: unknown; name: string; message: string }
    if (name.includes('SASL') && message.endsWith(TOO_MANY_ITERATIONS))
      return new SinkError('refused', `${place}: the broker asks for ${TOO_MANY_ITERATIONS}`)
    if (typeof type === 'string' && /^[A-Z_]{1,64}$/.test(type))
      return new SinkError(failureOf(type), `${place}: the broker responded with ${type}`)
    if (name.includes('SASL')) return new SinkError('refused', `${place}: the broker rejected the credentials`)
  }
  return unreachable(place, error)
}

function failureOf(type: string): SinkError['failure'] {
  if (type === 'MESSAGE_TOO_LARGE' || type === 'RECORD_LIST_TOO_LARGE') return 'too_large'
  return REFUSALS.test(type) ? 'refused' : 'transient'
}

const REFUSALS = /AUTHORIZATION|AUTHENTICATION|SASL|UNKNOWN_TOPIC|INVALID_TOPIC|UNSUPPORTED|POLICY_VIOLATION/
