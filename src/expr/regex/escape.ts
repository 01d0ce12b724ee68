import type { Cursor, Flags } from './cursor.js'
import { negate, type Ranges } from './ranges.js'
import type { Look } from './hir.js'
import { foldUnicode, property, unicodeDigit, unicodeSpace, unicodeWord } from './unicode.js'
import { foldAscii } from './ranges.js'

/** Meaning of an escape. `byte` is true for `\xHH`, which without Unicode is that byte and not a code point. */
export type Escape =
  | { readonly kind: 'literal'; readonly point: number; readonly byte: boolean }
  | { readonly kind: 'set'; readonly set: Ranges }
  | { readonly kind: 'look'; readonly look: Look }

const WORD: Ranges = [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a]
const DIGIT: Ranges = [0x30, 0x39]
const SPACE: Ranges = [0x09, 0x0d, 0x20, 0x20]
const NOT_ALLOWED = 'Unicode not allowed here'

/** Returns the maximum member of a set, which is a byte, or a code point if `u` is on. */
export const maxOf = (flags: Flags): number => (flags.u ? 0x10ffff : 0xff)

const CONTROLS: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 }
const LOOKS: Readonly<Record<string, Look>> = { A: 'start', z: 'end', B: 'notWord', '<': 'wordStart', '>': 'wordEnd' }
const BRACED_LOOKS: Readonly<Record<string, Look>> = {
  start: 'wordStart',
  end: 'wordEnd',
  'start-half': 'wordStartHalf',
  'end-half': 'wordEndHalf',
}

/** Reads an escape. The cursor is after the backslash. */
export function readEscape(cursor: Cursor, flags: Flags): Escape {
  const start = cursor.at - 1
  const char = cursor.next('incomplete escape sequence, reached end of pattern prematurely')
  if (/[0-9]/.test(char)) throw cursor.issue('backreferences are not supported', start)
  if (char === 'x' || char === 'u' || char === 'U') return readHex(cursor, char)
  if (char === 'p' || char === 'P') return { kind: 'set', set: readProperty(cursor, flags, char === 'P') }
  if (/[dswDSW]/.test(char)) return { kind: 'set', set: perl(char, flags) }
  const control = Object.hasOwn(CONTROLS, char) ? CONTROLS[char] : undefined
  if (control !== undefined) return { kind: 'literal', point: control, byte: false }
  if (char === 'b') return { kind: 'look', look: readWordLook(cursor) }
  const look = Object.hasOwn(LOOKS, char) ? LOOKS[char] : undefined
  if (look !== undefined) return { kind: 'look', look }
  const point = char.codePointAt(0) as number
  if (point < 128 && !/[A-Za-z]/.test(char)) return { kind: 'literal', point, byte: false }
  throw cursor.issue('unrecognized escape sequence', start)
}

/** Reads `\b` alone, or `\b{start}` and similar ones. A `{` that does not begin a name is a repetition of `\b`. */
function readWordLook(cursor: Cursor): Look {
  const start = cursor.at
  if (!cursor.take('{')) return 'word'
  while (/^\s$/u.test(cursor.peek() ?? '')) cursor.at++
  if (cursor.done)
    throw cursor.issue(
      'found either the beginning of a special word boundary or a bounded repetition without an end',
      start,
    )
  if (!/[A-Za-z-]/.test(cursor.peek() as string)) {
    cursor.at = start
    return 'word'
  }
  let name = ''
  while (/^[A-Za-z-]$/.test(cursor.peek() ?? '')) name += cursor.next('')
  while (/^\s$/u.test(cursor.peek() ?? '')) cursor.at++
  if (!cursor.take('}'))
    throw cursor.issue('special word boundary assertion is unclosed or has an invalid character', start)
  const look = Object.hasOwn(BRACED_LOOKS, name) ? BRACED_LOOKS[name] : undefined
  if (look === undefined) throw cursor.issue('unrecognized special word boundary assertion', start)
  return look
}

function readHex(cursor: Cursor, kind: 'x' | 'u' | 'U'): Escape {
  const start = cursor.at
  let digits = ''
  const braced = cursor.take('{')
  const count = { x: 2, u: 4, U: 8 }[kind]
  const more = () => (braced ? cursor.peek() !== '}' : digits.length < count)
  while (more()) {
    const digit = cursor.next('incomplete escape sequence, reached end of pattern prematurely')
    if (!/^[0-9a-fA-F]$/.test(digit)) throw cursor.issue('invalid hexadecimal digit', cursor.at - 1)
    digits += digit
  }
  if (braced) cursor.at++
  if (digits === '') throw cursor.issue('hexadecimal literal empty', start)
  const point = Number.parseInt(digits, 16)
  if (!(point <= 0x10ffff) || (point >= 0xd800 && point <= 0xdfff)) {
    throw cursor.issue('hexadecimal literal is not a Unicode scalar value', start)
  }
  return { kind: 'literal', point, byte: kind === 'x' && !braced }
}

function readProperty(cursor: Cursor, flags: Flags, negated: boolean): Ranges {
  const start = cursor.at - 2
  let name = cursor.next('incomplete escape sequence, reached end of pattern prematurely')
  let not = negated
  if (name === '{') {
    name = ''
    while (cursor.peek() !== '}') name += cursor.next('incomplete escape sequence, reached end of pattern prematurely')
    cursor.at++
    if (name.startsWith('^')) {
      not = !not
      name = name.slice(1)
    }
    const unequal = name.indexOf('!=')
    if (unequal !== -1) {
      not = !not
      name = `${name.slice(0, unequal)}=${name.slice(unequal + 2)}`
    }
  }
  if (!flags.u) throw cursor.issue(NOT_ALLOWED, start)
  const found = property(name)
  if (found === undefined) throw cursor.issue('Unicode property not found', start)
  const set = flags.i ? foldUnicode(found) : found
  return not ? negate(set, 0x10ffff) : set
}

function perl(char: string, flags: Flags): Ranges {
  const lower = char.toLowerCase()
  const set = flags.u
    ? { d: unicodeDigit, s: unicodeSpace, w: unicodeWord }[lower as 'd' | 's' | 'w']()
    : { d: DIGIT, s: SPACE, w: WORD }[lower as 'd' | 's' | 'w']
  return char === lower ? set : negate(set, maxOf(flags))
}

/** Adds the other cases of a set if the flags require them. */
export function fold(set: Ranges, flags: Flags): Ranges {
  if (!flags.i) return set
  return flags.u ? foldUnicode(set) : foldAscii(set)
}

/** Returns the code point or byte of a literal inside of a class. */
export function classPoint(cursor: Cursor, flags: Flags, point: number, byte: boolean, at: number): number {
  if (flags.u || byte || point < 128) return point
  throw cursor.issue(NOT_ALLOWED, at)
}
