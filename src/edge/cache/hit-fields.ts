import type { RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'
import type { Entry } from './entries/entry.js'
import { browserFields, withCacheStatus, type StatusFacts } from './fields.js'

type Asked = Pick<Exchange, 'decisions' | 'zone'>

/** Returns the fields of a hit at a time on the clock's monotonic scale. They are created once a second. */
export function hitFields(entry: Entry, exchange: Asked, now: number): RawHeaders {
  const second = Math.floor(now / 1000)
  const isPlain = exchange.decisions.cache?.browser_ttl === undefined && exchange.zone.cache.browserTtl === 0
  if (isPlain && entry.hitFields?.second === second) return entry.hitFields.fields
  const fields = fieldsOf(entry, exchange, { facts: { status: 'HIT' }, now })
  fields.push('content-length', String(entry.body.length))
  if (isPlain) entry.hitFields = { second, fields: Object.freeze(fields) }
  return fields
}

/** Returns the fields of a response from an entry. `own`: the fields of the response that the entry is made of. */
export function fieldsOf(
  entry: Entry,
  { decisions, zone }: Asked,
  { facts, now, own }: { readonly facts: StatusFacts; readonly now: number; readonly own?: RawHeaders | undefined },
): string[] {
  const { freshness, fields } = entry.head
  const age = entry.age(now)
  const named = withCacheStatus(own ?? fields, { ...facts, ttl: freshness.lifetime - age })
  if (own === undefined) named.push('age', String(Math.floor(age)))
  return browserFields(named, decisions.cache?.browser_ttl, zone.cache.browserTtl)
}
