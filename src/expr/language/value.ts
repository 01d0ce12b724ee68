/**
 * An address. Version 4 is its number, and version 6 is its sixteen bytes, one character each. Equality is `===`, order
 * within a family is `<`, and `typeof` distinguishes the families.
 */
export type Ip = number | string

/** Text and bytes. A string with one character (0 to 255) per byte. */
export type Bytes = string

/**
 * A value of the rules language. Int is a number (exact to 2^53), Bytes a byte string, Ip see above. A missing value is
 * `undefined`.
 */
export type Value = boolean | number | string | readonly Value[] | ReadonlyMap<string, Value>

/** Returns the byte string of a text, as UTF-8. */
export function toBytes(text: string): Bytes {
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) > 127) return Buffer.from(text, 'utf8').toString('latin1')
  }
  return text
}

/** Returns the text of a UTF-8 byte string. Invalid bytes become U+FFFD. */
export function toText(bytes: Bytes): string {
  for (let at = 0; at < bytes.length; at++) {
    if (bytes.charCodeAt(at) > 127) return Buffer.from(bytes, 'latin1').toString('utf8')
  }
  return bytes
}
