import type { Cursor, Flags } from './cursor.js'
import { classPoint, fold, maxOf, readEscape } from './escape.js'
import { difference, intersect, negate, ranges, union, type Ranges } from './ranges.js'

const POSIX: Readonly<Record<string, Ranges>> = {
  alnum: [0x30, 0x39, 0x41, 0x5a, 0x61, 0x7a],
  alpha: [0x41, 0x5a, 0x61, 0x7a],
  ascii: [0, 0x7f],
  blank: [9, 9, 0x20, 0x20],
  cntrl: [0, 0x1f, 0x7f, 0x7f],
  digit: [0x30, 0x39],
  graph: [0x21, 0x7e],
  lower: [0x61, 0x7a],
  print: [0x20, 0x7e],
  punct: [0x21, 0x2f, 0x3a, 0x40, 0x5b, 0x60, 0x7b, 0x7e],
  space: [9, 13, 0x20, 0x20],
  upper: [0x41, 0x5a],
  word: [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a],
  xdigit: [0x30, 0x39, 0x41, 0x46, 0x61, 0x66],
}

const MAX_NESTING = 250

/**
 * Reads a class. The cursor is after its `[`.
 *
 *     a[^b-d&&[:alpha:]]+
 *       ^
 */
export function readClass(cursor: Cursor, flags: Flags, depth = 0): Ranges {
  const start = cursor.at - 1
  if (depth > MAX_NESTING) throw cursor.issue('exceeded the maximum number of nested brackets', start)
  cursor.skipIgnored(flags)
  const negated = cursor.take('^')
  cursor.skipIgnored(flags)
  const pairs: number[] = []
  while (cursor.peek() === '-') {
    pairs.push(0x2d, 0x2d)
    cursor.at++
    cursor.skipIgnored(flags)
  }
  if (pairs.length === 0 && cursor.take(']')) pairs.push(0x5d, 0x5d)

  let left: Ranges | undefined
  let op: '&&' | '--' | '~~' | undefined
  let union: number[] = pairs
  for (;;) {
    cursor.skipIgnored(flags)
    if (cursor.done) throw cursor.issue('unclosed character class', start)
    if (cursor.take(']')) break
    const found = OPERATIONS.find((text) => cursor.take(text))
    if (found !== undefined) {
      left = apply(left, op, fold(ranges(union), flags), flags)
      op = found
      union = []
      continue
    }
    readItem(cursor, flags, depth, start, union)
  }
  const set = apply(left, op, fold(ranges(union), flags), flags)
  return negated ? negate(set, maxOf(flags)) : set
}

const OPERATIONS = ['&&', '--', '~~'] as const

function apply(
  left: Ranges | undefined,
  op: (typeof OPERATIONS)[number] | undefined,
  right: Ranges,
  flags: Flags,
): Ranges {
  if (left === undefined) return right
  if (op === '&&') return intersect(left, right)
  if (op === '--') return difference(left, right, maxOf(flags))
  return difference(union(left, right), intersect(left, right), maxOf(flags))
}

/** Reads one literal, range, escape, named or nested class. */
function readItem(cursor: Cursor, flags: Flags, depth: number, start: number, into: number[]): void {
  if (cursor.peek() === '[') {
    const named = readPosix(cursor)
    if (named !== undefined) {
      into.push(...named)
      return
    }
    cursor.at++
    into.push(...readClass(cursor, flags, depth + 1))
    return
  }
  const at = cursor.at
  const first = readPrimitive(cursor, flags, start)
  cursor.skipIgnored(flags)
  if (cursor.peek() !== '-' || endsAfterDash(cursor, flags)) {
    if (typeof first === 'number') into.push(first, first)
    else into.push(...first)
    return
  }
  cursor.at++
  cursor.skipIgnored(flags)
  if (cursor.done) throw cursor.issue('unclosed character class', start)
  const last = readPrimitive(cursor, flags, start)
  if (typeof first !== 'number' || typeof last !== 'number') {
    throw cursor.issue('invalid range boundary, must be a literal', at)
  }
  if (first > last) throw cursor.issue('invalid character class range, the start must be <= the end', at)
  into.push(first, last)
}

/** Returns whether the `-` ahead is a literal one, before `]`, or the beginning of `--`. */
function endsAfterDash(cursor: Cursor, flags: Flags): boolean {
  const at = cursor.at
  cursor.at++
  cursor.skipIgnored(flags)
  const next = cursor.peek()
  cursor.at = at
  return next === ']' || next === '-'
}

function readPrimitive(cursor: Cursor, flags: Flags, start: number): number | Ranges {
  const at = cursor.at
  const char = cursor.next('unclosed character class')
  if (char !== '\\') return classPoint(cursor, flags, char.codePointAt(0) as number, false, at)
  if (cursor.done) throw cursor.issue('incomplete escape sequence, reached end of pattern prematurely', start)
  const escape = readEscape(cursor, flags)
  if (escape.kind === 'set') return escape.set
  if (escape.kind === 'look') throw cursor.issue('invalid escape sequence found in character class', at)
  return classPoint(cursor, flags, escape.point, escape.byte, at)
}

/** Reads `[:name:]` or `[:^name:]`. Returns undefined, and reads nothing, if neither follows. */
function readPosix(cursor: Cursor): Ranges | undefined {
  const at = cursor.at
  if (!cursor.take('[:')) return undefined
  const negated = cursor.take('^')
  let name = ''
  while (/^[a-z]$/.test(cursor.peek() ?? '')) name += cursor.next('')
  const set = Object.hasOwn(POSIX, name) ? POSIX[name] : undefined
  if (set === undefined || !cursor.take(':]')) {
    cursor.at = at
    return undefined
  }
  return negated ? negate(set, 0x7f) : set
}
