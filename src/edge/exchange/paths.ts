import type { Balancer } from '../balancing/balancer.js'
import type { AuthOptions } from './auth-options.js'
import type { FolderOptions } from './folder-options.js'

/** What serves the requests of a path, and who may send them. */
export interface Place {
  /** The origins. Not used with `root`. */
  readonly balancer: Balancer
  /** Folder of files. Undefined if an origin serves the path. */
  readonly root: FolderOptions | undefined
  /** Undefined if everybody may see it. */
  readonly auth: AuthOptions | undefined
  /** Beginning of the path that is removed. Undefined if the path is not changed. */
  readonly strip: string | undefined
}

/** The paths of a zone. */
export interface Places {
  /** Every place, the one of other paths last. */
  readonly all: readonly Place[]
  /** Returns the place of a target, which is decoded and freed of dot segments first. */
  find(target: string): Place
  /** Returns everything that a client has to prove for a target, in each way that servers read its path. */
  auths(target: string): readonly AuthOptions[]
}

/** Creates the table of places. The first pattern that matches wins; `rest` is for other paths. */
export function placesOf(patterns: readonly (readonly [pattern: string, place: Place])[], rest: Place): Places {
  const exact = new Map<string, number>()
  /** By prefix, the first pattern that ends in its only `*`. */
  const prefixes = new Map<string, number>()
  /** By ending, the first pattern that begins with its only `*`. */
  const endings = new Map<string, number>()
  const others: { index: number; test: (path: string) => boolean }[] = []
  for (const [index, [pattern]] of patterns.entries()) {
    const [first = '', last, ...more] = pattern.split('*')
    const table = last === undefined ? exact : last === '' ? prefixes : first === '' ? endings : undefined
    const key = first === '' && last !== undefined ? last : first
    if (!table || more.length > 0) others.push({ index, test: wildcard(pattern) })
    else if (!table.has(key)) table.set(key, index)
  }
  const [prefixLengths, endingLengths] = [lengthsOf(prefixes), lengthsOf(endings)]
  const indexOf = (path: string): number => {
    let best = exact.get(path) ?? Infinity
    for (const length of prefixLengths) {
      if (length > path.length) break
      const index = prefixes.get(path.slice(0, length))
      if (index !== undefined && index < best) best = index
    }
    for (const length of endingLengths) {
      if (length > path.length) break
      const index = endings.get(path.slice(path.length - length))
      if (index !== undefined && index < best) best = index
    }
    for (const { index, test } of others) {
      if (index > best) break
      if (test(path)) return index
    }
    return best
  }
  const placeOf = (path: string): Place => {
    const index = indexOf(path)
    return index === Infinity ? rest : patterns[index]![1]
  }
  return {
    all: [...patterns.map(([, place]) => place), rest],
    find: (target) => placeOf(plainPath(target)),
    auths: (target) => {
      const found = readings(target).flatMap((path) => placeOf(path).auth ?? [])
      return found.length > 1 ? [...new Set(found)] : found
    },
  }
}

/** Returns the lengths of the keys of a table, the shortest first. */
const lengthsOf = (table: ReadonlyMap<string, unknown>): readonly number[] =>
  [...new Set([...table.keys()].map(({ length }) => length))].sort((a, b) => a - b)

/** Returns a test of a path by a pattern in which `*` is any characters. It takes linear time. */
function wildcard(pattern: string): (path: string) => boolean {
  const parts = pattern.split('*')
  const [first = ''] = parts
  const last = parts.at(-1) ?? ''
  const middle = parts.slice(1, -1)
  return (path) => {
    if (path.length < first.length + last.length || !path.startsWith(first) || !path.endsWith(last)) return false
    let at = first.length
    const end = path.length - last.length
    for (const part of middle) {
      const found = path.indexOf(part, at)
      if (found < 0 || found + part.length > end) return false
      at = found + part.length
    }
    return true
  }
}

/** Whether a path may have something to decode or to remove. */
const SUSPICIOUS = /[%\\]|\/\/|\/\./

/** Returns the path of a target, decoded once, without dot segments and empty segments. */
export function plainPath(target: string): string {
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  if (!SUSPICIOUS.test(path)) return path
  // Servers read a backslash as a slash, and merge slashes: another reading would pass by the place of the path.
  return withoutDots(
    decoded(path)
      .replaceAll('\\', '/')
      .replaceAll(/\/{2,}/g, '/'),
  )
}

/** Whether servers may read a path in several ways. */
const AMBIGUOUS = /[%\\;]|\/\/|\/\./
/** Parameters of a segment (RFC 3986, 3.3), which servers of Java applications remove. */
const PARAMETERS = /;[^/]*/g
const MAX_DECODED = 3

/**
 * Returns the ways in which servers read the path of a target: the plain path first, then with dot segments as they are,
 * without parameters of segments, and decoded more than once.
 */
function readings(target: string): readonly string[] {
  const mark = target.indexOf('?')
  let path = mark < 0 ? target : target.slice(0, mark)
  if (!AMBIGUOUS.test(path)) return [path]
  const found = new Set<string>([plainPath(target)])
  for (let times = 0; times < MAX_DECODED; times++) {
    path = decoded(path)
    const slashed = path.replaceAll('\\', '/')
    for (const one of [slashed, slashed.replaceAll(PARAMETERS, '')]) {
      const merged = one.replaceAll(/\/{2,}/g, '/')
      found.add(merged).add(withoutDots(merged))
    }
    if (!path.includes('%')) break
  }
  return [...found]
}

function decoded(path: string): string {
  if (!path.includes('%')) return path
  const bytes = path.replaceAll(/%([0-9a-fA-F]{2})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** Removes dot segments (RFC 3986, 5.2.4). */
export function withoutDots(path: string): string {
  if (!path.includes('/.')) return path
  const kept: string[] = []
  const segments = path.slice(1).split('/')
  for (const [index, segment] of segments.entries()) {
    const isDots = segment === '.' || segment === '..'
    if (segment === '..') kept.pop()
    if (!isDots) kept.push(segment)
    // A path that ends in a dot segment is the path of a folder.
    else if (index === segments.length - 1) kept.push('')
  }
  return `/${kept.join('/')}`
}

/** Returns a target without the beginning of its path, which is a prefix of whole segments. */
export function strippedTarget(target: string, prefix: string): string {
  if (!target.startsWith(prefix)) return target
  const rest = target.slice(prefix.length)
  if (rest.startsWith('/')) return rest
  return rest === '' || rest.startsWith('?') ? `/${rest}` : target
}
