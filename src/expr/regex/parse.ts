import { readClass } from './char-class.js'
import { Cursor, type Flags } from './cursor.js'
import { fold, readEscape } from './escape.js'
import { alt, caselessByte, concat, EMPTY, oneByte, type Hir, type Look } from './hir.js'
import { MAX_STEPS, stepCount, tooManySteps } from './program.js'
import { negate } from './ranges.js'
import { encode, utf8 } from './utf8.js'

/** A parsed pattern with its tree and the name, if any, of each capture group from 1. */
export interface ParsedRegex {
  readonly hir: Hir
  readonly groups: readonly (string | undefined)[]
}

/** Maximum nesting of groups. */
const MAX_NESTING = 250
const MAX_COUNT = 0xffff_ffff
const NO_FLAGS: Flags = { i: false, m: false, s: false, R: false, U: false, u: false, x: false }

/**
 * Parses the syntax of the Rust crate `regex`, on bytes with Unicode off unless `(?u)` turns it on. Throws
 * RegexSyntaxError.
 */
export function parse(pattern: string): ParsedRegex {
  const reader = new Reader(pattern)
  return { hir: reader.whole(), groups: reader.groups }
}

class Reader {
  readonly #cursor: Cursor
  readonly groups: (string | undefined)[] = []

  constructor(pattern: string) {
    this.#cursor = new Cursor(pattern)
  }

  whole(): Hir {
    const { hir } = this.#alternatives(NO_FLAGS, 0, undefined)
    if (!this.#cursor.done) throw this.#cursor.issue('unopened group')
    return hir
  }

  /** Reads up to the `)` of this group, or the end. `open` is the start of the group. */
  #alternatives(flags: Flags, depth: number, open: number | undefined): { hir: Hir } {
    const cursor = this.#cursor
    const branches: Hir[] = []
    let items: Hir[] = []
    let last: Hir | undefined
    let current = flags
    for (;;) {
      cursor.skipIgnored(current)
      const char = cursor.peek()
      if (char === undefined) {
        if (open !== undefined) throw cursor.issue('unclosed group', open)
        break
      }
      if (char === ')') {
        if (open === undefined) throw cursor.issue('unopened group')
        break
      }
      if (char === '|') {
        cursor.at++
        branches.push(concat(items))
        items = []
        last = undefined
        continue
      }
      if (char === '*' || char === '+' || char === '?' || char === '{') {
        const at = cursor.at
        if (last === undefined) throw cursor.issue('repetition operator missing expression', at)
        last = this.#repetition(last, current)
        items[items.length - 1] = last
        continue
      }
      if (char === '(') {
        const group = this.#group(current, depth)
        if ('flags' in group) {
          current = group.flags
          last = undefined
          continue
        }
        last = group.hir
      } else {
        last = this.#atom(current)
      }
      items.push(last)
    }
    branches.push(concat(items.map(kept)))
    return { hir: alt(branches) }
  }

  #repetition(item: Hir, flags: Flags): Hir {
    const cursor = this.#cursor
    const start = cursor.at
    const char = cursor.next('')
    const [min, max] =
      char === '*' ? [0, Infinity] : char === '+' ? [1, Infinity] : char === '?' ? [0, 1] : this.#counts()
    if (char === '{') cursor.skipIgnored(flags)
    const lazy = cursor.take('?')
    const repeat: Hir = { kind: 'repeat', item, min, max, greedy: lazy === flags.U }
    const steps = stepCount(repeat)
    if (steps > MAX_STEPS) throw cursor.issue(tooManySteps(steps), start)
    return repeat
  }

  /** Reads the counts of `{n}`, `{n,}` or `{n,m}`, after the `{`. */
  #counts(): [min: number, max: number] {
    const cursor = this.#cursor
    const start = cursor.at - 1
    const unclosed = 'unclosed counted repetition'
    const min = this.#count(unclosed, start)
    let max = min
    if (cursor.take(',')) max = cursor.peek() === '}' ? Infinity : this.#count(unclosed, start)
    if (cursor.done || !cursor.take('}')) throw cursor.issue(unclosed, start)
    if (max < min) throw cursor.issue('invalid repetition count range, the start must be <= the end', start)
    return [min, max]
  }

  #count(unclosed: string, start: number): number {
    const cursor = this.#cursor
    const space = () => {
      while (/^\s$/u.test(cursor.peek() ?? '')) cursor.at++
    }
    space()
    let digits = ''
    while (/^[0-9]$/.test(cursor.peek() ?? '')) digits += cursor.next('')
    space()
    if (cursor.done) throw cursor.issue(unclosed, start)
    if (digits === '') throw cursor.issue('repetition quantifier expects a valid decimal')
    if (Number(digits) > MAX_COUNT) throw cursor.issue('decimal literal invalid')
    return Number(digits)
  }

  #group(flags: Flags, depth: number): { hir: Hir } | { flags: Flags } {
    const cursor = this.#cursor
    const open = cursor.at++
    if (depth >= MAX_NESTING) throw cursor.issue('exceeded the maximum number of nested parentheses', open)
    cursor.skipIgnored(flags)
    for (const around of ['?=', '?!', '?<=', '?<!']) {
      if (cursor.take(around))
        throw cursor.issue('look-around, including look-ahead and look-behind, is not supported', open)
    }
    let index: number | undefined
    let inner = flags
    if (cursor.take('?P<') || cursor.take('?<')) {
      index = this.#named(open)
    } else if (cursor.take('?')) {
      if (cursor.done) throw cursor.issue('unclosed group', open)
      const { flags: set, ends } = this.#flags(flags, open)
      if (ends) return { flags: set }
      inner = set
    } else {
      index = this.groups.push(undefined)
    }
    const { hir } = this.#alternatives(inner, depth + 1, open)
    cursor.at++
    // A wrapper keeps a non-capturing group together, so that a repeat applies to the whole group.
    return { hir: index === undefined ? { kind: 'concat', items: [hir] } : { kind: 'group', item: hir, index } }
  }

  #named(open: number): number {
    const cursor = this.#cursor
    let name = ''
    while (cursor.peek() !== '>') {
      const char = cursor.next('unclosed capture group name')
      const valid = name === '' ? /^[\p{Alphabetic}_]$/u : /^[\p{Alphabetic}\p{N}_.[\]]$/u
      if (!valid.test(char)) throw cursor.issue('invalid capture group character', cursor.at - 1)
      name += char
    }
    cursor.at++
    if (name === '') throw cursor.issue('empty capture group name', open)
    if (this.groups.includes(name)) throw cursor.issue('duplicate capture group name', open)
    return this.groups.push(name)
  }

  /** Reads `i-s:` or `i-s)`. Returns the flags after it, and whether it ends the group. */
  #flags(flags: Flags, open: number): { flags: Flags; ends: boolean } {
    const cursor = this.#cursor
    const set: Record<string, boolean> = {}
    let on = true
    let dangling = false
    for (;;) {
      const char = cursor.next('expected flag but got end of regex')
      if (char === ':' || char === ')') {
        if (dangling) throw cursor.issue('dangling flag negation operator', cursor.at - 1)
        if (char === ')' && Object.keys(set).length === 0) {
          throw cursor.issue('repetition operator missing expression', open)
        }
        return { flags: { ...flags, ...set }, ends: char === ')' }
      }
      if (char === '-') {
        if (!on) throw cursor.issue('flag negation operator repeated', cursor.at - 1)
        on = false
        dangling = true
        continue
      }
      if (!Object.hasOwn(NO_FLAGS, char)) throw cursor.issue('unrecognized flag', cursor.at - 1)
      if (Object.hasOwn(set, char)) throw cursor.issue('duplicate flag', cursor.at - 1)
      set[char] = on
      dangling = false
    }
  }

  #atom(flags: Flags): Hir {
    const cursor = this.#cursor
    const char = cursor.next('')
    if (char === '[') return set(readClass(cursor, flags), flags)
    if (char === '.') return this.#dot(flags)
    if (char === '^') return look(flags.m ? (flags.R ? 'crlfStart' : 'lineStart') : 'start', flags)
    if (char === '$') return look(flags.m ? (flags.R ? 'crlfEnd' : 'lineEnd') : 'end', flags)
    if (char !== '\\') return literal(char.codePointAt(0) as number, false, flags)
    const escape = readEscape(cursor, flags)
    if (escape.kind === 'look') return look(escape.look, flags)
    if (escape.kind === 'set') return set(escape.set, flags)
    return literal(escape.point, escape.byte, flags)
  }

  #dot(flags: Flags): Hir {
    const max = flags.u ? 0x10ffff : 0xff
    const excluded = flags.s ? [] : flags.R ? [10, 10, 13, 13] : [10, 10]
    return set(negate(excluded, max), flags)
  }
}

/** Removes the wrapper of a non-capturing group. The branch is complete. */
const kept = (item: Hir): Hir => (item.kind === 'concat' && item.items.length === 1 ? (item.items[0] ?? EMPTY) : item)

const look = (which: Look, flags: Flags): Hir => ({ kind: 'look', look: which, unicode: flags.u })

const set = (members: readonly number[], flags: Flags): Hir =>
  flags.u ? utf8(members) : { kind: 'class', set: members }

function literal(point: number, byte: boolean, flags: Flags): Hir {
  if (!flags.u && (byte || point < 128)) {
    return flags.i ? caselessByte(point) : oneByte(point)
  }
  // Without Unicode, a character beyond ASCII is its UTF-8 bytes and has no other case.
  if (flags.u && flags.i) return utf8(fold([point, point], flags))
  return concat(encode(point).map(oneByte))
}
