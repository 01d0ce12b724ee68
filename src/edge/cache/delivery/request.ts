import type { Exchange } from '../../exchange/exchange.js'
import type { QueryContent } from './query.js'
import { CONDITIONAL_FIELDS, hyphenedName, type RawHeaders } from '../../../http/headers.js'
import { NameFinder } from '../../../http/name-finder.js'

/** The fields of a request that the cache reads. Values of repeated fields are joined with commas. */
export class CacheRequest {
  authorization = false
  onlyIfCached = false
  range: string | undefined
  ifRange: string | undefined
  ifMatch: string | undefined
  ifNoneMatch: string | undefined
  ifModifiedSince: string | undefined
  ifUnmodifiedSince: string | undefined
  origin: string | undefined
  /** The requested host as the origin receives it in `X-Forwarded-Host`. */
  forwardedHost: string | undefined
  /** Fields that origins use to build links or to choose a resource, so that they distinguish responses. */
  inputs = ''

  /** The content of a QUERY request. */
  readonly content: QueryContent | undefined

  constructor(headers: RawHeaders, content?: QueryContent) {
    this.content = content
    for (let i = 0; i + 1 < headers.length; i += 2) this.#read(headers[i]!, headers[i + 1]!)
  }

  /** Whether the response can be another than the whole one. */
  get conditional(): boolean {
    return this.range !== undefined || this.hasConditions
  }

  /** Whether the response depends on a copy that the client has already. */
  get hasConditions(): boolean {
    return (
      this.ifNoneMatch !== undefined ||
      this.ifModifiedSince !== undefined ||
      this.ifMatch !== undefined ||
      this.ifUnmodifiedSince !== undefined
    )
  }

  #read(name: string, value: string): void {
    switch (name.length) {
      case 5:
        if (name.toLowerCase() === 'range') this.range = joined(this.range, value)
        else this.#input(name, value)
        break
      case 6:
        if (name.toLowerCase() === 'origin') this.origin = joined(this.origin, value)
        else this.#input(name, value)
        break
      case 8: {
        const lower = name.toLowerCase()
        if (lower === 'if-range') this.ifRange = joined(this.ifRange, value)
        else if (lower === 'if-match') this.ifMatch = joined(this.ifMatch, value)
        else this.#input(name, value)
        break
      }
      case 13: {
        const lower = name.toLowerCase()
        if (lower === 'if-none-match') this.ifNoneMatch = joined(this.ifNoneMatch, value)
        else if (lower === 'authorization') this.authorization = true
        else if (lower === 'cache-control') this.onlyIfCached ||= /\bonly-if-cached\b/i.test(value)
        else this.#input(name, value)
        break
      }
      case 16:
        if (name.toLowerCase() === 'x-forwarded-host') this.forwardedHost = joined(this.forwardedHost, value)
        else this.#input(name, value)
        break
      case 17: {
        const lower = name.toLowerCase()
        if (lower === 'if-modified-since') this.ifModifiedSince = joined(this.ifModifiedSince, value)
        else this.#input(name, value)
        break
      }
      case 19: {
        const lower = name.toLowerCase()
        if (lower === 'if-unmodified-since') this.ifUnmodifiedSince = joined(this.ifUnmodifiedSince, value)
        else this.#input(name, value)
        break
      }
      default:
        this.#input(name, value)
    }
  }

  #input(name: string, value: string): void {
    if (!mayBeInput(name)) return
    const lower = hyphenedName(name)
    if (OURS.has(lower)) return
    if (INPUTS.has(lower) || PREFIXES.some((prefix) => lower.startsWith(prefix))) this.inputs += `${lower}=${value}\n`
  }
}

/** Returns false for most fields of ordinary requests, without a copy of their names. */
function mayBeInput(name: string): boolean {
  const first = name.charCodeAt(0) | LOWER_CASE
  if (first === LETTER_X || first === LETTER_F || first === LETTER_N) return true
  return READ_LENGTHS[first]?.includes(name.length) ?? false
}

const LOWER_CASE = 32
const [LETTER_F, LETTER_N, LETTER_X] = [102, 110, 120] as const

/** Returns whether {@link CacheRequest} may read a field. Few ordinary requests have such a field. */
function mayBeRead(text: string, begin: number, end: number): boolean {
  const first = text.charCodeAt(begin) | LOWER_CASE
  if (first === LETTER_X || first === LETTER_F || first === LETTER_N) return true
  return READ.find(text, begin, end) !== ''
}

/** Other names than the names that begin with X, F and N. */
const READ_NAMES = [
  ...CONDITIONAL_FIELDS,
  'authorization',
  'base-url',
  'cache-control',
  'cf-visitor',
  'cloudfront-forwarded-proto',
  'origin',
  'rsc',
  'script-name',
]
const READ = new NameFinder(READ_NAMES)

/** Lengths of these names by the code of their first letter. */
const READ_LENGTHS: Record<number, number[] | undefined> = {}
for (const name of READ_NAMES) (READ_LENGTHS[name.charCodeAt(0)] ??= []).push(name.length)

/** A request with none of the fields that the cache reads, whose X-Forwarded-Host is its Host. */
export const PLAIN_REQUEST = new CacheRequest([])

/** Returns the fields of a request that the cache reads. An ordinary request has no such field, so its list of fields is not made. */
export const cacheRequestOf = (exchange: Exchange): CacheRequest =>
  exchange.unread?.some(mayBeRead) === false ? PLAIN_REQUEST : new CacheRequest(exchange.headers)

const joined = (known: string | undefined, value: string): string =>
  known === undefined ? value : `${known}, ${value}`

const INPUTS = new Set([
  'base-url',
  'cf-visitor',
  'cloudfront-forwarded-proto',
  'forwarded',
  'front-end-https',
  'rsc',
  'script-name',
  'x-arr-ssl',
  'x-envoy-original-path',
  'x-forwarded',
  'x-host',
  'x-http-destinationurl',
  'x-http-host-override',
  'x-http-method',
  'x-http-method-override',
  'x-https',
  'x-ingress-path',
  'x-matched-path',
  'x-method-override',
  'x-next-resume',
  'x-now-route-matches',
  'x-rewrite-path',
  'x-rewrite-url',
  'x-scheme',
  'x-script-name',
  'x-url-scheme',
])
const PREFIXES = ['x-forwarded-', 'x-original-', 'x-invoke-', 'x-middleware-', 'x-nextjs-', 'x-proxy', 'next-'] as const
/** Fields that this proxy sets. The client's address is never a selector. Host and scheme are in every key. */
const OURS = new Set(['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'])

/** Fields that are evaluated here, on the whole response, and not sent to the origin. */
const EVALUATED = new Set(CONDITIONAL_FIELDS)

/** Returns the request fields without conditions and ranges. */
export function unconditional(headers: RawHeaders): string[] {
  const kept: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2)
    if (!EVALUATED.has(headers[i]!.toLowerCase())) kept.push(headers[i]!, headers[i + 1]!)
  return kept
}
