import type { Hir, Look } from './hir.js'
import { contains, type Ranges } from './ranges.js'
import { unicodeWord } from './unicode.js'

const isWordByte = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5a) || byte === 0x5f || (byte >= 0x61 && byte <= 0x7a)

/** Whether a condition holds between two bytes; -1 stands for the start or the end of the text. */
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

/** Whether a pattern asks for a Unicode word edge, for which one byte on each side is not enough to know. */
export function unicodeLooks(hir: Hir): boolean {
  if (hir.kind === 'look') return hir.unicode && isWordLook(hir.look)
  if (hir.kind === 'concat' || hir.kind === 'alt') return hir.items.some(unicodeLooks)
  return (hir.kind === 'group' || hir.kind === 'repeat') && unicodeLooks(hir.item)
}

const isWordLook = (look: Look): boolean => !/^(start|end|line|crlf)/.test(look)

let words: Ranges | undefined

/** Whether a Unicode word condition holds at a place of a text; next to bytes that are no UTF-8 nothing is a word. */
export function holdsUnicode(look: Look, text: string, at: number): boolean {
  if (!isWordLook(look)) {
    return holds(look, at === 0 ? -1 : text.charCodeAt(at - 1), at === text.length ? -1 : text.charCodeAt(at))
  }
  words ??= unicodeWord()
  let start = at - 1
  while (start > at - 4 && start > 0 && (text.charCodeAt(start) & 0xc0) === 0x80) start--
  const before = at === 0 ? undefined : decode(text, start, at)
  const after = at === text.length ? undefined : decode(text, at, Math.min(text.length, at + 4))
  // As in the reference: "not at a word boundary" is not asked inside of a broken or divided character.
  if (look === 'notWord' && (before === 'broken' || after === 'broken')) return false
  const isWord = (point: number | 'broken' | undefined) => typeof point === 'number' && contains(words as Ranges, point)
  return wordHolds(look, isWord(before), isWord(after))
}

/** The code point that begins at `from`, which must end by `to`. */
function decode(text: string, from: number, to: number): number | 'broken' {
  const lead = text.charCodeAt(from)
  const length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0
  if (length === 0 || from + length > to) return 'broken'
  const [char] = Buffer.from(text.slice(from, from + length), 'latin1').toString('utf8')
  const point = char?.codePointAt(0)
  return point === undefined || point === 0xfffd ? 'broken' : point
}
