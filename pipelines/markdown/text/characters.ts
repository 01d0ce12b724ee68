/** Class of a character, by which CommonMark decides whether `*` or `_` opens or closes emphasis. */
export type CharacterClass = 'space' | 'punctuation' | 'other'

// oxlint-disable-next-line typescript/unbound-method
const { charCodeAt, includes, indexOf, search, slice } = String.prototype

/**
 * `text.charCodeAt(at)`, for positions inside it. An engine has a dozen types of strings, such as short ones, parts and
 * concatenations. If a call site sees many types, finding the method takes longer than calling it.
 *
 * One call with a position outside of the text makes the engine call a function here instead of reading the character.
 */
export const codeAt = (text: string, at: number): number => charCodeAt.call(text, at)

/** `text.length`, for the same reason. The result of an addition to a string is known to be a string. */
// oxlint-disable-next-line typescript/no-unnecessary-type-conversion
export const lengthOf = (text: string): number => ('' + text).length

/** `text.indexOf(found, from)`, for the same reason. */
export const indexIn = (text: string, found: string, from: number): number => indexOf.call(text, found, from)

/** `text.includes(found)`, for the same reason. */
export const holds = (text: string, found: string): boolean => includes.call(text, found)

/** `text.search(pattern)`, for the same reason. */
export const searchIn = (text: string, pattern: RegExp): number => search.call(text, pattern)

/** The last code unit of `text`, -1 if it is empty. */
export const lastCode = (text: string): number => (text === '' ? -1 : codeAt(text, lengthOf(text) - 1))

/** `text.slice(start, end)`, for the same reason. */
export const part = (text: string, start: number, end: number): string => slice.call(text, start, end)

const ASCII_PUNCTUATION = new Uint8Array(128)
for (const char of '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~') ASCII_PUNCTUATION[char.charCodeAt(0)] = 1

export const isAsciiPunctuation = (code: number): boolean => code < 128 && ASCII_PUNCTUATION[code] === 1

/** Returns whether a character is white space of HTML. All other spaces are text. */
export const isSpace = (code: number): boolean =>
  code === 0x20 || code === 0x0a || code === 0x09 || code === 0x0d || code === 0x0c

/** CommonMark 0.31.2, 2.1: Unicode white space and Unicode punctuation (the general categories P and S). */
export function classOf(codePoint: number): CharacterClass {
  if (codePoint < 128) {
    if (codePoint <= 0x20) return 'space'
    return ASCII_PUNCTUATION[codePoint] === 1 ? 'punctuation' : 'other'
  }
  const char = String.fromCodePoint(codePoint)
  if (/[\p{P}\p{S}]/u.test(char)) return 'punctuation'
  return /\p{Zs}/u.test(char) ? 'space' : 'other'
}

/** The code point that ends `text`. */
export function lastCodePoint(text: string): number {
  const last = lastCode(text)
  if (last < 0xdc00 || last > 0xdfff || text.length < 2) return last
  return text.codePointAt(text.length - 2) ?? last
}

/** White space that is more than one space. Each run is one match, found without looking back. */
const SPACES = /  [\t\n\f\r ]*| ?[\t\n\f\r][\t\n\f\r ]*/g

/** `text` with one space for each run of HTML's white space. */
export const collapse = (text: string): string => text.replace(SPACES, ' ')

/** Returns `text` as one line. A space replaces each line break and the white space around it. */
export function joinLines(text: string): string {
  if (!/[\r\n]/.test(text)) return text
  const lines = text.split(/[\r\n]+/)
  return lines
    .map((line, index) => (index === 0 ? line.trimEnd() : index === lines.length - 1 ? line.trimStart() : line.trim()))
    .filter((line, index) => line !== '' || index === 0 || index === lines.length - 1)
    .join(' ')
}

/** Removes spaces and control characters at both ends, as browsers do for addresses. */
export function trimControls(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && text.charCodeAt(start) <= 0x20) start++
  while (end > start && text.charCodeAt(end - 1) <= 0x20) end--
  return end - start === text.length ? text : text.slice(start, end)
}
