import { isIP } from 'node:net'
import { rootCertificates } from 'node:tls'
import { buildConnector, Pool, type Dispatcher } from 'undici'

/** Times in milliseconds. */
export interface OriginLimits {
  readonly connect_timeout: number
  readonly headers_timeout: number
  readonly body_timeout: number
  readonly keep_alive_timeout: number
  readonly waiting_timeout: number
  readonly header_bytes: number
  readonly connections: number
  readonly waiting: number
}

/** A request on its way to an origin; the methods that take the answer are undici's, in their raw form. */
export interface OriginRequest extends Dispatcher.DispatchHandler {
  /** It has a connection, or it is over. Set by the request itself. */
  started: boolean
  onError(error: Error): void
}

/** An origin has as many requests as it may have, or there are as many origins as there may be. */
export class Overloaded extends Error {
  override readonly name = 'Overloaded'
}

/** No connection became free in time. */
export class WaitedTooLong extends Error {
  override readonly name = 'WaitedTooLong'
}

/** The code of a connection that the origin reset. */
export const ORIGIN_RESET = 'ORIGIN_RESET'

/** undici takes ECONNRESET for the end of an answer that has no length; a client must not take half a page for a whole. */
function markReset(error: NodeJS.ErrnoException): void {
  if (error.code === 'ECONNRESET') error.code = ORIGIN_RESET
}

const SWEEP_MS = 1000
/** An origin that got no request for this many sweeps is closed. */
const IDLE_SWEEPS = 60
const MAX_ORIGINS = 4096

/** Connections to one origin. */
export class Origin {
  /** Requests that were sent and are not answered, the waiting ones among them. */
  active = 0
  idleSweeps = 0
  readonly #pool: Pool
  readonly #limits: OriginLimits
  /** To be given with each request: undici would connect anew for each Host field that differs from the one before. */
  readonly serverName: string
  /** Those that wait for a connection, with the sweeps they saw; oldest first. */
  readonly #waiting = new Map<OriginRequest, number>()

  constructor(url: string, ca: string | undefined, limits: OriginLimits, serverName = new URL(url).hostname) {
    this.#limits = limits
    this.serverName = serverName
    const connect = buildConnector({
      timeout: limits.connect_timeout,
      keepAlive: true,
      allowH2: false,
      ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
    })
    // The certificate has to be the origin's own; undici would ask for the one of the Host field, which is the visitor's.
    const servername = isIP(this.serverName.replace(/^\[|\]$/g, '')) ? undefined : this.serverName
    this.#pool = new Pool(url, {
      connect: (options, callback) => {
        const { servername: _visitors, ...rest } = options
        connect(servername === undefined ? rest : { ...rest, servername }, (...connected) => {
          connected[1]?.once('error', markReset)
          callback(...connected)
        })
      },
      connections: limits.connections,
      headersTimeout: limits.headers_timeout,
      bodyTimeout: limits.body_timeout,
      keepAliveTimeout: limits.keep_alive_timeout,
      maxHeaderSize: limits.header_bytes,
    })
  }

  /** Sends a request; throws {@link Overloaded} where there is no room. Call {@link release} when it is over. */
  dispatch(options: Dispatcher.DispatchOptions, request: OriginRequest): void {
    if (this.active >= this.#limits.connections + this.#limits.waiting) throw new Overloaded('too many requests wait')
    this.active++
    this.idleSweeps = 0
    this.#pool.dispatch(options, request)
    if (!request.started) this.#waiting.set(request, 0)
  }

  /** The request has its connection. */
  begun(request: OriginRequest): void {
    if (this.#waiting.size > 0) this.#waiting.delete(request)
  }

  release(request: OriginRequest): void {
    this.active--
    this.begun(request)
  }

  /** Ends what waited too long for a connection. */
  sweep(): void {
    const limit = Math.ceil(this.#limits.waiting_timeout / SWEEP_MS)
    for (const [request, sweeps] of this.#waiting) {
      if (sweeps < limit) this.#waiting.set(request, sweeps + 1)
      else request.onError(new WaitedTooLong('no connection to the origin became free'))
    }
    if (this.active === 0) this.idleSweeps++
  }

  /** Resolves when the requests under way have their answers. */
  async close(): Promise<void> {
    await this.#pool.close()
  }

  async destroy(): Promise<void> {
    await this.#pool.destroy()
  }
}

/** The origins in use: made at first need, closed when idle. */
export class Origins {
  #limits: OriginLimits
  #byKey = new Map<string, Origin>()
  readonly #closing = new Set<Origin>()
  readonly #timer: NodeJS.Timeout

  constructor(limits: OriginLimits) {
    this.#limits = limits
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS)
    this.#timer.unref()
  }

  /**
   * The origin at a URL (scheme, host and port). `ca`: PEM of an authority to trust in addition; `serverName`: the name
   * that its certificate has to have, where that is not the host of the URL.
   */
  get(url: string, ca: string | undefined, serverName?: string): Origin {
    const key = ca === undefined && serverName === undefined ? url : `${url} ${serverName ?? ''} ${ca ?? ''}`
    const known = this.#byKey.get(key)
    if (known) return known
    if (this.#byKey.size >= MAX_ORIGINS && !this.#evict()) throw new Overloaded('too many origins are in use')
    const origin = new Origin(url, ca, this.#limits, serverName)
    this.#byKey.set(key, origin)
    return origin
  }

  get size(): number {
    return this.#byKey.size
  }

  /** New limits: requests under way keep the connections that they have. */
  configure(limits: OriginLimits): void {
    this.#limits = limits
    for (const origin of this.#byKey.values()) this.#close(origin)
    this.#byKey = new Map()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    const all = [...this.#byKey.values(), ...this.#closing]
    this.#byKey.clear()
    await Promise.all(all.map(async (origin) => await origin.destroy()))
  }

  #sweep(): void {
    for (const [key, origin] of this.#byKey) {
      origin.sweep()
      if (origin.idleSweeps < IDLE_SWEEPS) continue
      this.#byKey.delete(key)
      this.#close(origin)
    }
    for (const origin of this.#closing) origin.sweep()
  }

  #evict(): boolean {
    for (const [key, origin] of this.#byKey) {
      if (origin.active > 0) continue
      this.#byKey.delete(key)
      this.#close(origin)
      return true
    }
    return false
  }

  #close(origin: Origin): void {
    this.#closing.add(origin)
    void origin.close().then(() => this.#closing.delete(origin))
  }
}
