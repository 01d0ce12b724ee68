import { isAscii } from 'node:buffer'
import { NotConvertible } from '../text/not-convertible.js'
import { decodeUtf8, ForeignShare } from './utf8-text.js'

/** Labels of encodings that browsers reject. WHATWG Encoding, 4.2, "replacement". */
const REFUSED: ReadonlySet<string> = new Set([
  'csiso2022kr',
  'hz-gb-2312',
  'iso-2022-cn',
  'iso-2022-cn-ext',
  'iso-2022-kr',
  'replacement',
])

const LATIN_10 = `\u00a0ĄąŁ€„Š§š©Ș«Ź\u00adźŻ°±ČłŽ”¶·žčș»ŒœŸżÀÁÂĂÄĆÆÇÈÉÊËÌÍÎÏĐŃÒÓÔŐÖŚŰÙÚÛÜĘȚßàáâăäćæçèéêëìíîïđńòóôőöśűùúûüęțÿ`

/** Single-byte encodings that TextDecoder does not support, with the code unit for a byte from 0x80 on. */
const MISSING: ReadonlyMap<string, (byte: number) => number> = new Map([
  ['iso-8859-16', (byte: number) => (byte < 0xa0 ? byte : LATIN_10.charCodeAt(byte - 0xa0))],
  ['x-user-defined', (byte: number) => 0xf700 + byte],
])

/** Single-byte encodings whose bytes each have a fixed meaning. */
const SINGLE_BYTE = /^(ibm866|iso-8859-.*|koi8-[ru]|macintosh|windows-.*|x-mac-cyrillic|x-user-defined)$/

const NONE = 0xfffd

/** Differences between the ICU tables, which TextDecoder uses, and the WHATWG tables. */
const CORRECTIONS: Readonly<Record<string, readonly [byte: number, codeUnit: number][]>> = {
  'koi8-u': [
    [0xae, 0x045e],
    [0xbe, 0x040e],
  ],
  'windows-874': [0xdb, 0xdc, 0xdd, 0xde, 0xfc, 0xfd, 0xfe, 0xff].map((byte) => [byte, NONE]),
  'windows-1253': [[0xaa, NONE]],
  'windows-1255': [[0xca, 0x05ba]],
}

/**
 * Returns the name of the encoding of a label (`latin1` means windows-1252), or undefined for a label that the WHATWG
 * Encoding standard does not have. Throws NotConvertible for an encoding that browsers reject.
 */
export function encodingOf(label: string): string | undefined {
  const name = label.trim().toLowerCase()
  if (REFUSED.has(name)) throw new NotConvertible(`the encoding ${name} is not read`)
  if (MISSING.has(name)) return name
  try {
    return new TextDecoder(name).encoding
  } catch {
    return undefined
  }
}

/** Decodes bytes in pieces. The result does not depend on the cuts between pieces. */
export interface BytesDecoder {
  decode(bytes: Uint8Array): string
  end(): string
  /**
   * Whether the text returned last is still UTF-8, with one character for each byte. After decoded text no text is
   * UTF-8 again.
   */
  readonly isUtf8?: boolean
}

/**
 * Returns the decoder for an encoding name of `encodingOf`. A leading byte order mark is dropped. With `keepsUtf8` it
 * may return UTF-8 undecoded.
 */
export function decoderFor(encoding: string, keepsUtf8 = false): BytesDecoder {
  if (encoding === 'utf-8') return new Utf8Decoder(keepsUtf8)
  if (SINGLE_BYTE.test(encoding)) return singleByte(encoding)
  const decoder = new TextDecoder(encoding)
  return { decode: (bytes) => decoder.decode(bytes, { stream: true }), end: () => decoder.decode() }
}

const view = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/**
 * Returns the start of the character that `bytes` ends inside, or their length. A cut right before the first byte of a
 * character never changes how malformed bytes around it are decoded.
 */
export function wholeCharacters(bytes: Uint8Array): number {
  const length = bytes.length
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back] ?? 0
    if (byte < 0x80) return length
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? length - back : length
  }
  return length
}

const NO_BYTES = Buffer.alloc(0)

/**
 * Decodes UTF-8. It is much faster than a streaming TextDecoder for ASCII, and its strings take one byte per character
 * if possible, which also makes the tokenizer faster. Undecoded UTF-8 has the same advantage, because a few characters
 * that are not ASCII would make strings of two bytes per character.
 */
class Utf8Decoder implements BytesDecoder {
  isUtf8: boolean
  readonly #foreign = new ForeignShare()
  #rest: Buffer = NO_BYTES
  #isFirst = true

  constructor(keepsUtf8: boolean) {
    this.isUtf8 = keepsUtf8
  }

  decode(bytes: Uint8Array): string {
    const all = this.#rest.length === 0 ? view(bytes) : Buffer.concat([this.#rest, bytes])
    const end = wholeCharacters(all)
    this.#rest = end === all.length ? NO_BYTES : Buffer.from(all.subarray(end))
    return this.#text(all.subarray(0, end))
  }

  end(): string {
    return this.#text(this.#rest)
  }

  #text(bytes: Buffer): string {
    if (bytes.length === 0) return ''
    if (this.isUtf8 && this.#foreign.isLarge(bytes)) this.isUtf8 = false
    const text = this.isUtf8 ? bytes.toString('latin1') : decodeUtf8(bytes)
    if (!this.#isFirst) return text
    this.#isFirst = false
    const mark = this.isUtf8 ? UTF8_MARK : MARK
    return text.startsWith(mark) ? text.slice(mark.length) : text
  }
}

const MARK = '\ufeff'
const UTF8_MARK = '\u00ef\u00bb\u00bf'

const tables = new Map<string, Uint16Array>()

function tableOf(encoding: string): Uint16Array {
  const known = tables.get(encoding)
  if (known !== undefined) return known
  const missing = MISSING.get(encoding)
  const table = Uint16Array.from({ length: 256 }, (_, byte) => {
    if (byte < 0x80) return byte
    // In one call, without `stream`, Node decodes windows-1252 as ISO-8859-1: 0x80 would not be the euro sign.
    return missing?.(byte) ?? new TextDecoder(encoding).decode(Uint8Array.of(byte), { stream: true }).charCodeAt(0)
  })
  for (const [byte, codeUnit] of CORRECTIONS[encoding] ?? []) table[byte] = codeUnit
  tables.set(encoding, table)
  return table
}

function singleByte(encoding: string): BytesDecoder {
  const table = tableOf(encoding)
  return {
    decode(bytes) {
      if (isAscii(bytes)) return view(bytes).toString('latin1')
      const units = new Uint16Array(bytes.length)
      for (let at = 0; at < bytes.length; at++) units[at] = table[bytes[at] ?? 0] ?? NONE
      return view(new Uint8Array(units.buffer)).toString('utf16le')
    },
    end: () => '',
  }
}
