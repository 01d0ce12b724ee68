import type { Variant } from './entry.js'

/** What the cache did for a request, as `cf-cache-status` has it. */
export const CACHE_STATUSES = [
  'HIT',
  'MISS',
  'EXPIRED',
  'STALE',
  'UPDATING',
  'REVALIDATED',
  'BYPASS',
  'DYNAMIC',
] as const
export type CacheStatus = (typeof CACHE_STATUSES)[number]

/** Cache settings of a zone. */
export interface CacheOptions {
  readonly mode: 'off' | 'default' | 'everything'
  /** Whether a query string is part of the key. `without`: responses to requests with one are not stored. */
  readonly query: 'key' | 'ignore' | 'without'
  readonly sortQuery: boolean
  /** Minimum `max-age` of cached responses for clients, in seconds; 0: as the origin says. */
  readonly browserTtl: number
  /** Development mode is on until this time in milliseconds since 1970. */
  readonly developmentUntil: number
  /** Use stale responses while the origin fails. */
  readonly alwaysOnline: boolean
}

/** The stored response that an exchange gets: for stages that derive a representation from it. */
export interface CachedResponse {
  /** Media type and coding of the stored bytes. */
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  variant(name: string): Variant | undefined
  addVariant(name: string, variant: Variant): void
  /** The stage sends a representation of its own: the stored bytes are not needed. */
  skipBody: boolean
}
