import type { OrderOp, Test } from './ast.js'
import type { Lexer } from './lexer.js'
import { parseRegex, RegexSyntaxError, type Regex } from './regex/index.js'
import type { Type } from './language/types.js'
import { parseWildcard, type Wildcard } from './language/wildcard.js'

/** Operators that compare a value with a literal. */
export type Operator = OrderOp | 'in' | '&' | 'contains' | 'matches' | 'wildcard' | 'strict wildcard'
const OPERATORS: readonly [text: string, op: Operator][] = [
  ['in', 'in'],
  ['eq', '=='],
  ['==', '=='],
  ['ne', '!='],
  ['!=', '!='],
  ['ge', '>='],
  ['>=', '>='],
  ['le', '<='],
  ['<=', '<='],
  ['gt', '>'],
  ['>', '>'],
  ['lt', '<'],
  ['<', '<'],
  ['&', '&'],
  ['bitwise_and', '&'],
  ['contains', 'contains'],
  ['~', 'matches'],
  ['matches', 'matches'],
  ['wildcard', 'wildcard'],
  ['strict wildcard', 'strict wildcard'],
]

/** Consumes and returns the next operator, if there is one. */
export function readOperator(lexer: Lexer): Operator | undefined {
  const first = lexer.peek()
  for (const [text, op] of OPERATORS) if (text.charCodeAt(0) === first && lexer.take(text)) return op
  return undefined
}

/** Reads the right side of `op` for a left side of `type`. Undefined if the type does not have the operator. */
export function readTest(lexer: Lexer, type: Type, op: Operator): Test | undefined {
  const { kind } = type
  if (kind !== 'Int' && kind !== 'Bytes' && kind !== 'Ip') return undefined
  switch (op) {
    case 'in':
      if (lexer.take('$')) return { op: 'list', type: kind, list: lexer.listName() }
      if (kind === 'Int') return { op, type: kind, ranges: readSet(lexer, () => lexer.intRange()) }
      if (kind === 'Ip') return { op, type: kind, ranges: readSet(lexer, () => lexer.ipRange()) }
      return { op, type: kind, values: readSet(lexer, () => lexer.bytes()) }
    case '&':
      return kind === 'Int' ? { op, value: lexer.int() } : undefined
    case 'contains':
      return kind === 'Bytes' ? { op, value: lexer.bytes() } : undefined
    case 'matches':
      return kind === 'Bytes' ? { op, regex: readRegex(lexer) } : undefined
    case 'wildcard':
    case 'strict wildcard':
      return kind === 'Bytes' ? { op: 'wildcard', wildcard: readWildcard(lexer, op === 'strict wildcard') } : undefined
    default:
      if (kind === 'Int') return { op, type: kind, value: lexer.int() }
      if (kind === 'Ip') return { op, type: kind, value: lexer.ip() }
      return { op, type: kind, value: lexer.bytes() }
  }
}

function readSet<T>(lexer: Lexer, item: () => T): T[] {
  lexer.expect('{')
  const items: T[] = []
  for (;;) {
    lexer.skipSpace()
    if (lexer.take('}')) return items
    items.push(item())
  }
}

function readRegex(lexer: Lexer): Regex {
  const { value, start } = lexer.pattern()
  try {
    return parseRegex(value)
  } catch (error) {
    if (!(error instanceof RegexSyntaxError)) throw error
    throw lexer.issue('ParseRegex', `error: ${error.message}, at byte ${error.at + 1} of the pattern`, start, start)
  }
}

function readWildcard(lexer: Lexer, strict: boolean): Wildcard {
  const start = lexer.at
  const { value } = lexer.string()
  const wildcard = parseWildcard(value, strict)
  if (typeof wildcard === 'string') throw lexer.issue('ParseWildcard', wildcard, start)
  return wildcard
}
