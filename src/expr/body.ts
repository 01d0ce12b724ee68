import { trimmed } from '../core/bytes.js'
import type { Bytes } from './language/value.js'

/** One part of a multipart body. Headers may be repeated, and so may their parameters. */
export interface Part {
  readonly names: readonly Bytes[]
  readonly filenames: readonly Bytes[]
  readonly contentTypes: readonly Bytes[]
  readonly dispositions: readonly Bytes[]
  readonly transferEncodings: readonly Bytes[]
  readonly value: Bytes
}

/** Maximum number of parts that are read. */
const MAX_PARTS = 1000

/**
 * Returns the parts of a multipart body in order, or an empty list if the content type has no boundary. A truncated
 * last part counts.
 */
export function partsOf(body: Bytes, contentType: Bytes): readonly Part[] {
  if (!/^multipart\//i.test(contentType)) return []
  const boundary = parameters(contentType, 'boundary')[0]
  if (boundary === undefined || boundary === '') return []
  const text = `\r\n${body}`
  const line = `\r\n--${boundary}`
  const parts: Part[] = []
  let at = text.indexOf(line)
  while (at !== -1 && parts.length < MAX_PARTS) {
    const start = at + line.length
    // RFC 2046, 5.1.1. Two more dashes after the boundary end the body.
    if (text.startsWith('--', start)) break
    const next = text.indexOf(line, start)
    const head = text.indexOf('\r\n', start)
    if (head === -1) break
    const part = text.slice(head, next === -1 ? undefined : next)
    parts.push(partOf(part))
    at = next
  }
  return parts
}

/** Returns a part, starting at the line break before its headers. */
function partOf(text: Bytes): Part {
  const end = text.indexOf('\r\n\r\n')
  const lines = (end === -1 ? text : text.slice(0, end)).split('\r\n')
  const header = (name: string) =>
    lines.flatMap((line) => {
      const colon = line.indexOf(':')
      return line.slice(0, Math.max(0, colon)).toLowerCase() === name ? [trimmed(line, colon + 1, line.length)] : []
    })
  const dispositions = header('content-disposition')
  return {
    names: dispositions.flatMap((value) => parameters(value, 'name')),
    filenames: dispositions.flatMap((value) => parameters(value, 'filename')),
    contentTypes: header('content-type'),
    dispositions,
    transferEncodings: header('content-transfer-encoding'),
    value: end === -1 ? '' : text.slice(end + 4),
  }
}

/** Returns the values of a parameter: `; name=value` or `; name="value"`. */
function parameters(header: Bytes, name: string): Bytes[] {
  const found: Bytes[] = []
  for (const [, key = '', quoted, plain] of header.matchAll(/;\s*([^\s=;"]+)=(?:"((?:[^"\\]|\\.)*)"|([^;]*))/g)) {
    if (key.toLowerCase() === name)
      found.push(quoted?.replace(/\\(.)/g, '$1') ?? trimmed(plain ?? '', 0, plain?.length ?? 0))
  }
  return found
}

/** First bytes of bodies, by type. */
const SIGNATURES: readonly [start: Bytes, type: string][] = [
  ['\x89PNG\r\n\x1a\n', 'image/png'],
  ['\xff\xd8\xff', 'image/jpeg'],
  ['GIF87a', 'image/gif'],
  ['GIF89a', 'image/gif'],
  ['%PDF-', 'application/pdf'],
  ['PK\x03\x04', 'application/zip'],
  ['\x1f\x8b\x08', 'application/x-gzip'],
  ['Rar!\x1a\x07', 'application/x-rar-compressed'],
  ['\x7fELF', 'application/x-elf'],
  ['MZ', 'application/x-msdownload'],
  ['OggS\0', 'application/ogg'],
  ['wOFF', 'font/woff'],
  ['wOF2', 'font/woff2'],
]

/** Returns the MIME type indicated by the first bytes of a body, or "" if they indicate none. */
export function sniffed(body: Bytes): Bytes {
  if (body.startsWith('RIFF') && body.startsWith('WEBPVP', 8)) return 'image/webp'
  return SIGNATURES.find(([start]) => body.startsWith(start))?.[1] ?? ''
}
