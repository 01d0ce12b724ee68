import { headerOf, headerValues, type RawHeaders, withHeader, withoutHeader } from '../../http/headers.js'
import type { CacheSettings } from '../../rules/decisions.js'
import { CACHE_STATUS, EDGE_FIELD } from '../exchange/response-fields.js'
import { cacheControl, seconds } from './entries/directives.js'
import { httpDate } from './entries/http-date.js'
import type { CacheStatus } from './entries/types.js'

/** Name of this cache in Cache-Status (RFC 9211). */
const NAME = 'edged'

/** The field with the tags by which a stored response can be purged. */
const TAGS_FIELD = 'cache-tag'
/** Fields that are not stored with a response, because they are created for each response or are for this cache alone. */
const NEVER_STORED = new Set(['content-length', 'age', CACHE_STATUS, TAGS_FIELD, EDGE_FIELD])

/**
 * Returns the fields that clients get. `Cache-Tag` reaches them with responses that the cache does not handle
 * (`DYNAMIC`), so that a cache in front of this proxy can use it.
 */
export function withoutEdgeFields(headers: RawHeaders, status: CacheStatus): RawHeaders {
  // Responses from the cache do not have these fields (see `storedFields`).
  if (status === 'HIT') return headers
  let fields = headers
  if (headerOf(fields, EDGE_FIELD) !== undefined) fields = withoutHeader(fields, EDGE_FIELD)
  if (status !== 'DYNAMIC' && headerOf(fields, TAGS_FIELD) !== undefined) fields = withoutHeader(fields, TAGS_FIELD)
  return fields
}

/** Returns the fields to store. A response without a date gets the one of its arrival (RFC 9110, 6.6.1). */
export function storedFields(headers: RawHeaders, omitted: ReadonlySet<string>, arrivedAt: number): string[] {
  const fields: string[] = []
  let isDated = false
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    if (NEVER_STORED.has(name) || omitted.has(name)) continue
    if (name === 'date') isDated = true
    fields.push(headers[i]!, headers[i + 1]!)
  }
  if (!isDated) fields.push('date', new Date(arrivedAt).toUTCString())
  return fields
}

/** Fields of a 304 that do not replace stored ones, because they describe a body and the stored body stays. */
const OF_THE_BODY = new Set(['content-length', 'content-encoding', 'content-range', 'content-type', 'set-cookie'])

/** Returns the stored fields, with each field that a 304 response also has replaced by the new one (RFC 9111, 3.2). */
export function updatedFields(stored: RawHeaders, fresh: RawHeaders): string[] {
  const names = new Set<string>()
  const added: string[] = []
  for (let i = 0; i + 1 < fresh.length; i += 2) {
    const name = fresh[i]!.toLowerCase()
    if (OF_THE_BODY.has(name)) continue
    names.add(name)
    added.push(fresh[i]!, fresh[i + 1]!)
  }
  const kept: string[] = []
  for (let i = 0; i + 1 < stored.length; i += 2)
    if (!names.has(stored[i]!.toLowerCase())) kept.push(stored[i]!, stored[i + 1]!)
  return [...kept, ...added]
}

/** Facts for the field Cache-Status. */
export interface StatusFacts {
  readonly status: CacheStatus
  /** Seconds until the response is stale. Negative after that. */
  readonly ttl?: number | undefined
  readonly isStored?: boolean
  readonly isCollapsed?: boolean
  readonly originStatus?: number | undefined
}

/** Returns the value of Cache-Status (RFC 9211). */
function cacheStatus({ status, ttl, isStored, isCollapsed, originStatus }: StatusFacts): string {
  let value = NAME
  if (status === 'HIT' || status === 'UPDATING') value += '; hit'
  else value += `; fwd=${FORWARDED[status]}`
  if (originStatus) value += `; fwd-status=${originStatus}`
  if (isStored) value += '; stored'
  if (isCollapsed) value += '; collapsed'
  if (ttl !== undefined) value += `; ttl=${Math.floor(ttl)}`
  return value
}

const FORWARDED: Readonly<Record<Exclude<CacheStatus, 'HIT' | 'UPDATING'>, string>> = {
  MISS: 'uri-miss',
  EXPIRED: 'stale',
  STALE: 'stale',
  REVALIDATED: 'stale',
  BYPASS: 'bypass',
  DYNAMIC: 'bypass',
}

/** Returns the fields with the cache's own: `cf-cache-status`, and this cache's member of Cache-Status. */
export function withCacheStatus(fields: readonly string[], facts: StatusFacts): string[] {
  const own = cacheStatus(facts)
  const before = headerValues(fields, 'cache-status')
  const named = before.length > 0 ? withoutHeader(fields, 'cache-status') : [...fields]
  const rest = headerOf(named, 'cf-cache-status') === undefined ? named : withoutHeader(named, 'cf-cache-status')
  rest.push('cf-cache-status', facts.status, 'cache-status', [...before, own].join(', '))
  return rest
}

/** Fields of a stored response that a 304 does not repeat. */
const NOT_IN_304 =
  /^(?:content-(?:type|length|encoding|language|range|md5|disposition)|accept-ranges|digest|repr-digest|content-digest)$/i

/** Returns the fields of a 304 for a response (RFC 9110, 15.4.5). */
export function notModifiedFields(fields: RawHeaders): string[] {
  const kept: string[] = []
  for (let i = 0; i + 1 < fields.length; i += 2) if (!NOT_IN_304.test(fields[i]!)) kept.push(fields[i]!, fields[i + 1]!)
  return kept
}

/** Returns the fields with the lifetime for browsers that a rule or the zone sets. */
export function browserFields(fields: string[], rule: CacheSettings['browser_ttl'], minimumSeconds: number): string[] {
  if (rule?.mode === 'override_origin')
    return withHeader(withoutHeader(fields, 'expires'), 'cache-control', `max-age=${rule.default ?? 0}`)
  const isSaid = headerOf(fields, 'cache-control') !== undefined || headerOf(fields, 'expires') !== undefined
  if (rule?.mode === 'bypass' || (rule?.mode === 'bypass_by_default' && !isSaid))
    return withHeader(withoutHeader(fields, 'expires'), 'cache-control', 'no-store')
  if (rule || minimumSeconds === 0) return fields
  const directives = cacheControl(headerValues(fields, 'cache-control'))
  const lifetime = directives.has('max-age') ? seconds(directives.get('max-age')) : untilExpires(fields)
  if (lifetime >= minimumSeconds) return fields
  const kept = [...directives].filter(([name]) => name !== 'max-age')
  const text = kept.map(([name, value]) => (value === undefined ? name : `${name}=${quoted(value)}`))
  return withHeader(
    withoutHeader(fields, 'expires'),
    'cache-control',
    [...text, `max-age=${minimumSeconds}`].join(', '),
  )
}

/** Returns the seconds between Date and Expires; 0 without a valid Expires. */
function untilExpires(fields: RawHeaders): number {
  const expires = httpDate(headerOf(fields, 'expires'))
  const date = httpDate(headerOf(fields, 'date'))
  return expires === undefined || date === undefined ? 0 : (expires - date) / 1000
}

const quoted = (value: string): string => (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value) ? value : JSON.stringify(value))

/** Returns stored fields with the age in a 304 in place of their own. Without one, they stay. */
export const withoutAge = (headers: RawHeaders, received: RawHeaders): RawHeaders => {
  const age = headerOf(received, 'age')
  return age === undefined ? headers : withHeader(headers, 'age', age)
}
