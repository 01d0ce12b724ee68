// Finds names in the words of a text in one pass: one look into an array for each character, for all names together.

// What a character is. Letters are 1 to 26.
const HYPHEN = 27
const UNDERSCORE = 28
const SPACE = 29
/** It has to be decoded. */
const UNDECODED = 30
/** Kinds of characters, and numbers in the row of a state. */
const KINDS = 32

/** What each character of a decoded text is. Words end at those from `HYPHEN` on. */
export const DECODED = new Uint8Array(0x10000)
for (let letter = 1; letter <= 26; letter++) DECODED[0x40 + letter] = DECODED[0x60 + letter] = letter
DECODED[0x2d] = HYPHEN
DECODED[0x5f] = UNDERSCORE
// Those of `\s`: a loop over all characters delays the start of each process.
for (const char of '\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff') DECODED[char.charCodeAt(0)] = SPACE
DECODED.fill(SPACE, 0x2000, 0x200b)

/** The same for the text of a page: it may have references, bytes of UTF-8 and line ends of two characters. */
export const IN_PAGE = DECODED.slice().fill(UNDECODED, 0x80)
IN_PAGE[0x26] = IN_PAGE[0x0d] = UNDECODED

/** A step: the row of the next state, shifted, and bits: the parts of names that end, and these. */
const STATE_SHIFT = 8
const PARTS = 7
const IS_UNDECODED = 8
/** Set in each step that is known: few of all steps are ever taken, so each is found when it is taken first. */
const IS_KNOWN = 16

/** A character of a name, after those before it. */
class Place {
  readonly next: (Place | undefined)[] = []
  /** The parts whose names end here. */
  ends = 0
  /** It counts as soon as it is reached, not only at the end of a word. */
  isInner = false
  readonly number: number

  constructor(number: number) {
    this.number = number
  }
}

/** Names, by the parts that they mean. A `*` in a name is after a character that may be repeated. */
export type Names = readonly (readonly [part: number, names: readonly string[]])[]

/** The names that may go on at a place of a text, as states: each is a set of places. Their number is limited by the names. */
export class NameStates {
  #places = 0
  readonly #start: Place
  readonly #innerStart: Place
  readonly #sets: Place[][] = []
  readonly #numbers = new Map<string, number>()
  #steps = new Int32Array(256 * KINDS)

  /** `names` are those of whole words, `inner` those that are found inside a word as well. */
  constructor(names: Names, inner: Names) {
    this.#start = this.#tree(names, false)
    this.#innerStart = this.#tree(inner, true)
    this.#rowOf(new Set([this.#start, this.#innerStart]))
  }

  #newPlace(): Place {
    return new Place(this.#places++)
  }

  #tree(names: Names, isInner: boolean): Place {
    const start = this.#newPlace()
    for (const [part, all] of names)
      for (const name of all) {
        let place = start
        let kind = 0
        for (const char of name) {
          if (char === '*') {
            place.next[kind] = place
            continue
          }
          kind = DECODED[char.charCodeAt(0)] as number
          place = place.next[kind] ??= this.#newPlace()
        }
        place.ends |= part
        place.isInner = isInner
      }
    return start
  }

  /** Returns the row of a state. */
  #rowOf(places: ReadonlySet<Place>): number {
    const sorted = [...places].sort((a, b) => a.number - b.number)
    const key = sorted.map(({ number }) => number).join()
    let number = this.#numbers.get(key)
    if (number === undefined) {
      number = this.#sets.push(sorted) - 1
      this.#numbers.set(key, number)
      if (this.#sets.length * KINDS > this.#steps.length) {
        const larger = new Int32Array(2 * this.#steps.length)
        larger.set(this.#steps)
        this.#steps = larger
      }
    }
    return number * KINDS
  }

  /** Finds the step from a state by a character, and keeps it. */
  #find(row: number, kind: number): number {
    let bits = IS_KNOWN | (kind === UNDECODED ? IS_UNDECODED : 0)
    const next = new Set([this.#innerStart])
    for (const place of this.#sets[row / KINDS] as Place[]) {
      if (kind >= HYPHEN && !place.isInner) bits |= place.ends
      const after = place.next[kind]
      if (after === undefined) continue
      if (after.isInner) bits |= after.ends
      next.add(after)
    }
    if (kind >= HYPHEN) next.add(this.#start)
    const step = (this.#rowOf(next) << STATE_SHIFT) | bits
    this.#steps[row + kind] = step
    return step
  }

  /** Returns the parts that the text between two positions names: bits, or -1 if it has to be decoded. */
  read(units: Uint8Array | Uint16Array, start: number, end: number, kinds: Uint8Array): number {
    let steps = this.#steps
    let found = 0
    let row = 0
    for (let at = start | 0; at < end; at++) {
      const kind = kinds[units[at] as number] as number
      let step = steps[row + kind] as number
      if (step === 0) {
        step = this.#find(row, kind)
        steps = this.#steps
      }
      found |= step
      row = step >> STATE_SHIFT
    }
    // The end of the text is that of a word.
    found |= (steps[row + SPACE] as number) || this.#find(row, SPACE)
    return (found & IS_UNDECODED) === 0 ? found & PARTS : -1
  }
}
