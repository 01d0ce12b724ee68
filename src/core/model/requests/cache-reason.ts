/**
 * Why the cache did not answer a request, with the text that people read. The request log keeps places in this list, so
 * rows are only added at the end.
 */
export const CACHE_REASONS = [
  ['method', 'Only GET, HEAD, and QUERY with a Content-Type are cached.'],
  ['body', 'The request has a body, or the content of QUERY is longer than 64 KiB.'],
  ['rule_bypass', 'A cache rule excludes the request.'],
  ['not_static', 'The path has no extension of a static file, and no cache rule makes it eligible.'],
  ['query', 'The cache level of the zone excludes targets with a query.'],
  ['port', 'The port of the request is not cached.'],
  ['development', 'Development mode is on.'],
  ['status', 'The status of the response is not stored.'],
  ['no_store', 'The origin sent no-store.'],
  ['private', 'The origin sent private.'],
  ['no_cache', 'The origin sent no-cache.'],
  ['set_cookie', 'The response sets a cookie.'],
  ['vary', 'The response varies by a field that the cache does not compare.'],
  ['authorization', 'The request has credentials, and the origin does not allow to share the response.'],
  ['no_freshness', 'The origin says no lifetime, and the response is not cached without one.'],
  ['rule', 'A cache rule forbids to store the response.'],
  ['deception', 'The content type does not fit the extension of the path.'],
  ['too_large', 'The response is larger than cache.max_object.'],
  ['no_memory', 'The cache has no memory for the response.'],
  ['incomplete', 'The response was incomplete.'],
  ['purged', 'The response was purged while it arrived.'],
] as const

export type CacheReason = (typeof CACHE_REASONS)[number][0]

const PLACES: ReadonlyMap<CacheReason, number> = new Map(CACHE_REASONS.map(([name], place) => [name, place]))

/** Returns the number of a reason in a record. */
export const cacheReasonNumber = (reason: CacheReason): number => PLACES.get(reason)!

/** Returns the text of a number in a record. Undefined for a number of a later version. */
export const cacheReasonText = (place: number): string | undefined => CACHE_REASONS[place]?.[1]
