/*
 * The MIME type of some bytes, from their beginning. Uses the signatures of the MIME Sniffing standard, and of JSON and
 * documents. Bytes without a signature are text if they include no byte that text never has.
 */

/** First bytes of a type, starting at `at`. `.` matches any byte. */
type Signature = readonly [type: string, bytes: string, at?: number]

const SIGNATURES: readonly Signature[] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF87a'],
  ['image/gif', 'GIF89a'],
  ['image/webp', 'RIFF....WEBPVP'],
  ['image/bmp', 'BM'],
  ['image/x-icon', '\0\0\x01\0'],
  ['image/x-icon', '\0\0\x02\0'],
  ['image/tiff', 'II*\0'],
  ['image/tiff', 'MM\0*'],
  ['image/avif', 'ftypavif', 4],
  ['image/heic', 'ftypheic', 4],
  ['audio/aiff', 'FORM....AIFF'],
  ['audio/mpeg', 'ID3'],
  ['audio/flac', 'fLaC'],
  ['audio/midi', 'MThd\0\0\0\x06'],
  ['audio/wave', 'RIFF....WAVE'],
  ['video/avi', 'RIFF....AVI '],
  ['video/quicktime', 'ftypqt  ', 4],
  ['audio/mp4', 'ftypM4A ', 4],
  ['video/mp4', 'ftyp', 4],
  ['video/webm', '\x1aE\xdf\xa3'],
  ['application/ogg', 'OggS\0'],
  ['font/ttf', '\0\x01\0\0'],
  ['font/otf', 'OTTO'],
  ['font/collection', 'ttcf'],
  ['font/woff', 'wOFF'],
  ['font/woff2', 'wOF2'],
  ['application/pdf', '%PDF-'],
  ['application/postscript', '%!PS-Adobe-'],
  ['application/x-gzip', '\x1f\x8b\x08'],
  ['application/zip', 'PK\x03\x04'],
  ['application/zip', 'PK\x05\x06'],
  ['application/x-rar-compressed', 'Rar!\x1a\x07'],
  ['application/x-7z-compressed', "7z\xbc\xaf'\x1c"],
  ['application/x-bzip2', 'BZh'],
  ['application/x-xz', '\xfd7zXZ\0'],
  ['application/zstd', '(\xb5/\xfd'],
  ['application/x-tar', 'ustar', 257],
  ['application/x-executable', '\x7fELF'],
  ['application/x-dosexec', 'MZ'],
  ['application/wasm', '\0asm'],
  ['application/x-sqlite3', 'SQLite format 3\0'],
  ['application/vnd.ms-office', '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'],
]

/** By their first byte. Signatures that begin elsewhere are under the empty string. */
const BY_FIRST = new Map<string, Signature[]>()
for (const signature of SIGNATURES) {
  const [, bytes, at = 0] = signature
  const first = at === 0 ? (bytes[0] as string) : ''
  BY_FIRST.set(first, [...(BY_FIRST.get(first) ?? []), signature])
}

const HTML =
  /^[\t\n\f\r ]*<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[ >]|^[\t\n\f\r ]*<!--/i
const XML = /^[\t\n\f\r ]*<\?xml/
const BYTE_ORDER_MARK = /^(?:\xfe\xff|\xff\xfe|\xef\xbb\xbf)/
// oxlint-disable-next-line no-control-regex
const BINARY = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/
// oxlint-disable-next-line no-control-regex
const NO_ASCII_TEXT = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f\x80-\xff]/
const JSON_FACE = /^[\t\n\r ]*[[{]/
/** Maximum number of bytes of a text that are searched for bytes that text never has. */
const LOOKED_AT = 1445

/** Returns the MIME type of a body, `application/octet-stream` if it is unknown, "" for an empty body. */
export function mimeOf(body: string): string {
  if (body === '') return ''
  const beginning = body.slice(0, LOOKED_AT)
  const signature = [body[0] as string, '']
    .flatMap((first) => BY_FIRST.get(first) ?? [])
    .find((one) => begins(body, one) && (!isWord(one) || NO_ASCII_TEXT.test(beginning)))
  if (signature !== undefined) return signature[0]
  if (HTML.test(beginning)) return 'text/html'
  if (XML.test(beginning)) return 'text/xml'
  if (BYTE_ORDER_MARK.test(beginning)) return 'text/plain'
  if (BINARY.test(beginning)) return 'application/octet-stream'
  return JSON_FACE.test(beginning) && isJson(body) ? 'application/json' : 'text/plain'
}

/** Returns whether a signature could also begin a text: `BMW`, `ID3ntity`. */
const isWord = ([, bytes]: Signature): boolean => /^[ -~]{2,4}$/.test(bytes)

function begins(body: string, [, bytes, at = 0]: Signature): boolean {
  if (body.length < at + bytes.length) return false
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== '.' && bytes[i] !== body[at + i]) return false
  return true
}

function isJson(body: string): boolean {
  try {
    JSON.parse(body)
    return true
  } catch {
    return false
  }
}
