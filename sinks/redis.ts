import type { Socket } from 'node:net'
import { AbstractConnector, Redis, type RedisOptions } from 'ioredis'
import { Type, type Static } from 'typebox'
import { strict } from '../src/core/schema.js'
import { SinkError } from '../src/core/sink.js'
import { unreachable } from './contract/failure.js'
import { pathOf, reject, secret, text, whole } from './contract/params.js'
import type { SinkDeps, SinkType } from './contract/sink-type.js'
import { lineSinkType, type LineBatch } from './streams/line-sink.js'
import { CONNECT_MS, serverOf, TRANSPORT, transportOf, type Server, type Transport } from './streams/server.js'

const PARAMS = Type.Object(
  {
    stream: text('Key of the stream.', { maxLength: 512, 'x-message': 'is longer than 512 characters' }),
    maxlen: whole('Trim the stream to about this many entries.', 1, 1e12),
    username: Type.Optional(text('User of the server.')),
    password: Type.Optional(secret('Password of the user.')),
    'insecure-skip-verify': TRANSPORT['insecure-skip-verify'],
  },
  strict,
)

/**
 * Adds each line of a batch as an entry to a Redis stream, in the field `data`.
 *
 * The fields `batch`, the name of the batch, and `record`, the number of the line from 0, distinguish entries. A batch
 * that failed midway is sent again from its beginning. A consumer recognizes duplicates by these two fields.
 */
export const rediss = redisOver('rediss')

/** The same without TLS, if the operator allows it. */
export const redis = redisOver('redis')

function redisOver(scheme: 'redis' | 'rediss'): SinkType {
  return lineSinkType({
    scheme,
    form: `${scheme}://host:6379/db`,
    summary: `entries of a stream, one per line${scheme === 'redis' ? ', if `logpush.destinations.allow_plain_http` is true' : ''}`,
    params: PARAMS,
    settings: settingsOf,
    send: append,
  })
}

interface Settings {
  readonly server: Server
  readonly transport: Transport
  readonly options: RedisOptions
  readonly stream: string
  /** Arguments of XADD between key and id. */
  readonly cut: readonly (string | number)[]
}

function settingsOf(destination: URL, given: Static<typeof PARAMS>, deps: SinkDeps): Settings {
  const transport = transportOf({ ...given, tls: destination.protocol === 'rediss:' }, deps, [
    serverOf(destination, 6379),
  ])
  if (destination.username !== '' || destination.password !== '')
    reject('has a user name or a password; use the parameters username and password')
  const db = pathOf(destination)
  if (!/^\d{0,4}$/.test(db)) reject('has a path that is not a database number')
  const { stream, username, password, maxlen } = given
  if (username !== undefined && password === undefined) reject('has a username, which needs a password')
  return {
    server: serverOf(destination, 6379),
    transport,
    options: { db: Number(db), ...(username && { username }), ...(password && { password }) },
    stream,
    cut: maxlen === undefined ? [] : ['MAXLEN', '~', maxlen],
  }
}

/** One connection per batch, one round trip per group of lines. */
async function append(
  { server, transport, options, stream, cut }: Settings,
  { name, groups }: LineBatch,
  { egress }: SinkDeps,
  signal: AbortSignal,
): Promise<void> {
  const place = `${server.host}:${server.port}`
  signal.throwIfAborted()
  let refusal: unknown
  /** Bytes of responses to the last group of commands. */
  let received = 0
  const link = new Redis({
    ...options,
    lazyConnect: true,
    enableReadyCheck: false,
    // The loop of the job retries, because it knows about other waiting work.
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    Connector: connector(async () => {
      const socket = await egress.connect({ ...server, ...transport, timeoutMs: CONNECT_MS, signal })
      return socket.on('data', ({ length }) => {
        received += length
        if (received > MAX_RECEIVED) socket.destroy(new Error('the server sends too much'))
      })
    }),
  })
  // For example a password that the server rejects. It is only reported here, and commands only see a closed
  // connection.
  link.on('error', (error) => (refusal ??= error))
  const abort = () => link.disconnect()
  signal.addEventListener('abort', abort, { once: true })
  try {
    await link.connect()
    let record = 0
    for await (const group of groups) {
      const pipeline = link.pipeline()
      received = 0
      for (const line of group) {
        pipeline.xadd(stream, ...cut, '*', 'batch', name, 'record', record, 'data', Buffer.from(line))
        record += 1
      }
      for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error
    }
  } catch (error) {
    signal.throwIfAborted()
    throw failed(place, refusal ?? error)
  } finally {
    signal.removeEventListener('abort', abort)
    link.disconnect()
  }
}

/** A way for the library to connect as the guard allows. */
function connector(connect: () => Promise<Socket>): NonNullable<RedisOptions['Connector']> {
  return class extends AbstractConnector {
    constructor() {
      super(DISCONNECT_MS)
    }

    override async connect(): Promise<Socket> {
      this.connecting = true
      const socket = await connect()
      if (!this.connecting) {
        socket.destroy()
        throw new Error('given up')
      }
      this.stream = socket
      return socket
    }
  }
}

const DISCONNECT_MS = 2000
/**
 * Maximum bytes of responses. The response to a line is its id, some 30 bytes. A hostile server would fill the memory.
 */
const MAX_RECEIVED = 16 * 1024 * 1024

/**
 * Converts an error of the library to a SinkError with the first word of the server's message, which is the error type.
 * The error itself is not kept because it contains the command, which may be the one with the password.
 */
function failed(place: string, error: unknown): SinkError {
  const [kind = ''] = error instanceof Error && error.name === 'ReplyError' ? error.message.split(' ', 1) : []
  if (!/^[A-Z]{2,32}$/.test(kind)) return unreachable(place, error)
  return new SinkError(PASSING.has(kind) ? 'transient' : 'refused', `${place} responded with ${kind}`)
}

/** States of a server that pass. */
const PASSING: ReadonlySet<string> = new Set([
  'BUSY',
  'CLUSTERDOWN',
  'LOADING',
  'MASTERDOWN',
  'MISCONF',
  'NOREPLICAS',
  'OOM',
  'READONLY',
  'TRYAGAIN',
])
