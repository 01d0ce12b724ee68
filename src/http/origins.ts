import { every } from '../core/schedule/each-second.js'
import { LARGE_READS, TurnQueue } from '../core/schedule/turn-queue.js'
import { Connector, type ConnectorDeps, type OriginTarget } from './connector.js'
import type { OriginLimits } from './origin-connection.js'
import { Origin } from './origin.js'
import { Overloaded } from './origin-errors.js'

/** An origin without requests is closed after this time. */
const IDLE_MS = 60_000
const MAX_ORIGINS = 16_384
/** Connections that are closed in one turn of the event loop after a timeout. */
const MAX_CLOSED = 50
/** Rules of one zone can name any number of hosts and ports. */
const MAX_ORIGINS_PER_ZONE = 256
/** Size of the sample whose least recently used origin is closed if there are too many. */
const SAMPLE = 16

/** An origin of a zone. */
interface ZoneOrigin {
  readonly zone: string
  readonly key: string
  readonly origin: Origin
}

/**
 * The origins in use, created on first use and closed when idle. Zones share no connections, even if they have the same
 * origin. Bytes that an origin sends too late, or slow clients of one zone, affect no other zone.
 */
export class Origins {
  #limits: OriginLimits
  readonly #deps: ConnectorDeps
  readonly #turns: TurnQueue
  readonly #byZone = new Map<string, Map<string, ZoneOrigin>>()
  /**
   * The same origins. The iterator continues in rotation, so that each eviction inspects other origins than the
   * previous one.
   */
  readonly #places = new Set<ZoneOrigin>()
  #next = this.#places.values()
  readonly #closing = new Set<Origin>()
  #endTicks: () => void = () => undefined
  #ticking = false
  /** Milliseconds that the origins do not know of yet. */
  #sinceTick = 0

  constructor(limits: OriginLimits, deps: ConnectorDeps, turns = new TurnQueue(LARGE_READS)) {
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
        : `${url} ${named ? 'named' : ''} ${unverified ? 'unverified' : ''} ${serverName ?? ''} ${connections ?? ''} ${ca ?? ''}`
    const origins = this.#byZone.get(zone)
    const known = origins?.get(key)
    if (known && !(named && known.origin.outdated)) return known.origin
    if (known) this.#remove(known)
    return this.#open(zone, key, target)
  }

  get size(): number {
    return this.#places.size
  }

  /** Applies new limits. Requests in progress keep their connections. */
  configure(limits: OriginLimits): void {
    this.#limits = limits
    for (const { origin } of this.#places) this.#close(origin)
    this.#clear()
    this.#tickEvery(limits)
  }

  /** Closes everything. */
  close(): void {
    this.#endTicks()
    for (const { origin } of this.#places) origin.destroy()
    for (const origin of this.#closing) origin.destroy()
    this.#clear()
  }

  #open(zone: string, key: string, target: OriginTarget): Origin {
    const origins = this.#byZone.get(zone)
    if (origins && origins.size >= MAX_ORIGINS_PER_ZONE && !this.#evict(origins.values()))
      throw new Overloaded('too many origins of one zone are in use')
    if (this.size >= MAX_ORIGINS && !this.#evict(this.#sample()) && !this.#evict(this.#places))
      throw new Overloaded('too many origins are in use')
    const { connections = this.#limits.connections } = target
    const connector = new Connector(target, { ...this.#deps, zone })
    const origin = new Origin(connector, { ...this.#limits, connections }, this.#turns)
    const place = { zone, key, origin }
    const present = this.#byZone.get(zone)
    if (present) present.set(key, place)
    else this.#byZone.set(zone, new Map([[key, place]]))
    this.#places.add(place)
    return origin
  }

  /**
   * Starts one timer for all timeouts. It fires often enough to enforce each timeout within a quarter of its length.
   */
  #tickEvery(limits: OriginLimits): void {
    this.#endTicks()
    const { connect_timeout, headers_timeout, body_timeout, keep_alive_timeout, queue_timeout } = limits
    const shortest = Math.min(connect_timeout, headers_timeout, body_timeout, keep_alive_timeout, queue_timeout)
    const ms = Math.min(1000, Math.max(20, Math.floor(shortest / 4)))
    this.#endTicks = every(ms, () => this.#tick(ms))
  }

  /**
   * Reports to all origins that time has passed. Thousands of idle connections can end at the same time, and closing
   * one takes 40 us, so this continues in the next turn of the event loop after {@link MAX_CLOSED} connections.
   */
  #tick(ms: number): void {
    this.#sinceTick += ms
    if (this.#ticking) return
    this.#ticking = true
    const passed = this.#sinceTick
    this.#sinceTick = 0
    const places = [...this.#places]
    let at = 0
    const next = (): void => {
      let left = MAX_CLOSED
      while (at < places.length && left > 0) {
        const place = places[at++]!
        if (!this.#places.has(place)) continue
        left -= place.origin.tick(passed)
        if (place.origin.idleMs >= IDLE_MS) this.#remove(place)
      }
      if (at < places.length) return void setImmediate(next)
      for (const origin of this.#closing) origin.tick(passed)
      this.#ticking = false
    }
    next()
  }

  /** Returns some of the origins. Each call returns the next ones. */
  #sample(): ZoneOrigin[] {
    const places: ZoneOrigin[] = []
    for (let n = 0; n < SAMPLE; n++) {
      const { value, done } = this.#next.next()
      if (done === true) this.#next = this.#places.values()
      else places.push(value)
    }
    return places
  }

  /** Closes the origin that was unused for longest. Returns false if all have requests. */
  #evict(places: Iterable<ZoneOrigin>): boolean {
    let oldest: ZoneOrigin | undefined
    for (const place of places)
      if (place.origin.active === 0 && place.origin.idleMs > (oldest?.origin.idleMs ?? -1)) oldest = place
    if (oldest) this.#remove(oldest)
    return oldest !== undefined
  }

  #remove(place: ZoneOrigin): void {
    const { zone, key, origin } = place
    const origins = this.#byZone.get(zone)
    if (origins?.get(key) === place) origins.delete(key)
    if (origins?.size === 0) this.#byZone.delete(zone)
    this.#places.delete(place)
    this.#close(origin)
  }

  #clear(): void {
    this.#byZone.clear()
    this.#places.clear()
    this.#next = this.#places.values()
  }

  #close(origin: Origin): void {
    this.#closing.add(origin)
    void origin.close().then(() => this.#closing.delete(origin))
  }
}
