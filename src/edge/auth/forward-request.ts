import { hyphenedName, headerValues, type RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'
import { OriginFacts, type OriginExchange } from '../exchange/origin-exchange.js'
import type { ForwardOptions } from '../exchange/auth-options.js'

/** Maximum time of the service that decides, in seconds. */
const TIMEOUT_SECONDS = 10

/** Fields about the body or the connection of the client's request. The service gets a GET without both. */
const DROPPED: ReadonlySet<string> = new Set([
  'content-length',
  'content-type',
  'content-encoding',
  'transfer-encoding',
  'expect',
  'upgrade',
  'connection',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-extensions',
  'sec-websocket-protocol',
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'x-forwarded-method',
  'x-forwarded-uri',
])

/** The request to the service that decides: a GET with the fields of the client's request. */
export class ForwardRequest implements OriginExchange {
  readonly method = 'GET'
  readonly target: string
  readonly headers: RawHeaders
  readonly clientShare: string | undefined
  readonly decisions = { cache: { read_timeout: TIMEOUT_SECONDS } }
  readonly origin = new OriginFacts()

  constructor(exchange: Exchange, { target }: ForwardOptions) {
    this.target = target
    this.clientShare = exchange.clientShare
    const fields = without(exchange.headers, DROPPED)
    fields.push('x-forwarded-method', exchange.method, 'x-forwarded-uri', exchange.rawTarget)
    this.headers = fields
  }
}

/** Returns the fields for the origin. The fields of `copy` come from the service, and never from the client. */
export function withCopied(headers: RawHeaders, { copy }: ForwardOptions, response: RawHeaders): string[] {
  const names = new Set(copy.map(hyphenedName))
  const fields = without(headers, names)
  for (const name of copy) for (const value of headerValues(response, name)) fields.push(name, value)
  return fields
}

/** Drops fields by name. Some servers read underscores as hyphens, so both spellings are dropped. */
function without(headers: RawHeaders, names: ReadonlySet<string>): string[] {
  const fields: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2)
    if (!names.has(hyphenedName(headers[i]!))) fields.push(headers[i]!, headers[i + 1]!)
  return fields
}
