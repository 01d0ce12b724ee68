import type { CacheKeySettings } from '../../rules/decisions.js'
import { members } from '../../http/accept.js'
import { headerOf, headerValues, type RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'
import { PLAIN_REQUEST, type CacheRequest } from './delivery/request.js'
import { sharedQuery, type SearchVariance } from './search-variance.js'

/** Facts about a client that keys can contain. */
export interface KeyFacts {
  /** Country of an address in two letters. Undefined if it is not known. */
  country(address: string): string | undefined
}

/** The key of a request, and its URL as purges name it. The URL is the requested host without port, and the target. */
export interface CacheKey {
  readonly key: string
  readonly url: string
}

/**
 * Returns the key: zone, scheme, host and target as the origin receives them, its route, and the fields that origins use
 * to build links. Two requests with one key are the same request for the origin, but for fields that Vary names, and for
 * parameters that do not matter for a response with this `variance`.
 */
export function cacheKey(
  exchange: Exchange,
  request: CacheRequest,
  { origin, facts, variance }: { origin: string; facts: KeyFacts; variance: SearchVariance | undefined },
): CacheKey {
  const { zone, scheme } = exchange
  const { cache } = exchange.decisions
  const settings = cache?.cache_key
  const custom = settings?.custom_key
  const host = exchange.originHost
  const named = keyHost(exchange)
  let target = exchange.target
  const sorted = settings?.ignore_query_strings_order ?? zone.cache.sortQuery
  const none = zone.cache.query === 'ignore'
  const query = custom?.query_string
  if (query || sorted || none) target = keyTarget(target, query, { sorted, none })
  let key = `${zone.id} ${scheme}://${named}${variance ? pathOf(target) : target} ${origin}`
  if (variance) key += `\nsearch=${variance.text} ${sharedQuery(target.slice(pathOf(target).length + 1), variance)}`
  if (request.origin !== undefined && !custom?.header?.exclude_origin) key += `\norigin=${request.origin}`
  // A rule changed the Host field, and the origin can read in another field which host was requested.
  if (request !== PLAIN_REQUEST && request.forwardedHost !== host) key += `\nfor=${request.forwardedHost}`
  // A purge names one requested host, so hosts for which a rule sets one Host field do not share responses.
  if (exchange.decisions.route?.host_header !== undefined && !custom?.host?.resolved) key += `\nhost=${exchange.host}`
  if (request.content) key += `\nquery=${request.content.key}`
  if (request.inputs !== '') key += `\n${request.inputs}`
  if (custom || settings?.cache_by_device_type) key += customPart(exchange, settings, facts)
  const isPartial = variance !== undefined || none || query?.exclude !== undefined || query?.include?.list !== undefined
  return { key, url: exchange.host + (isPartial ? pathOf(target) + ANY_QUERY : target) }
}

/** Returns the host in keys: the one that the origin gets, or the one that a rule resolved. */
function keyHost({ originHost: host, decisions: { cache, route } }: Exchange): string {
  return cache?.cache_key?.custom_key?.host?.resolved ? (route?.origin?.host ?? host) : host
}

/**
 * Returns the name of the path of a request, for which the variance of responses is known. Undefined if a rule or the zone
 * decides which parameters matter.
 */
export function searchPath(exchange: Exchange): string | undefined {
  const { zone, scheme, target, decisions, method } = exchange
  // The parameters that matter for a GET request need not be those for a QUERY request.
  if (method === 'QUERY') return undefined
  if (zone.cache.query !== 'key' || decisions.cache?.cache_key?.custom_key?.query_string) return undefined
  return `${zone.id} ${scheme}://${keyHost(exchange)}${pathOf(target)}`
}

/** Ends the URL of responses that requests with different queries share. */
const ANY_QUERY = '?*'

/**
 * Returns the URLs under which responses to requests for a URL can be stored. A key may ignore the query, some of its
 * parameters, or their order. `url` is the requested host without port, and the target.
 */
export function storedUrls(url: string): string[] {
  const urls = [url, pathOf(url) + ANY_QUERY]
  if (url.includes('&')) urls.push(keyTarget(url, undefined, { sorted: true, none: false }))
  return urls
}

function pathOf(target: string): string {
  const mark = target.indexOf('?')
  return mark < 0 ? target : target.slice(0, mark)
}

type QueryString = NonNullable<CacheKeySettings['custom_key']>['query_string']

function keyTarget(target: string, rule: QueryString, { sorted, none }: { sorted: boolean; none: boolean }): string {
  const mark = target.indexOf('?')
  if (mark < 0) return target
  const path = target.slice(0, mark)
  if (none || rule?.exclude?.all) return path
  let parameters = target.slice(mark + 1).split('&')
  const { include, exclude } = rule ?? {}
  if (include?.list) {
    const names = new Set(include.list)
    parameters = parameters.filter((parameter) => names.has(nameOf(parameter)))
  } else if (exclude?.list) {
    const names = new Set(exclude.list)
    parameters = parameters.filter((parameter) => !names.has(nameOf(parameter)))
  }
  // Sorting is stable, because the order of a repeated name and value can matter to the origin.
  if (sorted) parameters.sort((a, b) => (nameOf(a) === nameOf(b) ? compare(a, b) : compare(nameOf(a), nameOf(b))))
  return parameters.length > 0 ? `${path}?${parameters.join('&')}` : path
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function nameOf(parameter: string): string {
  const equals = parameter.indexOf('=')
  const name = (equals < 0 ? parameter : parameter.slice(0, equals)).replaceAll('+', ' ')
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** Returns the parts of the key that a rule adds. */
function customPart(exchange: Exchange, settings: CacheKeySettings | undefined, facts: KeyFacts): string {
  const { headers } = exchange
  const custom = settings?.custom_key
  let part = ''
  // JSON is used so that a value cannot imitate another part.
  const add = (kind: string, name: string, value: unknown) => (part += `\n${JSON.stringify([kind, name, value])}`)
  for (const name of custom?.header?.include ?? []) add('header', name, values(headers, name))
  for (const name of custom?.header?.check_presence ?? [])
    add('has', name, headerOf(headers, name.toLowerCase()) !== undefined)
  for (const [name, wanted] of Object.entries(custom?.header?.contains ?? {})) {
    const present = values(headers, name)?.join(', ') ?? ''
    add(
      'contains',
      name,
      wanted.filter((value) => present.includes(value)),
    )
  }
  if (custom?.cookie) {
    const cookies = cookiesOf(headers)
    for (const name of custom.cookie.include ?? []) add('cookie', name, cookies.get(name))
    for (const name of custom.cookie.check_presence ?? []) add('cookie?', name, cookies.has(name))
  }
  if (custom?.user?.device_type || settings?.cache_by_device_type) add('user', 'device', deviceOf(headers))
  if (custom?.user?.geo) add('user', 'geo', facts.country(exchange.clientAddress))
  if (custom?.user?.lang) add('user', 'lang', languageOf(headers))
  return part
}

function values(headers: RawHeaders, name: string): string[] | undefined {
  const found = headerValues(headers, name.toLowerCase())
  return found.length > 0 ? found : undefined
}

function cookiesOf(headers: RawHeaders): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>()
  for (const field of headerValues(headers, 'cookie'))
    for (const pair of field.split(';')) {
      const equals = pair.indexOf('=')
      const name = (equals < 0 ? pair : pair.slice(0, equals)).trim()
      if (!cookies.has(name)) cookies.set(name, equals < 0 ? '' : pair.slice(equals + 1).trim())
    }
  return cookies
}

const TABLET = /ipad|tablet|playbook|silk|(?:android(?!.*mobile))/i
const MOBILE = /mobi|iphone|ipod|android|blackberry|phone|opera mini/i

function deviceOf(headers: RawHeaders): 'tablet' | 'mobile' | 'desktop' {
  const agent = (headerOf(headers, 'user-agent') ?? '').slice(0, 1024)
  if (TABLET.test(agent)) return 'tablet'
  return MOBILE.test(agent) ? 'mobile' : 'desktop'
}

function languageOf(headers: RawHeaders): string {
  const first = members(headerValues(headers, 'accept-language').join(',')).next().value ?? ''
  return first.split(/[;-]/, 1)[0]!.trim().toLowerCase()
}
