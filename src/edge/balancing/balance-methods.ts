import { headerOf, headerValues, type RawHeaders } from '../../http/headers.js'
import type { Peer } from './peer.js'

/** Properties of a request that the choice of an origin can depend on. */
export interface BalanceKey {
  readonly clientAddress: string
  readonly clientHeaders: RawHeaders
}

/** Returns one of the candidates. There is at least one. */
export type Strategy = (candidates: readonly Peer[], key: BalanceKey, now: number) => Peer

/** Returns the strategy of a `balance` option. */
export function strategyOf(balance: string): Strategy {
  if (balance === 'least_requests') return leastRequests
  if (balance === 'client_address') return hashed(({ clientAddress }) => clientAddress)
  const [type, name = ''] = balance.split(/:(.*)/s)
  if (type === 'header') return hashed(({ clientHeaders }) => headerOf(clientHeaders, name.toLowerCase()))
  if (type === 'cookie') return hashed(({ clientHeaders }) => cookieOf(clientHeaders, name))
  return roundRobin
}

/** Smooth weighted round robin. For example, weights 2 and 1 give A B A. */
function roundRobin(candidates: readonly Peer[], _key: BalanceKey, now: number): Peer {
  let total = 0
  let best = candidates[0]!
  for (const peer of candidates) {
    const weight = peer.weight(now)
    total += weight
    peer.current += weight
    if (peer.current > best.current) best = peer
  }
  best.current -= total
  return best
}

/** Returns the origin with the fewest requests in flight for its weight. Equal ones get requests in rotation. */
function leastRequests(candidates: readonly Peer[], key: BalanceKey, now: number): Peer {
  let least = Infinity
  let best: Peer[] = []
  for (const peer of candidates) {
    const load = (peer.active + 1) / peer.weight(now)
    if (load < least) {
      least = load
      best = [peer]
    } else if (load === least) best.push(peer)
  }
  return best.length === 1 ? best[0]! : roundRobin(best, key, now)
}

/**
 * Weighted rendezvous hashing. Requests with the same key get the same origin, and an origin that goes down moves only
 * its own keys. Requests without the key use round robin.
 */
function hashed(keyOf: (key: BalanceKey) => string | undefined): Strategy {
  return (candidates, key, now) => {
    const text = keyOf(key)
    if (text === undefined || text === '') return roundRobin(candidates, key, now)
    const hash = hashOf(text)
    let highest = -Infinity
    let best = candidates[0]!
    for (const peer of candidates) {
      const uniform = (mixed(hash ^ hashOf(peer.url)) + 0.5) / 2 ** 32
      const score = -peer.weight(now) / Math.log(uniform)
      if (score > highest) {
        highest = score
        best = peer
      }
    }
    return best
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}

/** The final step of MurmurHash3. Each bit of the input changes each bit of the result with probability one half. */
function mixed(hash: number): number {
  let value = hash
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return (value ^ (value >>> 16)) >>> 0
}

/** Returns the value of the first cookie with this name. */
function cookieOf(headers: RawHeaders, name: string): string | undefined {
  for (const field of headerValues(headers, 'cookie'))
    for (const pair of field.split(';')) {
      const equals = pair.indexOf('=')
      if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim()
    }
  return undefined
}
