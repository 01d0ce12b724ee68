/**
 * What a text may have in it that needs work, as bits. The tokenizer finds them in its one pass over a text, so that
 * the rest of the way text of letters and single spaces is handed on without another look.
 */
export const NOTHING = 0
/** White space at the start or the end. */
export const OUTER_SPACE = 1
/** White space inside other than single spaces. */
export const INNER_SPACE = 2
/** Characters that Markdown may take for its own: those of `SPECIAL` in escape.ts. */
export const SPECIALS = 4
/** An `&`, from which a character reference may start. */
export const AMPERSAND = 8
export const NUL = 16
/** Nothing but white space. */
export const BLANK = 32
/** Everything but `BLANK`: what is not known of a text. */
export const ANYTHING = OUTER_SPACE | INNER_SPACE | SPECIALS | AMPERSAND | NUL

const SINGLE_SPACE = 64
/** What may end a text: `<`, and the 0 behind what is there. */
const STOP = 128

const TRAITS = new Uint8Array(0x10000)
for (const char of '\\`*_~<[]') TRAITS[char.charCodeAt(0)] = SPECIALS
for (const char of '\t\n\f\r') TRAITS[char.charCodeAt(0)] = INNER_SPACE
TRAITS[0x26] = SPECIALS | AMPERSAND
TRAITS[0x20] = SINGLE_SPACE
TRAITS[0] = NUL | STOP
TRAITS[0x3c] = SPECIALS | STOP

const traitsOfChar = (char: number): number => TRAITS[char] as number

const WHITE = INNER_SPACE | SINGLE_SPACE

/** The traits of a text that was put together or decoded: that it is blank, or that it may have any of them. */
export const traitsOf = (text: string): number => (/[^\t\n\f\r ]/.test(text) ? ANYTHING : BLANK | OUTER_SPACE)

/** The traits of the text whose code units stand between two positions. */
export function traitsOfUnits(units: Uint16Array, start: number, end: number): number {
  let from = start
  let to = end
  while (from < to && (traitsOfChar(units[from] as number) & WHITE) !== 0) from++
  if (from === to) return BLANK | OUTER_SPACE
  while ((traitsOfChar(units[to - 1] as number) & WHITE) !== 0) to--

  let seen = 0
  let twice = 0
  let before = 0
  for (let at = from; at < to; at++) {
    const traits = traitsOfChar(units[at] as number)
    seen |= traits
    twice |= traits & before
    before = traits
  }
  const outer = to - from === end - start ? NOTHING : OUTER_SPACE
  const inner = (twice & SINGLE_SPACE) === 0 ? NOTHING : INNER_SPACE
  return (seen & ~(SINGLE_SPACE | STOP)) | outer | inner
}

/** Reads text up to the next `<` and notes its traits on the way. */
export class TextScan {
  traits = NOTHING
  /** Where that `<` is. */
  end = -1

  /** Where the next `<` stands at or after `start`; -1 if there is none before `length`, where the units have a 0. */
  read(units: Uint16Array, start: number, length: number): number {
    let at = start
    let traits = TRAITS[units[at] as number] as number
    while ((traits & WHITE) !== 0) traits = TRAITS[units[++at] as number] as number
    const first = at
    let seen = 0
    let twice = 0
    let before = 0
    for (;;) {
      while ((traits & STOP) === 0) {
        seen |= traits
        twice |= traits & before
        before = traits
        traits = TRAITS[units[++at] as number] as number
      }
      if (units[at] === 0x3c) break
      if (at >= length) {
        this.end = -1
        return -1
      }
      seen |= NUL
      before = traits
      traits = TRAITS[units[++at] as number] as number
    }
    this.end = at
    if (at === first) this.traits = BLANK | OUTER_SPACE
    else if ((before & WHITE) === 0) {
      const outer = first === start ? NOTHING : OUTER_SPACE
      const inner = (twice & SINGLE_SPACE) === 0 ? NOTHING : INNER_SPACE
      this.traits = (seen & ~SINGLE_SPACE) | outer | inner
    } else if (((seen & INNER_SPACE) | (twice & SINGLE_SPACE)) === 0) this.traits = (seen & ~SINGLE_SPACE) | OUTER_SPACE
    else this.traits = traitsOfUnits(units, first, at)
    return at
  }
}
