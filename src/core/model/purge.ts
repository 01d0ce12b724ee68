import { kind } from '../store.js'

/**
 * A purge of cached responses of a zone. Every machine and process applies it when it sees the record. The scope is the
 * zone.
 */
export interface StoredPurge {
  readonly kind: 'everything' | 'files' | 'tags' | 'hosts' | 'prefixes'
  /** Normalized. URLs have no scheme and port, and tags are in lower case. Empty for `everything`. */
  readonly values: readonly string[]
  /** Milliseconds since 1970. */
  readonly at: number
}
/** Maximum stored records of a zone. A purge acts when it is stored, so older ones are only history. */
export const MAX_PURGE_RECORDS = 100

/**
 * URLs that changed through one machine. The other machines delete their stored responses for these URLs. The scope is
 * the daemon.
 */
export interface StoredInvalidation {
  /** The machine that sends it, which has applied it. */
  readonly machine: string
  readonly zones: readonly {
    readonly zone: string
    readonly urls: readonly string[]
    /** Tags of groups of responses. */
    readonly groups?: readonly string[]
  }[]
  /** Milliseconds since 1970. Distinguishes two purges of the same URLs. */
  readonly at: number
}
export const CACHE_INVALIDATION = kind<StoredInvalidation>('cache_invalidation')

/** Distinguishes stores whose versions are not comparable. */
export const STORE_IDENTITY = kind<{ readonly id: string }>('store_identity')

export const PURGE = kind<StoredPurge>('cache_purge')
