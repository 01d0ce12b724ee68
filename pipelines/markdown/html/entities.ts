import { decodeHTML, decodeHTMLAttribute } from 'entities/decode'
import { lengthOf, part } from '../text/characters.js'
import { CodeUnits } from '../text/code-units.js'

/** Maximum length of the name of a character reference, without `&` and `;`. */
const MAX_NAME_LENGTH = 31
const UNFINISHED = /^&(?:#(?:[xX][0-9a-fA-F]*|[0-9]*)|[a-zA-Z][0-9a-zA-Z]*)?$/

const SPACE = 0x20
const NUMBER_SIGN = 0x23
const AMPERSAND = 0x26
const ZERO = 0x30
const NINE = 0x39
const UPPER_N = 0x4e
const UPPER_T = 0x54
const LETTER_A = 0x61
const LETTER_X = 0x78
const SEMICOLON = 0x3b
const EQUALS = 0x3d

/** Maximum length of the names of `COMMON`. */
const MAX_COMMON = 6

/** Combines up to six lower-case letters into one small integer. */
const mix = (key: number, char: number): number => (key << 5) | (char & 0x1f)

/** The named references that are most frequent in pages. They have lower-case letters only. */
const COMMON: ReadonlyMap<number, string> = new Map(
  Object.entries({
    amp: '&',
    lt: '<',
    gt: '>',
    quot: '"',
    apos: "'",
    nbsp: '\u00a0',
    lsquo: '\u2018',
    rsquo: '\u2019',
    ldquo: '\u201c',
    rdquo: '\u201d',
    laquo: '\u00ab',
    raquo: '\u00bb',
    ndash: '\u2013',
    mdash: '\u2014',
    hellip: '\u2026',
    middot: '\u00b7',
    copy: '\u00a9',
    reg: '\u00ae',
    para: '\u00b6',
    rarr: '\u2192',
  }).map(([name, char]) => [
    keyAt(
      Uint16Array.from(name, (letter) => letter.charCodeAt(0)),
      0,
      name.length,
    ),
    char,
  ]),
)

/** The code units of a text that is not part of a page that is being read. */
const CODE_UNITS = new CodeUnits()

/** Decodes the character references in a text, all of HTML's, with and without `;`. */
export const decodeText = (text: string): string => decode(text, CODE_UNITS.fill(text), 0, lengthOf(text), false)

/** Decodes the part between two positions of a text with these code units. */
export const decodePart = (text: string, units: Uint8Array, start: number, end: number): string =>
  decode(text, units, start, end, false)

/** Decodes the value of an attribute, where `&` and a name may be part of an address: `?a=1&copy=2`. */
export const decodeAttribute = (text: string): string => decode(text, CODE_UNITS.fill(text), 0, lengthOf(text), true)

/** Decodes short references with `;` here. From the first other one on, the table of all references is needed. */
function decode(
  text: string,
  units: Uint8Array | Uint16Array,
  start: number,
  length: number,
  inAttribute: boolean,
): string {
  let decoded = ''
  let from = start
  for (let at = start | 0; at < length; at++) {
    if (units[at] !== AMPERSAND) continue
    const isNumber = at + 1 < length && units[at + 1] === NUMBER_SIGN
    const end = endOfName(units, isNumber ? at + 2 : at + 1, length)
    const after = end < length ? units[end] : 0
    // Text that is not a name is unchanged, as is a name before `=` (WHATWG HTML, 13.2.5.72 and 13.2.5.73).
    if (!isNumber && (end === at + 1 || (inAttribute && after === EQUALS))) continue
    const char =
      after !== SEMICOLON
        ? undefined
        : isNumber
          ? decodeNumber(units, at + 2, end)
          : COMMON.get(keyAt(units, at + 1, end))
    if (char === undefined) {
      const rest = part(text, from, length)
      return decoded + (inAttribute ? decodeHTMLAttribute(rest) : decodeHTML(rest))
    }
    decoded += part(text, from, at) + char
    from = end + 1
    at = end
  }
  return from === start ? part(text, start, length) : decoded + part(text, from, length)
}

/** Returns the end of the letters and digits from `start` on. */
function endOfName(units: Uint8Array | Uint16Array, start: number, length: number): number {
  for (let end = start | 0; end < length; end++) {
    const char = units[end] as number
    const isName = (char >= 0x61 && char <= 0x7a) || (char >= 0x30 && char <= 0x39) || (char >= 0x41 && char <= 0x5a)
    if (!isName) return end
  }
  return length
}

/** Returns the key of a name, 0 for a long one or one with other characters than lower-case letters. */
function keyAt(units: Uint8Array | Uint16Array, start: number, end: number): number {
  if (end - start > MAX_COMMON) return 0
  let key = 0
  for (let at = start | 0; at < end; at++) {
    const char = units[at] as number
    if (char < 0x61 || char > 0x7a) return 0
    key = mix(key, char)
  }
  return key
}

/** Returns a character by its number, decimal or after an `x`. Undefined for numbers that HTML replaces or rejects. */
function decodeNumber(units: Uint8Array | Uint16Array, start: number, end: number): string | undefined {
  const isHex = start < end && ((units[start] as number) | 0x20) === LETTER_X
  const first = isHex ? start + 1 : start
  if (end === first || end - first > 5) return undefined
  const base = isHex ? 16 : 10
  let number = 0
  for (let at = first | 0; at < end; at++) {
    const digit = digitOf(units[at] as number)
    if (digit >= base) return undefined
    number = number * base + digit
  }
  const isItself = (number >= 0x20 && number < 0x7f) || (number >= 0xa0 && number < 0xd800)
  return isItself ? String.fromCharCode(number) : undefined
}

/**
 * Returns whether a text between two positions may have a reference to white space, by number, as `&Tab;` or as
 * `&NewLine;`.
 */
export function maySpace(units: Uint8Array | Uint16Array, start: number, end: number): boolean {
  for (let at = start | 0; at < end; at++) {
    if (units[at] !== AMPERSAND) continue
    const next = units[at + 1]
    if (next === UPPER_T || next === UPPER_N || (next === NUMBER_SIGN && isLow(units, at + 2, end))) return true
  }
  return false
}

/** Returns whether the number of a reference is at most the number of the space. */
function isLow(units: Uint8Array | Uint16Array, start: number, end: number): boolean {
  const isHex = ((units[start] as number) | 0x20) === LETTER_X
  const base = isHex ? 16 : 10
  let number = 0
  for (let at = isHex ? start + 1 : start; at < end; at++) {
    const digit = digitOf(units[at] as number)
    if (digit < 0 || digit >= base) break
    number = number * base + digit
    if (number > SPACE) return false
  }
  return true
}

/** Returns the value of a digit, also one of a base above 10. */
const digitOf = (char: number): number => (char <= NINE ? char - ZERO : (char | 0x20) - LETTER_A + 10)

/**
 * Returns the start of an incomplete reference at the end of `html`, or the length of `html`. Text before `start` is
 * not read.
 */
export function unfinishedReference(html: string, start: number): number {
  const rest = part(html, start, html.length)
  const at = rest.lastIndexOf('&')
  // The number of digits is unlimited: `&#000...065;` is an A.
  if (at < 0 || (rest.length - at > MAX_NAME_LENGTH + 2 && rest.charAt(at + 1) !== '#')) return html.length
  return UNFINISHED.test(rest.slice(at)) ? start + at : html.length
}
