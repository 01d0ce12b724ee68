import { decodeHTML, decodeHTMLAttribute } from 'entities/decode'

/** The longest name of a character reference, `&` and `;` not counted. */
const LONGEST_NAME = 31
const UNFINISHED = /^&(?:#(?:[xX][0-9a-fA-F]*|[0-9]*)|[a-zA-Z][0-9a-zA-Z]*)?$/

const NUMBER_SIGN = 0x23
const ZERO = 0x30
const SEMICOLON = 0x3b
const EQUALS = 0x3d

/** Up to four characters as one number. */
const mix = (key: number, char: number): number => (key << 8) | char

/** Most of the references by name that pages have. */
const COMMON: ReadonlyMap<number, string> = new Map(
  Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' }).map(([name, char]) => [
    keyAt(name, 0, name.length),
    char,
  ]),
)

/** Text with its character references (all of HTML's, with and without `;`) put in place. */
export const decodeText = (text: string): string => decode(text, false)

/** The same for the value of an attribute, where `&` and a name may be part of an address: `?a=1&copy=2`. */
export const decodeAttribute = (text: string): string => decode(text, true)

/** Short references with `;` are read here; from the first other one on, the table of all of them is needed. */
function decode(text: string, inAttribute: boolean): string {
  let decoded = ''
  let from = 0
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) {
    const isNumber = text.charCodeAt(at + 1) === NUMBER_SIGN
    const end = endOfName(text, isNumber ? at + 2 : at + 1)
    const after = text.charCodeAt(end)
    // WHATWG HTML, 13.2.5.72 and 13.2.5.73: what is no name stands for itself, as does a name before `=`.
    if (!isNumber && (end === at + 1 || (inAttribute && after === EQUALS))) continue
    const char =
      after !== SEMICOLON
        ? undefined
        : isNumber
          ? decodeNumber(text, at + 2, end)
          : COMMON.get(keyAt(text, at + 1, end))
    if (char === undefined) {
      const rest = text.slice(from)
      return decoded + (inAttribute ? decodeHTMLAttribute(rest) : decodeHTML(rest))
    }
    decoded += text.slice(from, at) + char
    from = end + 1
  }
  return from === 0 ? text : decoded + text.slice(from)
}

/** Where the letters and digits from `start` on end. */
function endOfName(text: string, start: number): number {
  let end = start
  for (; ; end++) {
    const char = text.charCodeAt(end)
    const isName = (char >= 0x61 && char <= 0x7a) || (char >= 0x30 && char <= 0x39) || (char >= 0x41 && char <= 0x5a)
    if (!isName) return end
  }
}

/** The key of a name, 0 for a long one. */
function keyAt(text: string, start: number, end: number): number {
  if (end - start > 4) return 0
  let key = 0
  for (let at = start; at < end; at++) key = mix(key, text.charCodeAt(at))
  return key
}

/** A character by its decimal number, but for those that HTML reads as another one or that are none. */
function decodeNumber(text: string, start: number, end: number): string | undefined {
  if (end === start || end - start > 5) return undefined
  let number = 0
  for (let at = start; at < end; at++) {
    const digit = text.charCodeAt(at) - ZERO
    if (digit > 9) return undefined
    number = number * 10 + digit
  }
  const isItself = (number >= 0x20 && number < 0x7f) || (number >= 0xa0 && number < 0xd800)
  return isItself ? String.fromCharCode(number) : undefined
}

/**
 * Where a reference starts that `html` may hold only the beginning of; the length of `html` if there is none. Nothing
 * before `start` is looked at.
 */
export function unfinishedReference(html: string, start: number): number {
  const at = html.lastIndexOf('&')
  if (at < start) return html.length
  // Digits may go on for ever: `&#000...065;` is an A.
  if (html.length - at > LONGEST_NAME + 2 && html.charAt(at + 1) !== '#') return html.length
  return UNFINISHED.test(html.slice(at)) ? at : html.length
}
