import { BACKSLASH, hexDigit, QUOTE } from '../../../src/core/bytes.js'
import { copyPlain, viewOf } from './copy.js'

/** The character that an escape of one character represents. */
const SIMPLE = Uint8Array.from({ length: 128 }, (_, byte) => byte)
for (const [letter, byte] of Object.entries({ b: 8, f: 12, n: 10, r: 13, t: 9 })) SIMPLE[letter.charCodeAt(0)] = byte

function hex(bytes: Uint8Array, at: number): number {
  let code = 0
  for (let i = 0; i < 4; i++) code = code * 16 + hexDigit(bytes[at + i]!)
  return code
}

/** Writes a code point as UTF-8. Half of a surrogate pair becomes U+FFFD, as in `TextEncoder`. Returns its end. */
function writeCodePoint(code: number, out: Uint8Array, at: number): number {
  if (code < 0x80) {
    out[at] = code
    return at + 1
  }
  if (code < 0x800) {
    out[at] = 0xc0 | (code >> 6)
    out[at + 1] = 0x80 | (code & 0x3f)
    return at + 2
  }
  const char = code >= 0xd800 && code < 0xe000 ? 0xfffd : code
  if (char < 0x10000) {
    out[at] = 0xe0 | (char >> 12)
    out[at + 1] = 0x80 | ((char >> 6) & 0x3f)
    out[at + 2] = 0x80 | (char & 0x3f)
    return at + 3
  }
  out[at] = 0xf0 | (char >> 18)
  out[at + 1] = 0x80 | ((char >> 12) & 0x3f)
  out[at + 2] = 0x80 | ((char >> 6) & 0x3f)
  out[at + 3] = 0x80 | (char & 0x3f)
  return at + 4
}

/** Bytes with a DataView on the same memory. */
export interface Bytes {
  readonly bytes: Uint8Array
  readonly view: DataView
}

/**
 * Writes the text of a well-formed JSON string, given with its quotes, as UTF-8. With `doubling` each `"` is written
 * twice. Needs at most twice the size of the string. Returns its end.
 */
export function writeText(
  { bytes, view }: Bytes,
  start: number,
  end: number,
  target: Bytes,
  from: number,
  doubling = false,
): number {
  const { bytes: out } = target
  const close = end - 1
  let to = from
  let at = start + 1
  for (;;) {
    // A quote inside a well-formed string has a backslash before it.
    const plain = copyPlain(view, at, close, target.view, to)
    at += plain - to
    to = plain
    if (at >= close) return to
    const escape = bytes[at + 1]!
    if (escape !== 0x75) {
      const code = SIMPLE[escape]!
      if (doubling && code === QUOTE) out[to++] = QUOTE
      out[to++] = code
      at += 2
      continue
    }
    const code = codePoint(bytes, at)
    at += code < 0x10000 ? 6 : 12
    if (doubling && code === QUOTE) out[to++] = QUOTE
    to = writeCodePoint(code, out, to)
  }
}

/** Returns the code point of one `\u`, or of two that make a surrogate pair. */
function codePoint(bytes: Uint8Array, at: number): number {
  const code = hex(bytes, at + 2)
  if (code < 0xd800 || code >= 0xdc00 || bytes[at + 6] !== BACKSLASH || bytes[at + 7] !== 0x75) return code
  const low = hex(bytes, at + 8)
  return low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : code
}

/** The UTF-8 of a well-formed JSON string, given with its quotes. */
export function decoded(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const out = new Uint8Array(end - start)
  const view = viewOf(out)
  const length = writeText({ bytes, view: viewOf(bytes) }, start, end, { bytes: out, view }, 0)
  return out.subarray(0, length)
}
