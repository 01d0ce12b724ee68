import { headerValues, type RawHeaders } from '../../http/headers.js'
import type { InternalResponse } from './internal-client.js'
import type { ClientStream } from './client-stream.js'
import type { Exchange } from '../exchange/exchange.js'

/** A GET of edged on behalf of a client. */
export interface InternalRequest {
  /** The request of the client that causes it. */
  readonly exchange: Exchange
  readonly connection: ClientStream
  /** Path and query on the host of the request. */
  readonly target: string
  readonly accept: string
  /** A longer body is cut off. */
  readonly maxBytes: number
}

/**
 * Sends a GET through the whole way of a request: rules, rate limits, access, Workers, cache and converter. It has the
 * address, User-Agent and verified agent of the client, and none of its credentials.
 */
export type InternalGet = (request: InternalRequest) => {
  readonly response: Promise<InternalResponse>
  /** Ends the request. The response is never resolved then. */
  readonly cancel: () => void
}

/**
 * Returns the header fields of an internal request. `isTrusted`: the client's connection is one of a trusted proxy, whose
 * fields count. `vouched` are the fields of the request that only trusted proxies may set.
 */
export function internalFields(
  { exchange, accept }: InternalRequest,
  { host, isTrusted, vouched }: { host: string; isTrusted: boolean; vouched: RawHeaders },
): string[] {
  const { rawHeaders, clientAddress, scheme } = exchange
  const fields = ['host', host, 'accept', accept, 'accept-encoding', 'identity']
  // An offer to pay counts for the page that the client reads.
  for (const name of ['user-agent', 'accept-language', 'crawler-exact-price', 'crawler-max-price'])
    for (const value of headerValues(rawHeaders, name)) fields.push(name, value)
  if (isTrusted) fields.push('x-forwarded-for', clientAddress, 'x-forwarded-proto', scheme, ...vouched)
  return fields
}
