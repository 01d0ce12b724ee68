import { isAscii, isUtf8, transcode } from 'node:buffer'

/** Maximum number of bytes that are decoded without another buffer. */
const SHORT = 1024

const SCRATCH = Buffer.alloc(SHORT)

/** Returns UTF-8 as text. Node decodes UTF-8 to UTF-16 six times as fast as to a string, but only if it is valid. */
export function decodeUtf8(bytes: Buffer): string {
  if (isAscii(bytes)) return bytes.toString('latin1')
  return isUtf8(bytes) ? transcode(bytes, 'utf8', 'utf16le').toString('utf16le') : bytes.toString()
}

/** Decodes UTF-8 that has one character for each byte. */
export function decodeUtf8Text(text: string): string {
  const { length } = text
  if (length > SHORT) return decodeUtf8(Buffer.from(text, 'latin1'))
  SCRATCH.write(text, 'latin1')
  return SCRATCH.toString('utf8', 0, length)
}

const isContinuation = (byte: number): boolean => byte >= 0x80 && byte < 0xc0

/** Returns the character whose bytes of UTF-8 begin at `at`, which is not ASCII; -1 if they are malformed. */
export function codePointAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at] as number
  const second = (bytes[at + 1] as number) ^ 0x80
  if (first < 0xc2 || first > 0xf4 || second > 0x3f) return -1
  if (first < 0xe0) return ((first & 0x1f) << 6) | second
  const third = (bytes[at + 2] as number) ^ 0x80
  if (third > 0x3f) return -1
  if (first < 0xf0) {
    const char = ((first & 0xf) << 12) | (second << 6) | third
    return char < 0x800 || (char >= 0xd800 && char < 0xe000) ? -1 : char
  }
  const fourth = (bytes[at + 3] as number) ^ 0x80
  if (fourth > 0x3f) return -1
  const char = ((first & 7) << 18) | (second << 12) | (third << 6) | fourth
  return char < 0x10000 || char > 0x10ffff ? -1 : char
}

/**
 * Returns the start of a UTF-8 character that contains the position `at`, or `at`. Malformed bytes are decoded to the
 * same text on both sides of the result.
 */
export function startOfCharacter(text: string, at: number): number {
  let start = at
  while (start > 0 && at - start < 3 && isContinuation(text.charCodeAt(start))) start--
  return isContinuation(text.charCodeAt(start)) ? at : start
}

/** Distance in bytes between the samples from which the share of bytes that are not ASCII is estimated. */
const STEP = 61
/** Minimum number of such bytes that are not ASCII, and their minimum share, in a page that is decoded as a whole. */
const MIN_FOREIGN = 8
const MIN_FOREIGN_SHARE = 0.04

/** Estimates whether nearly all bytes of a page are ASCII. */
export class ForeignShare {
  #seen = 0
  #foreign = 0

  /** Adds bytes of the page. Returns whether the page has enough bytes that are not ASCII to be decoded faster as a whole. */
  isLarge(bytes: Uint8Array): boolean {
    const { length } = bytes
    let foreign = 0
    for (let at = 0 | 0; at < length; at += STEP) foreign += (bytes[at] as number) >> 7
    this.#seen += Math.ceil(length / STEP)
    this.#foreign += foreign
    return this.#foreign >= MIN_FOREIGN && this.#foreign > MIN_FOREIGN_SHARE * this.#seen
  }
}
