import { TransferTurns } from '../core/transfer-turns.js'
import { Connector, type ConnectorDeps, type OriginTarget } from './connector.js'
import type { OriginLimits } from './origin-connection.js'
import { Origin } from './origin.js'
import { Overloaded } from './origin-errors.js'

/** An origin without requests is closed after this time. */
const IDLE_MS = 60_000
const MAX_ORIGINS = 4096
/** Rules of one zone can name any number of hosts and ports. */
const MAX_ORIGINS_PER_ZONE = 256

/**
 * The origins in use, created on first use and closed when idle. Zones share no connections, even if they have the same
 * origin: bytes that an origin sends too late or one zone's slow clients affect no other zone.
 */
export class Origins {
  #limits: OriginLimits
  readonly #deps: ConnectorDeps
  readonly #turns: TransferTurns
  readonly #byZone = new Map<string, Map<string, Origin>>()
  #size = 0
  readonly #closing = new Set<Origin>()
  #timer: NodeJS.Timeout | undefined

  constructor(limits: OriginLimits, deps: ConnectorDeps, turns = new TransferTurns()) {
    this.#limits = limits
    this.#deps = deps
    this.#turns = turns
    this.#tickEvery(limits)
  }

  /** Returns a zone's connections to a target. Throws {@link Overloaded} if there are too many. */
  get(zone: string, target: OriginTarget): Origin {
    const { url, ca, serverName, named, connections, unverified = false } = target
    const isPlain = ca === undefined && serverName === undefined && named === undefined && connections === undefined
    const key =
      isPlain && !unverified
        ? url
        : `${url} ${named ?? ''} ${unverified ? 'unverified' : ''} ${serverName ?? ''} ${connections ?? ''} ${ca ?? ''}`
    const origins = this.#byZone.get(zone)
    const known = origins?.get(key)
    if (known && !(named && known.outdated)) return known
    if (known) this.#remove(zone, key, known)
    return this.#open(zone, key, target)
  }

  get size(): number {
    return this.#size
  }

  /** Applies new limits. Requests in progress keep their connections. */
  configure(limits: OriginLimits): void {
    this.#limits = limits
    for (const origin of this.#all()) this.#close(origin)
    this.#byZone.clear()
    this.#size = 0
    this.#tickEvery(limits)
  }

  /** Closes everything. */
  close(): void {
    clearInterval(this.#timer)
    for (const origin of [...this.#all(), ...this.#closing]) origin.destroy()
    this.#byZone.clear()
    this.#size = 0
  }

  *#all(): Generator<Origin> {
    for (const origins of this.#byZone.values()) yield* origins.values()
  }

  #open(zone: string, key: string, target: OriginTarget): Origin {
    const origins = this.#byZone.get(zone)
    if (origins && origins.size >= MAX_ORIGINS_PER_ZONE && !this.#evict([[zone, origins]]))
      throw new Overloaded('too many origins of one zone are in use')
    if (this.#size >= MAX_ORIGINS && !this.#evict(this.#byZone)) throw new Overloaded('too many origins are in use')
    const { connections = this.#limits.connections } = target
    const connector = new Connector(target, { ...this.#deps, zone })
    const origin = new Origin(connector, { ...this.#limits, connections }, this.#turns)
    const present = this.#byZone.get(zone)
    if (present) present.set(key, origin)
    else this.#byZone.set(zone, new Map([[key, origin]]))
    this.#size++
    return origin
  }
  /** One timer for all timeouts, often enough to enforce each within a quarter of it. */
  #tickEvery(limits: OriginLimits): void {
    clearInterval(this.#timer)
    const { connect_timeout, headers_timeout, body_timeout, keep_alive_timeout, queue_timeout } = limits
    const shortest = Math.min(connect_timeout, headers_timeout, body_timeout, keep_alive_timeout, queue_timeout)
    const ms = Math.min(1000, Math.max(20, Math.floor(shortest / 4)))
    this.#timer = setInterval(() => this.#tick(ms), ms)
    this.#timer.unref()
  }

  #tick(ms: number): void {
    for (const [zone, origins] of this.#byZone)
      for (const [key, origin] of origins) {
        origin.tick(ms)
        if (origin.idleMs >= IDLE_MS) this.#remove(zone, key, origin)
      }
    for (const origin of this.#closing) origin.tick(ms)
  }

  /** Closes an origin without requests. Returns false if none exists. */
  #evict(zones: Iterable<[string, ReadonlyMap<string, Origin>]>): boolean {
    for (const [zone, origins] of zones)
      for (const [key, origin] of origins) {
        if (origin.active > 0) continue
        this.#remove(zone, key, origin)
        return true
      }
    return false
  }

  #remove(zone: string, key: string, origin: Origin): void {
    const origins = this.#byZone.get(zone)
    if (origins?.delete(key)) this.#size--
    if (origins?.size === 0) this.#byZone.delete(zone)
    this.#close(origin)
  }

  #close(origin: Origin): void {
    this.#closing.add(origin)
    void origin.close().then(() => this.#closing.delete(origin))
  }
}
