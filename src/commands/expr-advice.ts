import { nearest } from '../core/nearest.js'
import { FIELDS, FUNCTIONS, type ExprError } from '../expr/index.js'

const OPERATORS = 'eq, ne, lt, le, gt, ge, contains, matches, wildcard or in'
const JOINS = ['and', 'or', 'xor']
/** Operators of other languages, and the ones of this language. */
const FOREIGN: Readonly<Record<string, string>> = {
  '=': 'eq or ==',
  '===': 'eq or ==',
  '<>': 'ne or !=',
  not: 'ne, or not in front of the comparison',
  is: 'eq',
  equals: 'eq',
  like: 'contains, or wildcard with *',
  startswith: 'starts_with(FIELD, "...")',
  starts_with: 'starts_with(FIELD, "...")',
  endswith: 'ends_with(FIELD, "...")',
  ends_with: 'ends_with(FIELD, "...")',
}
/** Texts that newcomers read like maps, and the field with their parts. */
const PARTS: Readonly<Record<string, string>> = {
  'http.request.uri.query': 'http.request.uri.args["NAME"][0]',
  'http.cookie': 'http.request.cookies["NAME"][0]',
}
const KNOWN = [...FIELDS, ...FUNCTIONS].map(({ name }) => name)
const BOOLEANS = new Set([...FIELDS].flatMap(({ name, type }) => (type.kind === 'Bool' ? [name] : [])))

/** An error of an expression with the text around it. */
interface Place extends Pick<ExprError, 'class' | 'reason'> {
  /** The whole expression. */
  readonly text: string
  /** What is before the error in its line, and what begins there. */
  readonly before: string
  readonly rest: string
}

const wordOf = (text: string): string => /^\s*([\w.]+)/.exec(text)?.[1] ?? ''
const lastName = (text: string): string => /([\w.]+)(?:\[[^\]]*\])*\s*$/.exec(text)?.[1] ?? ''

/** What to write instead, by mistake; the first that fits is shown. */
const ADVICE: readonly ((place: Place) => string | undefined)[] = [
  ({ text }) => (text.trim() === '' ? 'write a condition, or true for every request' : undefined),
  ({ reason, before, rest }) => (reason === 'unknown identifier' ? nameAdvice(before, rest) : undefined),
  ({ reason, rest }) => (reason === 'expected ComparisonOp' ? operatorAdvice(rest) : undefined),
  ({ reason, before, rest }) => (reason === 'unrecognised input' ? joinAdvice(before, rest) : undefined),
  ({ reason }) =>
    reason === 'expected literal "{"' ? 'write a set: in {VALUE VALUE}, or a list: in $NAME' : undefined,
  ({ rest }) => (rest.startsWith(',') ? 'values of a set have spaces between them, without commas' : undefined),
  ({ reason, rest }) => (/IP address|in network/.test(reason) ? addressAdvice(rest) : undefined),
  ({ reason, rest }) =>
    reason === 'expected digit' && rest.startsWith('"') ? 'write numbers without quotes' : undefined,
  ({ reason, rest }) =>
    /radix 16|expected 2 characters/.test(reason) && !rest.startsWith('"')
      ? `write texts in double quotes: "${/^'?([^\s'")}]*)/.exec(rest)?.[1] ?? ''}"`
      : undefined,
  ({ class: kind, reason, before }) =>
    kind === 'UnsupportedOp' && /Array<|Map</.test(reason)
      ? `compare its items: any(${(/[\w.]+(\[[^\]]*\])*\s*$/.exec(before)?.[0] ?? '').trim()}[*] eq "...")`
      : undefined,
  ({ reason, before }) => {
    const parts = reason.endsWith('of type Bytes') ? PARTS[lastName(before)] : undefined
    return parts === undefined ? undefined : `its parts are in ${parts}`
  },
  ({ reason }) => (reason === 'expected literal ")"' ? 'a closing parenthesis is missing' : undefined),
  ({ reason, rest }) =>
    reason === 'expected identifier character' && rest.trim() === '' ? 'a condition is missing at the end' : undefined,
]

function nameAdvice(before: string, rest: string): string | undefined {
  // The parser may have read the beginning of a longer word as one of its own.
  const word = (/\b(?:and|or|xor|not)$/.exec(before)?.[0] ?? '') + wordOf(rest)
  if (JOINS.includes(word)) return `a condition is missing before ${word}`
  const meant = nearest(word, [...JOINS, 'not', ...KNOWN])
  return meant === undefined ? undefined : `did you mean ${meant}?`
}

function operatorAdvice(rest: string): string {
  const found = /^\s*(={1,3}(?!=)|<>|\w+)/.exec(rest)?.[1] ?? ''
  const meant = FOREIGN[found.toLowerCase()]
  return meant === undefined ? `compare it with ${OPERATORS}` : `in place of ${found} write ${meant}`
}

/** For what follows a complete condition. */
function joinAdvice(before: string, rest: string): string | undefined {
  if (rest.trim() === '') return 'a value is missing at the end'
  const name = lastName(before)
  if (BOOLEANS.has(name) && /^\s*([=!<>]|(eq|ne|in)\b)/.test(rest)) return `write ${name}, or not ${name}`
  const meant = nearest(wordOf(rest), JOINS)
  return meant === undefined ? `conditions are joined by ${JOINS.join(', ')}` : `did you mean ${meant}?`
}

function addressAdvice(rest: string): string | undefined {
  if (rest.startsWith('"')) return 'write addresses without quotes'
  const network = /^[\da-f.:]+\/\d+/i.exec(rest)?.[0]
  return network === undefined ? undefined : `write a network as a set: in {${network}}`
}

/** Returns what to write instead of an expression with an error, if a common mistake explains it. */
export function adviceFor(text: string, { class: kind, reason, line, column }: ExprError): string | undefined {
  const bytes = Buffer.from(text.split('\n')[line - 1] ?? '')
  const before = bytes.toString('utf8', 0, column - 1)
  const rest = bytes.toString('utf8', column - 1)
  for (const advice of ADVICE) {
    const found = advice({ text, class: kind, reason, before, rest })
    if (found !== undefined) return found
  }
  return undefined
}
