import { encodedPath, lines, Warnings, type Warning } from './lines.js'
import { filled, NOTHING, pattern, type Pattern } from './pattern.js'

const MAX_RULES = 100

interface Rule {
  readonly line: number
  /** Undefined if the rule is for all hosts. */
  readonly host?: Pattern
  readonly path: Pattern
  readonly set: Map<string, string>
  readonly unset: string[]
}

/** The rules of a `_headers` file. */
export interface HeaderRules {
  readonly rules: number
  readonly warnings: readonly Warning[]
  /**
   * Applies all rules for the request to `fields` (names in lower case and values in turn). Returns the same list if
   * there are no rules.
   */
  apply(host: string, path: string, fields: readonly string[]): readonly string[]
}

// RFC 9110, 5.1 and 5.5.
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
/** Fields that describe the framing of a response, or the server. */
const OURS = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'content-length',
  'content-range',
  'te',
  'trailer',
  'upgrade',
  'date',
  'cf-ray',
])

/** Reads a `_headers` file. Skips invalid lines with a warning. */
export function parseHeaders(text: string): HeaderRules {
  const warnings = new Warnings()
  const rules: Rule[] = []
  let open: Rule | undefined
  for (const { line, text: content } of lines(text, warnings)) {
    try {
      if (/^(?:\S+:\/\/|\/)/.test(content)) {
        close(open, rules, warnings)
        open = undefined
        if (rules.length >= MAX_RULES) {
          warnings.add(line, `more than ${MAX_RULES} rules: this line and all after it are left out`)
          break
        }
        open = { line, ...readPath(content), set: new Map(), unset: [] }
      } else readField(content, open)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      warnings.add(line, error.message)
    }
  }
  close(open, rules, warnings)
  return {
    rules: rules.length,
    warnings: warnings.list,
    apply: (host, path, fields) => (rules.length === 0 ? fields : applied(rules, host, path, fields)),
  }
}

function close(rule: Rule | undefined, rules: Rule[], warnings: Warnings): void {
  if (!rule) return
  if (rule.set.size > 0 || rule.unset.length > 0) rules.push(rule)
  else warnings.add(rule.line, 'the path has no header below it')
}

function readPath(content: string): Pick<Rule, 'host' | 'path'> {
  if (content.startsWith('/')) {
    const path = encodedPath(content)
    if (path === undefined) throw new TypeError(`the path must begin with one slash: ${content}`)
    return { path: wildcards(path) }
  }
  if (/\s/.test(content)) throw new TypeError(`the URL holds white space: ${content}`)
  const url = /^https:\/\/([^/?#]+)(\/[^?#]*)?/.exec(content)
  if (!url) throw new TypeError(`a path or a URL with https is expected: ${content}`)
  const [, host = '', path = '/'] = url
  if (/:\d*$/.test(host)) throw new TypeError(`a port cannot be matched: ${content}`)
  const encoded = encodedPath(path) ?? path
  // Each wildcard occurs once in the host and once in the path.
  wildcards(host + encoded)
  return { host: pattern(host.toLowerCase(), '.'), path: pattern(encoded) }
}

function wildcards(text: string): Pattern {
  if (text.includes('*') && /:splat\b/.test(text)) throw new TypeError('a path cannot contain both * and :splat')
  return pattern(text)
}

function readField(content: string, rule: Rule | undefined): void {
  if (!rule) throw new TypeError(`no path precedes the header: ${content}`)
  if (content.startsWith('! ')) {
    rule.unset.push(fieldName(content.slice(2)))
    return
  }
  const colon = content.indexOf(':')
  if (colon < 0) throw new TypeError(`a name, a colon and a value are expected: ${content}`)
  const name = fieldName(content.slice(0, colon))
  const value = content.slice(colon + 1).trim()
  if (value === '') throw new TypeError(`${name} has no value`)
  if (!VALUE.test(value)) throw new TypeError(`the value of ${name} has a character that is not allowed in a header`)
  const old = rule.set.get(name)
  rule.set.set(name, old === undefined ? value : `${old}, ${value}`)
}

function fieldName(text: string): string {
  const name = text.trim().toLowerCase()
  if (name === '') throw new TypeError('the header has no name')
  if (!NAME.test(name)) throw new TypeError(`not the name of a header: ${name}`)
  if (OURS.has(name)) throw new TypeError(`${name} cannot be set`)
  return name
}

function applied(rules: readonly Rule[], host: string, path: string, fields: readonly string[]): readonly string[] {
  let changed: Map<string, string> | undefined
  const own = new Set<string>()
  for (const { host: hosts, path: paths, set, unset } of rules) {
    const [onHost, onPath] = [hosts ? hosts.match(host) : NOTHING, paths.match(path)]
    if (!onHost || !onPath) continue
    const captured = onHost.size === 0 ? onPath : new Map([...onHost, ...onPath])
    changed ??= fieldMap(fields)
    for (const name of unset) changed.delete(name)
    for (const [name, template] of set) {
      const value = filled(template, captured)
      const old = own.has(name) ? changed.get(name) : undefined
      changed.set(name, old === undefined ? value : `${old}, ${value}`)
      own.add(name)
    }
  }
  return changed ? [...changed].flat() : fields
}

function fieldMap(fields: readonly string[]): Map<string, string> {
  const map = new Map<string, string>()
  for (let i = 0; i + 1 < fields.length; i += 2) map.set(fields[i]!, fields[i + 1]!)
  return map
}
