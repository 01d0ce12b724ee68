import { once } from 'node:events'
import { createServer, ServerResponse, STATUS_CODES, type IncomingMessage, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { readFile } from 'node:fs/promises'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { bind, hostAndPort } from '../../../src/http/listen.js'
import { BeginningQueue } from '../../../src/core/schedule/beginning-queue.js'
import { newRayId } from '../../../src/core/ids.js'
import { SERVER_TLS } from '../../../src/core/server-tls.js'
import { api } from './app.js'
import type { Endpoint } from '../endpoint.js'
import { failure } from './envelope.js'
import { ApiError } from '../errors.js'
import { PREFIX } from '../prefix.js'
import type { ApiMiddleware, ControlDeps } from '../context.js'

const LIMITS = {
  maxHeaderSize: 32 * 1024,
  headersTimeout: 10_000,
  // Long enough for an upload of 100 MB over a slow line.
  requestTimeout: 600_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5_000,
  // Node would reject such a request without an envelope; the API does not need the host.
  requireHostHeader: false,
}
const MAX_CONNECTIONS = 4096
/** Requests that begin in one turn of the event loop, at 0.1 to 0.3 ms each. */
const MAX_BEGINNINGS = 16

export interface Control {
  /** Base URL: `http://127.0.0.1:8787/client/v4`. */
  readonly url: string
  readonly port: number
  /** Stops accepting connections. Requests in flight have `drainMs` to finish. */
  close(drainMs?: number): Promise<void>
}

/** Opens the API's listener; `routes` are served without a token. Rejects if the address is not available. */
export async function listenControl(
  endpoints: readonly Endpoint[],
  deps: ControlDeps,
  routes: readonly ApiMiddleware[],
): Promise<Control> {
  // Koa compares bodies with this class. Node loads it at its first use, which takes 25 ms.
  Reflect.get(globalThis, 'Response')
  const handle = api(endpoints, deps, routes).callback()
  const beginnings = new BeginningQueue(MAX_BEGINNINGS)
  const { upgrades = [] } = deps
  const { listen, tls } = deps.config().control
  const respond = (request: IncomingMessage, response: ServerResponse): void => {
    // The connection of a request that was in flight when the listener closed is no longer needed.
    response.once('close', () => setImmediate(() => server.listening || server.closeIdleConnections()))
    const begin = () => void handle(request, response)
    if (beginnings.take()) begin()
    else beginnings.add(begin)
  }
  const server = tls ? createSecureServer({ ...LIMITS, ...(await pems(tls)) }, respond) : createServer(LIMITS, respond)
  server.maxConnections = deps.maxConnections ?? MAX_CONNECTIONS
  server.on('checkExpectation', (request, response) => void handle(request, response))
  server.on('clientError', rejectUnreadable)
  server.on('connect', (_request: IncomingMessage, socket: Duplex) =>
    respondRaw(socket, new ApiError('badMethod'), 405),
  )
  // Node passes every request with an Upgrade field to this listener if there is one.
  const upgraded = new Set<Duplex>()
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    upgraded.add(socket)
    socket.once('close', () => upgraded.delete(socket))
    if (!upgrades.some((one) => one.take(request, socket, head))) respondOnce(request, socket, handle)
  })
  await (deps.bind ?? bind)(server, listen, 'control')
  return {
    ...boundTo(server, listen, tls ? 'https' : 'http'),
    async close(drainMs = 10_000) {
      for (const one of upgrades) one.closeAll()
      const late = setTimeout(() => upgraded.forEach((socket) => socket.destroy()), drainMs)
      await drain(server, drainMs)
      clearTimeout(late)
    },
  }
}

/** Certificate and key of the API. Read only at the start. */
async function pems({ cert_file: cert, key_file: key }: { cert_file: string; key_file: string }) {
  return { ...SERVER_TLS, cert: await readFile(cert), key: await readFile(key), minVersion: 'TLSv1.2' as const }
}

/** A unix socket has no port, and its URL is `unix:/path`. */
function boundTo(server: Server, listen: string, scheme: string): { port: number; url: string } {
  const address = server.address() as AddressInfo | string
  if (typeof address === 'string') return { port: 0, url: listen }
  const { host } = hostAndPort(listen)
  const { port } = address
  return { port, url: `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}${PREFIX}` }
}

async function drain(server: Server, drainMs: number): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  const late = setTimeout(() => server.closeAllConnections(), drainMs)
  await closed
  clearTimeout(late)
}

/** Handles a request for an unsupported protocol as if it had no Upgrade field (RFC 9110, 7.8). */
function respondOnce(
  request: IncomingMessage,
  socket: Duplex,
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): void {
  // Its body stays unread: Node has released the connection.
  if (request.headers['transfer-encoding'] !== undefined || (request.headers['content-length'] ?? '0') !== '0')
    return respondRaw(socket, new ApiError('badRequest'), 400)
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket as Socket)
  socket.on('error', () => socket.destroy())
  response.once('finish', () => socket.end())
  void handle(request, response)
}

const UNREADABLE: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** Responds, in the envelope, to bytes that Node's parser could not read. */
function rejectUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  respondRaw(socket, new ApiError('badRequest'), UNREADABLE[error.code ?? ''] ?? 400)
}

function respondRaw(socket: Duplex, error: ApiError, status: number): void {
  const body = JSON.stringify(failure([error]))
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    'x-content-type-options: nosniff',
    `content-length: ${Buffer.byteLength(body)}`,
    `cf-ray: ${newRayId()}`,
    'connection: close',
  ]
  socket.on('error', () => socket.destroy())
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
