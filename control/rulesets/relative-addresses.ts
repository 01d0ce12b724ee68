import type { StoredPage } from '../../src/core/model/error-page.js'
import type { Message } from '../http/endpoint.js'

/** A stored page names files that it does not have. */
const RELATIVE_ADDRESSES = 10903

const TAG = /<(?:img|script|link|source|video|audio|iframe|embed|object)\b[^<>]*>/gi
const ADDRESS = /\s(?:src|href|data|poster)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))/i
/** A whole URL, data, another scheme, or a part of the page itself. */
const COMPLETE = /^\s*(?:[a-z][a-z0-9+.-]*:|\/\/|#|$)/i

/**
 * Returns a message if a page has images, styles or scripts with relative addresses: clients ask for them at the site whose
 * error the page replaces, not at the place that the page was fetched from.
 */
export function relativeAddresses({ content, type }: StoredPage): Message[] {
  if (type !== 'text/html') return []
  const found = new Set<string>()
  for (const [tag] of Buffer.from(content, 'base64').toString().matchAll(TAG)) {
    const [, double, single, plain] = ADDRESS.exec(tag) ?? []
    const address = double ?? single ?? plain ?? ''
    if (!COMPLETE.test(address)) found.add(address)
  }
  const [first] = found
  if (first === undefined) return []
  const message =
    `the page has relative addresses of files (${found.size}), such as ${JSON.stringify(first.slice(0, 100))}; clients request ` +
    'them from the site with the error: write whole URLs, or data: URLs'
  return [{ code: RELATIVE_ADDRESSES, message, source: { pointer: '/url' } }]
}
