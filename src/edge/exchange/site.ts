import { headerOf } from '../../http/headers.js'
import { normalHostField } from '../../http/host-field.js'
import type { Exchange } from './exchange.js'

/** Returns the host of a request as the client wrote it, in lower case, with its port unless that is the default. */
export const hostOf = ({ rawHeaders, scheme, host }: Pick<Exchange, 'rawHeaders' | 'scheme' | 'host'>): string =>
  normalHostField(headerOf(rawHeaders, 'host') ?? host, scheme)

/** Returns the scheme and host of a request, as in `https://example.com`. */
export const siteOf = (exchange: Pick<Exchange, 'rawHeaders' | 'scheme' | 'host'>): string =>
  `${exchange.scheme}://${hostOf(exchange)}`
