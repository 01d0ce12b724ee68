import {
  ConnectionLost,
  InvalidResponse,
  Overloaded,
  TargetDenied,
  TooSlow,
  WaitedTooLong,
} from '../../http/origin-errors.js'
import { machineFault, messageOf } from '../../core/errors.js'
import type { Origin } from '../../http/origin.js'
import { proxyHeader } from '../../http/proxy-protocol.js'
import { plainAddress } from '../../expr/index.js'
import type { Exchange } from '../exchange/exchange.js'
import type { Clock } from '../../core/clock.js'
import type { Log } from '../../core/log.js'
import type { Origins } from '../../http/origins.js'
import { originTarget } from './origin-target.js'
import type { Peer, PeerChange } from '../balancing/peer.js'

/** Dependencies of {@link OriginRoute}. */
export interface RouteDeps {
  readonly origins: Origins
  readonly clock: Clock
  readonly log: Log
}

/** The way of one request to the origins of its zone: the one in use, and those that failed. */
export class OriginRoute {
  readonly #exchange: Exchange
  readonly #deps: RouteDeps
  #tried: Peer[] | undefined
  /** Undefined after the request is over, and if a rule named another host. */
  #peer: Peer | undefined

  constructor(exchange: Exchange, deps: RouteDeps) {
    this.#exchange = exchange
    this.#deps = deps
  }

  /** The PROXY header of the request. Hosts that a rule names get none. */
  get preamble(): Buffer | undefined {
    const { zone, clientAddress, clientPort, local } = this.#exchange
    const { route } = this.#exchange.decisions
    const { proxyProtocol } = zone
    if (proxyProtocol === 'off' || route?.origin?.host !== undefined) return undefined
    return proxyHeader(proxyProtocol, {
      remoteAddress: clientAddress,
      remotePort: clientPort,
      localAddress: plainAddress(local.localAddress ?? ''),
      localPort: local.localPort,
    })
  }

  /** Returns the connections to the first origin. Throws if the request cannot be sent. */
  first(): Origin {
    const { route } = this.#exchange.decisions
    if (route?.origin?.host !== undefined) return this.#connect(this.#exchange.balancer.peers[0]!)
    return this.#assign(this.#exchange.balancer.pick(this.#exchange, this.#now()))
  }

  /** Returns the connections to another origin after a failure, or undefined if there is none to try. */
  next(): Origin | undefined {
    const failed = this.#peer
    if (!failed) return undefined
    const tried = (this.#tried ??= [])
    tried.push(failed)
    const peer = this.#exchange.balancer.pickAgain(this.#exchange, tried, this.#now())
    if (!peer) return undefined
    failed.retried++
    this.over()
    return this.#assign(peer)
  }

  /** Records the head of the response. */
  responded(status: number): void {
    if (this.#peer) this.#report(this.#peer, this.#peer.responded(status, this.#now()))
  }

  /** Records that the request has no response. */
  failed(error: Error): void {
    if (this.#peer) this.#report(this.#peer, this.#peer.failed(this.#now(), blames(error), messageOf(error)), error)
  }

  /** Must be called when the request is over. Further calls have no effect. */
  over(): void {
    this.#peer?.ended()
    this.#peer = undefined
  }

  #assign(peer: Peer): Origin {
    const origin = this.#connect(peer)
    this.#peer = peer
    peer.started()
    return origin
  }

  #connect(peer: Peer): Origin {
    const { zone } = this.#exchange
    const target = originTarget(this.#exchange, peer.url)
    this.#exchange.origin.url = target.url
    this.#exchange.origin.tries++
    const { connections } = peer.options
    return this.#deps.origins.get(zone.id, connections === undefined ? target : { ...target, connections })
  }

  #report({ url }: Peer, change: PeerChange, error?: Error): void {
    if (!change) return
    const { zone } = this.#exchange
    const facts = { event: `origin_${change}`, zone: zone.id, name: zone.name, origin: url }
    if (change === 'up') this.#deps.log.info(facts)
    else this.#deps.log.warn({ ...facts, reason: error && messageOf(error) })
  }

  #now(): number {
    return this.#deps.clock.monotonic()
  }
}

/** Whether a failure is the origin's: it refused, was too slow, or broke off before a response. */
function blames(error: Error): boolean {
  if (machineFault(error) !== undefined) return false
  if (error instanceof Overloaded || error instanceof WaitedTooLong || error instanceof TargetDenied) return false
  if (error instanceof ConnectionLost) return !error.stale
  if (error instanceof TooSlow || error instanceof InvalidResponse) return true
  return typeof (error as NodeJS.ErrnoException).code === 'string'
}
