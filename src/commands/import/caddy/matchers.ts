import {
  allOf,
  ALWAYS,
  anyOf,
  escapePattern,
  isClient,
  isOneOf,
  literal,
  NEVER,
  noneOf,
  part,
  patternLiteral,
  type Condition,
  type PathCondition,
} from '../site/condition.js'
import { isNetwork } from '../site/addresses.js'
import type { Captures } from '../site/template.js'
import type { Segment } from './parse.js'

/** The requests that a matcher selects. */
export interface Matcher {
  readonly when: PathCondition
  /** Patterns of `paths` that select the same requests, in case as written. Undefined if there are none. */
  readonly paths?: readonly string[]
  /** Patterns of `paths` that select all other requests. */
  readonly otherPaths?: readonly string[]
  /** The pattern of path_regexp or header_regexp, by its name. */
  readonly captures?: ReadonlyMap<string, Captures>
  /** Files that are looked for. */
  readonly files?: readonly string[]
}

/** Every request. */
export const EVERY: Matcher = { when: () => ALWAYS, paths: ['*'] }

/** What matchers depend on. */
export interface MatcherContext {
  /** Beginning of the path that `handle_path` removes before the matcher sees it. */
  readonly prefix: string
  /** The host of all requests. Undefined if it is one of several. */
  readonly host: string | undefined
  /** Hosts that have a zone of their own. */
  readonly apart: ReadonlySet<string>
}

/** Returns a matcher for a path token. */
export function pathMatcher(patterns: readonly string[], { prefix }: MatcherContext): Matcher {
  const whole = patterns.map((pattern) =>
    pattern.startsWith('/') ? prefix + pattern : pattern === '*' ? `${prefix}/*` : pattern,
  )
  if (patterns.includes('*') && prefix === '') return EVERY
  return {
    when: (field) => anyOf(...whole.map((pattern) => pathCondition(pattern)(field))),
    paths: whole.map((pattern) => pattern.replaceAll(/\*{2,}/g, '*')),
  }
}

/** Caddy compares paths without case; a star at an end is any text, one in the middle is a part of one segment. */
function pathCondition(pattern: string): PathCondition {
  const inside = pattern.replace(/^\*/, '').replace(/\*$/, '')
  if (inside.includes('*')) {
    const source = pattern
      .split('*')
      .map(escapePattern)
      .map(
        (text, index, all) =>
          text + (index === all.length - 1 ? '' : index === all.length - 2 && pattern.endsWith('*') ? '.*' : '[^/]*'),
      )
      .join('')
    return (field) => part(`${field} matches ${patternLiteral(`(?i)^${source}$`)}`)
  }
  return (field) => part(`${field} wildcard ${literal(pattern.replaceAll('\\', '\\\\'))}`)
}

/** Returns the matcher of a definition `@name ...`, or the first part that the rules language does not have. */
export function matcherOf(definition: Segment, context: MatcherContext): Matcher | string {
  const { args, block } = definition
  const name = definition.name.slice(1)
  const parts = block ?? (args.length > 0 ? [{ name: args[0]!, args: args.slice(1), place: definition.place }] : [])
  return combined(parts, name, context)
}

/** All kinds have to match; several lines of one kind are alternatives. */
function combined(parts: readonly Segment[], name: string, context: MatcherContext): Matcher | string {
  const kinds = new Map<string, Segment[]>()
  for (const each of parts) kinds.set(each.name, [...(kinds.get(each.name) ?? []), each])
  const found: Matcher[] = []
  for (const [kind, lines] of kinds) {
    const several = ['header', 'query', 'not', 'header_regexp', 'expression'].includes(kind)
      ? lines.map((line) => [line])
      : [lines]
    for (const group of several) {
      const matcher = oneKind(kind, group, name, context)
      if (typeof matcher === 'string') return matcher
      found.push(matcher)
    }
  }
  const [only] = found
  if (found.length === 1) return only!
  const captures = new Map(found.flatMap(({ captures: each = [] }) => [...each]))
  const files = found.flatMap(({ files: each = [] }) => each)
  return {
    when: (field) => allOf(...found.map(({ when }) => when(field))),
    ...(captures.size > 0 && { captures }),
    ...(files.length > 0 && { files }),
  }
}

const PRIVATE = ['192.168.0.0/16', '172.16.0.0/12', '10.0.0.0/8', '127.0.0.0/8', 'fd00::/8', '::1']

const always = (condition: Condition): Matcher => ({ when: () => condition })

function oneKind(kind: string, lines: readonly Segment[], name: string, context: MatcherContext): Matcher | string {
  const args = lines.flatMap((line) => line.args)
  const [first = '', ...rest] = args
  switch (kind) {
    case 'path':
      return pathMatcher(args, context)
    case 'path_regexp': {
      const [id, pattern] = args.length > 1 ? [first, rest[0]!] : [name, first]
      const anchored = context.prefix === '' ? pattern : pattern.replace(/^\^/, `^${escapePattern(context.prefix)}`)
      const captures = { source: 'http.request.uri.path', pattern: anchored }
      return {
        when: (field) => part(`${field} matches ${patternLiteral(anchored)}`),
        captures: new Map([
          [id, captures],
          ['', captures],
        ]),
      }
    }
    case 'host':
      return always(hostCondition(args, context))
    case 'method':
      return always(
        isOneOf(
          'http.request.method',
          args.map((each) => each.toUpperCase()),
        ),
      )
    case 'header':
      return headerMatcher(first, rest)
    case 'header_regexp': {
      const [id, field, pattern] = args.length > 2 ? [first, rest[0]!, rest[1]!] : [name, first, rest[0] ?? '']
      const source = `http.request.headers["${field.toLowerCase()}"][0]`
      const captures = { source, pattern }
      return {
        when: () => part(`${source} matches ${patternLiteral(pattern)}`),
        captures: new Map([
          [id, captures],
          ['', captures],
        ]),
      }
    }
    case 'query':
      return always(anyOf(...args.map(queryCondition)))
    case 'remote_ip':
    case 'client_ip': {
      const networks = args
        .filter((each) => each !== 'forwarded')
        .flatMap((each) => (each === 'private_ranges' ? PRIVATE : [each]))
      const wrong = networks.find((each) => !isNetwork(each))
      return wrong === undefined ? always(isClient(networks)) : `${kind} ${wrong}`
    }
    case 'protocol':
      return first === 'https' || first === 'http'
        ? always(first === 'https' ? part('ssl') : noneOf(part('ssl')))
        : `protocol ${first}`
    case 'not': {
      const inner = combined(lines[0]!.block ?? [{ name: first, args: rest, place: lines[0]!.place }], name, context)
      if (typeof inner === 'string') return `not ${inner}`
      return { when: (field) => noneOf(inner.when(field)), ...(inner.paths && { otherPaths: inner.paths }) }
    }
    case 'file':
      return {
        ...EVERY,
        files: lines.flatMap((line) => [
          ...line.args,
          ...(line.block ?? []).filter((each) => each.name === 'try_files').flatMap((each) => each.args),
        ]),
      }
    default:
      return `${kind} ${args.join(' ')}`.trim()
  }
}

function hostCondition(hosts: readonly string[], { host, apart }: MatcherContext): Condition {
  if (host !== undefined) return hosts.some((each) => hostMatches(each, host)) ? ALWAYS : NEVER
  const exact = hosts.filter((each) => !each.includes('*') && !apart.has(each.toLowerCase()))
  const patterns = hosts.filter((each) => each.includes('*'))
  return anyOf(
    ...(exact.length > 0
      ? [
          isOneOf(
            'http.host',
            exact.map((each) => each.toLowerCase()),
          ),
        ]
      : []),
    ...patterns.map((each) =>
      part(`http.host matches ${patternLiteral(`^${each.split('*').map(escapePattern).join('[^.]*')}$`)}`),
    ),
  )
}

const hostMatches = (pattern: string, host: string): boolean =>
  new RegExp(`^${pattern.split('*').map(escapePattern).join('[^.]*')}$`, 'i').test(host)

function headerMatcher(field: string, [value]: readonly string[]): Matcher {
  const name = field.replace(/^!/, '').toLowerCase()
  const source = `http.request.headers["${name}"]`
  const present = part(`len(${source}) gt 0`)
  if (field.startsWith('!')) return { when: () => noneOf(present) }
  if (value === undefined || value === '*') return { when: () => present }
  const inside = value.replace(/^\*/, '').replace(/\*$/, '')
  const compared = /^\*|\*$/.test(value)
    ? `${source}[*] strict wildcard ${literal(value.replaceAll('\\', '\\\\'))}`
    : `${source}[*] eq ${literal(inside)}`
  return { when: () => part(`any(${compared})`) }
}

function queryCondition(text: string): Condition {
  const at = text.indexOf('=')
  const [key, value] = at < 0 ? [text, '*'] : [text.slice(0, at), text.slice(at + 1)]
  if (key === '') return part('http.request.uri.query eq ""')
  const source = `http.request.uri.args[${literal(key)}]`
  return value === '*' ? part(`len(${source}) gt 0`) : part(`any(${source}[*] eq ${literal(value)})`)
}
