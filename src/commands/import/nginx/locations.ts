import {
  allOf,
  anyOf,
  beginsWith,
  FIRST_PATH,
  isPath,
  matches,
  noneOf,
  PATH,
  type PathCondition,
} from '../site/condition.js'
import type { Place, Report } from '../site/report.js'
import { pathGlobs } from '../site/path-globs.js'
import type { Directive } from './parse.js'
import { Scope } from './scope.js'

/** A `location`, with the conditions under which nginx chooses it. */
export interface Location {
  readonly kind: 'exact' | 'strong' | 'prefix' | 'regex' | 'named'
  /** The path, the pattern or the name. */
  readonly path: string
  readonly place: Place
  readonly scope: Scope
  /** The location around this one. */
  readonly within: Location | undefined
}

/** The locations of a server. */
export class Locations {
  readonly all: readonly Location[]
  readonly #server: Scope
  #after: { changes: boolean; again: ReadonlySet<Location> } | undefined

  /** `server`: its directives. A request that no location takes is for the server itself, as for `location /`. */
  constructor(server: Scope, place: Place, report: Report) {
    const found = server.own('location').flatMap((directive) => flattened(directive, server, undefined, report))
    if (!found.some(({ kind, path }) => (kind === 'prefix' || kind === 'strong') && path === '/'))
      found.push({ kind: 'prefix', path: '/', place, scope: new Scope([], server), within: undefined })
    this.all = found
    this.#server = server
  }

  /** The locations that requests of clients can reach, in the order in which the first that fits is chosen. */
  get ordered(): Location[] {
    const of = (kind: Location['kind']) => this.all.filter((location) => location.kind === kind)
    const strong = of('strong')
    const longest = (a: Location, b: Location) => b.path.length - a.path.length
    const below = of('prefix').filter(({ path }) => strong.some((other) => path.startsWith(other.path)))
    const others = of('prefix').filter((location) => !below.includes(location))
    return [...of('exact'), ...[...strong, ...below].toSorted(longest), ...this.#regexes, ...others.toSorted(longest)]
  }

  /** Patterns inside another location come first. They are tried before the patterns of the server. */
  get #regexes(): Location[] {
    const regexes = this.all.filter(({ kind }) => kind === 'regex')
    return [...regexes.filter(({ within }) => within), ...regexes.filter(({ within }) => !within)]
  }

  /**
   * Returns the field with the path by which phases after a change of the path find the requests of a location. nginx keeps the
   * location of a request whose path it changes for the origin, unless a `rewrite` chooses the location again.
   */
  fieldAfterChanges(location: Location): string {
    this.#after ??= this.#readChanges()
    return this.#after.changes && !this.#after.again.has(location) ? FIRST_PATH : PATH
  }

  #readChanges(): { changes: boolean; again: ReadonlySet<Location> } {
    const rewrites = [this.#server, ...this.all.map(({ scope }) => scope)].flatMap((scope) => scope.own('rewrite'))
    const again = rewrites
      .filter(({ args }) => args[2] === 'last' || args[2] === undefined)
      .flatMap(({ args }) => this.find((args[1] ?? '').split('$', 1)[0]!) ?? [])
    const changes = rewrites.some(({ args }) => args[2] === 'break') || this.all.some(changesPath)
    return { changes, again: new Set(again) }
  }

  named(name: string): Location | undefined {
    return this.all.find(({ kind, path }) => kind === 'named' && path === name)
  }

  /** Returns the condition that nginx chooses the location. */
  region(location: Location): PathCondition {
    const { kind, path, within } = location
    if (kind === 'exact') return isPath(path)
    if (kind === 'regex') {
      const earlier = this.#regexes.slice(0, this.#regexes.indexOf(location))
      const exact = this.all.filter((other) => other.kind === 'exact' && testPattern(path, other.path) !== false)
      return (field) =>
        allOf(
          matches(path)(field),
          ...(within ? [beginsWith(within.path)(field)] : []),
          ...[...exact.map((other) => isPath(other.path)), ...earlier.map((other) => this.#matched(other))].map(
            (each) => noneOf(each(field)),
          ),
          ...this.all
            .filter((other) => other.kind === 'strong')
            .map((other) => noneOf(this.#prefixRegion(other)(field))),
        )
    }
    const regexes = kind === 'strong' ? [] : this.#regexes
    return (field) =>
      allOf(this.#prefixRegion(location)(field), ...regexes.map((other) => noneOf(this.#matched(other)(field))))
  }

  /** Returns the location for a path, as nginx finds it. */
  find(path: string): Location | undefined {
    const exact = this.all.find((location) => location.kind === 'exact' && location.path === path)
    if (exact) return exact
    const longest = this.all
      .filter(({ kind, path: prefix }) => (kind === 'prefix' || kind === 'strong') && path.startsWith(prefix))
      .toSorted((a, b) => b.path.length - a.path.length)[0]
    if (longest?.kind === 'strong') return longest
    return this.#regexes.find(({ path: pattern }) => testPattern(pattern, path) === true) ?? longest
  }

  #matched({ path, within }: Location): PathCondition {
    return (field) => allOf(matches(path)(field), ...(within ? [beginsWith(within.path)(field)] : []))
  }

  /** The condition that the location has the longest prefix. */
  #prefixRegion({ path }: Location): PathCondition {
    const longer = this.all.filter(
      (other) =>
        ['prefix', 'strong', 'exact'].includes(other.kind) && other.path.startsWith(path) && other.path !== path,
    )
    const same = this.all.filter((other) => other.kind === 'exact' && other.path === path)
    // The longest ones alone: those inside of them are excluded with them.
    const outer = longer.filter(
      (other) =>
        !longer.some((around) => around !== other && around.kind !== 'exact' && other.path.startsWith(around.path)),
    )
    return (field) =>
      allOf(
        beginsWith(path)(field),
        noneOf(
          anyOf(
            ...[...outer, ...same].map((other) => (other.kind === 'exact' ? isPath : beginsWith)(other.path)(field)),
          ),
        ),
      )
  }
}

/** Returns whether the origin of a location sees another path, which no `strip_prefix` makes. */
function changesPath({ kind, path, scope }: Location): boolean {
  if (kind === 'exact' && scope.own('alias').length > 0) return true
  const uri = /^https?:\/\/[^/]+(\/.*)$/.exec(scope.own('proxy_pass')[0]?.args[0] ?? '')?.[1]
  return uri !== undefined && uri !== path && !(kind !== 'exact' && path.endsWith('/') && uri === '/')
}

/** Returns the patterns of `paths` for a location. Undefined if there are none. */
export function globsOf({ kind, path, within }: Location): readonly string[] | undefined {
  if (kind === 'exact') return [path]
  if (kind === 'named') return []
  if (kind !== 'regex') return [`${path}*`]
  const globs = pathGlobs(path)
  if (globs === undefined || within === undefined) return globs
  // A pattern inside of a location with a prefix.
  return globs.every((glob) => glob.startsWith('*')) ? globs.map((glob) => within.path + glob) : undefined
}

/** Returns whether a pattern matches a path. Undefined if it is not a pattern of JavaScript. */
function testPattern(pattern: string, path: string): boolean | undefined {
  const insensitive = pattern.startsWith('(?i)')
  try {
    return new RegExp(insensitive ? pattern.slice(4) : pattern, insensitive ? 'i' : '').test(path)
  } catch {
    return undefined
  }
}

const KINDS: Readonly<Record<string, Location['kind']>> = { '=': 'exact', '^~': 'strong', '~': 'regex', '~*': 'regex' }

function flattened(directive: Directive, around: Scope, within: Location | undefined, report: Report): Location[] {
  const { args, block = [], place } = directive
  // The sign and the path may be one word.
  const joint = args.length === 1 ? /^(=|\^~|~\*|~)(.+)$/.exec(args[0]!) : undefined
  const [first = '', second] = joint?.slice(1) ?? args
  const kind = second === undefined ? (first.startsWith('@') ? 'named' : 'prefix') : KINDS[first]
  const given = second ?? first
  if (kind === undefined || given === '') {
    report.add(place, `location ${args.join(' ')}`, 'unknown kind; it is a path, or one of =, ^~, ~ and ~* with one')
    return []
  }
  const path = first === '~*' ? `(?i)${given}` : given
  if (within?.kind === 'regex') {
    report.add(
      place,
      `location ${args.join(' ')}`,
      'a location inside of a location with a pattern; write it beside that location',
    )
    return []
  }
  const scope = new Scope(block, around)
  const own: Location = { kind, path, place, scope, within }
  return [own, ...scope.own('location').flatMap((inner) => flattened(inner, scope, own, report))]
}
