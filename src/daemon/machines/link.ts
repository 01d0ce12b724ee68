import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type TLSSocket, type TlsOptions } from 'node:tls'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { bind, hostAndPort } from '../../http/listen.js'

/** Connections from other machines at the same time; more are closed immediately. */
const MAX_CONNECTIONS = 4096
/** Of a request or a reply. The filters of a tail are part of a request. */
const MAX_LINE_BYTES = 2 ** 20
const CONNECT_MS = 3000
const KEEP_ALIVE_MS = 5000
/** TLS without certificates: both sides prove that they have the key, and every connection has keys of its own. */
const TLS = {
  ciphers: 'ECDHE-PSK-CHACHA20-POLY1305',
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
} as const satisfies TlsOptions
const UNKNOWN_KEY = 'ERR_SSL_TLSV1_ALERT_UNKNOWN_PSK_IDENTITY'

/** Responds to a request: sends a reply, and may use the connection afterwards. */
export type LinkHandler = (request: unknown, link: LinkEnd) => Promise<void>

/** The receiving end of a connection. */
export interface LinkEnd {
  readonly socket: TLSSocket
  reply(value: object): void
}

/**
 * Accepts connections of other machines. Each begins with one line of JSON in each direction: a request and its reply. What
 * follows belongs to the two that use the connection.
 */
export class MachineLink {
  readonly #server
  readonly #open = new Set<TLSSocket>()
  handle: LinkHandler = () => Promise.reject(new Error('the machine is starting'))

  private constructor(keys: readonly Buffer[], log: Log) {
    const known = new Map(keys.map((key) => [identityOf(key), key]))
    this.#server = createServer({
      ...TLS,
      handshakeTimeout: CONNECT_MS,
      pskCallback: (_socket, identity) => known.get(identity) ?? null,
    })
    this.#server.maxConnections = MAX_CONNECTIONS
    this.#server.on('tlsClientError', (error) => {
      log.debug({ event: 'machine_connection_refused', error: messageOf(error) })
    })
    this.#server.on('secureConnection', (socket) => {
      this.#open.add(socket)
      socket.once('close', () => this.#open.delete(socket))
      void this.#serve(socket).catch((error: unknown) => {
        if (socket.writable) socket.end(`${JSON.stringify({ error: messageOf(error) })}\n`)
        else socket.destroy()
      })
    })
  }

  /** Listens on `host:port`. Rejects with what to change if that is not possible. */
  static async listen(address: string, keys: readonly Buffer[], log: Log): Promise<MachineLink> {
    const link = new MachineLink(keys, log)
    await bind(link.#server, address, 'machines')
    return link
  }

  /** Its listening address, as `host:port`. */
  get address(): string {
    const { address, port } = this.#server.address() as AddressInfo
    return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
  }

  /** Takes no further connections. */
  stop(): void {
    this.#server.close()
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#open) socket.destroy()
  }

  async #serve(socket: TLSSocket): Promise<void> {
    socket.on('error', () => socket.destroy())
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    socket.setNoDelay(true)
    const request = JSON.parse(await line(socket, CONNECT_MS)) as unknown
    await this.handle(request, { socket, reply: (value) => void socket.write(`${JSON.stringify(value)}\n`) })
  }
}

/** Sends a request over a new connection and returns the reply. Rejects, and closes the connection, if there is none in time. */
export async function exchange(socket: TLSSocket, request: object, replyMs: number): Promise<unknown> {
  try {
    socket.write(`${JSON.stringify(request)}\n`)
    return JSON.parse(await line(socket, replyMs)) as unknown
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/** Connects to another machine. Rejects if it does not respond, or does not have the same key. */
export async function dial(address: string, keys: readonly Buffer[]): Promise<TLSSocket> {
  const socket = await connectWith(address, keys)
  socket.on('error', () => socket.destroy())
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  socket.setNoDelay(true)
  return socket
}

/** Machines may have their keys in another order while a key is replaced. */
async function connectWith(address: string, [key, ...others]: readonly Buffer[]): Promise<TLSSocket> {
  if (!key) throw new Error('the machines have no secret key in common')
  const psk = { psk: key, identity: identityOf(key) }
  const socket = connect({
    ...hostAndPort(address),
    ...TLS,
    pskCallback: () => psk,
    // The key proves who it is.
    checkServerIdentity: () => undefined,
  })
  const timer = setTimeout(() => socket.destroy(new Error(`no connection within ${CONNECT_MS / 1000} s`)), CONNECT_MS)
  try {
    await once(socket, 'secureConnect')
    return socket
  } catch (error) {
    socket.destroy()
    if ((error as { code?: unknown }).code === UNKNOWN_KEY) return await connectWith(address, others)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

const identityOf = (key: Buffer): string => createHash('sha256').update(key).digest('hex').slice(0, 16)

/** Reads a line. What follows it stays in the socket. */
async function line(socket: TLSSocket, ms: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  return await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => end(() => reject(new Error('no response in time'))), ms)
    const end = (settle: () => void): void => {
      clearTimeout(timer)
      socket.off('readable', read)
      socket.off('close', closed)
      settle()
    }
    const closed = (): void => end(() => reject(new Error('the connection was closed')))
    const read = (): void => {
      for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
        const at = chunk.indexOf(0x0a)
        if (at < 0) {
          chunks.push(chunk)
          size += chunk.length
          if (size <= MAX_LINE_BYTES) continue
          end(() => reject(new Error('the line is too long')))
          return
        }
        chunks.push(chunk.subarray(0, at))
        const rest = chunk.subarray(at + 1)
        end(() => resolve(Buffer.concat(chunks).toString('utf8')))
        if (rest.length > 0) socket.unshift(rest)
        return
      }
    }
    socket.on('readable', read)
    socket.on('close', closed)
  })
}
