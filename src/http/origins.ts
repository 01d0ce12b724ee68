import { Connector } from './connector.js'
import type { OriginLimits } from './origin-connection.js'
import { Origin } from './origin.js'
import { Overloaded } from './origin-errors.js'

/** An origin that got no request for so long is closed. */
const IDLE_MS = 60_000
const MAX_ORIGINS = 4096

/** The origins in use: made at first need, closed when idle. */
export class Origins {
  #limits: OriginLimits
  #byKey = new Map<string, Origin>()
  readonly #closing = new Set<Origin>()
  #timer: NodeJS.Timeout | undefined

  constructor(limits: OriginLimits) {
    this.#limits = limits
    this.#tickEvery(limits)
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
    const origin = new Origin(new Connector(url, ca, serverName), this.#limits)
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
    this.#tickEvery(limits)
  }

  /** Ends all there is. */
  close(): void {
    clearInterval(this.#timer)
    for (const origin of [...this.#byKey.values(), ...this.#closing]) origin.destroy()
    this.#byKey.clear()
  }

  /** One timer for all that may take too long, often enough for each limit to be kept within a quarter of it. */
  #tickEvery(limits: OriginLimits): void {
    clearInterval(this.#timer)
    const { connect_timeout, headers_timeout, body_timeout, keep_alive_timeout, waiting_timeout } = limits
    const shortest = Math.min(connect_timeout, headers_timeout, body_timeout, keep_alive_timeout, waiting_timeout)
    const ms = Math.min(1000, Math.max(20, Math.floor(shortest / 4)))
    this.#timer = setInterval(() => this.#tick(ms), ms)
    this.#timer.unref()
  }

  #tick(ms: number): void {
    for (const [key, origin] of this.#byKey) {
      origin.tick(ms)
      if (origin.idleMs < IDLE_MS) continue
      this.#byKey.delete(key)
      this.#close(origin)
    }
    for (const origin of this.#closing) origin.tick(ms)
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
