import type { Hir, Look } from './hir.js'
import { contains, type Ranges } from './ranges.js'
import { unicodeWord } from './unicode.js'

const isWordByte = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5a) || byte === 0x5f || (byte >= 0x61 && byte <= 0x7a)

/** Returns whether a condition holds between two bytes; -1 is the start or the end of the text. */
export function holds(look: Look, before: number, after: number): boolean {
  switch (look) {
    case 'start':
      return before === -1
    case 'end':
      return after === -1
    case 'lineStart':
      return before === -1 || before === 10
    case 'lineEnd':
      return after === -1 || after === 10
    case 'crlfStart':
      return before === -1 || before === 10 || (before === 13 && after !== 10)
    case 'crlfEnd':
      return after === -1 || after === 13 || (after === 10 && before !== 13)
    default:
      return wordHolds(look, isWordByte(before), isWordByte(after))
  }
}

function wordHolds(look: Look, before: boolean, after: boolean): boolean {
  if (look === 'word') return before !== after
  if (look === 'notWord') return before === after
  if (look === 'wordStart') return !before && after
  if (look === 'wordEnd') return before && !after
  return look === 'wordStartHalf' ? !before : !after
}

/** Returns whether a pattern has a Unicode word edge, which one byte on each side cannot decide. */
export function unicodeLooks(hir: Hir): boolean {
  if (hir.kind === 'look') return hir.unicode && isWordLook(hir.look)
  if (hir.kind === 'concat') return hir.items.some(unicodeLooks)
  if (hir.kind === 'alt') {
    const known = searched.get(hir) ?? hir.items.some(unicodeLooks)
    searched.set(hir, known)
    return known
  }
  return (hir.kind === 'group' || hir.kind === 'repeat') && unicodeLooks(hir.item)
}

/** Results for alternatives, which Unicode classes consist of and share. */
const searched = new WeakMap<Hir, boolean>()

const WORD_LOOKS: ReadonlySet<Look> = new Set([
  'word',
  'notWord',
  'wordStart',
  'wordEnd',
  'wordStartHalf',
  'wordEndHalf',
])
const isWordLook = (look: Look): boolean => WORD_LOOKS.has(look)

/** Returns whether a condition of a program holds at a position of a text. */
export function stepHolds(
  { look, unicode }: { readonly look: Look; readonly unicode: boolean },
  text: string,
  at: number,
): boolean {
  if (unicode && isWordLook(look)) return holdsUnicode(look, text, at)
  return holds(look, at === 0 ? -1 : text.charCodeAt(at - 1), at === text.length ? -1 : text.charCodeAt(at))
}

/** Returns whether a Unicode word condition holds. Next to bytes that are not UTF-8 nothing is a word. */
function holdsUnicode(look: Look, text: string, at: number): boolean {
  let start = at - 1
  while (start > at - 4 && start > 0 && (text.charCodeAt(start) & 0xc0) === 0x80) start--
  const before = at === 0 ? END : decode(text, start, at)
  const after = at === text.length ? END : decode(text, at, Math.min(text.length, at + 4))
  // As in the reference: "not at a word boundary" is not evaluated inside of a broken or divided character.
  if (look === 'notWord' && (before === BROKEN || after === BROKEN)) return false
  return wordHolds(look, isWordPoint(before), isWordPoint(after))
}

const END = -1
const BROKEN = -2

let words: Ranges | undefined

function isWordPoint(point: number): boolean {
  if (point < 128) return isWordByte(point)
  words ??= unicodeWord()
  return contains(words, point)
}

/** Returns the code point whose bytes begin at `from` and end by `to`; BROKEN if there is none. */
function decode(text: string, from: number, to: number): number {
  const lead = text.charCodeAt(from)
  if (lead < 0x80) return lead
  const length = lead >= 0xf5 ? 0 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0
  if (length === 0 || from + length > to) return BROKEN
  let point = lead & (0x7f >> length)
  for (let at = from + 1; at < from + length; at++) {
    const byte = text.charCodeAt(at)
    if ((byte & 0xc0) !== 0x80) return BROKEN
    point = (point << 6) | (byte & 0x3f)
  }
  const least = length === 2 ? 0x80 : length === 3 ? 0x800 : 0x10000
  return point < least || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff) ? BROKEN : point
}
