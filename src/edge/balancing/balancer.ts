import type { ZoneConfig } from '../../config/schema.js'
import { strategyOf, type BalanceKey, type Strategy } from './balance-methods.js'
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
  readonly #options: readonly PeerOptions[]
  #savedRetries = MAX_SAVED_RETRIES

  /** `known` are the origins of the zone before. They retain their state, and their options until {@link use}. */
  constructor({ peers, balance, retries, health }: BalancerOptions, known: readonly Peer[] = []) {
    this.peers = peers.map((options) => known.find(({ url }) => url === options.url) ?? new Peer(options))
    this.#options = peers
    this.retries = retries
    this.health = health
    this.#strategy = strategyOf(balance)
  }

  /** Applies the options to origins that were known before. Called when the zone is in force. */
  use(): void {
    for (const [index, peer] of this.peers.entries()) {
      peer.options = this.#options[index]!
      if (!this.health) peer.uncheck()
    }
  }

  /** Returns the origin for a new request. */
  pick(key: BalanceKey, now: number): Peer {
    const [first] = this.peers
    if (this.peers.length === 1) return first!
    if (this.#savedRetries < MAX_SAVED_RETRIES) this.#savedRetries += RETRY_SHARE
    return this.#choose(this.peers, key, now)
  }

  /**
   * Returns another origin for a request that failed at the origins `tried`, or undefined if the request is not sent
   * again.
   */
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

/** Origins with the lowest rank are used. If all are down, a request is tried anyway, which is better than an error. */
function rankOf(peer: Peer, now: number): number {
  const { backup } = peer.options
  if (!peer.isUp(now)) return backup ? 5 : 4
  return (backup ? 2 : 0) + (peer.isFull ? 1 : 0)
}

interface KnownBalancer {
  /** Text of its options. */
  readonly key: string
  readonly balancer: Balancer
}

/** The balancers of all zones. A zone whose origins are unchanged retains its balancer, and an origin its state. */
export class Balancers {
  readonly #byZone = new Map<string, KnownBalancer>()

  /** Returns the balancer of a zone. */
  of(zone: string, options: BalancerOptions): Balancer {
    return this.#put(zone, balancerFor(options, this.#byZone.get(zone)))
  }

  /** Returns balancers of a configuration that is not in force yet. The current balancers are unchanged until then. */
  next(): NextBalancers {
    const changed = new Map<string, KnownBalancer>()
    let isInForce = false
    return {
      of: (zone, options) => {
        if (isInForce) return this.of(zone, options)
        const found = balancerFor(options, changed.get(zone) ?? this.#byZone.get(zone))
        changed.set(zone, found)
        return found.balancer
      },
      use: () => {
        for (const [zone, known] of changed) this.#put(zone, known)
        changed.clear()
        isInForce = true
      },
    }
  }

  /** Forgets zones that were deleted. */
  forget(zones: readonly string[]): void {
    for (const zone of zones) this.#byZone.delete(zone)
  }

  /** Forgets zones for which `exists` returns false. */
  retain(exists: (zone: string) => boolean): void {
    for (const zone of this.#byZone.keys()) if (!exists(zone)) this.#byZone.delete(zone)
  }

  #put(zone: string, next: KnownBalancer): Balancer {
    if (this.#byZone.get(zone) !== next) {
      this.#byZone.set(zone, next)
      next.balancer.use()
    }
    return next.balancer
  }
}

/** Balancers that are in force when `use` is called. */
export interface NextBalancers extends Pick<Balancers, 'of'> {
  use(): void
}

function balancerFor(options: BalancerOptions, known: KnownBalancer | undefined): KnownBalancer {
  const key = JSON.stringify(options)
  return known?.key === key ? known : { key, balancer: new Balancer(options, known?.balancer.peers) }
}
