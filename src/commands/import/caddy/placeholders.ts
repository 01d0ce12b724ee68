import { PATH } from '../site/condition.js'
import type { Captures, TemplatePart } from '../site/template.js'

/** Expressions for placeholders. */
const EXPRESSIONS: Readonly<Record<string, string>> = {
  host: 'http.host',
  'http.request.host': 'http.host',
  hostport: 'http.host',
  'http.request.hostport': 'http.host',
  path: PATH,
  'http.request.uri.path': PATH,
  uri: 'http.request.uri',
  'http.request.uri': 'http.request.uri',
  orig_uri: 'raw.http.request.uri',
  'http.request.orig_uri': 'raw.http.request.uri',
  'http.request.orig_uri.path': 'raw.http.request.uri.path',
  query: 'http.request.uri.query',
  'http.request.uri.query': 'http.request.uri.query',
  method: 'http.request.method',
  'http.request.method': 'http.request.method',
  remote: 'to_string(ip.src)',
  remote_host: 'to_string(ip.src)',
  client_ip: 'to_string(ip.src)',
  'http.request.remote.host': 'to_string(ip.src)',
  proto: 'http.request.version',
  'http.request.proto': 'http.request.version',
}

const HEADER = /^(?:http\.request\.)?header\.(.+)$/
const COOKIE = /^(?:http\.request\.)?cookie\.(.+)$/
const QUERY = /^(?:http\.request\.uri\.)?query\.(.+)$/

/** Returns the expression for a placeholder, without its braces. Undefined if the rules language has none. */
function expressionOf(name: string): string | undefined {
  const header = HEADER.exec(name)?.[1]
  if (header !== undefined) return `http.request.headers["${header.toLowerCase()}"][0]`
  const cookie = COOKIE.exec(name)?.[1]
  if (cookie !== undefined) return `http.request.cookies["${cookie}"][0]`
  const query = QUERY.exec(name)?.[1]
  if (query !== undefined) return `http.request.uri.args["${query}"][0]`
  return EXPRESSIONS[name]
}

/** Patterns that a request has matched, by the name of their matcher; '' is the last one. */
export type Patterns = ReadonlyMap<string, Captures>

/** What placeholders mean at a place. */
export interface PlaceholderContext {
  readonly patterns: Patterns
  /** Beginning of the path that `handle_path` removes. */
  readonly prefix: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Returns the parts of a text with placeholders and the pattern that they refer to, or the placeholder that rules do not have. */
export function partsOf(
  text: string,
  context: PlaceholderContext,
): { parts: TemplatePart[]; captures?: Captures } | string {
  const parts: TemplatePart[] = []
  let captures: Captures | undefined
  let at = 0
  for (const match of text.matchAll(/\{([\w.:\-$/]+)\}/g)) {
    if (match.index > at) parts.push({ text: text.slice(at, match.index) })
    at = match.index + match[0].length
    const name = match[1]!
    const group = /^(?:http\.regexp|re)\.(?:([\w-]+)\.)?(\d+)$/.exec(name)
    if (group) {
      captures = context.patterns.get(group[1] ?? '')
      if (!captures) return match[0]
      parts.push({ group: Number(group[2]) })
      continue
    }
    const found = placeholder(name, context)
    if (found === undefined) return match[0]
    parts.push(found)
  }
  if (at < text.length) parts.push({ text: text.slice(at) })
  return { parts, ...(captures && { captures }) }
}

function placeholder(name: string, { prefix, environment }: PlaceholderContext): TemplatePart | undefined {
  if (name === 'scheme' || name === 'http.request.scheme') return { scheme: true }
  if (name.startsWith('env.')) return { text: environment[name.slice(4)] ?? '' }
  const expression = expressionOf(name)
  if (expression === undefined) return undefined
  const shortened = prefix !== '' && (expression === PATH || expression === 'http.request.uri')
  return { expression: shortened ? `substring(${expression}, ${prefix.length})` : expression }
}
