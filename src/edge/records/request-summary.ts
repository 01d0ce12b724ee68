import { toText } from '../../expr/index.js'
import type { Exchange } from '../exchange/exchange.js'
import type { GeoLocation } from '../../rules/types.js'

/** The request fields that all records of one request share. */
export interface RequestSummary {
  readonly clientIp: string
  /** Two letters in lower case, as in log records. Undefined if it is not known. */
  readonly country: string | undefined
  readonly place: GeoLocation
  /** As the client requested it: path and query, and each alone. The query begins with its question mark. */
  readonly uri: string
  readonly path: string
  readonly query: string
  readonly protocol: string
  readonly userAgent: string
  readonly referer: string
  readonly requestedWith: string
  /** Nanoseconds since 1970. */
  readonly startedAt: bigint
}

/** Reads the fields from a request. Missing header fields are empty. */
export function requestSummary(exchange: Exchange, place: GeoLocation): RequestSummary {
  const { rawHeaders } = exchange
  let userAgent = ''
  let referer = ''
  let requestedWith = ''
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length === 7) {
      if (referer === '' && name.toLowerCase() === 'referer') referer = toText(rawHeaders[i + 1]!)
    } else if (name.length === 10) {
      if (userAgent === '' && name.toLowerCase() === 'user-agent') userAgent = toText(rawHeaders[i + 1]!)
    } else if (name.length === 16) {
      if (requestedWith === '' && name.toLowerCase() === 'x-requested-with') requestedWith = toText(rawHeaders[i + 1]!)
    }
  }
  const uri = toText(exchange.rawTarget)
  const mark = uri.indexOf('?')
  return {
    clientIp: exchange.clientAddress,
    country: place.city?.country?.iso_code?.toLowerCase(),
    place,
    uri,
    path: mark < 0 ? uri : uri.slice(0, mark),
    query: mark < 0 ? '' : uri.slice(mark),
    protocol: `HTTP/${exchange.httpVersion}`,
    userAgent,
    referer,
    requestedWith,
    startedAt: BigInt(Math.floor(exchange.startedAt)) * NANOSECONDS,
  }
}

const NANOSECONDS = 1_000_000n
