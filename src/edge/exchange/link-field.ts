const RELATIONS = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i

/** Relations to files that a browser loads to show the HTML. */
const OF_THE_HTML = new Set([
  'preload',
  'modulepreload',
  'prefetch',
  'preconnect',
  'dns-prefetch',
  'prerender',
  'stylesheet',
])

/** Returns the links of a Link field, or undefined if it is malformed. RFC 8288, 3. */
function linksIn(value: string): string[] | undefined {
  const links: string[] = []
  let start = 0
  /** Ends the address or the quoted text that is open. */
  let closer = ''
  for (let at = 0; at < value.length; at++) {
    const char = value.charAt(at)
    if (closer !== '') {
      if (char === closer) closer = ''
      else if (char === '\\' && closer === '"') at++
    } else if (char === '<') closer = '>'
    else if (char === '"') closer = '"'
    else if (char === ',') {
      links.push(value.slice(start, at).trim())
      start = at + 1
    }
  }
  links.push(value.slice(start).trim())
  return closer === '' ? links.filter((link) => link !== '') : undefined
}

function relationsOf(link: string): string[] {
  const [, quoted, bare] = RELATIONS.exec(link) ?? []
  return (quoted ?? bare ?? '').toLowerCase().trim().split(/\s+/)
}

/** Returns a Link field without the links to files that only the HTML needs, or undefined if none is left. */
export function withoutFiles(value: string): string | undefined {
  const links = linksIn(value)
  if (links === undefined) return value
  const kept = links.filter((link) => !relationsOf(link).every((relation) => OF_THE_HTML.has(relation)))
  if (kept.length === links.length) return value
  return kept.length === 0 ? undefined : kept.join(', ')
}

/** Returns the canonical address of the page that a Link field names, as written. RFC 6596. */
export function canonicalIn(value: string): string | undefined {
  const link = linksIn(value)?.find((one) => relationsOf(one).includes('canonical'))
  return link === undefined ? undefined : /^<([^>]*)>/.exec(link)?.[1]?.trim()
}

/** Returns whether a Link field names the canonical address of the page. */
export const namesCanonical = (value: string): boolean => canonicalIn(value) !== undefined
