import { headerValues, withHeader, type RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'
import { ForwardingSink, type ResponseSink } from '../exchange/response.js'

const ABSOLUTE = /^(?:https?:)?\/\/([^/?#]*)(.*)$/is

/**
 * Adds the prefix that a path strips to the addresses of redirects, because the origin does not know it. An address of
 * another host, a relative one and one that has the prefix already stay as they are.
 */
export class PrefixedRedirects extends ForwardingSink {
  readonly #exchange: Exchange

  constructor(next: ResponseSink, exchange: Exchange) {
    super(next)
    this.#exchange = exchange
  }

  override head(status: number, headers: RawHeaders): void {
    super.head(status, status === 201 || (status >= 300 && status < 400) ? this.#prefixed(headers) : headers)
  }

  #prefixed(headers: RawHeaders): RawHeaders {
    const [location, second] = headerValues(headers, 'location')
    const { strip } = this.#exchange.place ?? {}
    if (location === undefined || second !== undefined || strip === undefined) return headers
    const [host = ''] = headerValues(this.#exchange.rawHeaders, 'host')
    const prefixed = withPrefix(location, strip, host)
    return prefixed === location ? headers : withHeader(headers, 'location', prefixed)
  }
}

function withPrefix(location: string, prefix: string, host: string): string {
  const [, authority, rest = ''] = ABSOLUTE.exec(location) ?? []
  if (authority === undefined) return location.startsWith('/') ? joined(location, prefix) : location
  if (authority.toLowerCase() !== host.toLowerCase()) return location
  return location.slice(0, location.length - rest.length) + joined(rest.startsWith('/') ? rest : `/${rest}`, prefix)
}

function joined(path: string, prefix: string): string {
  const end = path[prefix.length]
  const hasPrefix = path.startsWith(prefix) && (end === undefined || '/?#'.includes(end))
  return hasPrefix ? path : prefix + path
}
