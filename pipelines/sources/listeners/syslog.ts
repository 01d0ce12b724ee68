/** A syslog listener over TCP, UDP or TLS. */
import { createSocket, type Socket as DatagramSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, isIPv6, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { bytePieces } from '../../../src/core/byte-pieces.js'
import { messageOf } from '../../../src/core/errors.js'
import { EventLoopYield } from '../../../src/core/schedule/event-loop-yield.js'
import { SERVER_TLS } from '../../../src/core/server-tls.js'
import { UnfitRecord } from '../../records/index.js'
import type { FrameWriter } from '../../logpush/spool/types.js'
import type { Input } from '../intake/input.js'
import { addressOf } from './listen-address.js'
import { MAX_LINE_BYTES } from '../lines/line-blocks.js'
import { MessageIntake } from '../intake/message-intake.js'
import { wantedRecord, type RecordChoice } from '../intake/record-choice.js'
import { spoolInput, type TakingDeps } from '../intake/spool-input.js'
import { BrokenFraming, SyslogFrames } from './syslog-frames.js'
import { readSyslog } from './syslog-message.js'

export interface SyslogOptions {
  /** Address such as `127.0.0.1:5514`. Port 0 chooses a free port. */
  readonly listen: string
  readonly protocol?: 'tcp' | 'udp' | 'tls' | undefined
  readonly cert_file?: string | undefined
  readonly key_file?: string | undefined
  readonly client_ca_file?: string | undefined
  readonly record?: RecordChoice | undefined
  /** Called with the URL, once it listens. */
  readonly listening: (url: string) => void
}

/** Maximum open connections. Further ones are closed. */
const MAX_CONNECTIONS = 1024
/** Maximum bytes of datagrams that wait for the spool. Further datagrams are dropped and counted as invalid. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024
const RECEIVE_BUFFER = 4 * 1024 * 1024
const HANDSHAKE_MS = 30_000
/** Idle time before probes. Without probes, connections of vanished senders would stay open forever. */
const PROBE_AFTER_MS = 60_000

/** Reads syslog messages. Rejects if it cannot listen on the address. */
export async function syslogInput(options: SyslogOptions, deps: TakingDeps): Promise<Input> {
  return options.protocol === 'udp' ? await datagrams(options, deps) : await connections(options, deps)
}

/** Returns the record of a message. */
function recordReader({ record }: SyslogOptions, { dataset, clock, lines }: TakingDeps) {
  const whole = lines === undefined && wantedRecord(record, dataset) === 'event'
  return (bytes: Uint8Array, sender: string): Uint8Array => {
    const now = clock.now()
    const found = readSyslog(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(), now)
    if (!whole) return Buffer.from(found.message.replace(/^@cee: ?/, ''))
    const timestamp = found.timestamp ?? new Date(now).toISOString()
    return Buffer.from(JSON.stringify({ ...found, timestamp, source_address: sender }))
  }
}

async function connections(options: SyslogOptions, deps: TakingDeps): Promise<Input> {
  const { protocol = 'tcp', listening } = options
  const { stats, clock, log, lines } = deps
  const read = recordReader(options, deps)
  const server = await serverFor(options)
  const event = protocol === 'tls' ? 'secureConnection' : 'connection'
  const open = new Set<Socket>()
  const slices = new EventLoopYield()
  server.on('connection', (socket: Socket) => {
    if (open.size >= MAX_CONNECTIONS) return void socket.destroy()
    open.add(socket)
    socket.on('error', () => {}).once('close', () => open.delete(socket))
  })
  const input = await spoolInput(deps, {
    endless: true,
    async take(writer, signal) {
      const reading = new Set<Promise<void>>()
      server.on(event, (socket: Socket) => {
        // Errors end the iteration of the socket.
        socket.on('error', () => {})
        const done = connection(socket, writer()).finally(() => reading.delete(done))
        reading.add(done)
      })
      if (!signal.aborted) await once(signal, 'abort')
      if (server.listening) {
        const closed = once(server, 'close')
        server.close()
        for (const socket of open) socket.destroy()
        await closed
      }
      await Promise.all(reading)

      async function connection(socket: Socket, writer: FrameWriter): Promise<void> {
        const intake = new MessageIntake(writer, stats, lines)
        const sender = socket.remoteAddress ?? ''
        const place = () => `syslog ${sender}`
        const frames = new SyslogFrames(MAX_LINE_BYTES, (message) =>
          intake.add(place, () => {
            if (message === undefined) throw new UnfitRecord(`the message is longer than ${MAX_LINE_BYTES} bytes`)
            return read(message, sender)
          }),
        )
        try {
          for await (const chunk of socket as AsyncIterable<Buffer>) {
            for (const part of bytePieces(chunk)) {
              frames.read(part)
              await slices.yieldToEventLoop()
            }
            await intake.commit(clock, signal)
          }
          frames.end()
        } catch (error) {
          if (error instanceof BrokenFraming) {
            stats.read++
            stats.reject(place(), error.message)
            log.warn({ event: 'syslog_connection_closed', sender, error: error.message })
          }
        }
        socket.destroy()
        await intake.commit(clock, signal).catch(() => {})
      }
    },
  })
  try {
    const { host, port } = addressOf(options.listen)
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    await input.close()
    throw cannotListen(options.listen, error)
  }
  listening(urlOf(protocol, server.address() as AddressInfo))
  return input
}

async function serverFor({ protocol, ...files }: SyslogOptions): Promise<Server> {
  const probes = { keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS }
  if (protocol !== 'tls') return createServer(probes)
  const [cert, key, ca] = await Promise.all(
    [files.cert_file, files.key_file, files.client_ca_file].map(async (path) =>
      path === undefined ? undefined : await readFile(path),
    ),
  )
  if (cert === undefined || key === undefined) throw new Error('syslog with protocol tls needs cert_file and key_file')
  const clients = ca && { ca, requestCert: true, rejectUnauthorized: true }
  return createTlsServer({ ...SERVER_TLS, cert, key, ...clients, ...probes, handshakeTimeout: HANDSHAKE_MS })
}

/**
 * Reads datagrams. UDP cannot make senders wait. Datagrams that arrive while the spool is full are buffered up to a
 * limit, then dropped.
 */
async function datagrams(options: SyslogOptions, deps: TakingDeps): Promise<Input> {
  const { stats, clock, lines } = deps
  const read = recordReader(options, deps)
  const { host, port } = addressOf(options.listen)
  const socket = createSocket({ type: isIPv6(host) ? 'udp6' : 'udp4' })
  let waiting: [bytes: Buffer, sender: string][] = []
  let bytes = 0
  let arrived: (() => void) | undefined
  socket.on('message', (message, { address }) => {
    const size = message.length + OVERHEAD
    if (bytes + size > MAX_WAITING_BYTES) {
      stats.read++
      return stats.reject(`syslog ${address}`, `a datagram was dropped: ${MAX_WAITING_BYTES} bytes wait for the spool`)
    }
    bytes += size
    waiting.push([message, address])
    arrived?.()
  })
  const input = await spoolInput(deps, {
    endless: true,
    async take(open, signal) {
      const intake = new MessageIntake(open(), stats, lines)
      const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      while (!signal.aborted || waiting.length > 0) {
        const some = waiting.splice(0, DATAGRAMS)
        if (some.length === 0) {
          const more = new Promise<void>((resolve) => (arrived = resolve))
          await Promise.race([more, stopped])
        }
        for (const [message, sender] of some) {
          bytes -= message.length + OVERHEAD
          const line = message.at(-1) === 0x0a ? message.subarray(0, -1) : message
          intake.add(
            () => `syslog ${sender}`,
            () => read(line, sender),
          )
          if (intake.full) await intake.commit(clock, signal)
        }
        await intake.commit(clock, signal)
      }
    },
  })
  const close = input.close.bind(input)
  try {
    await bound(socket, host, port)
  } catch (error) {
    await close()
    throw cannotListen(options.listen, error)
  }
  options.listening(urlOf('udp', socket.address()))
  return {
    ...input,
    stop() {
      socket.removeAllListeners('message')
      input.stop()
    },
    async close() {
      socket.close()
      await close()
    },
  }
}

/** Datagrams of one commit. */
const DATAGRAMS = 1000
/** Memory of a datagram besides its bytes. */
const OVERHEAD = 256

async function bound(socket: DatagramSocket, host: string, port: number): Promise<void> {
  socket.bind(port, host)
  await once(socket, 'listening')
  try {
    socket.setRecvBufferSize(RECEIVE_BUFFER)
  } catch {
    // The system allows less, so its default stays.
  }
}

const urlOf = (protocol: string, { address, port }: { address: string; port: number }): string =>
  `syslog+${protocol}://${isIPv6(address) ? `[${address}]` : address}:${port}`

const cannotListen = (address: string, error: unknown): Error =>
  new Error(`cannot listen on ${address}: ${messageOf(error)}; choose another address for listen`, { cause: error })
