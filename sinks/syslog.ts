import { once } from 'node:events'
import { hostname } from 'node:os'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Type, type Static } from 'typebox'
import type { Clock } from '../src/core/clock.js'
import { strict } from '../src/core/schema.js'
import { SinkError } from '../src/core/sink.js'
import { unreachable } from './contract/failure.js'
import { reject, text, whole } from './contract/params.js'
import type { SinkDeps } from './contract/sink-type.js'
import { lineSinkType } from './streams/line-sink.js'
import { CONNECT_MS, noPath, serverOf, TRANSPORT, transportOf, type Server, type Transport } from './streams/server.js'

/** A field of the header: PRINTUSASCII of RFC 5424, 6. */
const field = (description: string, max: number) =>
  text(description, {
    pattern: `^[\\x21-\\x7e]{1,${max}}$`,
    'x-message': `must be 1 to ${max} printable ASCII characters without spaces`,
  })

const PARAMS = Type.Object(
  {
    facility: whole('Facility of the messages. Default: 16 (local0).', 0, 23),
    severity: whole('Severity of the messages. Default: 6 (informational).', 0, 7),
    hostname: Type.Optional(field('HOSTNAME of the messages. Default is the name of this machine.', 255)),
    'app-name': Type.Optional(field('APP-NAME of the messages. Default: edged.', 48)),
    ...TRANSPORT,
  },
  strict,
)

/**
 * Sends each line of a batch as a message of RFC 5424 with octet counting (RFC 5425), over TLS. With `tls=false` and
 * the permission of the operator, it uses plain TCP (RFC 6587).
 *
 * Syslog confirms nothing, so a connection carries one batch. The batch counts as delivered after the server has read
 * to its end and closed. A server that closes earlier, for example because it has too many connections, has not read
 * the batch. The client side waits long enough to see such a close before it ends the connection. A batch that is sent
 * again has the same PROCID, which is the name of the batch, and the same sequenceId for each line.
 */
export const syslog = lineSinkType({
  scheme: 'syslog',
  form: 'syslog://host:6514',
  summary: 'messages of RFC 5424, one per line',
  params: PARAMS,
  settings: settingsOf,

  async send({ server, transport, head }, { name, time, groups }, { egress, clock }, signal) {
    const place = `${server.host}:${server.port}`
    let early = false
    try {
      const begin = clock.monotonic()
      const socket = await egress.connect({ ...server, ...transport, timeoutMs: CONNECT_MS, signal })
      const connected = clock.monotonic()
      const closed = once(socket, 'end', { signal })
      // The pipeline reports the error if it is the first failure. Unhandled, it would end the process.
      closed.catch(() => {})
      let reported = false
      socket.once('end', () => (early = !reported))
      socket.resume()
      try {
        const messages = frames(head(time, name), groups)
        await pipeline(Readable.from(messages, { objectMode: false }), socket, { signal, end: false })
        const settledAt = connected + Math.max(SETTLE_MS, 2 * (connected - begin))
        await settled(closed, clock, settledAt - clock.monotonic(), signal)
        if (!early) {
          reported = true
          socket.end()
          socket.setTimeout(CLOSE_MS, () => socket.destroy(new NotClosed()))
          await closed
        }
      } finally {
        socket.destroy()
      }
    } catch (error) {
      signal.throwIfAborted()
      if (!early) throw unreachable(place, error)
    }
    if (early) throw new SinkError('transient', `${place} closed the connection before the end of the batch`)
  },
})

/** Waits, but not for a connection that is closed. */
async function settled(closed: Promise<unknown>, clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return
  const over = new AbortController()
  const waited = clock.sleep(ms, AbortSignal.any([signal, over.signal]))
  try {
    await Promise.race([closed, waited])
  } finally {
    over.abort()
    await waited.catch(() => {})
  }
}

/**
 * Time in which a server that does not want the connection closes it. Twice the connect time is used if it is longer.
 */
const SETTLE_MS = 100
/** Maximum time for a server to read data in progress and to close. */
const CLOSE_MS = 30_000

class NotClosed extends Error {
  override readonly name = 'NotClosed'
}

interface Settings {
  readonly server: Server
  readonly transport: Transport
  /** Text before the structured data of each message. */
  readonly head: (time: Date, batch: string) => string
}

function settingsOf(destination: URL, given: Static<typeof PARAMS>, deps: SinkDeps): Settings {
  const port = given.tls === false ? 601 : 6514
  const transport = transportOf(given, deps, [serverOf(destination, port)])
  noPath(destination)
  if (destination.username !== '' || destination.password !== '') reject('has a user name')
  const { facility = 16, severity = 6, hostname: host = hostname(), 'app-name': app = 'edged' } = given
  const priority = facility * 8 + severity
  return {
    server: serverOf(destination, port),
    transport,
    head: (time, batch) => `<${priority}>1 ${time.toISOString()} ${host} ${app} ${batch} - `,
  }
}

async function* frames(head: string, groups: AsyncIterable<Uint8Array[]>): AsyncGenerator<Uint8Array> {
  let sequence = 0
  for await (const group of groups) {
    yield Buffer.concat(
      group.map((line) => {
        sequence += 1
        return framed(head, sequence, line)
      }),
    )
  }
}

function framed(head: string, sequence: number, line: Uint8Array): Buffer {
  const start = Buffer.from(`${head}[meta sequenceId="${sequence}"] `)
  return Buffer.concat([Buffer.from(`${start.length + line.length} `), start, line])
}
