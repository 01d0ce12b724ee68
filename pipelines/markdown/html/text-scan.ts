import { part } from '../text/characters.js'
import { FOREIGN, TEXT_END, TEXT_FROM, TEXT_START, TEXT_TO, TEXT_TRAITS } from '../scanner/layout.js'
import { ANYTHING, BLANK, INNER_SPACE, NOTHING, OUTER_SPACE } from '../text/text-traits.js'
import { codePointAt } from './utf8-text.js'

const SPACE = 0x20
/** A trait of characters only. */
const SINGLE_SPACE = 64

const TRAITS = new Uint8Array(0x100)
for (const char of '\t\n\f\r') TRAITS[char.charCodeAt(0)] = INNER_SPACE
TRAITS[SPACE] = SINGLE_SPACE
TRAITS.fill(FOREIGN, 0x80, 0x100)

const WHITE = INNER_SPACE | SINGLE_SPACE

const isWhite = (char: number): boolean => ((TRAITS[char] as number) & WHITE) !== 0

/** Result of one pass over the code units of a text. */
export class TextScan {
  /** Where the text begins and ends. */
  start = 0
  end = 0
  /** Start and end of the text without the white space around it. */
  from = 0
  to = 0
  /** Its traits. White space around it may count as white space inside. */
  traits = NOTHING

  /** Loads a scanned text. */
  take(table: Int32Array, token: number): void {
    this.start = table[token + TEXT_START] as number
    this.end = table[token + TEXT_END] as number
    this.from = table[token + TEXT_FROM] as number
    this.to = table[token + TEXT_TO] as number
    this.traits = table[token + TEXT_TRAITS] as number
  }

  /** Trait of the whole text that white space was around the remaining text. */
  get outerSpace(): number {
    return this.to - this.from === this.end - this.start ? NOTHING : OUTER_SPACE
  }

  /**
   * Returns the remaining text in `html`, whose code units these are, with one space for each run of white space.
   * `foreign` is FOREIGN if the text is UTF-8 that has to be decoded. Undefined if some bytes are malformed.
   */
  collapsed(html: string, units: Uint8Array, foreign: number): string | undefined {
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
}

/**
 * Returns the first position from `from` on whose character has one of the traits `notable` or is the second of two
 * spaces, or `to`.
 */
function nextNotable(units: Uint8Array, from: number, to: number, notable: number): number {
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

/** Returns the traits of a concatenated or decoded text. It is blank, or may have any trait. */
export const traitsOf = (text: string): number => (/[^\t\n\f\r ]/.test(text) ? ANYTHING : BLANK | OUTER_SPACE)
