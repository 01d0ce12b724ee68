import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { ProxyConfig } from '../config/schema.js'
import type { Clock } from '../core/clock.js'
import type { Log } from '../core/log.js'
import type { Metrics } from '../core/metrics.js'
import { Origins } from '../net/origin.js'
import type { Stage } from './answer.js'
import type { Challenges } from './challenge/challenges.js'
import { trust } from './client-address.js'
import { ClientConnection } from './connection.js'
import { Geo } from './fields/geo.js'
import { TrustedFields } from './fields/trusted.js'
import type { Fault } from './framing.js'
import { MemoryBudget } from './memory-budget.js'
import { ProxyMetrics } from './proxy-metrics.js'
import { NOT_ALLOWED, refuseRequest, serve } from './serve.js'
import type { Surroundings } from './surroundings.js'
import type { Zones } from './zones.js'

/** What the proxy is given. */
export interface ProxyParts {
  /** Read at the beginning of each request; replace `current` to change the zones. */
  readonly zones: Zones
  /** What answers flow through, the one nearest to the client first. */
  readonly stages?: readonly Stage[]
  /** Whose solutions are taken, ahead of all rules; without it such posts go to the origin. */
  readonly challenges?: Challenges
  /** Says where clients are; without it rules do not know. */
  readonly geo?: Geo
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** A running proxy. */
export interface Proxy {
  readonly address: string
  readonly port: number
  /** Takes new options without dropping a request; rejects, and keeps the old ones, where a new address is not free. */
  reconfigure(config: ProxyConfig): Promise<void>
  /** Stops listening, lets requests finish within `drain_timeout`, then ends what is left. */
  close(): Promise<void>
}

/** Starts the reverse proxy; rejects where the address cannot be listened on. */
export async function listenProxy(config: ProxyConfig, parts: ProxyParts): Promise<Proxy> {
  const proxy = new ReverseProxy(config, parts)
  await proxy.listen()
  return proxy
}

class ReverseProxy implements Proxy {
  readonly #around: Surroundings
  readonly #connections = new Map<Socket, ClientConnection>()
  readonly #perAddress = new Map<string, number>()
  #server: Server | undefined
  #bound = { address: '', port: 0 }
  #closed: Promise<void> | undefined
  /** Told when the last connection has gone. */
  #emptied: (() => void) | undefined

  constructor(
    config: ProxyConfig,
    { zones, stages = [], challenges, geo = new Geo(), clock, log, metrics }: ProxyParts,
  ) {
    this.#around = {
      config,
      trusted: trust(config.trusted_proxies),
      trustedFields: new TrustedFields(config.trusted_fields),
      draining: false,
      fields: { clock, geo },
      bodyMemory: new MemoryBudget(config.rules_body.memory),
      zones,
      origins: new Origins(config.origin),
      stages,
      challenges,
      clock,
      log,
      metrics: new ProxyMetrics(metrics),
    }
  }

  get address(): string {
    return this.#bound.address
  }

  get port(): number {
    return this.#bound.port
  }

  async listen(): Promise<void> {
    this.#server = await this.#open(this.#around.config)
  }

  async reconfigure(config: ProxyConfig): Promise<void> {
    const old = this.#around.config
    if (config.listen !== old.listen) {
      const replaced = this.#server
      this.#server = await this.#open(config)
      replaced?.close()
    }
    this.#around.config = config
    this.#around.trusted = trust(config.trusted_proxies)
    this.#around.trustedFields = new TrustedFields(config.trusted_fields)
    this.#around.bodyMemory.limit = config.rules_body.memory
    if (JSON.stringify(config.origin) !== JSON.stringify(old.origin)) this.#around.origins.configure(config.origin)
    if (this.#server) applyTimeouts(this.#server, config)
    for (const { framing } of this.#connections.values()) framing.limits = config.limits
  }

  async close(): Promise<void> {
    this.#closed ??= this.#drain()
    await this.#closed
  }

  async #drain(): Promise<void> {
    const { config, clock, log, origins } = this.#around
    this.#around.draining = true
    this.#server?.close()
    for (const connection of this.#connections.values()) if (connection.idle) connection.socket.destroy()
    if (this.#connections.size > 0) {
      const empty = new Promise<'empty'>((resolve) => {
        this.#emptied = () => resolve('empty')
      })
      const stop = new AbortController()
      const end = await Promise.race([empty, clock.sleep(config.drain_timeout, stop.signal)])
      if (end === 'empty') stop.abort()
      else {
        log.warn({ event: 'drain_timeout', connections: this.#connections.size })
        for (const socket of this.#connections.keys()) socket.destroy()
      }
    }
    await origins.close()
  }

  async #open(config: ProxyConfig): Promise<Server> {
    const server = createServer({
      noDelay: true,
      // Checked ahead of Node's parser, with the limit that is in force.
      maxHeaderSize: 1024 * 1024,
      requireHostHeader: false,
      connectionsCheckingInterval: Math.min(1000, Math.max(20, Math.floor(config.limits.header_timeout / 4))),
    })
    server.maxHeadersCount = 0
    server.timeout = 0
    applyTimeouts(server, config)
    server.on('connection', (socket) => this.#connected(socket))
    server.on('request', (request, response) => this.#requested(request, response))
    server.on('checkContinue', (request, response) => this.#requested(request, response))
    server.on('checkExpectation', (request: IncomingMessage) => this.#fault(request.socket, { status: 417 }))
    server.on('connect', (request: IncomingMessage) => this.#fault(request.socket, NOT_ALLOWED))
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.#failed(error, socket as Socket))
    const { host, port } = listenAddress(config.listen)
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port }, () => {
        server.off('error', reject)
        resolve()
      })
    })
    this.#bound = server.address() as AddressInfo
    server.on('error', (error) => this.#around.log.error({ event: 'listener_failed', error: error.message }))
    return server
  }

  #connected(socket: Socket): void {
    const { config, metrics, trusted, draining } = this.#around
    const connection = new ClientConnection(socket, config.limits, {
      refused: (connection, fault) => this.#fault(connection.socket, fault),
    })
    const { address } = connection
    const { connections, connections_per_address: perAddress } = config.limits
    const counted = perAddress > 0 && !trusted(address)
    const held = this.#perAddress.get(address) ?? 0
    if (draining || address === '' || this.#connections.size >= connections || (counted && held >= perAddress)) {
      metrics.dropped++
      socket.destroy()
      return
    }
    this.#connections.set(socket, connection)
    this.#perAddress.set(address, held + 1)
    metrics.connections++
    socket.once('close', () => {
      metrics.connections--
      this.#connections.delete(socket)
      const left = (this.#perAddress.get(address) ?? 1) - 1
      if (left > 0) this.#perAddress.set(address, left)
      else this.#perAddress.delete(address)
      if (this.#connections.size === 0) this.#emptied?.()
    })
  }

  #requested(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket)
    if (!connection) return
    try {
      serve(request, response, connection, this.#around)
    } catch (error) {
      // A fault of ours in one request is no reason to end all others.
      this.#around.log.error({ event: 'internal_error', error: error instanceof Error ? error.stack : String(error) })
      this.#fault(request.socket, { status: 500 })
    }
  }

  #fault(socket: Socket, fault: Fault): void {
    const connection = this.#connections.get(socket)
    if (!connection) socket.destroy()
    else if (connection.answering) connection.answering(fault)
    else refuseRequest(connection, fault, this.#around)
  }

  /** What Node's parser makes of a connection that did not get stuck before. */
  #failed(error: NodeJS.ErrnoException, socket: Socket): void {
    const connection = this.#connections.get(socket)
    const silent = connection === undefined || (connection.framing.idle && connection.answering === undefined)
    const left = error.code === 'ECONNRESET' || (error.code === 'HPE_INVALID_EOF_STATE' && connection?.answering)
    if (silent || left || !socket.writable) socket.destroy()
    else this.#fault(socket, PARSER_FAULTS[error.code ?? ''] ?? { status: 400 })
  }
}

const PARSER_FAULTS: Readonly<Record<string, Fault>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408 },
  HPE_HEADER_OVERFLOW: { status: 431 },
  HPE_INVALID_METHOD: { status: 501, detail: 'the method is not known' },
}

function applyTimeouts(server: Server, { limits }: ProxyConfig): void {
  server.headersTimeout = limits.header_timeout
  server.requestTimeout = limits.request_timeout
  server.keepAliveTimeout = limits.keep_alive_timeout
}

/** Splits `127.0.0.1:8080` and `[::1]:8080`. */
function listenAddress(listen: string): { host: string; port: number } {
  const colon = listen.lastIndexOf(':')
  return { host: listen.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(listen.slice(colon + 1)) }
}
