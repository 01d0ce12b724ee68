import type { RawHeaders } from '../../http/headers.js'
import type { Zone } from './zones.js'
import { namesCanonical } from './link-field.js'

/** A request for an address that the edge adds to a site. */
export interface Alias {
  readonly type: 'page' | 'llms_txt'
  /** Path and query of the page at the origin. */
  readonly target: string
  /** Path and query that the client asked for. */
  readonly address: string
  /** Number of the list, for `llms_txt`. */
  readonly part?: number
}

/** Files at these addresses are not pages. RFC 8615. */
const WELL_KNOWN = '/.well-known/'

/** The named sources of `llms.txt`. Other sources are paths. */
const SOURCES: Readonly<Record<string, string>> = { front_page: '/', sitemap: '/sitemap.xml' }

/** Returns the alias for a request for `/page.md` or `/llms.txt`, or undefined if the zone has no such address. */
export function aliasOf({ target, zone }: { readonly target: string; readonly zone: Zone }): Alias | undefined {
  const { mdAddresses, llmsTxt = 'off' } = zone
  if (mdAddresses !== true && llmsTxt === 'off') return undefined
  const [path, query] = split(target)
  const list = llmsTxt === 'off' ? null : /^\/llms(?:-([2-9]|[1-9]\d))?\.txt$/.exec(path)
  if (list)
    return { type: 'llms_txt', target: SOURCES[llmsTxt] ?? llmsTxt, address: target, part: Number(list[1] ?? 1) }
  const page =
    mdAddresses === true && !path.startsWith(WELL_KNOWN) ? /^(\/.*?)(?:(?<=\/)index)?\.md$/.exec(path)?.[1] : undefined
  return page === undefined || path.endsWith('/.md')
    ? undefined
    : { type: 'page', target: page + query, address: target }
}

/** Returns the address of the Markdown of a page. */
export function markdownAddress(target: string): string {
  const [path, query] = split(target)
  return `${path}${path.endsWith('/') ? 'index' : ''}.md${query}`
}

function split(target: string): [path: string, query: string] {
  const at = target.indexOf('?')
  return at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at)]
}

/** Returns the Link field for another form of a page. RFC 8288. */
export const linkTo = (target: string, parameters: string): string =>
  `<${target.replaceAll(/[<>"\\^`{|}]/g, encodeURIComponent)}>; ${parameters}`

/** Returns the fields of the page at the origin, changed for the address of its Markdown: redirects, the canonical address. */
export function aliasHeaders(alias: Alias, host: string | undefined, headers: RawHeaders): string[] {
  const fields: string[] = []
  let isCanonical = alias.type === 'llms_txt'
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    const value = headers[i + 1]!
    if (name === 'link' && namesCanonical(value)) isCanonical = true
    fields.push(headers[i]!, name === 'location' && host !== undefined ? aliasOfTarget(value, alias, host) : value)
  }
  if (!isCanonical) fields.push('link', linkTo(alias.target, 'rel="canonical"'))
  return fields
}

/** Returns where a redirect leads, as the address of the Markdown if it leads to a page of the same host. */
function aliasOfTarget(location: string, { type, target }: Alias, host: string): string {
  const here = `http://${host}`
  if (!URL.canParse(location, here + target)) return location
  const url = new URL(location, here + target)
  if (!/^https?:$/.test(url.protocol) || url.host !== new URL(here).host) return location
  const page = url.pathname + url.search
  // The source of a list has moved only to another scheme, or the list is not made from it.
  if (type === 'llms_txt' && page !== target) return location
  const address = type === 'llms_txt' ? '/llms.txt' : markdownAddress(page)
  return (/^\s*https?:/i.test(location) ? url.origin : '') + address + url.hash
}
