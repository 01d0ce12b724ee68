import { headerOf, headerValues, type RawHeaders } from '../../../http/headers.js'
import { members } from '../../../http/accept.js'
import type { CacheSettings } from '../../../rules/decisions.js'
import { cacheControl, seconds, targetedCacheControl, type Directives } from './directives.js'
import { disagrees } from './extensions.js'
import { httpDate } from './http-date.js'

/*
 * Decides whether a response is stored and for how long. The decision is a pure function of the response and of the
 * terms that zone and rules set. It follows RFC 9111 with RFC 5861 and RFC 9213.
 */

/** Settings under which one response is judged. */
export interface Terms {
  /** A default lifetime exists, because a cache rule made the request eligible or the zone caches static files. */
  readonly hasDefault: boolean
  readonly settings: CacheSettings | undefined
  readonly target: string
  /** The request had an Authorization field. */
  readonly authorization: boolean
}

/** A response of an origin, as the cache reads it. */
export interface OriginResponse {
  readonly status: number
  readonly headers: RawHeaders
  /** Cache-Control as rules changed it for the cache alone. Undefined if the field of `headers` applies. */
  readonly edgeControl: string | undefined
  /** Milliseconds since 1970 at which the response arrived. */
  readonly arrivedAt: number
  /** Milliseconds between request and response. */
  readonly delay: number
}

/** How long a stored response may be used. Times in seconds. */
export interface Freshness {
  readonly lifetime: number
  /** Age of the response when it arrived. */
  readonly age: number
  readonly staleWhileRevalidate: number
  readonly staleIfError: number
  /** Must never be used after its lifetime without asking the origin. */
  readonly mustRevalidate: boolean
  /** May answer requests with an Authorization field. */
  readonly forAuthorized: boolean
}

/** Why a response is not stored. Labels a metric. */
export const REFUSALS = [
  'status',
  'no_store',
  'private',
  'no_cache',
  'set_cookie',
  'vary',
  'authorization',
  'no_freshness',
  'rule',
  'deception',
  'too_large',
  'no_memory',
  'incomplete',
  'purged',
] as const
export type Refusal = (typeof REFUSALS)[number]

export type Verdict =
  | { readonly store: false; readonly reason: Refusal }
  | {
      readonly store: true
      readonly freshness: Freshness
      /** Lower-case names of fields that are not stored. */
      readonly omitted: ReadonlySet<string>
    }

const refused = (reason: Refusal): Verdict => ({ store: false, reason })

/** RFC 9110, 15.1, without 206. */
const HEURISTIC = new Set([200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])
const KNOWN = new Set([...HEURISTIC, 201, 202, 205, 302, 303, 307, 400, 401, 402, 403, 406, 407, 408, 409, 411, 412])
for (const status of [413, 415, 416, 417, 421, 422, 426, 429, 431, 451, 500, 502, 503, 504, 505]) KNOWN.add(status)

const MINUTE = 60
const HEURISTIC_SHARE = 0.1
const MAX_HEURISTIC = 86_400
const HOP_FIELDS = ['proxy-authentication-info', 'proxy-authorization']

/** Lifetime in seconds of eligible responses without a lifetime of their own. */
function defaultLifetime(status: number): number | undefined {
  if (status === 200 || status === 301) return 120 * MINUTE
  if (status === 302 || status === 303) return 20 * MINUTE
  return status === 404 || status === 410 ? 3 * MINUTE : undefined
}

/** Returns whether a response is stored, and how long it is fresh. */
export function judge(response: OriginResponse, terms: Terms): Verdict {
  const { status, headers } = response
  const { settings } = terms
  if (status < 200 || status === 206 || status === 304) return refused('status')
  const vary = headerValues(headers, 'vary')
  if (vary.some((value) => [...members(value)].includes('*'))) return refused('vary')

  const { directives, expires } = directivesOf(response)
  const ruled = ruledLifetime(settings, status)
  if (ruled === 'no_store') return refused('rule')
  const omitted = new Set(HOP_FIELDS)
  const overridden = typeof ruled === 'number'
  const lenient = settings?.origin_cache_control === false
  for (const name of ['private', 'no-cache'] as const) named(directives, name, omitted)
  if (overridden || lenient || settings?.strip_set_cookie) omitted.add('set-cookie')
  if (!omitted.has('set-cookie') && headerOf(headers, 'set-cookie') !== undefined) return refused('set_cookie')

  const forAuthorized =
    directives.has('public') || directives.has('s-maxage') || directives.has('must-revalidate') || lenient
  if (terms.authorization && !forAuthorized) return refused('authorization')

  if (!overridden) {
    // `must-understand` replaces no-store for a status that is understood (RFC 9111, 5.2.2.3).
    const understood = directives.has('must-understand')
    if (understood ? !KNOWN.has(status) : directives.has('no-store')) return refused('no_store')
    if (unqualified(directives, 'private')) return refused('private')
  }
  const validator = headerOf(headers, 'etag') !== undefined || headerOf(headers, 'last-modified') !== undefined
  const noCache =
    ruled === 0 ||
    (!overridden && unqualified(directives, 'no-cache')) ||
    (directives.size === 0 && [...members(headerValues(headers, 'pragma').join(','))].includes('no-cache'))
  if (noCache && (!validator || lenient)) return refused('no_cache')

  const explicit = explicitLifetime(directives, expires, response)
  if (explicit === undefined && settings?.edge_ttl?.mode === 'bypass_by_default' && !overridden) return refused('rule')
  if (explicit === undefined && !overridden && deceives(response, terms)) return refused('deception')
  const lifetime = noCache ? 0 : overridden ? ruled : (explicit ?? implicitLifetime(response, directives, terms))
  if (lifetime === undefined) return refused('no_freshness')

  const age = initialAge(response)
  const mustRevalidate =
    noCache ||
    (!overridden &&
      !lenient &&
      (directives.has('must-revalidate') || directives.has('proxy-revalidate') || directives.has('s-maxage')))
  const staleWhileRevalidate = mustRevalidate ? 0 : seconds(directives.get('stale-while-revalidate'))
  const staleIfError = mustRevalidate ? 0 : seconds(directives.get('stale-if-error'))
  // Without a validator it could only be used within these times.
  if (!validator && lifetime + Math.max(staleWhileRevalidate, staleIfError) <= age) return refused('no_freshness')
  return {
    store: true,
    omitted,
    freshness: { lifetime, age, staleWhileRevalidate, staleIfError, mustRevalidate, forAuthorized },
  }
}

/** Returns the directives that apply to this cache; `expires` is false if a targeted field replaces Expires as well. */
function directivesOf({ headers, edgeControl }: OriginResponse): { directives: Directives; expires: boolean } {
  for (const name of ['cloudflare-cdn-cache-control', 'cdn-cache-control']) {
    const values = headerValues(headers, name)
    const targeted = values.length > 0 ? targetedCacheControl(values) : undefined
    if (targeted) return { directives: targeted, expires: false }
  }
  const values = edgeControl === undefined ? headerValues(headers, 'cache-control') : [edgeControl]
  return { directives: cacheControl(values), expires: true }
}

/** Returns the lifetime that a rule sets, `no_store`, or undefined if the response decides. */
function ruledLifetime(settings: CacheSettings | undefined, status: number): number | 'no_store' | undefined {
  const ttl = settings?.edge_ttl
  if (!ttl) return undefined
  for (const { value, status_code, status_code_range: range } of ttl.status_code_ttl ?? []) {
    const fits =
      status_code === undefined ? status >= (range?.from ?? 0) && status <= (range?.to ?? 999) : status_code === status
    if (fits) return value < 0 ? 'no_store' : value
  }
  return ttl.mode === 'override_origin' ? ttl.default : undefined
}

const unqualified = (directives: Directives, name: string): boolean =>
  directives.has(name) && (directives.get(name) ?? '') === ''

/** Adds the fields that a qualified directive names. They are not stored (RFC 9111, 5.2.2.4 and 5.2.2.7). */
function named(directives: Directives, name: 'private' | 'no-cache', omitted: Set<string>): void {
  for (const field of members(directives.get(name) ?? '')) omitted.add(field.toLowerCase())
}

function explicitLifetime(directives: Directives, expires: boolean, response: OriginResponse): number | undefined {
  for (const name of ['s-maxage', 'max-age']) if (directives.has(name)) return seconds(directives.get(name))
  if (!expires) return undefined
  const values = headerValues(response.headers, 'expires')
  if (values.length === 0) return undefined
  const until = values.length === 1 ? httpDate(values[0]) : undefined
  // An invalid date is in the past (RFC 9111, 5.3).
  return until === undefined ? 0 : Math.max(0, (until - dateOf(response)) / 1000)
}

function implicitLifetime(response: OriginResponse, directives: Directives, { hasDefault }: Terms): number | undefined {
  const { status, headers } = response
  if (hasDefault) return defaultLifetime(status)
  if (!HEURISTIC.has(status) && !directives.has('public')) return undefined
  const modified = httpDate(headerOf(headers, 'last-modified'))
  if (modified !== undefined)
    return Math.min(MAX_HEURISTIC, (Math.max(0, dateOf(response) - modified) / 1000) * HEURISTIC_SHARE)
  return headerOf(headers, 'etag') === undefined ? undefined : 0
}

const dateOf = ({ headers, arrivedAt }: OriginResponse): number => httpDate(headerOf(headers, 'date')) ?? arrivedAt

/** RFC 9111, 4.2.3. */
function initialAge(response: OriginResponse): number {
  const { headers, arrivedAt, delay } = response
  const apparent = Math.max(0, arrivedAt - dateOf(response)) / 1000
  // A list is not allowed, so only its first member counts (RFC 9111, 5.1).
  const first = headerOf(headers, 'age')?.split(',', 1)[0]!.trim() ?? ''
  return Math.max(apparent, seconds(first) + delay / 1000)
}

/** Whether a page for one user may have been requested under the name of a static file. A rule can switch this off. */
const deceives = ({ headers }: OriginResponse, { settings, target }: Terms): boolean =>
  settings?.cache_key?.cache_deception_armor !== false && disagrees(target, headerOf(headers, 'content-type'))
