import { randomBytes } from 'node:crypto'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { ProxyConfig } from '../../config/schema.js'
import { bind, type Bind } from '../../http/listen.js'
import { Origins } from '../../http/origins.js'
import type { ConnectionEnds } from '../../http/proxy-protocol.js'
import { Payments } from '../agents/payments.js'
import { spentInMemory } from '../agents/spent-signatures.js'
import { trust } from '../client/client-address.js'
import { ClientConnection } from '../client/connection.js'
import { Admission } from '../client/admission.js'
import type { ClientStream, ConnectionEvents, OpenConnection } from '../client/client-stream.js'
import { Http2Connection, type Http2Deps } from '../client/http2-connection.js'
import { ProxyHeaderReader, type ProxyHeaderFailure } from '../client/proxy-header.js'
import { ResetLimit } from '../client/reset-limit.js'
import { plainAddress } from '../../expr/index.js'
import type { SecureConnection } from '../../tls/terminator.js'
import { TlsListener, type TlsListenerDeps } from '../client/tls-listener.js'
import { Geo } from '../exchange/geo.js'
import { TrustedFields } from '../../rules/fields/trusted.js'
import type { HttpParseError, RequestHead } from '../client/framing.js'
import { newRayId } from '../../core/ids.js'
import { MemoryBudget } from '../../core/memory/memory-budget.js'
import { BeginningQueue } from '../../core/schedule/beginning-queue.js'
import { every } from '../../core/schedule/each-second.js'
import { BEGINNINGS, LARGE_READS, TurnQueue, type Arrivals } from '../../core/schedule/turn-queue.js'
import { HealthChecks } from '../origins/health.js'
import { originMetrics } from '../origins/metrics.js'
import { ProxyMetrics } from './metrics.js'
import { ZoneMetrics } from './zone-metrics.js'
import { Recorder } from '../records/recorder.js'
import { requestIds } from '../exchange/request-ids.js'
import { McpSites } from '../agents/mcp/mcp-sites.js'
import { internalGet, mayRead } from './internal.js'
import { rejectRequest, serve } from './serve.js'
import type { ProxyContext } from './proxy-context.js'
import type { Bound, Proxy, ProxyParts } from './proxy-parts.js'

/** Starts the reverse proxy. Rejects if it cannot listen on the address. */
export async function listenProxy(config: ProxyConfig, parts: ProxyParts): Promise<Proxy> {
  const proxy = new ReverseProxy(config, parts)
  await proxy.listen()
  return proxy
}

/** Maximum bytes of a response that are read from its origin before the client has to read. */
const HIGH_WATER = 65_536
/** Requests of HTTP/1.1 that begin in one turn of the event loop, at 30 to 100 us each. */
const MAX_BEGINNINGS = 64

/** Minimum time between two log lines about PROXY headers. */
const PROXY_HEADER_LOG_MS = 10_000

/** After this many turns of the event loop all data that had arrived before is read. */
const READ_TURNS = 2

class ReverseProxy implements Proxy {
  readonly #context: ProxyContext
  readonly #connections = new Map<Socket, OpenConnection>()
  /** Connections of both listeners, handshakes included, and requests of HTTP/2. */
  readonly #admitted = new Admission()
  readonly #streams = new Admission()
  readonly #resets: ResetLimit
  /** Requests of HTTP/1.1 that begin. */
  readonly #requests = new BeginningQueue(MAX_BEGINNINGS)
  /** Streams of HTTP/2 that begin. */
  readonly #beginnings = new TurnQueue(BEGINNINGS)
  readonly #proxyHeaders = new ProxyHeaderReader()
  /** Addresses that load balancers have reported. */
  readonly #reported = new WeakMap<Socket, ConnectionEnds>()
  readonly #events: ConnectionEvents = {
    requested: (stream, head) => this.#requested(stream, head),
    refused: (stream, issue) => this.#issue(stream, issue),
  }
  readonly #ticketKeys: () => Buffer
  readonly #demand: TlsListenerDeps['demand']
  readonly #bind: Bind
  readonly #arrivals: Arrivals | undefined
  readonly #isFull: () => boolean
  #server: Server | undefined
  #tls: TlsListener | undefined
  #bound = { address: '', port: 0 }
  #closed: Promise<void> | undefined
  /** Earliest time of the next log line about PROXY headers. */
  #proxyHeaderLogAt = -Infinity
  #endChecks: () => void = () => undefined
  /** Called when the last connection is closed. */
  #emptied: (() => void) | undefined
  readonly #health: HealthChecks

  constructor(
    config: ProxyConfig,
    {
      zones,
      stages = [],
      observers = [],
      challenges,
      workers,
      cache,
      geo = new Geo(),
      dial,
      emitter,
      accessLog,
      clock,
      log,
      metrics,
      ...parts
    }: ProxyParts,
  ) {
    this.#resets = new ResetLimit(() => clock.monotonic())
    this.#health = new HealthChecks({ zones, dial, clock, log })
    originMetrics(metrics, zones, clock)
    this.#ticketKeys = parts.ticketKeys ?? randomTicketKeys()
    this.#bind = parts.bind ?? bind
    this.#demand = parts.demand
    this.#arrivals = parts.arrivals
    this.#isFull = parts.isFull ?? (() => false)
    const turns = new TurnQueue(LARGE_READS, parts.arrivals)
    const bodyMemory = new MemoryBudget(config.rules_body.memory)
    const bufferMemory = new MemoryBudget(config.buffer_memory)
    this.#context = {
      config,
      trusted: trust(config.trusted_proxies),
      trustedFields: new TrustedFields(config.trusted_fields),
      forwardedReported: false,
      draining: false,
      ports: () => ({ http: this.port, https: this.tls?.port }),
      fields: { clock, geo },
      bufferMemory,
      bodyMemory,
      zones,
      workers,
      cache,
      origins: new Origins(config.origin, dial, turns),
      turns,
      stages,
      agents: parts.agents,
      challengeOf: challenges,
      payments: new Payments(parts.spent ?? spentInMemory(() => clock.now())),
      saveCharge: async (scope, record) => await emitter?.save?.('edged_crawl_charges', scope, record),
      challenges,
      customPages: parts.customPages,
      recorder: emitter && new Recorder({ emitter, geo, clock, log }),
      accessLog,
      observers,
      mcp:
        parts.pages &&
        new McpSites({
          index: parts.pages,
          clock,
          version: parts.version ?? '0',
          mayRead: (caller, target) => mayRead(caller, target, this.#context),
          report: (exchange, error) =>
            log.error({ event: 'mcp_failed', ...requestIds(exchange), err: error }, 'a call of a tool failed'),
        }),
      internalGet: (request) => internalGet(request, this.#context),
      version: parts.version ?? '0',
      tracer: parts.tracer,
      issued: parts.issued,
      clock,
      log,
      metrics: new ProxyMetrics(metrics, { bodies: bodyMemory, buffers: bufferMemory }),
      zoneMetrics: new ZoneMetrics(metrics),
    }
  }

  get address(): string {
    return this.#bound.address
  }

  get port(): number {
    return this.#bound.port
  }

  get tls(): Bound | undefined {
    return this.#tls
  }

  get responses(): number {
    return this.#context.metrics.responses
  }

  async listen(): Promise<void> {
    const { config } = this.#context
    this.#server = await this.#open(config)
    try {
      if (config.tls) this.#tls = await TlsListener.open(config.tls, this.#tlsDeps())
    } catch (error) {
      this.#server.close()
      throw error
    }
    this.#checkEvery(config)
  }

  async reconfigure(config: ProxyConfig): Promise<void> {
    const old = this.#context.config
    if (config.listen !== old.listen) {
      const replaced = this.#server
      this.#server = await this.#open(config)
      replaced?.close()
      void this.#endIdle()
    }
    if (JSON.stringify(config.tls) !== JSON.stringify(old.tls)) await this.#reconfigureTls(config.tls)
    if (String(config.trusted_proxies) !== String(old.trusted_proxies)) this.#context.forwardedReported = false
    this.#context.config = config
    this.#context.trusted = trust(config.trusted_proxies)
    this.#context.trustedFields = new TrustedFields(config.trusted_fields)
    this.#context.bodyMemory.limit = config.rules_body.memory
    this.#context.bufferMemory.limit = config.buffer_memory
    if (JSON.stringify(config.origin) !== JSON.stringify(old.origin)) this.#context.origins.configure(config.origin)
    this.#checkEvery(config)
    for (const connection of this.#connections.values()) connection.limits = config.limits
  }

  async close(): Promise<void> {
    this.#closed ??= this.#drain()
    await this.#closed
  }

  async #drain(): Promise<void> {
    const { config, clock, log, origins } = this.#context
    this.#context.draining = true
    this.#server?.close()
    this.#tls?.close()
    this.#tls?.endHandshakes()
    this.#proxyHeaders.close()
    await this.#endIdle()
    if (this.#admitted.total > 0) {
      const empty = new Promise<'empty'>((resolve) => {
        this.#emptied = () => resolve('empty')
      })
      const stop = new AbortController()
      const end = await Promise.race([empty, clock.sleep(config.drain_timeout, stop.signal)])
      if (end === 'empty') stop.abort()
      else {
        log.warn({ event: 'drain_timeout', connections: this.#admitted.total })
        for (const connection of this.#connections.values()) connection.cut()
        // Requests are finished and recorded before the origins are closed: the origins did not fail.
        await empty
      }
    }
    this.#endChecks()
    this.#health.close()
    origins.close()
  }

  /** Closes connections without a request, after reading the data that arrived on them: a request gets a response. */
  async #endIdle(): Promise<void> {
    const open = [...this.#connections.values()]
    for (let turn = 0; turn < READ_TURNS; turn++) await new Promise(setImmediate)
    for (const connection of open) connection.endIdle()
  }

  /** Checks for slow clients, often enough to enforce the timeouts. */
  #checkEvery({ limits }: ProxyConfig): void {
    this.#endChecks()
    const { header_timeout, request_timeout, keep_alive_timeout, write_timeout } = limits
    const shortest = Math.min(header_timeout, request_timeout, keep_alive_timeout, write_timeout || Infinity)
    this.#endChecks = every(Math.min(1000, Math.max(20, Math.floor(shortest / 4))), () => {
      for (const connection of this.#connections.values()) connection.check()
    })
  }

  async #open(config: ProxyConfig): Promise<Server> {
    const options = { noDelay: true, allowHalfOpen: true, highWaterMark: HIGH_WATER }
    const server = createServer(options, (socket) => {
      this.#accept(socket, () => this.#connected(socket))
    })
    await this.#bind(server, config.listen, 'proxy')
    this.#bound = server.address() as AddressInfo
    server.on('error', (error) => this.#context.log.error({ event: 'listener_failed', error: error.message }))
    return server
  }

  /** Calls `proceed` for a new connection within the limits, after its PROXY header if it must have one. */
  #accept(socket: Socket, proceed: () => void): void {
    const { config, trusted } = this.#context
    if (this.#arrivals) this.#arrivals.count++
    const peer = plainAddress(socket.remoteAddress ?? '')
    if (!this.#admit(socket, peer)) return
    if (!config.proxy_protocol || !trusted(peer)) return proceed()
    this.#proxyHeaders.accept(socket, {
      timeoutMs: config.limits.header_timeout,
      read: (ends) => {
        if (!ends || this.#readmit(socket, peer, ends)) proceed()
      },
      failed: (failure) => this.#proxyHeaderFailed(peer, failure),
    })
  }

  /** Counts a new connection until it closes. Returns false, and closes it, if it exceeds a limit. */
  #admit(socket: Socket, address: string): boolean {
    const { config, metrics, trusted, draining } = this.#context
    if (draining || address === '' || this.#isFull() || !this.#admitted.take(address, trusted, config.limits)) {
      this.#drop(socket)
      return false
    }
    metrics.connections++
    socket.once('close', () => {
      metrics.connections--
      this.#admitted.release(this.#reported.get(socket)?.remoteAddress ?? address)
      if (this.#admitted.total === 0) this.#emptied?.()
    })
    return true
  }

  /** Counts a connection under the address that a load balancer reports. Returns false as {@link #admit} does. */
  #readmit(socket: Socket, peer: string, ends: ConnectionEnds): boolean {
    const { config, trusted } = this.#context
    const remoteAddress = plainAddress(ends.remoteAddress ?? '')
    if (!this.#admitted.move({ from: peer, to: remoteAddress }, trusted, config.limits)) {
      this.#drop(socket)
      return false
    }
    this.#reported.set(socket, { ...ends, remoteAddress })
    return true
  }

  #drop(socket: Socket): void {
    this.#context.metrics.dropped++
    // An error is followed by the end of the connection.
    socket.on('error', () => undefined)
    socket.destroy()
  }

  #proxyHeaderFailed(peer: string, failure: ProxyHeaderFailure): void {
    // Load balancers check that a port is open by connecting to it.
    if (failure === 'closed') return
    const { metrics, clock, log } = this.#context
    metrics.proxyHeaderFailures++
    const now = clock.monotonic()
    if (now < this.#proxyHeaderLogAt) return
    this.#proxyHeaderLogAt = now + PROXY_HEADER_LOG_MS
    log.warn(
      { event: 'proxy_header_rejected', peer, reason: failure },
      `a connection of ${peer} has no valid PROXY header; switch the PROXY protocol on there, or set proxy.proxy_protocol to false`,
    )
  }

  #connected(socket: Socket, secure?: SecureConnection): void {
    const { config, clock, draining } = this.#context
    const ends = this.#reported.get(secure?.transport ?? socket)
    const address = plainAddress((ends ?? socket).remoteAddress ?? '')
    // The peer may have left, or the drain begun, during the handshake.
    if (address === '' || draining) return void socket.destroy()
    if (secure?.protocol === 'h2') {
      if (this.#resets.blocks(address)) return void socket.destroy()
      this.#connections.set(socket, new Http2Connection(secure, config.limits, this.#http2Deps(), ends))
    } else {
      const connection = new ClientConnection(socket, config.limits, () => clock.monotonic(), this.#events, {
        secure,
        ends,
        turns: this.#context.turns,
        beginnings: this.#requests,
      })
      this.#connections.set(socket, connection)
    }
    socket.once('close', () => this.#connections.delete(socket))
  }

  #http2Deps(): Http2Deps {
    const { clock, log, metrics } = this.#context
    return {
      events: this.#events,
      turns: this.#beginnings,
      monotonic: () => clock.monotonic(),
      admit: (address) => this.#streams.take(address, this.#context.trusted, this.#context.config.limits),
      release: (address) => this.#streams.release(address),
      cancelled: (address) => !this.#context.trusted(address) && this.#resets.exceeded(address),
      abused: (client, reason) => {
        metrics.http2Abuse++
        log.warn({ event: 'http2_connection_closed', client, reason })
      },
    }
  }

  #tlsDeps(): TlsListenerDeps {
    const { clock, log, metrics } = this.#context
    return {
      clock,
      log,
      ticketKeys: this.#ticketKeys,
      issued: this.#context.issued,
      demand: this.#demand,
      bind: this.#bind,
      handshakeTimeout: () => this.#context.config.limits.header_timeout,
      accept: (transport, handshake) => this.#accept(transport, handshake),
      secured: (connection) => this.#connected(connection.socket, connection),
      zone: (name) => this.#context.zones.current.find(name)?.zone,
      handshakeFailed: () => metrics.handshakeFailures++,
    }
  }

  async #reconfigureTls(config: ProxyConfig['tls']): Promise<void> {
    if (this.#tls && config) return await this.#tls.reconfigure(config)
    const replaced = this.#tls
    this.#tls = config && (await TlsListener.open(config, this.#tlsDeps()))
    replaced?.close()
  }

  #requested(connection: ClientStream, request: RequestHead): void {
    try {
      serve(request, connection, this.#context)
    } catch (error) {
      // A bug in one request must not end all others.
      const ray = connection.responding?.rayId ?? newRayId()
      const text = error instanceof Error ? error.stack : String(error)
      this.#context.log.error({ event: 'internal_error', ray, error: text })
      this.#issue(connection, { status: 500 }, ray)
    }
  }

  #issue(connection: ClientStream, issue: HttpParseError, rayId?: string): void {
    if (connection.responding) connection.responding.faulted(issue)
    else rejectRequest(connection, issue, this.#context, { rayId })
  }
}

/** Ticket keys of one process, for a proxy without a store. */
function randomTicketKeys(): () => Buffer {
  const keys = randomBytes(48)
  return () => keys
}
