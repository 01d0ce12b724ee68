/* oxlint-disable no-control-regex -- bytes of files that are not text */

/** Bytes that decide what a page is (WHATWG MIME Sniffing, 5.1). */
const SNIFFED_BYTES = 1445

/** First bytes of common files that are not pages, as Latin-1. */
const SIGNATURES: readonly (readonly [signature: RegExp, type: string])[] = [
  [/^\x89PNG|^GIF8|^\xff\xd8\xff|^RIFF....WEBP|^BM.{4}\0\0/s, 'those of an image'],
  [
    /^PK\x03\x04|^\x1f\x8b|^BZh|^\xfd7zXZ|^7z\xbc\xaf|^\x28\xb5\x2f\xfd|^Rar!/,
    'those of an archive or compressed file',
  ],
  [/^%PDF-/, 'those of a PDF document'],
  [/^<svg[\s/>]/i, 'those of an SVG image'],
]

/** What may come before the first element of a document. */
const PROLOG = /^(?:\s+|<\?[^>]*>|<!--[^]*?-->|<!doctype\s+svg[^>]*>)/i

/** Characters that no text has (WHATWG MIME Sniffing, 3), except NUL, which is half of a text in UTF-16. */
const BINARY = /[\x01-\x08\x0b\x0e-\x1a\x1c-\x1f]/g
/** Largest share of such characters in a page with markup. Random bytes have 0.1. */
const MAX_BINARY = 0.03

/** Returns what the first bytes of a page are if it is neither markup nor text. A byte order mark makes them text. */
export function otherType(chunk: Uint8Array): string | undefined {
  const head = Buffer.from(chunk.subarray(0, SNIFFED_BYTES)).toString('latin1')
  let start = head.replace(/^\xef\xbb\xbf/, '')
  for (let prolog = PROLOG.exec(start); prolog; prolog = PROLOG.exec(start)) start = start.slice(prolog[0].length)
  const known = SIGNATURES.find(([signature]) => signature.test(start))
  if (known) return known[1]
  if (/^(?:\xff\xfe|\xfe\xff|\xef\xbb\xbf)/.test(head)) return undefined
  const text = head.replaceAll('\0', '')
  const binary = [...text.matchAll(BINARY)].length
  const isMarkup = /<[a-z!/?]/i.test(text) && binary <= text.length * MAX_BINARY
  return isMarkup || (binary === 0 && text === head) ? undefined : 'binary data'
}
