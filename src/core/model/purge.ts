import { kind } from '../store.js'

/** A purge of cached responses of a zone. Every machine and process applies it when it sees the record. Scope: the zone. */
export interface StoredPurge {
  readonly kind: 'everything' | 'files' | 'tags' | 'hosts' | 'prefixes'
  /** Normalized: URLs without scheme and port, tags in lower case; empty for `everything`. */
  readonly values: readonly string[]
  /** Milliseconds since 1970. */
  readonly at: number
}
/** Records of a zone that are retained; a purge acts when it is stored, so older ones are only history. */
export const MAX_PURGE_RECORDS = 100

/** URLs that changed through one machine: the others remove what they store for them. Scope: the daemon. */
export interface StoredInvalidation {
  /** The machine that sends it, which has applied it. */
  readonly machine: string
  readonly zones: readonly { readonly zone: string; readonly urls: readonly string[] }[]
  /** Milliseconds since 1970. Distinguishes two purges of the same URLs. */
  readonly at: number
}
export const CACHE_INVALIDATION = kind<StoredInvalidation>('cache_invalidation')

/** Distinguishes stores whose versions are not comparable. */
export const STORE_IDENTITY = kind<{ readonly id: string }>('store_identity')

export const PURGE = kind<StoredPurge>('cache_purge')
