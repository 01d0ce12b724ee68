/** What the wildcards of a pattern stood for, by name; that of `*` is `splat`. */
export type Captured = ReadonlyMap<string, string>

/** A path, or a host, with wildcards: `*` for any text, `:name` for what is in one part of it. */
export interface Pattern {
  /** False: it is a plain text. */
  readonly dynamic: boolean
  /** Returns what the wildcards match in a text; undefined if the text does not match. Earlier wildcards match as much as possible. */
  match(text: string): Captured | undefined
}

const WILDCARD = /\*|:[A-Za-z]\w*/g
const STAR = '*'
/** Of a plain text. */
export const NOTHING: Captured = new Map()
/** To look for a text takes as long as it and the text that it is looked for in, multiplied. */
const MAX_BETWEEN = 200

/** Whether a text has wildcards. */
export const hasWildcards = (text: string): boolean => text.search(WILDCARD) >= 0

/**
 * Compiles a pattern whose parts end at one of `ends`: a slash in a path, a dot in a host. Throws a TypeError with a sentence
 * if a wildcard occurs twice, or the text between two of them is longer than 200 characters.
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
      // What is in front of `*` has as many parts as its own text.
      const limit = star < 0 ? candidate.length : placeOf(candidate, ends, before)
      const starts = placed(candidate, literals, (index) => (index === star ? { least: 0, limit } : NAMED))
      if (!starts) return undefined
      const stood = names.map((_, i) => candidate.slice(starts[i]! + literals[i]!.length, starts[i + 1]))
      if (stood.some((one, i) => i !== star && one.includes(ends))) return undefined
      return new Map(names.map((name, i) => [name, stood[i]!]))
    },
  }
}

/** Whether a text with `*` for anything is what a text is. */
export function glob(text: string): (candidate: string) => boolean {
  const literals = text.split(STAR)
  if (literals.length === 1) return (candidate) => candidate === text
  return (candidate) => placed(candidate, literals, () => ANYTHING) !== undefined
}

interface Gap {
  /** Minimum number of characters that a wildcard matches. */
  readonly least: number
  /** Where it begins at the latest. */
  readonly limit: number
}
const ANYTHING: Gap = { least: 0, limit: Infinity }
const NAMED: Gap = { least: 1, limit: Infinity }

/**
 * Returns the positions of texts in `whole`, which begins with the first and ends with the last of them. Each is as
 * late as possible, so that the text between earlier ones is long. `gap` returns the limits of the text that follows
 * the one with an index.
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

/** Position of the end of a part, by the number of parts before it; the end of the text for the last one. */
function placeOf(text: string, ends: string, others: number): number {
  let at = text.indexOf(ends)
  for (let passed = 0; passed < others && at >= 0; passed++) at = text.indexOf(ends, at + 1)
  return at < 0 ? text.length : at
}

const count = (texts: readonly string[], wanted: string): number =>
  texts.reduce((sum, text) => sum + text.split(wanted).length - 1, 0)

/** Returns a text with `:splat` and `:name` replaced by what they matched. Names without a match stay. */
export function filled(template: string, captured: Captured): string {
  if (captured.size === 0) return template
  return template.replaceAll(/:([A-Za-z]\w*)/g, (whole, name: string) => captured.get(name) ?? whole)
}
