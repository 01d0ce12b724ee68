import {
  createServer,
  request as plainRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
  type ServerResponse,
} from 'node:http'
import { request as tlsRequest } from 'node:https'
import { rootCertificates } from 'node:tls'
import type { Duplex } from 'node:stream'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import type { ContinuedTraces } from '../../core/outgoing-traces.js'
import type { Scope } from '../../core/scope.js'
import type { Zone, Zones } from '../../edge/exchange/zones.js'
import { NotPublic, type Egress, type GuardedAgents } from '../../egress/egress.js'
import { DataAway } from '../../workers/runtime/data-homes.js'
import { BLOB_HEADER, PRIVATE_HEADERS, PROTO_HEADER, SCRIPT_HEADER } from '../../workers/runtime/types.js'
import { WorkerCalls } from '../../workers/runtime/worker-calls.js'
import type { ClosableServer } from '../../workers/runtime/runtime-deps.js'
import type { WorkerRegistry } from './registry.js'

const CONNECT_TIMEOUT_MS = 10_000
/** Maximum number of concurrent outgoing connections of one account to one host. */
const MAX_SOCKETS = 64
/** A peer has this long to close its side after the script has closed. */
const MAX_HALF_OPEN_MS = 10_000
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade'])

export interface OutboundDeps {
  readonly zones: Zones
  readonly workers: WorkerRegistry
  readonly egress: Egress
  readonly traces: ContinuedTraces
  readonly log: Log
}

/** How to send an outgoing request on. */
interface Way {
  readonly options: Omit<RequestOptions, 'headers'> & { headers: OutgoingHttpHeaders; ca?: string[] }
  /** The request has ended. */
  readonly done: () => void
}

/** A request that gets a response of the daemon. */
class Refused extends Error {
  override readonly name = 'Refused'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const NOT_ALLOWED = 'the destination address is not allowed; the operator can allow it with egress.allow_cidrs'
const TRACEPARENT = 'traceparent'
/** Characters of a path that a span has. */
const MAX_PATH = 1024
const nothing = (): void => undefined

/** Creates the server that scripts of one account reach with `fetch` and `connect`. */
export function outboundServer(deps: OutboundDeps, scope: Scope): ClosableServer {
  const agents = deps.egress.agents({ maxSockets: MAX_SOCKETS })
  const outbound = new Outbound(deps, scope, agents)
  const server = createServer({ maxHeaderSize: 131_072, requestTimeout: 0, keepAliveTimeout: 60_000 })
  server.on('request', (request, response) => void outbound.forward(request, response))
  server.on('upgrade', (request, socket, head) => void outbound.upgrade(request, socket, head))
  server.on('connect', (request, socket, head) => void outbound.tunnel(request, socket, head))
  return {
    server,
    close() {
      server.closeAllConnections()
      server.close()
      outbound.close()
      agents.destroy()
    },
  }
}

class Outbound {
  readonly #deps: OutboundDeps
  readonly #scope: Scope
  readonly #agents: GuardedAgents
  readonly #calls = new WorkerCalls()
  /** Connections that no longer speak HTTP. */
  readonly #joined = new Set<Duplex>()

  constructor(deps: OutboundDeps, scope: Scope, agents: GuardedAgents) {
    this.#deps = deps
    this.#scope = scope
    this.#agents = agents
  }

  close(): void {
    for (const socket of this.#joined) socket.destroy()
  }

  async forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#trace(request, response)
    try {
      const { options, done } = await this.#way(request)
      response.once('close', done)
      if (response.destroyed) done()
      else this.#send(request, response, options)
    } catch (error) {
      failed(response, error instanceof Refused ? error.status : 503, messageOf(error))
    }
  }

  /** Continues the trace of a request, if the script passed on the field `traceparent` of a sampled one. */
  #trace(request: IncomingMessage, response: ServerResponse): void {
    const { method = 'GET', url = '/', headers } = request
    const field = headers[TRACEPARENT]
    const span = this.#deps.traces.continued(typeof field === 'string' ? field : undefined, method, {
      'http.request.method': method,
      'url.path': url.replace(/\?.*/s, '').slice(0, MAX_PATH),
      'url.scheme': schemeOf(request),
      'server.address': headers.host ?? '',
      'edged.worker': String(headers[SCRIPT_HEADER]),
    })
    if (!span) return
    headers[TRACEPARENT] = span.traceparent
    response.once('close', () => {
      const { headersSent, statusCode } = response
      span.end({ status: headersSent ? statusCode : 0, ...(!response.writableFinished && { error: 'cut' }) })
    })
  }

  /** Switches to another protocol, such as WebSocket. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy())
    try {
      const { options, done } = await this.#way(request)
      socket.once('close', done)
      if (socket.destroyed) {
        done()
        return
      }
      const { method = 'GET', url: path = '/' } = request
      const headers = { ...options.headers, connection: 'Upgrade', upgrade: request.headers.upgrade }
      const client = options.protocol === 'https:' ? tlsRequest : plainRequest
      const sent = client({ ...options, headers, method, path, setHost: false })
      sent.on('upgrade', (got, peer, first) => {
        socket.write(responseHead(got, got.rawHeaders), 'latin1')
        if (first.length > 0) socket.write(first)
        this.#join(socket, peer, head)
      })
      sent.on('response', (got) => {
        socket.write(responseHead(got, [...endToEndFields(got), 'connection', 'close']), 'latin1')
        got.pipe(socket)
      })
      sent.on('error', (error) => reject(socket, error))
      socket.once('close', () => sent.destroy())
      sent.end()
    } catch (error) {
      reject(socket, error)
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
      this.#join(socket, peer, head)
    } catch (error) {
      reject(socket, error)
    }
  }

  /** Connects a script with its peer. A peer that stays open although the script has closed is closed after a while. */
  #join(socket: Duplex, peer: Duplex, head: Buffer): void {
    if (head.length > 0) peer.write(head)
    this.#joined.add(socket)
    socket.pipe(peer)
    peer.pipe(socket)
    let timer: NodeJS.Timeout | undefined
    socket.on('end', () => {
      timer = setTimeout(() => socket.destroy(), MAX_HALF_OPEN_MS)
    })
    peer.on('error', () => socket.destroy())
    socket.on('close', () => {
      clearTimeout(timer)
      this.#joined.delete(socket)
      peer.destroy()
    })
    peer.on('close', () => socket.destroy())
    if (socket.destroyed) peer.destroy()
  }

  async #way(request: IncomingMessage): Promise<Way> {
    const { zones, workers } = this.#deps
    const served = zones.current.find(request.headers.host ?? '')
    if (!served || served.zone.accountId !== this.#scope.id)
      return { options: this.#toInternet(request), done: nothing }
    const { zone, host } = served
    const found = workers.scriptFor({ zone, host, scheme: schemeOf(request), target: request.url ?? '/' })
    const caller = String(request.headers[SCRIPT_HEADER])
    const version = found && found.name !== caller ? workers.primaryVersion(found.scope, found.name) : undefined
    if (found && version !== undefined) return await this.#toWorker(request, { caller, name: found.name, version })
    // A Worker that fetches its own URL gets the origin of the zone.
    const hasOrigin = !zone.isOfWorkers && zone.balancer.peers[0]?.url !== ''
    if (!hasOrigin) throw new Refused(404, 'error code: 1042')
    return { options: this.#toOrigin(request, zone), done: nothing }
  }

  async #toWorker(
    request: IncomingMessage,
    { caller, name, version }: { readonly caller: string; readonly name: string; readonly version: string },
  ): Promise<Way> {
    const { runtime } = this.#deps.workers
    if (!runtime) throw new Refused(501, 'this server runs no Workers')
    if (runtime.isQuarantined(this.#scope, name)) throw new Refused(503, 'error code: 1102')
    const ended = this.#calls.begin(caller, name)
    if (!ended) throw new Refused(508, 'error code: 1019')
    try {
      const entry = await runtime.enter(this.#scope, version)
      const headers = { ...endToEnd(request.headers), [PROTO_HEADER]: schemeOf(request), [BLOB_HEADER]: '{}' }
      return {
        options: { socketPath: entry.socket, agent: false, headers },
        done: () => {
          ended()
          entry.done()
        },
      }
    } catch (error) {
      ended()
      throw error instanceof DataAway ? new Refused(503, 'error code: 1105') : error
    }
  }

  #toOrigin(request: IncomingMessage, { balancer, originCa, hasNamedOrigin, name }: Zone): Way['options'] {
    const key = { clientAddress: '', clientHeaders: request.rawHeaders }
    const { protocol, hostname, port, pathname } = new URL(balancer.pick(key, performance.now()).url)
    const at = protocol === 'unix:' ? { socketPath: pathname } : { host: hostname.replace(/^\[|\]$/g, ''), port }
    return {
      protocol: protocol === 'https:' ? protocol : 'http:',
      ...at,
      headers: { ...endToEnd(request.headers), 'cf-worker': name },
      ...(hasNamedOrigin && { agent: protocol === 'https:' ? this.#agents.https : this.#agents.http }),
      ...(originCa !== undefined && { ca: [...rootCertificates, originCa] }),
    }
  }

  #toInternet(request: IncomingMessage): Way['options'] {
    const protocol = `${schemeOf(request)}:`
    const { hostname, port } = new URL(`${protocol}//${request.headers.host ?? ''}`)
    const agent = protocol === 'https:' ? this.#agents.https : this.#agents.http
    const host = hostname.replace(/^\[|\]$/g, '')
    return { protocol, host, port, headers: endToEnd(request.headers), agent }
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
      response.writeHead(got.statusCode ?? 502, got.statusMessage ?? '', endToEndFields(got))
      got.pipe(response)
      got.on('error', () => response.destroy())
    })
    sent.on('error', (error) => {
      if (error instanceof NotPublic) failed(response, 403, NOT_ALLOWED)
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

/** Returns names and values of the fields of a response that are passed on. */
const endToEndFields = ({ rawHeaders }: IncomingMessage): string[] =>
  rawHeaders.flatMap((name, i, all) =>
    i % 2 === 0 && !HOP_BY_HOP.has(name.toLowerCase()) && name.toLowerCase() !== 'transfer-encoding'
      ? [name, all[i + 1] ?? '']
      : [],
  )

function responseHead({ statusCode = 502, statusMessage = '' }: IncomingMessage, fields: readonly string[]): string {
  const lines = fields.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${fields[i + 1] ?? ''}\r\n`] : []))
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join('')}\r\n`
}

/** Ends a connection that cannot be switched to another protocol. */
function reject(socket: Duplex, error: unknown): void {
  const status = error instanceof Refused ? error.status : error instanceof NotPublic ? 403 : 502
  socket.end(`HTTP/1.1 ${status} Failed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)
}

function failed(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent) response.destroy()
  else response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`)
}
