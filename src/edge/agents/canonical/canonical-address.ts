import { headerOf, headerValues, type RawHeaders } from '../../../http/headers.js'
import type { Exchange } from '../../exchange/exchange.js'
import { canonicalIn } from '../../exchange/link-field.js'
import { siteOf } from '../../exchange/site.js'
import type { WrittenAddress } from './canonical-link.js'

/** Longer addresses are not followed. */
const MAX_ADDRESS = 2048

/** Returns the address of the page that a request asks for. Undefined if it is too long. */
export function pageAddress(exchange: Exchange): string | undefined {
  const address = siteOf(exchange) + (exchange.alias?.target ?? exchange.rawTarget)
  return address.length <= MAX_ADDRESS && URL.canParse(address) ? new URL(address).href : undefined
}

/**
 * Returns the address that a page names as its canonical one, if a client may be sent there. That is another page of the
 * same host, with the scheme of the request or https.
 */
export function otherPage(page: string, { href, base }: WrittenAddress): string | undefined {
  const from = base !== undefined && URL.canParse(base, page) ? new URL(base, page).href : page
  if (href.length > MAX_ADDRESS || !URL.canParse(href, from)) return undefined
  const [url, own] = [new URL(href, from), new URL(page)]
  url.hash = ''
  if (url.host !== own.host || url.username !== '' || url.password !== '') return undefined
  if (url.protocol !== own.protocol && url.protocol !== 'https:') return undefined
  // An address that differs in its scheme may be this page behind a proxy that speaks TLS.
  if (url.pathname + url.search === own.pathname + own.search) return undefined
  return url.href.length <= MAX_ADDRESS ? url.href : undefined
}

/** Returns the canonical address that the fields of a response name. RFC 6596. */
export function addressInFields(headers: RawHeaders): WrittenAddress | undefined {
  for (const value of headerValues(headers, 'link')) {
    const href = canonicalIn(value)
    if (href !== undefined) return { href, base: undefined }
  }
  return undefined
}

/** Returns whether the client comes from an address: the two pages name each other. */
export function comesFrom({ rawHeaders }: Exchange, address: string): boolean {
  const referer = headerOf(rawHeaders, 'referer')
  if (referer === undefined || !URL.canParse(referer)) return false
  const url = new URL(referer)
  url.hash = ''
  return url.href === address
}
