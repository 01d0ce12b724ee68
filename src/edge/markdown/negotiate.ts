import { mediaRanges, members } from '../../http/accept.js'
import { CONDITIONAL_FIELDS } from '../../http/headers.js'
import { CODINGS } from '../exchange/content-coding.js'

/** `listed`: Markdown if it is listed. `preferred`: only if HTML does not have a higher quality. */
export type Negotiation = 'listed' | 'preferred'

/**
 * Returns whether the Accept header (several: joined with commas) asks for Markdown: it names `text/markdown`, with any
 * parameters, at a quality above 0. Wildcards alone never do. With `preferred`, its quality must also not be below the
 * one that the header assigns to `text/html`, by name or by wildcard (RFC 9110, 12.5.1).
 */
export function wantsMarkdown(accept: string | undefined, mode: Negotiation = 'listed'): boolean {
  if (accept === undefined || !/markdown/i.test(accept)) return false
  const weights = new Map<string, number>()
  for (const { range, quality } of mediaRanges(accept)) weights.set(range, Math.max(quality, weights.get(range) ?? 0))
  const markdown = weights.get('text/markdown') ?? 0
  if (markdown === 0 || mode === 'listed') return markdown > 0
  return markdown >= (weights.get('text/html') ?? weights.get('text/*') ?? weights.get('*/*') ?? 0)
}

// Fields that request a part of the page, or whether it changed: they concern a representation that the client does not
// have.
const LEFT_OUT = new Set([...CONDITIONAL_FIELDS, 'accept', 'accept-encoding'])

/**
 * Returns the request header fields (name, value, name, value) that request a page to convert from the origin. They ask
 * for the whole page, in HTML, in a coding that the edge can decode. The client must accept the coding too, because a
 * page that cannot be converted is sent to the client unchanged.
 */
export function askForHtml(headers: readonly string[]): string[] {
  const asked: string[] = []
  const accept: string[] = []
  const codings: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    const value = headers[i + 1]!
    const lower = name.toLowerCase()
    if (!LEFT_OUT.has(lower)) asked.push(name, value)
    else if (lower === 'accept') accept.push(value)
    else if (lower === 'accept-encoding') codings.push(value)
  }
  asked.push('accept', withHtml(accept.join(', ')), 'accept-encoding', undoable(codings.join(', ')))
  return asked
}

/** The HTML is the source of the Markdown, so it is requested with the same quality. */
function withHtml(accept: string): string {
  if (accept === '') return 'text/html'
  let markdown = 0
  for (const { range, quality } of mediaRanges(accept)) {
    if (range === 'text/html' && quality > 0) return accept
    if (range === 'text/markdown') markdown = Math.max(markdown, quality)
  }
  return `${accept}, text/html${markdown > 0 && markdown < 1 ? `;q=${markdown}` : ''}`
}

function undoable(codings: string): string {
  const kept: string[] = []
  for (const member of members(codings)) {
    const coding = member.split(';', 1)[0]!.trim().toLowerCase()
    if (coding === 'identity' || CODINGS.has(coding)) kept.push(member)
  }
  return kept.join(', ') || 'identity'
}
