import { headerOf, type RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'
import type { Insertions } from './insertion.js'

/** Addresses that a page names for agents: path and query. */
export interface HintedAddresses {
  /** The Markdown of the page. */
  readonly markdown: string
  /** The list of pages. Undefined if the zone does not have one. */
  readonly index: string | undefined
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '"': '&quot;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
}

const escaped = (text: string): string => (/^[!#$%(-;=?-~]*$/.test(text) ? text : escapedMarkup(text))

const escapedMarkup = (text: string): string =>
  // Inserted markup is ASCII, so that it is right in each encoding that extends ASCII.
  text.replaceAll(/[&"<>']/g, (char) => ENTITIES[char]!).replaceAll(/[^!-~]/g, encodeURIComponent)

const linked = (address: string): string => `<a href="${escaped(address)}">${escaped(address)}</a>`

/**
 * Returns the markup that tells agents which read HTML where its Markdown is: a link in the head and a line that is not
 * shown in the body. `site` is the scheme and host of the page.
 */
export function hintOf({ markdown, index }: HintedAddresses, site: string, isXml: boolean): Insertions {
  const list = index === undefined ? '' : ` Index: ${linked(index)}`
  const attributes = isXml ? 'hidden="hidden" data-nosnippet=""' : 'hidden data-nosnippet'
  return {
    link: (hasBase) =>
      `<link rel="alternate" type="text/markdown" href="${escaped((hasBase ? site : '') + markdown)}"${isXml ? ' /' : ''}>`,
    // A browser resolves these against the base of the page, but agents read the text.
    line: `<div ${attributes}>Markdown: ${linked(markdown)}.${list}</div>`,
  }
}

/** Returns whether a browser wants a document, or the client does not say. https://w3c.github.io/webappsec-fetch-metadata */
export function wantsDocument({ rawHeaders }: Pick<Exchange, 'rawHeaders'>): boolean {
  const destination = headerOf(rawHeaders, 'sec-fetch-dest')
  return destination === undefined || /^(?:document|iframe)$/i.test(destination)
}

const HINTED_TAG = /\bW\/"([^"]*)-h"/g

/** Returns the entity tag of a page with the hint. Its bytes differ, so the tag is weak. */
export const hintedTag = (tag: string): string => `W/"${tag.replace(/^W\//i, '').replaceAll('"', '')}-h"`

/**
 * Returns the fields with the origin's entity tags instead of the tags of pages with the hint, and whether there was one.
 * If-Range stays weak, so that a part of the origin's bytes is never added to a page with the hint (RFC 9110, 13.1.5).
 */
export function withOriginTags(headers: string[]): { readonly headers: string[]; readonly hasHinted: boolean } {
  let translated: string[] | undefined
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!
    if (name.length !== 13 && name.length !== 8) continue
    const lower = name.toLowerCase()
    if (lower !== 'if-none-match' && lower !== 'if-range') continue
    const value = headers[i + 1]!.replaceAll(HINTED_TAG, lower === 'if-range' ? 'W/"$1"' : '"$1"')
    if (value !== headers[i + 1]) (translated ??= [...headers])[i + 1] = value
  }
  return { headers: translated ?? headers, hasHinted: translated !== undefined }
}

/** Fields that describe the bytes of the origin. */
const OF_THE_BYTES = new Set([
  'content-length',
  'content-encoding',
  'content-md5',
  'digest',
  'repr-digest',
  'content-digest',
  'unencoded-digest',
  'accept-ranges',
  'signature',
  'signature-input',
])

/** Returns the fields of a page with the hint, without a content coding. */
export function hintedFields(headers: RawHeaders): string[] {
  const fields: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const lower = headers[i]!.toLowerCase()
    if (OF_THE_BYTES.has(lower)) continue
    fields.push(headers[i]!, lower === 'etag' ? hintedTag(headers[i + 1]!) : headers[i + 1]!)
  }
  return fields
}

/** Encodings in which markup is not the same bytes as in ASCII. */
const OTHER_ENCODING =
  /charset\s*=\s*["']?\s*(?:utf-?(?:16|32|7)|ucs-?[24]|unicode|iso-?2022|csiso2022|hz-gb|iso-10646-ucs|ibm|ebcdic|cp037)/i

/** Returns whether markup in ASCII can be inserted into a page of this Content-Type. */
export const extendsAscii = (contentType: string): boolean => !OTHER_ENCODING.test(contentType)
