import type { PathEntry } from './model.js'

/** A value for the requests whose path matches one pattern of `paths` and none of the exceptions. */
export interface Layer<T> {
  readonly glob: string
  readonly except: readonly string[]
  readonly value: T
}

type Options = Omit<PathEntry, 'path'>

/** Returns whether each path that `inner` matches is one that `outer` matches. */
export function contains(outer: string, inner: string): boolean {
  const parts = outer.split('*')
  if (parts.length === 1) return outer === inner
  if (!inner.startsWith(parts[0]!) || !inner.endsWith(parts.at(-1)!)) return false
  if (inner.length < parts[0]!.length + parts.at(-1)!.length) return false
  let at = parts[0]!.length
  for (const part of parts.slice(1, -1)) {
    const found = inner.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return at <= inner.length - parts.at(-1)!.length
}

/** Returns the pattern for the paths that two patterns have in common. Undefined if they have none, or none is known. */
export function intersection(a: string, b: string): string | undefined {
  if (contains(a, b)) return b
  if (contains(b, a)) return a
  const [prefix, suffix] = a.startsWith('*') ? [b, a] : [a, b]
  const [start, ...more] = prefix.split('*')
  const [none, ...end] = suffix.split('*')
  if (more.join('') === '' && more.length === 1 && none === '' && end.length === 1) return `${start}*${end[0]}`
  return undefined
}

/** Patterns that layers of one site lead to at most. */
const MAX_PATTERNS = 500

/**
 * Returns entries of `paths` for layers, each list with the most important layer first. The first entry that matches a path has
 * the values of all lists, so an entry is made for each pattern and for what two patterns have in common.
 */
export function entriesFrom(lists: readonly (readonly Layer<Options>[])[]): PathEntry[] {
  const globs = new Set<string>()
  for (const { glob, except } of lists.flat()) for (const each of [glob, ...except]) globs.add(each)
  for (const a of globs)
    for (const b of globs) {
      const common = intersection(a, b)
      if (common !== undefined && globs.size < MAX_PATTERNS) globs.add(common)
    }
  return [...globs]
    .toSorted((a, b) => literalLength(b) - literalLength(a) || starsIn(a) - starsIn(b))
    .map((path) => Object.assign({ path }, ...lists.map((list) => valueAt(list, path))) as PathEntry)
}

function valueAt(list: readonly Layer<Options>[], path: string): Options {
  return (
    list.find(({ glob, except }) => contains(glob, path) && !except.some((each) => contains(each, path)))?.value ?? {}
  )
}

const literalLength = (glob: string): number => glob.replaceAll('*', '').length
const starsIn = (glob: string): number => glob.split('*').length
