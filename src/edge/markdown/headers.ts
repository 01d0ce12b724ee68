import { members } from '../../http/accept.js'
import { headerOf, type RawHeaders } from '../../http/headers.js'
import { NameTable } from '../../http/name-table.js'
import { codingsToUndo } from '../exchange/content-coding.js'
import { estimatedTokens } from '../exchange/conversion.js'
import { withoutFiles } from '../exchange/link-field.js'

/** An HTML page as its header fields describe it. */
export interface Page {
  readonly contentType: string
  readonly xhtml: boolean
  /** Codings in decoding order. Empty if the bytes are the page itself. */
  readonly codings: readonly string[]
  /** Length of the received bytes, codings included. Undefined if it is known only at the end. */
  readonly length: number | undefined
}

// Responses without a body, with a part of one, or about one that the client already has.
const BODILESS = new Set([204, 206, 304])

/**
 * Returns the page in a response with this head. Undefined if it is not a page or must not be converted. `xml`: XML of any
 * type counts as a page.
 */
export function pageOf(status: number, headers: RawHeaders, xml = false): Page | undefined {
  if (status < 200 || BODILESS.has(status)) return undefined
  const contentType = values(headers, 'content-type')
  const xhtml = contentType.length === 1 ? isXhtml(contentType[0]!, xml) : undefined
  if (xhtml === undefined || forbidsTransforming(values(headers, 'cache-control'))) return undefined
  const codings = codingsToUndo(values(headers, 'content-encoding').join(','))
  if (!codings) return undefined
  const length = values(headers, 'content-length')[0]
  return { contentType: contentType[0]!, xhtml, codings, length: length === undefined ? undefined : Number(length) }
}

/** Returns whether a media type is XHTML, or undefined if it is not HTML. */
function isXhtml(contentType: string, xml = false): boolean | undefined {
  if (contentType === 'text/html' || contentType.startsWith('text/html;')) return false
  const type = TYPES.get(contentType)
  if (type === 'text/html') return false
  if (xml && (type === 'text/xml' || type === 'application/xml')) return true
  return type === 'application/xhtml+xml' ? true : undefined
}

/** Media types in lower case, by the values of Content-Type. */
const TYPES = new NameTable((contentType) => contentType.split(';', 1)[0]!.trim().toLowerCase())

// RFC 9111, 5.2.2.6.
const forbidsTransforming = (cacheControl: readonly string[]): boolean =>
  cacheControl.some((value) => [...members(value)].some((directive) => /^no-transform$/i.test(directive)))

/** Fields that describe the HTML and are false for the Markdown. */
const OF_THE_HTML = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'content-range',
  'transfer-encoding',
  'etag',
  'last-modified',
  'accept-ranges',
  'content-md5',
  'digest',
  'repr-digest',
  'content-digest',
  'unencoded-digest',
  'signature',
  'signature-input',
  'content-location',
  'content-base',
  'content-style-type',
  'content-script-type',
  'sourcemap',
  'x-sourcemap',
  'speculation-rules',
  'trailer',
  'x-markdown-tokens',
])

export const TOKENS = 'x-markdown-tokens'

/** Returns the estimated number of tokens in Markdown of this length. */
export const tokensIn = (bytes: number): string => String(estimatedTokens(bytes))

/**
 * Returns the header fields of a converted response, created from the header fields of the HTML response. `bytes` is
 * the length of the Markdown if it is known. The Content-Signal is `signal` if the origin sets none.
 */
export function markdownHeaders(
  headers: RawHeaders,
  { signal: wanted, bytes }: { readonly signal: string | undefined; readonly bytes?: number | undefined },
): string[] {
  const kept: string[] = []
  let signal = false
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!
    const lower = name.toLowerCase()
    if (OF_THE_HTML.has(lower)) continue
    if (lower === 'content-signal') signal = true
    const value = corrected(lower, headers[i + 1]!)
    if (value !== undefined) kept.push(name, value)
  }
  kept.push('content-type', 'text/markdown; charset=utf-8')
  if (!signal && wanted !== undefined) kept.push('content-signal', wanted)
  if (bytes !== undefined) kept.push(TOKENS, tokensIn(bytes))
  return variesByAccept(kept)
}

/**
 * Returns the value that a field of the HTML has for the Markdown, or undefined if the Markdown does not have the
 * field.
 */
function corrected(name: string, value: string): string | undefined {
  if (name === 'content-disposition') return markdownDisposition(value)
  return name === 'link' ? withoutFiles(value) : value
}

const DISPOSITION = /^\s*(?:inline|attachment)\s*(?:;\s*filename\*?\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;"]+)\s*)*$/i

/**
 * Returns a Content-Disposition whose file names end in `.md` instead of `.html`, or undefined if the value is not valid.
 */
const markdownDisposition = (value: string): string | undefined =>
  DISPOSITION.test(value) ? value.replaceAll(/\.x?html?(?="|\s*(?:;|$))/gi, '.md') : undefined

export const VARY_ACCEPT: RawHeaders = ['vary', 'accept']

/** Returns the fields with `accept` in Vary. Existing values remain; `*` already includes it. */
export function variesByAccept(headers: RawHeaders): string[] {
  let first: number | undefined
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (headers[i]!.length !== 4 || headers[i]!.toLowerCase() !== 'vary') continue
    if (/(?:^|,)[ \t]*(?:\*|accept)[ \t]*(?:,|$)/i.test(headers[i + 1]!)) return [...headers]
    first ??= i
  }
  if (first === undefined) return headers.concat(VARY_ACCEPT)
  const present = headers[first + 1]!
  return headers.with(first + 1, present.trim() === '' ? 'accept' : `${present}, accept`)
}

const varying = new WeakMap<RawHeaders, RawHeaders>()

/** As {@link variesByAccept}. Of a list that cannot change, as hits of the cache have it, the result is made once and cannot change. */
export function listVaryingByAccept(headers: RawHeaders): RawHeaders {
  const known = varying.get(headers)
  if (known) return known
  const fields = variesByAccept(headers)
  if (Object.isFrozen(headers)) varying.set(headers, Object.freeze(fields))
  return fields
}

/** Returns whether a response to an ordinary request is the HTML variant of a page that also has a Markdown one. */
export function isHtmlVariant(status: number, headers: RawHeaders): boolean {
  return isHtmlType(status, headerOf(headers, 'content-type'))
}

/** As {@link isHtmlVariant}, from the first Content-Type. */
export function isHtmlType(status: number, contentType: string | undefined): boolean {
  // A 304 carries the Vary of the response that it represents, and rarely a content type (RFC 9110, 15.4.5).
  return contentType === undefined ? status === 304 : isXhtml(contentType) !== undefined
}

function values(headers: RawHeaders, name: string): string[] {
  const found: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2)
    if (headers[i]!.length === name.length && headers[i]!.toLowerCase() === name) found.push(headers[i + 1]!)
  return found
}
