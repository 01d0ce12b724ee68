import { members } from '../../http/accept.js'
import type { RawHeaders } from '../../http/headers.js'
import { codingsToUndo } from '../content-coding.js'

/** An HTML page as its header fields tell of it. */
export interface Page {
  readonly contentType: string
  readonly xhtml: boolean
  /** In the order in which they are undone; none: the bytes are the page itself. */
  readonly codings: readonly string[]
  /** Of the bytes as they come, codings included; undefined where it shows only at the end. */
  readonly length: number | undefined
}

// Without a body, with a part of one, or about one that the client is to have already.
const BODILESS = new Set([204, 206, 304])

/** The page that an answer with this head brings, or undefined where it is none, or one that must not be converted. */
export function pageOf(status: number, headers: RawHeaders): Page | undefined {
  if (status < 200 || BODILESS.has(status)) return undefined
  const contentType = values(headers, 'content-type')
  const xhtml = contentType.length === 1 ? isXhtml(contentType[0]!) : undefined
  if (xhtml === undefined || forbidsTransforming(values(headers, 'cache-control'))) return undefined
  const codings = codingsToUndo(values(headers, 'content-encoding').join(','))
  if (!codings) return undefined
  const length = values(headers, 'content-length')[0]
  return { contentType: contentType[0]!, xhtml, codings, length: length === undefined ? undefined : Number(length) }
}

/** Whether a media type is that of XHTML; undefined where it is no kind of HTML. */
function isXhtml(contentType: string): boolean | undefined {
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase()
  if (type === 'text/html') return false
  return type === 'application/xhtml+xml' ? true : undefined
}

// RFC 9111, 5.2.2.6.
const forbidsTransforming = (cacheControl: readonly string[]): boolean =>
  cacheControl.some((value) => [...members(value)].some((directive) => /^no-transform$/i.test(directive)))

/** True of the description of the HTML and false of the Markdown. */
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
  'trailer',
  'x-markdown-tokens',
])

const DEFAULT_SIGNAL = 'ai-train=yes, search=yes, ai-input=yes'

/**
 * The header fields of a converted answer, made from those of the HTML. `bytes` is the length of the Markdown where it
 * is known; a token is taken for four of them.
 */
export function markdownHeaders(headers: RawHeaders, bytes?: number): string[] {
  const kept: string[] = []
  let signal = false
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!
    const lower = name.toLowerCase()
    if (OF_THE_HTML.has(lower)) continue
    if (lower === 'content-signal') signal = true
    const value = lower === 'content-disposition' ? markdownDisposition(headers[i + 1]!) : headers[i + 1]!
    if (value !== undefined) kept.push(name, value)
  }
  kept.push('content-type', 'text/markdown; charset=utf-8')
  if (!signal) kept.push('content-signal', DEFAULT_SIGNAL)
  if (bytes !== undefined) kept.push('x-markdown-tokens', String(Math.ceil(bytes / 4)))
  return variesByAccept(kept)
}

const DISPOSITION = /^\s*(?:inline|attachment)\s*(?:;\s*filename\*?\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;"]+)\s*)*$/i

/** A Content-Disposition whose file names end in `.md` in place of the HTML's `.html`; undefined for one that is not valid. */
const markdownDisposition = (value: string): string | undefined =>
  DISPOSITION.test(value) ? value.replaceAll(/\.x?html?(?="|\s*(?:;|$))/gi, '.md') : undefined

/** The fields with `accept` in Vary; what stands there already stays, and `*` says it all. */
export function variesByAccept(headers: RawHeaders): string[] {
  const fields = [...headers]
  let first: number | undefined
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (fields[i]!.toLowerCase() !== 'vary') continue
    if (/(?:^|,)[ \t]*(?:\*|accept)[ \t]*(?:,|$)/i.test(fields[i + 1]!)) return fields
    first ??= i
  }
  if (first === undefined) fields.push('vary', 'accept')
  else fields[first + 1] = fields[first + 1]!.trim() === '' ? 'accept' : `${fields[first + 1]!}, accept`
  return fields
}

/** Whether an answer to an ordinary request is the HTML variant of a page that has a Markdown one. */
export function isHtmlVariant(status: number, headers: RawHeaders): boolean {
  const [contentType] = values(headers, 'content-type')
  // RFC 9110, 15.4.5: a 304 carries the Vary of the answer that it stands for, and seldom a content type.
  return contentType === undefined ? status === 304 : isXhtml(contentType) !== undefined
}

function values(headers: RawHeaders, name: string): string[] {
  const found: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2)
    if (headers[i]!.length === name.length && headers[i]!.toLowerCase() === name) found.push(headers[i + 1]!)
  return found
}
