import { toBytes, type Value } from '../../expr/index.js'
import { hyphenedName, withHeader, withoutHeader, type RawHeaders } from '../../http/headers.js'
import { LOCATION } from '../../rules/fields/geo.js'
import type { GeoLocation } from '../../rules/types.js'

/** Facts about the client of a request. */
export interface TransformClient {
  readonly clientAddress: string
  /** Fields of the rules language that a trusted proxy reported, by name. */
  readonly trustedFields: ReadonlyMap<string, Value> | undefined
}

/** The managed transforms that are on in a zone. */
export interface ManagedTransforms {
  /** Returns the fields for the origin. Undefined if they are not changed. */
  readonly request:
    ((headers: RawHeaders, client: TransformClient, place: (address: string) => GeoLocation) => string[]) | undefined
  /** Returns the fields for the client. Undefined if they are not changed. */
  readonly response: ((headers: RawHeaders) => RawHeaders) | undefined
}

type RequestTransform = (fields: Fields, client: TransformClient, place: (address: string) => GeoLocation) => void
type ResponseTransform = (fields: Fields) => void

/** Fields by name in lower case. A value replaces all fields of that name, and undefined removes them. */
type Fields = Map<string, string | undefined>

const LOCATION_FIELDS = {
  'cf-ipcity': 'ip.src.city',
  'cf-ipcountry': 'ip.src.country',
  'cf-ipcontinent': 'ip.src.continent',
  'cf-iplongitude': 'ip.src.lon',
  'cf-iplatitude': 'ip.src.lat',
  'cf-region': 'ip.src.region',
  'cf-region-code': 'ip.src.region_code',
  'cf-metro-code': 'ip.src.metro_code',
  'cf-postal-code': 'ip.src.postal_code',
  'cf-timezone': 'ip.src.timezone.name',
} as const satisfies Readonly<Record<string, keyof typeof LOCATION>>

const BOT_FIELDS: Readonly<Record<string, string>> = {
  'cf-bot-score': 'cf.bot_management.score',
  'cf-verified-bot': 'cf.bot_management.verified_bot',
  'cf-ja3-hash': 'cf.bot_management.ja3_hash',
  'cf-ja4': 'cf.bot_management.ja4',
}

/** A client must not choose a value that is unknown, so its own field is removed. */
const REQUEST: Readonly<Record<string, RequestTransform>> = {
  add_bot_protection_headers(fields, { trustedFields }) {
    for (const [name, field] of Object.entries(BOT_FIELDS)) {
      const value = trustedFields?.get(field)
      fields.set(name, value === undefined || typeof value === 'object' ? undefined : String(value))
    }
  },
  add_visitor_location_headers(fields, { clientAddress }, place) {
    const location = place(clientAddress)
    for (const [name, field] of Object.entries(LOCATION_FIELDS)) {
      const value = LOCATION[field](location)
      fields.set(name, value === undefined ? undefined : toBytes(String(value)))
    }
  },
  add_true_client_ip_headers(fields, { clientAddress }) {
    fields.set('true-client-ip', clientAddress)
  },
  remove_visitor_ip_headers(fields) {
    for (const name of ['cf-connecting-ip', 'true-client-ip', 'x-forwarded-for', 'x-real-ip', 'forwarded'])
      fields.set(name, undefined)
  },
}

const SECURITY_FIELDS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-xss-protection': '1; mode=block',
  'x-frame-options': 'SAMEORIGIN',
  'referrer-policy': 'same-origin',
  'expect-ct': 'max-age=86400, enforce',
}

const RESPONSE: Readonly<Record<string, ResponseTransform>> = {
  'remove_x-powered-by_header': (fields) => void fields.set('x-powered-by', undefined),
  add_security_headers(fields) {
    for (const [name, value] of Object.entries(SECURITY_FIELDS)) fields.set(name, value)
  },
}

/** Returns the managed transforms with these ids, or undefined if none acts. */
export function managedTransforms(enabled: readonly string[]): ManagedTransforms | undefined {
  const requests = enabled.flatMap((id) => REQUEST[id] ?? [])
  const responses = enabled.flatMap((id) => RESPONSE[id] ?? [])
  if (requests.length + responses.length === 0) return undefined
  return {
    request:
      requests.length === 0
        ? undefined
        : (headers, client, place) => {
            const fields: Fields = new Map()
            for (const transform of requests) transform(fields, client, place)
            return changed(headers, fields)
          },
    response: responses.length === 0 ? undefined : (headers) => changed(headers, collected(responses)),
  }
}

function collected(transforms: readonly ResponseTransform[]): Fields {
  const fields: Fields = new Map()
  for (const transform of transforms) transform(fields)
  return fields
}

function changed(headers: RawHeaders, fields: Fields): string[] {
  // A client's `cf_bot_score` would be `cf-bot-score` for many origins.
  let all = headers.filter((_, i) => {
    const name = headers[i - (i % 2)]!
    return !name.includes('_') || !fields.has(hyphenedName(name))
  })
  for (const [name, value] of fields)
    all = value === undefined ? withoutHeader(all, name) : withHeader(all, name, value)
  return all
}
