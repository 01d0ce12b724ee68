import { headerOf, type RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange.js'

/** A request for an address that the edge adds to a site. */
export interface Alias {
  readonly type: 'page' | 'llms_txt'
  /** Path and query of the page at the origin. */
  readonly target: string
}

/** Returns what a request for `/page.md` or `/llms.txt` asks for; undefined if the zone has no such address. */
export function aliasOf({ target, zone }: Exchange): Alias | undefined {
  const { mdAddresses, llmsTxt } = zone
  if (mdAddresses !== true && (llmsTxt ?? 'off') === 'off') return undefined
  const [path, query] = split(target)
  if (path === '/llms.txt' && llmsTxt !== 'off')
    return { type: 'llms_txt', target: llmsTxt === 'sitemap' ? '/sitemap.xml' : '/' }
  const page = mdAddresses === true ? /^(\/.*?)(?:(?<=\/)index)?\.md$/.exec(path)?.[1] : undefined
  return page === undefined || path.endsWith('/.md') ? undefined : { type: 'page', target: page + query }
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

/** Returns the fields of the page at the origin, changed for its Markdown address: the canonical one, and redirects. */
export function aliasHeaders({ type, target }: Alias, host: string | undefined, headers: RawHeaders): string[] {
  if (type === 'llms_txt') return [...headers]
  const location = headerOf(headers, 'location')
  const moved = location === undefined ? undefined : /^(?:https?:\/\/([^/?#]+))?(\/(?!\/)[^#]*)(#.*)?$/i.exec(location)
  const isOwn = moved?.[2] !== undefined && (moved[1] === undefined || moved[1] === host)
  const fields: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const isLocation = isOwn && headers[i]!.toLowerCase() === 'location'
    fields.push(
      headers[i]!,
      isLocation ? location!.replace(moved[2]!, () => markdownAddress(moved[2]!)) : headers[i + 1]!,
    )
  }
  fields.push('link', linkTo(target, 'rel="canonical"'))
  return fields
}
