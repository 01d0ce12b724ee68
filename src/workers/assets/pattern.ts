/** The text that each wildcard of a pattern matched, by name. The wildcard `*` has the name `splat`. */
export type Captured = ReadonlyMap<string, string>

/** A path or a host with wildcards. `*` matches any text and `:name` matches text within one part. */
export interface Pattern {
  /** False for plain text. */
  readonly dynamic: boolean
  /**
   * Returns the text that each wildcard matches, or undefined if `text` does not match. Earlier wildcards match as much
   * as possible.
   */
  match(text: string): Captured | undefined
}

const WILDCARD = /\*|:[A-Za-z]\w*/g
const STAR = '*'
/** Of a plain text. */
export const NOTHING: Captured = new Map()
/** Searching takes time proportional to the product of the lengths of the two texts. */
const MAX_BETWEEN = 200

/** Returns whether a text has wildcards. */
export const hasWildcards = (text: string): boolean => text.search(WILDCARD) >= 0

/**
 * Compiles a pattern whose parts end at one of `ends`, which is a slash in a path and a dot in a host. Throws a
 * TypeError with a sentence if a wildcard occurs twice, or the text between two wildcards is more than 200 characters
 * long.
 */
export function pattern(text: string, ends: '/' | '.' = '/'): Pattern {
  const wildcards = [...text.matchAll(WILDCARD)].map(([wildcard]) => wildcard)
  const twice = wildcards.find((wildcard, index) => wildcards.indexOf(wildcard) < index)
  if (twice !== undefined) throw new TypeError(`${twice} occurs more than once`)
  if (wildcards.length === 0)
    return { dynamic: false, match: (candidate) => (candidate === text ? NOTHING : undefined) }

  const literals = text.split(WILDCARD)
  if (literals.slice(1, -1).some(({ length }) => length > MAX_BETWEEN))
    throw new TypeError(`there are more than ${MAX_BETWEEN} characters between two wildcards`)
  const star = wildcards.indexOf(STAR)
  const before = star < 0 ? 0 : count(literals.slice(0, star + 1), ends)
  const names = wildcards.map((wildcard) => (wildcard === STAR ? 'splat' : wildcard.slice(1)))
  return {
    dynamic: true,
    match(candidate) {
      // The matched text before `*` has as many parts as the pattern before `*`.
      const limit = star < 0 ? candidate.length : placeOf(candidate, ends, before)
      const starts = placed(candidate, literals, (index) => (index === star ? { least: 0, limit } : NAMED))
      if (!starts) return undefined
      const stood = names.map((_, i) => candidate.slice(starts[i]! + literals[i]!.length, starts[i + 1]))
      if (stood.some((one, i) => i !== star && one.includes(ends))) return undefined
      return new Map(names.map((name, i) => [name, stood[i]!]))
    },
  }
}

/** Creates a test for texts with `*` as the wildcard for any text. */
export function glob(text: string): (candidate: string) => boolean {
  const literals = text.split(STAR)
  if (literals.length === 1) return (candidate) => candidate === text
  return (candidate) => placed(candidate, literals, () => ANYTHING) !== undefined
}

interface Gap {
  /** Minimum number of characters that a wildcard matches. */
  readonly least: number
  /** Maximum position of its start. */
  readonly limit: number
}
const ANYTHING: Gap = { least: 0, limit: Infinity }
const NAMED: Gap = { least: 1, limit: Infinity }

/**
 * Returns the positions of texts in `whole`, which begins with the first text and ends with the last text. Each
 * position is as late as possible, so that the text between earlier ones is long. `gap` returns the limits of the text
 * that follows the text at an index.
 */
function placed(whole: string, texts: readonly string[], gap: (index: number) => Gap): number[] | undefined {
  const [first = '', last = ''] = [texts[0], texts.at(-1)]
  if (!whole.startsWith(first) || !whole.endsWith(last)) return undefined
  const starts: number[] = []
  let at = (starts[texts.length - 1] = whole.length - last.length)
  for (let index = texts.length - 2; index >= 0; index--) {
    const { least, limit } = gap(index)
    const text = texts[index]!
    const latest = Math.min(at - least, limit) - text.length
    if (latest < 0) return undefined
    at = index === 0 ? 0 : whole.lastIndexOf(text, latest)
    if (at < 0) return undefined
    starts[index] = at
  }
  return starts
}

/** Returns the end of a part, given the number of parts before it. The end of the last part is the end of the text. */
function placeOf(text: string, ends: string, others: number): number {
  let at = text.indexOf(ends)
  for (let passed = 0; passed < others && at >= 0; passed++) at = text.indexOf(ends, at + 1)
  return at < 0 ? text.length : at
}

const count = (texts: readonly string[], wanted: string): number =>
  texts.reduce((sum, text) => sum + text.split(wanted).length - 1, 0)

/** Replaces `:splat` and `:name` in a text by the matched text. Names without a match stay. */
export function filled(template: string, captured: Captured): string {
  if (captured.size === 0) return template
  return template.replaceAll(/:([A-Za-z]\w*)/g, (whole, name: string) => captured.get(name) ?? whole)
}
