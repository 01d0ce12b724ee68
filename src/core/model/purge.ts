import { kind } from '../store.js'

/** A purge of cached responses of a zone. Its record tells every machine and process. Scope: the zone. */
export interface StoredPurge {
  readonly kind: 'everything' | 'files' | 'tags' | 'hosts' | 'prefixes'
  /** Normalized: URLs without scheme and port, tags in lower case; empty for `everything`. */
  readonly values: readonly string[]
  /** Milliseconds since 1970. */
  readonly at: number
}
export const PURGE = kind<StoredPurge>('cache_purge')
