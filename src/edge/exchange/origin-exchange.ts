import type { OriginPeer } from '../../http/origin-connection.js'
import type { RawHeaders } from '../../http/headers.js'
import type { CacheStatus } from '../cache/entries/types.js'

/** One request to an origin, and the facts about it that the log record of its exchange contains. */
export interface OriginExchange {
  readonly method: string
  readonly target: string
  readonly headers: RawHeaders
  readonly clientShare: string | undefined
  readonly cache: { readonly read_timeout?: number } | undefined
  /** Added to the response as `cf-cache-status`, and in Cache-Status if the response could be cached. */
  readonly cacheStatus?: CacheStatus | undefined
  originAskedAt: number | undefined
  originSentAt: number | undefined
  originPeer: OriginPeer | undefined
  originAt: number | undefined
  originStatus: number
  originHeaders: RawHeaders | undefined
  originBytes: number
}

/** Error of a response that is no longer wanted, passed to its sinks. */
// Created once, because it is passed for every response, even without a listener.
export const CLIENT_LEFT = new Error('the client left')
