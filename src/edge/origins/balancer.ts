import type { ZoneConfig } from '../../config/schema.js'
import { strategyOf, type BalanceKey, type Strategy } from './balance.js'
import { Peer, type PeerOptions } from './peer.js'

/** Retries may be at most this share of requests, so that origins in trouble do not get twice the load. */
const RETRY_SHARE = 0.2
/** Retries that are possible after a time without any. */
const MAX_SAVED_RETRIES = 10

/** Options of active checks. */
export type HealthOptions = NonNullable<ZoneConfig['health']>

/** Options of a zone that concern its origins. */
export interface BalancerOptions {
  readonly peers: readonly PeerOptions[]
  readonly balance: string
  readonly retries: number
  readonly health: HealthOptions | undefined
}

/** Chooses an origin of a zone for each request. */
export class Balancer {
  readonly peers: readonly Peer[]
  /** Maximum further origins that a request is sent to after a failure. */
  readonly retries: number
  readonly health: HealthOptions | undefined
  readonly #strategy: Strategy
  #savedRetries = MAX_SAVED_RETRIES

  /** `known`: the origins of the zone before, which retain their state. */
  constructor({ peers, balance, retries, health }: BalancerOptions, known: readonly Peer[] = []) {
    this.peers = peers.map((options) => {
      const peer = known.find(({ url }) => url === options.url)
      if (!peer) return new Peer(options)
      peer.options = options
      if (!health) peer.uncheck()
      return peer
    })
    this.retries = retries
    this.health = health
    this.#strategy = strategyOf(balance)
  }

  /** Returns the origin for a new request. */
  pick(key: BalanceKey, now: number): Peer {
    const [first] = this.peers
    if (this.peers.length === 1) return first!
    if (this.#savedRetries < MAX_SAVED_RETRIES) this.#savedRetries += RETRY_SHARE
    return this.#choose(this.peers, key, now)
  }

  /** Returns another origin for a request that failed at those of `tried`; undefined if it is not sent again. */
  pickAgain(key: BalanceKey, tried: readonly Peer[], now: number): Peer | undefined {
    if (tried.length > this.retries || this.#savedRetries < 1) return undefined
    const left = this.peers.filter((peer) => !tried.includes(peer))
    if (left.length === 0) return undefined
    this.#savedRetries--
    return this.#choose(left, key, now)
  }

  #choose(from: readonly Peer[], key: BalanceKey, now: number): Peer {
    let best = Infinity
    let candidates: Peer[] = []
    for (const peer of from) {
      const rank = rankOf(peer, now)
      if (rank < best) {
        best = rank
        candidates = [peer]
      } else if (rank === best) candidates.push(peer)
    }
    return candidates.length === 1 ? candidates[0]! : this.#strategy(candidates, key, now)
  }
}

/** Origins with the lowest rank are used. If all are down, a request is tried anyway: better than an error. */
function rankOf(peer: Peer, now: number): number {
  const { backup } = peer.options
  if (!peer.isUp(now)) return backup ? 5 : 4
  return (backup ? 2 : 0) + (peer.isFull ? 1 : 0)
}

/** The balancers of all zones. A zone whose origins are unchanged retains its balancer, and an origin its state. */
export class Balancers {
  #byZone = new Map<string, { key: string; balancer: Balancer }>()

  /** Returns the balancer of a zone. */
  of(zone: string, options: BalancerOptions): Balancer {
    const known = this.#byZone.get(zone)
    const key = JSON.stringify(options)
    if (known?.key === key) return known.balancer
    const balancer = new Balancer(options, known?.balancer.peers)
    this.#byZone.set(zone, { key, balancer })
    return balancer
  }

  /** Forgets zones that were deleted. */
  forget(zones: readonly string[]): void {
    for (const zone of zones) this.#byZone.delete(zone)
  }

  /** Forgets zones that do not exist any more. */
  retain(zones: ReadonlySet<string>): void {
    for (const zone of this.#byZone.keys()) if (!zones.has(zone)) this.#byZone.delete(zone)
  }
}
