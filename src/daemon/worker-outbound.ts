import {
  createServer,
  request as plainRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  type Server,
  type ServerResponse,
} from 'node:http'
import { request as tlsRequest } from 'node:https'
import { rootCertificates } from 'node:tls'
import type { Duplex } from 'node:stream'
import { messageOf } from '../core/errors.js'
import type { Log } from '../core/log.js'
import type { Scope } from '../core/scope.js'
import type { Zone, Zones } from '../edge/zones.js'
import { NotPublic, type Egress, type GuardedAgents } from '../egress/egress.js'
import { BLOB_HEADER, PRIVATE_HEADERS, PROTO_HEADER, SCRIPT_HEADER } from '../workers/runtime/types.js'
import type { WorkerRegistry } from './worker-registry.js'

const CONNECT_TIMEOUT_MS = 10_000
/** Maximum number of concurrent outgoing connections of one account to one host. */
const MAX_SOCKETS = 64
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade'])

export interface OutboundDeps {
  readonly zones: Zones
  readonly workers: WorkerRegistry
  readonly egress: Egress
  readonly log: Log
}

/** The target of an outgoing request. */
type Destination =
  | { readonly kind: 'origin'; readonly zone: Zone }
  | { readonly kind: 'worker'; readonly name: string; readonly version: string }
  | { readonly kind: 'internet' }
  /** A Worker without an origin fetches its own address. */
  | { readonly kind: 'none' }

/** Creates the server that scripts of one account reach with `fetch` and `connect`. */
export function outboundServer(deps: OutboundDeps, scope: Scope): Server {
  const agents = deps.egress.agents({ maxSockets: MAX_SOCKETS })
  const outbound = new Outbound(deps, scope, agents)
  const server = createServer({ maxHeaderSize: 131_072, requestTimeout: 0, keepAliveTimeout: 60_000 })
  server.on('request', (request, response) => outbound.forward(request, response))
  server.on('upgrade', (request, socket, head) => void outbound.upgrade(request, socket, head))
  server.on('connect', (request, socket, head) => void outbound.tunnel(request, socket, head))
  server.on('close', () => agents.destroy())
  return server
}

class Outbound {
  readonly #deps: OutboundDeps
  readonly #scope: Scope
  readonly #agents: GuardedAgents

  constructor(deps: OutboundDeps, scope: Scope, agents: GuardedAgents) {
    this.#deps = deps
    this.#scope = scope
    this.#agents = agents
  }

  forward(request: IncomingMessage, response: ServerResponse): void {
    const destination = this.#destination(request)
    if (destination.kind === 'none') {
      failed(response, 404, 'error code: 1042')
      return
    }
    if (destination.kind !== 'worker') {
      this.#send(request, response, this.#options(request, destination))
      return
    }
    const { runtime } = this.#deps.workers
    if (!runtime) {
      failed(response, 501, 'this server runs no Workers')
      return
    }
    const run = async (): Promise<void> => {
      const entry = await runtime.enter(this.#scope, destination.version)
      response.once('close', entry.done)
      this.#send(request, response, {
        socketPath: entry.socket,
        agent: false,
        headers: { ...endToEnd(request.headers), [PROTO_HEADER]: schemeOf(request), [BLOB_HEADER]: '{}' },
      })
    }
    run().catch((error: unknown) => failed(response, 503, messageOf(error)))
  }

  /** Switches to another protocol, such as WebSocket. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy())
    try {
      const tls = schemeOf(request) === 'https'
      const { hostname, port } = new URL(`${tls ? 'https' : 'http'}://${request.headers.host ?? ''}`)
      const to = { host: hostname, port: Number(port) || (tls ? 443 : 80), tls, timeoutMs: CONNECT_TIMEOUT_MS }
      const peer = await this.#deps.egress.connect(to)
      const fields = request.rawHeaders.flatMap((name, i, all) =>
        i % 2 === 0 && !PRIVATE_HEADERS.has(name.toLowerCase()) ? [`${name}: ${all[i + 1] ?? ''}\r\n`] : [],
      )
      peer.write(`${request.method ?? 'GET'} ${request.url ?? '/'} HTTP/1.1\r\n${fields.join('')}\r\n`, 'latin1')
      join(socket, peer, head)
    } catch (error) {
      socket.end(
        `HTTP/1.1 ${error instanceof NotPublic ? 403 : 502} Failed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
      )
    }
  }

  /** Opens a TCP connection for `connect()`. */
  async tunnel(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy())
    try {
      const { hostname, port } = new URL(`tcp://${request.url ?? ''}`)
      const to = { host: hostname, port: Number(port), tls: false, timeoutMs: CONNECT_TIMEOUT_MS }
      const peer = await this.#deps.egress.connect(to)
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      join(socket, peer, head)
    } catch (error) {
      socket.end(
        `HTTP/1.1 ${error instanceof NotPublic ? 403 : 502} Failed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
      )
    }
  }

  #destination(request: IncomingMessage): Destination {
    const { zones, workers } = this.#deps
    const served = zones.current.find(request.headers.host ?? '')
    if (!served || served.zone.accountId !== this.#scope.id) return { kind: 'internet' }
    const { zone, host } = served
    const found = workers.scriptFor({ zone, host, scheme: schemeOf(request), target: request.url ?? '/' })
    // A Worker that fetches its own URL gets the origin of the zone.
    const hasOrigin = !zone.isOfWorkers && zone.balancer.peers[0]?.url !== ''
    const instead: Destination = hasOrigin ? { kind: 'origin', zone } : { kind: 'none' }
    if (!found || found.name === request.headers[SCRIPT_HEADER]) return instead
    const version = workers.primaryVersion(found.scope, found.name)
    return version === undefined ? instead : { kind: 'worker', name: found.name, version }
  }

  #options(request: IncomingMessage, destination: Destination): RequestOptions & { ca?: string[] } {
    const headers = endToEnd(request.headers)
    if (destination.kind === 'origin') {
      const { balancer, originCa, hasNamedOrigin } = destination.zone
      const key = { clientAddress: '', clientHeaders: request.rawHeaders }
      const { protocol, hostname, port, pathname } = new URL(balancer.pick(key, performance.now()).url)
      const at = protocol === 'unix:' ? { socketPath: pathname } : { host: hostname.replace(/^\[|\]$/g, ''), port }
      return {
        protocol: protocol === 'https:' ? protocol : 'http:',
        ...at,
        headers,
        ...(hasNamedOrigin && { agent: protocol === 'https:' ? this.#agents.https : this.#agents.http }),
        ...(originCa !== undefined && { ca: [...rootCertificates, originCa] }),
      }
    }
    const protocol = `${schemeOf(request)}:`
    const { hostname, port } = new URL(`${protocol}//${request.headers.host ?? ''}`)
    const agent = protocol === 'https:' ? this.#agents.https : this.#agents.http
    return { protocol, host: hostname.replace(/^\[|\]$/g, ''), port, headers, agent }
  }

  #send(request: IncomingMessage, response: ServerResponse, options: RequestOptions): void {
    const { method = 'GET', url: path = '/' } = request
    let sent
    try {
      sent = (options.protocol === 'https:' ? tlsRequest : plainRequest)({ ...options, method, path, setHost: false })
    } catch (error) {
      failed(response, 502, messageOf(error))
      return
    }
    sent.on('response', (got) => {
      const fields = got.rawHeaders.flatMap((name, i, all) =>
        i % 2 === 0 && !HOP_BY_HOP.has(name.toLowerCase()) && name.toLowerCase() !== 'transfer-encoding'
          ? [[name, all[i + 1] ?? '']]
          : [],
      )
      response.writeHead(got.statusCode ?? 502, got.statusMessage ?? '', fields.flat())
      got.pipe(response)
      got.on('error', () => response.destroy())
    })
    sent.on('error', (error) => {
      if (error instanceof NotPublic)
        failed(
          response,
          403,
          'the destination address is not allowed; the operator can allow it with egress.allow_cidrs',
        )
      else failed(response, 502, 'cannot connect to the destination')
    })
    response.once('close', () => sent.destroy())
    request.pipe(sent)
  }
}

const schemeOf = ({ headers }: IncomingMessage): 'http' | 'https' =>
  headers[PROTO_HEADER] === 'https' ? 'https' : 'http'

/** Returns the header fields without hop-by-hop and private ones. */
function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !HOP_BY_HOP.has(name) && (name === 'cdn-loop' || !PRIVATE_HEADERS.has(name)),
    ),
  )
}

function failed(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent) response.destroy()
  else response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`)
}

function join(socket: Duplex, peer: Duplex, head: Buffer): void {
  if (head.length > 0) peer.write(head)
  socket.pipe(peer)
  peer.pipe(socket)
  peer.on('error', () => socket.destroy())
  socket.on('close', () => peer.destroy())
  peer.on('close', () => socket.destroy())
}
