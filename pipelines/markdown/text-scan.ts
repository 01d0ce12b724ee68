import { part } from './characters.js'
import {
  AMPERSAND,
  BLANK,
  INNER_SPACE,
  NOTHING,
  NUL,
  OUTER_SPACE,
  SPACE_AFTER,
  SPACE_BEFORE,
  SPECIALS,
} from './text-traits.js'
import { codePointAt } from './utf8-text.js'

const SPACE = 0x20
const LESS = 0x3c

/** Bits of the table below that are no traits of a text. */
const SINGLE_SPACE = 64
/** What may end a text: `<`, and the 0 behind what is there. */
const STOP = 128
/** The bits that are. */
const OF_TEXT = 31
/** A carriage return. */
const RETURN = 32

/** A trait of a scan only: characters from U+0080 to U+00FF. Where UTF-8 is read, the text is not ASCII. */
export const FOREIGN = 1

const TRAITS = new Uint8Array(0x10000)
for (const char of '\\`*_~[]') TRAITS[char.charCodeAt(0)] = SPECIALS
for (const char of '\t\n\f\r') TRAITS[char.charCodeAt(0)] = INNER_SPACE
TRAITS[0x0d] = INNER_SPACE | RETURN
TRAITS[0x26] = SPECIALS | AMPERSAND
TRAITS[SPACE] = SINGLE_SPACE
TRAITS[LESS] = SPECIALS | STOP
TRAITS[0] = NUL | STOP
TRAITS.fill(FOREIGN, 0x80, 0x100)

const WHITE = INNER_SPACE | SINGLE_SPACE

const isWhite = (char: number): boolean => ((TRAITS[char] as number) & WHITE) !== 0

/** What one look at the code units of a text has found. */
export class TextScan {
  /** Where the text begins and ends. */
  start = 0
  end = 0
  /** The same for what is left without the white space around it. */
  from = 0
  to = 0
  /** Its traits. White space around it may count as white space inside. */
  traits = NOTHING
  /** Whether it may contain carriage returns, also in the white space around it. */
  hasReturns = false

  /** Reads text from `start` to the next `<` or to `length`, where the units have a 0. Returns that place. */
  readOn(units: Uint16Array, start: number, length: number): number {
    const table = TRAITS
    let at = start | 0
    let traits = table[units[at] as number] as number
    let outer = 0
    while ((traits & WHITE) !== 0) {
      outer |= traits
      traits = table[units[++at] as number] as number
    }
    this.start = start
    this.from = at

    let seen = 0
    let twice = 0
    let before = 0
    // Four per iteration: the overhead of an iteration is a quarter of its time.
    while ((traits & STOP) === 0 || (units[at] !== LESS && at < length)) {
      seen |= traits
      twice |= traits & before
      before = traits
      traits = table[units[++at] as number] as number
      if ((traits & STOP) !== 0) continue
      seen |= traits
      twice |= traits & before
      before = traits
      traits = table[units[++at] as number] as number
      if ((traits & STOP) !== 0) continue
      seen |= traits
      twice |= traits & before
      before = traits
      traits = table[units[++at] as number] as number
      if ((traits & STOP) !== 0) continue
      seen |= traits
      twice |= traits & before
      before = traits
      traits = table[units[++at] as number] as number
    }
    this.hasReturns = ((outer | seen) & RETURN) !== 0
    this.end = this.to = at
    // INNER_SPACE may be the white space at the end only: `collapsed` takes another look.
    if ((before & WHITE) !== 0) this.#leaveSpace(units)
    this.#set(seen, twice)
    return at
  }

  /** Reads the text between two positions. */
  read(units: Uint16Array, start: number, end: number): void {
    this.start = start
    this.hasReturns = true
    this.end = this.to = end
    let from = start
    while (from < end && isWhite(units[from] as number)) from++
    this.from = from
    this.#leaveSpace(units)
    this.#look(units)
  }

  /** That white space stood around what is left, as traits of the whole text. */
  get outerSpace(): number {
    return this.to - this.from === this.end - this.start ? NOTHING : OUTER_SPACE
  }

  /** The same, as traits of what is left. */
  get spaces(): number {
    return (this.from > this.start ? SPACE_BEFORE : NOTHING) | (this.to < this.end ? SPACE_AFTER : NOTHING)
  }

  /**
   * Returns what is left of the text in `html`, whose code units these are, with one space for each run of white space.
   * `foreign` is FOREIGN if the text is UTF-8 that has to be decoded; undefined: some of it is malformed.
   */
  collapsed(html: string, units: Uint16Array, foreign: number): string | undefined {
    const { from, to } = this
    if ((this.traits & (INNER_SPACE | foreign)) === 0) return part(html, from, to)
    const notable = INNER_SPACE | foreign
    let text = ''
    let start = from | 0
    for (let at = nextNotable(units, start, to, notable); at < to; at = nextNotable(units, at + 1, to, notable)) {
      const traits = TRAITS[units[at] as number] as number
      if ((traits & WHITE) === 0) {
        const char = codePointAt(units, at)
        if (char < 0) return undefined
        text += part(html, start, at) + String.fromCodePoint(char)
        at += char < 0x800 ? 1 : char < 0x10000 ? 2 : 3
        start = at + 1
        continue
      }
      text += part(html, start, units[at - 1] === SPACE ? at - 1 : at) + ' '
      while (isWhite(units[at + 1] as number)) at++
      start = at + 1
    }
    return text + part(html, start, to)
  }

  #leaveSpace(units: Uint16Array): void {
    let { to } = this
    while (to > this.from && isWhite(units[to - 1] as number)) to--
    this.to = to
  }

  #look(units: Uint16Array): void {
    const table = TRAITS
    const { to } = this
    let seen = 0
    let twice = 0
    let before = 0
    for (let at = this.from | 0; at < to; at++) {
      const traits = table[units[at] as number] as number
      seen |= traits
      twice |= traits & before
      before = traits
    }
    this.#set(seen, twice)
  }

  #set(seen: number, twice: number): void {
    if (this.from === this.to) this.traits = BLANK
    else this.traits = (seen & OF_TEXT) | ((twice & SINGLE_SPACE) === 0 ? NOTHING : INNER_SPACE)
  }
}

/**
 * Returns the first position from `from` on whose character has one of the traits `notable` or is the second of two
 * spaces, or `to`.
 */
function nextNotable(units: Uint16Array, from: number, to: number, notable: number): number {
  const table = TRAITS
  let at = from | 0
  let before = 0
  for (const last = to - 3; at < last; at += 4) {
    const first = table[units[at] as number] as number
    const second = table[units[at + 1] as number] as number
    const third = table[units[at + 2] as number] as number
    const fourth = table[units[at + 3] as number] as number
    if (((first | second | third | fourth) & notable) !== 0) break
    if ((((before & first) | (first & second) | (second & third) | (third & fourth)) & SINGLE_SPACE) !== 0) break
    before = fourth
  }
  for (; at < to; at++) {
    const traits = table[units[at] as number] as number
    if ((traits & (notable | (before & SINGLE_SPACE))) !== 0) break
    before = traits
  }
  return at
}
