/** Changes of a robots.txt. */
export interface RobotsChanges {
  /** Value of Content-Signal. Undefined if none is added. */
  readonly signal: string | undefined
  /** Product tokens of crawlers that get nothing. */
  readonly blocked: readonly string[]
  /** Product tokens of crawlers that are named because they are allowed. */
  readonly allowed: readonly string[]
}

interface Line {
  /** With its line end. */
  readonly text: string
  /** In lower case, '' if the line is not a field. */
  readonly field: string
  readonly value: string
}

/** Lines for the same crawlers: `User-agent` lines and what follows until the next ones. RFC 9309, 2.1. */
interface Group {
  /** Positions of its `User-agent` lines. */
  readonly agents: number[]
  /** Positions of the other fields. */
  readonly rules: number[]
}

const FIELD = /^\s*([A-Za-z][A-Za-z-]*)\s*:\s*([^#]*)/
/** Characters of rules that are written for several crawlers. */
const MAX_REPEATED = 65_536
/** Fields about the whole file. */
const OF_FILE = new Set(['sitemap', 'host', 'clean-param'])

/**
 * Returns a robots.txt (RFC 9309) with the changes. Undefined stands for a site without the file, which allows everything.
 * All lines that the changes do not concern remain as they are. A file that has a Content-Signal gets no other one.
 */
export function changedRobots(text: string | undefined, { signal, blocked, allowed }: RobotsChanges): string {
  if (text === undefined || text.trim() === '')
    return changedRobots('User-agent: *\nAllow: /\n', { signal, blocked, allowed })
  const lines = linesOf(text)
  const groups = groupsOf(lines)
  const edits = new Map<number, string>()
  const added: string[] = []
  const denied = new Set(blocked.map((token) => token.toLowerCase()))
  const named = new Set(groups.flatMap(({ agents }) => agents.map((at) => tokenOf(lines[at]!))))
  const everyone = groups.filter(({ agents }) => agents.some((at) => tokenOf(lines[at]!) === '*'))
  const hasSignal = lines.some(({ field }) => field === 'content-signal')
  const signalLine = signal === undefined || hasSignal ? undefined : `Content-Signal: ${signal}`
  if (signalLine !== undefined) {
    const last = everyone[0]?.agents.at(-1)
    if (last === undefined) added.push(`User-agent: *\n${signalLine}\nAllow: /\n`)
    else edits.set(last, `${ended(lines[last]!.text)}${signalLine}\n`)
  }
  for (const group of groups) block(group, { lines, denied, edits })
  const shared = new Set(
    groups
      .filter(({ agents }) => !agents.every((at) => denied.has(tokenOf(lines[at]!))))
      .flatMap(({ agents }) => agents.map((at) => tokenOf(lines[at]!))),
  )
  for (const token of blocked) {
    const name = token.toLowerCase()
    if (!named.has(name) || shared.has(name)) added.push(`User-agent: ${token}\nDisallow: /\n`)
  }
  const rules = everyone.flatMap((group) => group.rules.map((at) => lines[at]!.text.trim()))
  if (signalLine !== undefined) rules.unshift(signalLine)
  if (rules.every((rule) => /^content-signal/i.test(rule))) rules.push('Allow: /')
  const missing = allowed.filter((token) => !named.has(token.toLowerCase()))
  const isLong = missing.length * rules.reduce((sum, rule) => sum + rule.length, 0) > MAX_REPEATED
  // Long rules are written once, in one group for all.
  for (const tokens of isLong ? [missing] : missing.map((token) => [token]))
    added.push([...tokens.map((token) => `User-agent: ${token}`), ...rules, ''].join('\n'))
  const changed = lines.map((line, at) => edits.get(at) ?? line.text).join('')
  return added.length === 0 ? changed : `${ended(changed)}\n${added.join('\n')}`
}

/** Writes that the denied crawlers of a group get nothing. Its other crawlers keep their rules. */
function block(
  { agents, rules }: Group,
  { lines, denied, edits }: { lines: readonly Line[]; denied: ReadonlySet<string>; edits: Map<number, string> },
): void {
  const own = agents.filter((at) => denied.has(tokenOf(lines[at]!)))
  if (own.length === 0) return
  if (own.length < agents.length) {
    for (const at of own) edits.set(at, edits.get(at)?.slice(lines[at]!.text.length) ?? '')
    return
  }
  const last = agents.at(-1)!
  edits.set(last, `${ended(lines[last]!.text)}Disallow: /\n`)
  // The longest rule that matches counts, so Allow would win over it.
  for (const at of rules) if (lines[at]!.field === 'allow') edits.set(at, '')
}

const linesOf = (text: string): Line[] =>
  (text.match(/[^\r\n]*(?:\r\n?|\n)|[^\r\n]+$/g) ?? []).map((line) => {
    const [, field = '', value = ''] = FIELD.exec(line.replace(/^\ufeff/, '')) ?? []
    return { text: line, field: field.toLowerCase(), value: value.trim() }
  })

function groupsOf(lines: readonly Line[]): Group[] {
  const groups: Group[] = []
  let begins = true
  for (const [at, { field }] of lines.entries()) {
    if (field === '' || OF_FILE.has(field)) continue
    if (field === 'user-agent') {
      if (begins) groups.push({ agents: [], rules: [] })
      begins = false
      groups.at(-1)!.agents.push(at)
    } else {
      begins = true
      groups.at(-1)?.rules.push(at)
    }
  }
  return groups
}

const tokenOf = ({ value }: Line): string => value.toLowerCase()

const ended = (text: string): string => (text === '' || /[\r\n]$/.test(text) ? text : `${text}\n`)
