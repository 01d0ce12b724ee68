import { isAscii, isUtf8 as isUtf8Text } from 'node:buffer'
import { decoderFor, encodingOf, wholeCharacters, type BytesDecoder } from './encodings.js'
import { pageScanner } from './page-scanner.js'
import { OpenTag } from './tag.js'

/** Bytes of a page in which a declaration of its encoding counts. WHATWG HTML, 13.2.3.2. */
const DECLARED_WITHIN = 1024

const MARKS: readonly [mark: readonly number[], encoding: string][] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xfe, 0xff], 'utf-16be'],
  [[0xff, 0xfe], 'utf-16le'],
]
const MAX_MARK_BYTES = 3

export interface CharsetOptions {
  charset?: string | undefined
  xml?: boolean
  keepsUtf8?: boolean
}

/**
 * Decodes a page's bytes. The encoding is determined in this order, by a byte order mark, the charset of the
 * Content-Type header, the page's own `<meta>` in its first 1,024 bytes, and its XML declaration. If all are missing,
 * XML is UTF-8. HTML is UTF-8 if its bytes from the first non-ASCII one on are valid UTF-8. Otherwise a later `<meta>`
 * before these bytes decides, and without one it is windows-1252.
 *
 * At most 1,024 bytes are buffered before the encoding is known. Malformed bytes become U+FFFD.
 */
export class CharsetDecoder {
  readonly #header: string | undefined
  readonly #xml: boolean
  readonly #keepsUtf8: boolean
  #decoder: BytesDecoder | undefined
  #held: Buffer = Buffer.alloc(0)

  /**
   * `charset` comes from the header. An unknown one is ignored. `xml` ignores `<meta>`. With `keepsUtf8`, UTF-8 may be
   * returned undecoded.
   */
  constructor({ charset, xml = false, keepsUtf8 = false }: CharsetOptions = {}) {
    this.#header = charset === undefined ? undefined : encodingOf(charset)
    this.#xml = xml
    this.#keepsUtf8 = keepsUtf8
  }

  /**
   * Whether the text returned last is still UTF-8, with one character for each byte. After decoded text no text is
   * UTF-8 again.
   */
  get isUtf8(): boolean {
    return this.#decoder === undefined ? this.#keepsUtf8 : this.#decoder.isUtf8 === true
  }

  /** Throws NotConvertible for an encoding that browsers reject. */
  write(bytes: Uint8Array): string {
    if (this.#decoder !== undefined) return this.#decoder.decode(bytes)
    const isEnough = (length: number) => length >= (this.#header === undefined ? DECLARED_WITHIN : MAX_MARK_BYTES)
    if (this.#held.length === 0 && isEnough(bytes.byteLength))
      return this.#begin(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    this.#held = Buffer.concat([this.#held, bytes])
    return isEnough(this.#held.length) ? this.#begin(this.#held) : ''
  }

  /** Returns the rest of the text. */
  end(): string {
    const text = this.#decoder === undefined ? this.#begin(this.#held) : ''
    return text + (this.#decoder?.end() ?? '')
  }

  /** Decodes the start of the page, by which its encoding is chosen. */
  #begin(held: Buffer): string {
    this.#held = Buffer.alloc(0)
    const marked = MARKS.find(([mark]) => mark.every((byte, at) => held[at] === byte))?.[1]
    const encoding = marked ?? this.#header ?? declaredEncoding(held.subarray(0, DECLARED_WITHIN), this.#xml)
    this.#decoder =
      encoding === undefined && !this.#xml
        ? new GuessingDecoder(this.#keepsUtf8)
        : decoderFor(encoding ?? 'utf-8', this.#keepsUtf8)
    return this.#decoder.decode(held)
  }
}

/** Characters before the first non-ASCII byte in which a late declaration counts, as browsers follow it. */
const DECLARED_LATE_WITHIN = 64 * 1024

/** Number of bytes, from the first non-ASCII one on, by which the encoding is guessed. */
const GUESSED_BY = 1024

/**
 * Decodes a page that does not declare its encoding. The encoding may be guessed, and the default is windows-1252
 * (WHATWG HTML, 13.2.3.2, steps 7 to 9).
 */
class GuessingDecoder implements BytesDecoder {
  readonly #keepsUtf8: boolean
  #decoder: BytesDecoder | undefined
  #held: Buffer = Buffer.alloc(0)
  /** The page before its first non-ASCII byte, up to a limit. */
  #start = ''

  constructor(keepsUtf8: boolean) {
    this.#keepsUtf8 = keepsUtf8
  }

  /** ASCII is the same in each encoding. */
  get isUtf8(): boolean {
    return this.#decoder === undefined ? this.#keepsUtf8 : this.#decoder.isUtf8 === true
  }

  decode(bytes: Uint8Array): string {
    if (this.#decoder !== undefined) return this.#decoder.decode(bytes)
    if (this.#held.length > 0) {
      this.#held = Buffer.concat([this.#held, bytes])
      return this.#held.length < GUESSED_BY ? '' : this.#guess()
    }
    const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    if (isAscii(all)) return this.#ascii(all.toString('latin1'))
    const ascii = all.findIndex((byte) => byte > 0x7f)
    this.#held = Buffer.from(all.subarray(ascii))
    const text = this.#ascii(all.toString('latin1', 0, ascii))
    return text + (this.#held.length < GUESSED_BY ? '' : this.#guess())
  }

  #ascii(text: string): string {
    const missing = DECLARED_LATE_WITHIN - this.#start.length
    if (missing > 0) this.#start += text.slice(0, missing)
    return text
  }

  end(): string {
    // A page of ASCII alone has nothing left to decode. ASCII is the same in each encoding.
    if (this.#decoder === undefined && this.#held.length === 0) return ''
    const text = this.#decoder === undefined ? this.#guess() : ''
    return text + (this.#decoder?.end() ?? '')
  }

  #guess(): string {
    const held = this.#held
    this.#held = Buffer.alloc(0)
    const known = held.subarray(0, GUESSED_BY)
    const whole = known.subarray(0, wholeCharacters(known))
    const isUtf8 = whole.length > 0 && isUtf8Text(whole)
    const encoding = isUtf8 ? 'utf-8' : (metaEncoding(this.#start.replaceAll('\r', '\n')) ?? 'windows-1252')
    this.#start = ''
    this.#decoder = decoderFor(encoding, this.#keepsUtf8)
    return this.#decoder.decode(held)
  }
}

/** Returns the encoding that a page declares at its start, if any. */
function declaredEncoding(bytes: Buffer, xml: boolean): string | undefined {
  const start = bytes.toString('latin1')
  if (start.startsWith('<\0?\0x\0')) return 'utf-16le'
  if (start.startsWith('\0<\0?\0x')) return 'utf-16be'
  const inMeta = xml ? undefined : metaEncoding(start.replaceAll('\r', '\n'))
  return inMeta ?? readable(/^<\?xml[^>]*?[\s"']encoding\s*=\s*(?:"([^">]*)"|'([^'>]*)')/.exec(start))
}

/** Returns the encoding of a label found by a pattern. Text that was readable as ASCII cannot be UTF-16. */
function readable(found: RegExpExecArray | null): string | undefined {
  const label = found?.slice(1).find((group) => group !== undefined)
  const encoding = label === undefined ? undefined : encodingOf(label)
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return 'utf-8'
  return encoding === 'x-user-defined' ? 'windows-1252' : encoding
}

const SLASH = 0x2f
const BANG = 0x21
const QUESTION = 0x3f

const isLetter = (code: number): boolean => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a

/** Returns whether a comment, a declaration or an end tag without a name follows a `<`. */
const isMarkup = (code: number): boolean => code === BANG || code === SLASH || code === QUESTION

/** Prescans a page as in the WHATWG standard. Reads tags anywhere, in scripts too, but not in comments. */
function metaEncoding(html: string): string | undefined {
  const tag = new OpenTag()
  pageScanner().fill(html, true)
  tag.within(html)
  let next = 0
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', next)) {
    next = at + 1
    if (html.startsWith('<!--', at)) next = html.indexOf('-->', at + 2) + 3
    else if (isLetter(html.charCodeAt(html.charCodeAt(next) === SLASH ? next + 1 : next))) {
      const isEnd = html.charCodeAt(next) === SLASH
      next = tag.read(isEnd ? at + 2 : at + 1)
      const encoding = tag.name === 'meta' && !isEnd && next > 0 ? encodingOfMeta(tag) : undefined
      if (encoding !== undefined) return encoding
    } else if (isMarkup(html.charCodeAt(next))) next = html.indexOf('>', at) + 1
    // A tag or a comment that extends beyond the scanned bytes.
    if (next <= at) return undefined
  }
  return undefined
}

function encodingOfMeta(tag: OpenTag): string | undefined {
  const charset = tag.attribute('charset')
  if (charset !== undefined) return readable(/^([^]*)$/.exec(charset))
  if (tag.attribute('http-equiv')?.toLowerCase() !== 'content-type') return undefined
  const content = tag.attribute('content') ?? ''
  return readable(/charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"'][^\s;]*))/i.exec(content))
}
