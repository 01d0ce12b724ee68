/** Bit that makes an ASCII letter lower case. Of the other signs of tokens it changes `^` and `_`, into signs of no name. */
const LOWER = 32
/** First letters that a table tells apart. */
const LETTERS = 32

/**
 * Finds some names of fields in the text of a head, in either case, without a copy of the text. The names that it looks at must
 * be tokens (RFC 9110, 5.6.2).
 */
export class NameFinder {
  /** By length and first letter. */
  readonly #names: (readonly string[] | undefined)[] = []
  readonly #longest: number

  /** `names` are in lower case. */
  constructor(names: readonly string[]) {
    this.#longest = Math.max(...names.map(({ length }) => length))
    const places = Array.from({ length: (this.#longest + 1) * LETTERS }, (): string[] => [])
    for (const name of names) places[placeOf(name.length, name.charCodeAt(0))]!.push(name)
    this.#names = places.map((found) => (found.length > 0 ? found : undefined))
  }

  /** Returns the name at these positions in lower case, or an empty text for any other name. */
  find(text: string, begin: number, end: number): string {
    const length = end - begin
    if (length > this.#longest) return ''
    const names = this.#names[placeOf(length, text.charCodeAt(begin))]
    if (names) for (const name of names) if (isAt(text, begin, name)) return name
    return ''
  }
}

const placeOf = (length: number, letter: number): number => length * LETTERS + (letter % LETTERS)

function isAt(text: string, begin: number, name: string): boolean {
  for (let i = 0; i < name.length; i++) if ((text.charCodeAt(begin + i) | LOWER) !== name.charCodeAt(i)) return false
  return true
}
