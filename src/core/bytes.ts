/** ASCII bytes for parsers of text formats, and the parts of HTTP in which each byte is allowed. */
const TAB = 0x09
export const LF = 0x0a
export const CR = 0x0d
export const SPACE = 0x20
export const QUOTE = 0x22
export const COMMA = 0x2c
export const MINUS = 0x2d
export const DOT = 0x2e
export const ZERO = 0x30
export const COLON = 0x3a
export const SEMICOLON = 0x3b
export const BACKSLASH = 0x5c

/** The byte is allowed in a token, such as a method or a field name (RFC 9110, 5.6.2). */
export const IN_TOKEN = 1
/** The byte is allowed in a request target. */
export const IN_TARGET = 2
/** The byte is allowed in a field value (RFC 9110, 5.5). */
export const IN_VALUE = 4

/** For each byte, the flags {@link IN_TOKEN}, {@link IN_TARGET} and {@link IN_VALUE} that hold. */
export const KINDS = new Uint8Array(256)
for (let byte = 0; byte < 256; byte++) {
  if (/[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(String.fromCharCode(byte))) KINDS[byte]! |= IN_TOKEN
  // RFC 3986 allows fewer, but browsers send the others unencoded. Servers never get a fragment.
  if (byte > SPACE && byte < 127 && byte !== 35) KINDS[byte]! |= IN_TARGET
  if (byte === TAB || (byte >= SPACE && byte !== 127)) KINDS[byte]! |= IN_VALUE
}

/** Returns the value of a hexadecimal digit; -1 if it is not one. */
export function hexDigit(byte: number): number {
  if (byte >= ZERO && byte <= 57) return byte - ZERO
  const letter = byte | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}

/** Removes optional white space (RFC 9110, 5.6.3) at both ends; `trim` would remove more. */
export function trimmed(text: string, from: number, to: number): string {
  while (from < to && isSpace(text.charCodeAt(from))) from++
  while (from < to && isSpace(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

const isSpace = (char: number): boolean => char === SPACE || char === TAB
