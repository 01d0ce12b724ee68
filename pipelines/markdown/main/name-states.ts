// Finds names in the words of a text in one pass, with one array lookup per character for all names together.

// Classes of characters. Letters are 1 to 26.
const HYPHEN = 27
const UNDERSCORE = 28
const SPACE = 29
/** It has to be decoded. */
const UNDECODED = 30
/** Kinds of characters, and numbers in the row of a state. */
const KINDS = 32

/** Class of each character of a decoded text. Words end at classes from `HYPHEN` on. */
export const DECODED = new Uint8Array(0x10000)
for (let letter = 1; letter <= 26; letter++) DECODED[0x40 + letter] = DECODED[0x60 + letter] = letter
DECODED[0x2d] = HYPHEN
DECODED[0x5f] = UNDERSCORE
// The characters of `\s`. A loop over all characters would delay the start of each process.
for (const char of '\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff') DECODED[char.charCodeAt(0)] = SPACE
DECODED.fill(SPACE, 0x2000, 0x200b)

/** Class of each character of page text, which may have references, bytes of UTF-8 and line ends of two characters. */
export const IN_PAGE = DECODED.slice().fill(UNDECODED, 0x80)
IN_PAGE[0x26] = IN_PAGE[0x0d] = UNDECODED

/**
 * A step has the row of the next state, shifted, and bits. The bits are the parts of names that end, and the flags
 * below.
 */
const STATE_SHIFT = 8
const PARTS = 31
const IS_UNDECODED = 32
/** Set in each known step. Few of all steps are ever used, so each is calculated at its first use. */
const IS_KNOWN = 64

/** Bits of a sign. A number of so few bits takes no memory of its own. */
export const SIGN_BITS = 0x3fffffff
const SIGN_FACTOR = 127

/** A character of a name, after the characters before it. */
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

/**
 * States for the names that may continue at a position of a text. Each state is a set of positions in names. The names
 * limit the number of states.
 */
export class NameStates {
  #places = 0
  readonly #start: Place
  readonly #innerStart: Place
  readonly #sets: Place[][] = []
  readonly #numbers = new Map<string, number>()
  #steps = new Int32Array(256 * KINDS)
  /** A number of the text that `readSigned` has read last, without digits, because they count elements that are alike. */
  sign = 0

  /** `names` match whole words, `inner` match inside a word as well. */
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

  /** Returns the parts that the text between two positions names, as bits, or -1 if the text has to be decoded. */
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
    // The end of the text is the end of a word.
    found |= (steps[row + SPACE] as number) || this.#find(row, SPACE)
    return (found & IS_UNDECODED) === 0 ? found & PARTS : -1
  }

  /** Does the same as `read`, and sets `sign`, in one pass. */
  readSigned(units: Uint8Array, start: number, end: number, kinds: Uint8Array): number {
    let steps = this.#steps
    let found = 0
    let row = 0
    let sign = 0
    for (let at = start | 0; at < end; at++) {
      const kind = kinds[units[at] as number] as number
      let step = steps[row + kind] as number
      if (step === 0) {
        step = this.#find(row, kind)
        steps = this.#steps
      }
      found |= step
      row = step >> STATE_SHIFT
      if (kind !== 0) sign = (Math.imul(sign, SIGN_FACTOR) + kind) & SIGN_BITS
    }
    this.sign = sign
    found |= (steps[row + SPACE] as number) || this.#find(row, SPACE)
    return (found & IS_UNDECODED) === 0 ? found & PARTS : -1
  }
}
