import { parseRegex } from '../../expr/regex/index.js'

/** What the wildcards of a pattern stood for, by name; that of `*` is `splat`. */
export type Captured = ReadonlyMap<string, string>

/** A path (or host and path) with wildcards: `*` for any text, `:name` for what is in one segment of a path. */
export interface Pattern {
  /** False: it is a plain text. */
  readonly dynamic: boolean
  /** What its wildcards stand for in a text that fits as a whole; undefined where it does not. Linear in the text. */
  match(text: string): Captured | undefined
}

// In a host, a name ends at a dot too.
const WILDCARD = /\*|:[A-Za-z]\w*/g
const NOTHING: Captured = new Map()

/** Whether a text has wildcards. */
export const hasWildcards = (text: string): boolean => text.search(WILDCARD) >= 0

/** Compiles a pattern; throws a TypeError with a sentence where a wildcard stands in it twice. */
export function pattern(text: string): Pattern {
  const names: string[] = []
  let source = ''
  let from = 0
  for (const { 0: wildcard, index } of text.matchAll(WILDCARD)) {
    const name = wildcard === '*' ? 'splat' : wildcard.slice(1)
    if (names.includes(name)) throw new TypeError(`${wildcard} stands in it more than once`)
    names.push(name)
    source += escaped(text.slice(from, index))
    source += wildcard === '*' ? '(.*)' : inHost(text, index) ? '([^/.]+)' : '([^/]+)'
    from = index + wildcard.length
  }
  if (names.length === 0) return { dynamic: false, match: (candidate) => (candidate === text ? NOTHING : undefined) }

  const prefix = text.slice(0, text.search(WILDCARD))
  const regex = parseRegex(`^${source}${escaped(text.slice(from))}$`)
  return {
    dynamic: true,
    match(candidate) {
      if (!candidate.startsWith(prefix)) return undefined
      const found = regex.exec(candidate)
      if (!found) return undefined
      return new Map(names.map((name, i) => [name, candidate.slice(found[2 * i + 2], found[2 * i + 3])]))
    },
  }
}

/** A text with `:splat` and `:name` replaced by what they stand for; names that stand for nothing stay. */
export function filled(template: string, captured: Captured): string {
  if (captured.size === 0) return template
  return template.replaceAll(/:([A-Za-z]\w*)/g, (whole, name: string) => captured.get(name) ?? whole)
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/#&~-]/g, String.raw`\$&`)

const inHost = (text: string, index: number): boolean =>
  text.startsWith('https://') && !text.slice('https://'.length, index).includes('/')
