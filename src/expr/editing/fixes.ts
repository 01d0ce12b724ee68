import { nearest } from '../../core/nearest.js'
import type { ExprSpanError } from '../error.js'
import { FIELDS } from '../fields/index.js'
import { FUNCTIONS } from '../functions/index.js'
import { toText } from '../language/value.js'

/** A text that mends an expression in place of a part of it, which is given in bytes. */
export interface Fix {
  readonly text: string
  readonly start: number
  readonly end: number
}

/** Operators of other languages, and the ones of this language. */
const FOREIGN: Readonly<Record<string, string>> = {
  '=': 'eq',
  '===': 'eq',
  '<>': 'ne',
  '!==': 'ne',
  is: 'eq',
  equals: 'eq',
  like: 'wildcard',
  '=~': 'matches',
  includes: 'contains',
}
const OPERATORS = ['contains', 'matches', 'wildcard']
const JOINS = ['and', 'or', 'xor']
const FOREIGN_JOINS: Readonly<Record<string, string>> = { '&': 'and', '|': 'or', ',': 'and', AND: 'and', OR: 'or' }
const KNOWN = [...FIELDS, ...FUNCTIONS].map(({ name }) => name)

/** Returns the text at the place of an error, and the same as a byte string. */
const restOf = (source: string, { start }: Pick<ExprSpanError, 'start'>): string => source.slice(start)

/** Ways to mend an error. The first that fits is used. */
const FIXES: readonly ((source: string, error: ExprSpanError) => Fix | undefined)[] = [
  (source, error) => {
    if (error.kind !== 'UnknownIdentifier') return undefined
    const meant = nearest(source.slice(error.start, error.end), KNOWN)
    return meant === undefined ? undefined : { text: meant, start: error.start, end: error.end }
  },
  (source, error) => {
    if (error.reason !== 'expected ComparisonOp') return undefined
    const [, space = '', word = ''] = /^(\s*)(={1,3}~?|!==|<>|=~|[a-z_]+)/i.exec(restOf(source, error)) ?? []
    const meant = FOREIGN[word.toLowerCase()] ?? nearest(word, OPERATORS)
    return word === '' || meant === undefined ? undefined : replaced(error.start + space.length, word, meant)
  },
  // `==` is read up to the first sign that does not fit: `=== 5`, `=~ "x"`.
  (source, error) => {
    const before = /(={1,2}|!=)\s*$/.exec(source.slice(0, error.start))
    const rest = /^[=~]+/.exec(restOf(source, error))
    if (!before || !rest) return undefined
    const word = before[1]! + rest[0]
    const meant = FOREIGN[word]
    return meant === undefined ? undefined : replaced(before.index, word, meant)
  },
  (source, error) => {
    if (error.reason !== 'unrecognised input') return undefined
    const [, space = '', word = ''] = /^(\s*)(&|\||,|[A-Za-z]+)/.exec(restOf(source, error)) ?? []
    const meant = FOREIGN_JOINS[word] ?? nearest(word, JOINS)
    return word === '' || meant === undefined ? undefined : replaced(error.start + space.length, word, meant)
  },
  (source, error) => (restOf(source, error).startsWith(',') ? replaced(error.start, ',', ' ') : undefined),
  (source, error) => {
    if (!/IP address|in network/.test(error.reason)) return undefined
    const rest = restOf(source, error)
    const quoted = /^"([\da-f.:]+(?:\/\d+)?)"/i.exec(rest)
    if (quoted) return replaced(error.start, quoted[0], quoted[1]!)
    return undefined
  },
  (source, error) => {
    const quoted = error.reason === 'expected digit' ? /^"(-?\d+)"/.exec(restOf(source, error)) : null
    return quoted ? replaced(error.start, quoted[0], quoted[1]!) : undefined
  },
  (source, error) => {
    if (!/radix 16|expected 2 characters/.test(error.reason)) return undefined
    const [word, bare] = /^'?([^\s'")]+)'?/.exec(restOf(source, error)) ?? []
    return word === undefined || word.startsWith('"') ? undefined : replaced(error.start, word, `"${bare}"`)
  },
  (source, error) =>
    error.reason === 'expected literal ")"' && restOf(source, error).trim() === ''
      ? { text: ')', start: source.length, end: source.length }
      : undefined,
]

const replaced = (start: number, word: string, by: string): Fix => ({ text: by, start, end: start + word.length })

/** Returns what mends a common mistake. `source` is a byte string. */
export function fixOf(source: string, error: ExprSpanError): Fix | undefined {
  for (const find of FIXES) {
    const fix = find(source, error)
    if (fix !== undefined) return { ...fix, text: toText(fix.text) }
  }
  return undefined
}
