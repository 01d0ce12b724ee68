import type { Captures, TemplatePart } from '../site/template.js'
import { PATH } from '../site/condition.js'

/** What variables mean at a place. */
export interface VariableContext {
  /** Variables with a value that is known now. */
  readonly constants: ReadonlyMap<string, string>
  readonly serverName: string
  readonly captures?: Captures
}

/** Expressions for variables that a request has. */
const EXPRESSIONS: Readonly<Record<string, string>> = {
  host: 'http.host',
  http_host: 'http.host',
  hostname: 'http.host',
  uri: PATH,
  document_uri: PATH,
  request_uri: 'raw.http.request.uri',
  args: 'http.request.uri.query',
  query_string: 'http.request.uri.query',
  request_method: 'http.request.method',
  http_user_agent: 'http.user_agent',
  http_referer: 'http.referer',
  http_cookie: 'http.cookie',
  http_x_forwarded_for: 'http.x_forwarded_for',
  remote_addr: 'to_string(ip.src)',
  realip_remote_addr: 'to_string(ip.src)',
  server_protocol: 'http.request.version',
}

const FIRST = String.raw`\$(?:\{(\w+)\}|(\w+))`

/** Returns the expression for a variable. Undefined if the rules language has none. */
export function expressionOf(name: string): string | undefined {
  const known = EXPRESSIONS[name]
  if (known !== undefined) return known
  const [, kind, rest = ''] = /^(http|cookie|arg)_(.+)$/.exec(name) ?? []
  if (kind === 'http') return `http.request.headers["${rest.toLowerCase().replaceAll('_', '-')}"][0]`
  if (kind === 'cookie') return `http.request.cookies["${rest}"][0]`
  if (kind === 'arg') return `http.request.uri.args["${rest}"][0]`
  return undefined
}

/** Returns the parts of a text with variables, or the name of a variable that the rules language does not have. */
export function partsOf(text: string, context: VariableContext): TemplatePart[] | string {
  const parts: TemplatePart[] = []
  let at = 0
  for (const match of text.matchAll(new RegExp(FIRST, 'g'))) {
    if (match.index > at) parts.push({ text: text.slice(at, match.index) })
    at = match.index + match[0].length
    const name = match[1] ?? match[2]!
    const found = variable(name, context)
    if (found === undefined) return `$${name}`
    parts.push(found)
  }
  if (at < text.length) parts.push({ text: text.slice(at) })
  return parts
}

function variable(name: string, { constants, serverName, captures }: VariableContext): TemplatePart | undefined {
  const constant = constants.get(name)
  if (constant !== undefined) return { text: constant }
  if (/^\d$/.test(name)) return captures && { group: Number(name) }
  if (name === 'scheme') return { scheme: true }
  if (name === 'server_name') return { text: serverName }
  const group = captures && groupNamed(captures.pattern, name)
  if (group !== undefined) return { group }
  const expression = expressionOf(name)
  return expression === undefined ? undefined : { expression }
}

/** Returns the number of a named group of a pattern. */
function groupNamed(pattern: string, name: string): number | undefined {
  const groups = [...pattern.matchAll(/\\.|\[(?:\\.|[^\]\\])*\]|\((?!\?)|\(\?P?<(\w+)>/g)].filter(([text]) =>
    text.startsWith('('),
  )
  const at = groups.findIndex(([, found]) => found === name)
  return at < 0 ? undefined : at + 1
}

/** Returns the text before the first variable. */
export const fixedStart = (text: string): string => text.split('$', 1)[0]!
