/**
 * The rules language as a library. Expressions are parsed and checked against a scheme of fields and functions, and
 * compiled to functions of a context. The library does no input or output.
 */
import { assertString } from '../core/errors.js'
import type { Logical, Path, Span } from './ast.js'
import { Compiler, type Evaluate, type Filter } from './compile.js'
import { ExprError, ExprSpanError, locate } from './error.js'
import type { Expression, ValueExpression } from './expression.js'
import type { ExpressionCache } from './expression-cache.js'
import { FIELDS } from './fields/index.js'
import { FUNCTIONS } from './functions/index.js'
import { lint, type Lint } from './lint.js'
import { NO_LISTS, type Lists } from './lists.js'
import { parseFilter, parseValue as parseValueText } from './parser.js'
import { survey, type ExpressionPlace, type Uses } from './usage.js'
import { Scheme } from './language/scheme.js'
import { toBytes } from './language/value.js'

export { BUDGET_EXCEEDED, REQUEST_STEPS, UNLIMITED, type Budget } from './language/budget.js'
export { Context, contextOf, Getters, type Getter } from './context.js'
export { ExprError, type ExprErrorClass } from './error.js'
export { ExpressionCache } from './expression-cache.js'
export { ADDED_FIELDS, FIELDS, type FieldInfo } from './fields/index.js'
export { FUNCTIONS } from './functions/index.js'
export { unicodeTables } from './regex/unicode.js'
export { formatIp, parseIp, parseIpRange, plainAddress } from './language/ip.js'
export { lint, lintRules, type Lint } from './lint.js'
export { bytesList, hostnameList, intList, ipList, NO_LISTS, type Lists, type NamedList } from './lists.js'
export { headerMap, pathOf, queryOf, REQUEST_GETTERS, type RequestView } from './request.js'
export { acceptedLanguages, mediaType, pathExtension } from './derived.js'
export { indexedRule, RuleIndex, type IndexedRule } from './rule-index.js'
export { Scheme, type Field, type FunctionDef, type Param, type SchemeOptions } from './language/scheme.js'
export { arrayOf, BOOL, BYTES, INT, IP, mapOf, parseType, type Type } from './language/types.js'
export { toBytes, toText, type Bytes, type Ip, type Value } from './language/value.js'
export type { Evaluate, Expression, Filter, Logical, Path, ExpressionPlace, Span, Uses, ValueExpression }

/** Maximum number of characters of an expression. */
export const MAX_LENGTH = 4096

/** The documented language with all its fields and functions. */
export const SCHEME = new Scheme(
  FIELDS.filter(({ group }) => group !== 'ratelimit_only').map(({ name, type, phases, aliasOf, group }) => ({
    name,
    type,
    phases,
    aliasOf,
    constant: group === 'constant' ? name === 'true' : undefined,
  })),
  FUNCTIONS,
)

export interface ParseOptions extends ExpressionPlace {
  /** The allowed names. The default is the documented language. */
  readonly scheme?: Scheme
  /** Trees of texts that were parsed before. None by default. */
  readonly cache?: ExpressionCache
}

/** Parses a filter. Throws an ExprError. */
export function parse(text: string, options: ParseOptions = {}): Expression {
  return parsed(text, options, filterTree)
}

/** Parses a value expression, as in the values of rewrites and redirects. Throws an ExprError. */
export function parseValue(text: string, options: ParseOptions = {}): ValueExpression {
  const expression = parsed(text, options, valueTree)
  return { ...expression, type: expression.root.type }
}

const filterTree = (text: string, scheme: Scheme): Logical => parseFilter(text, scheme).root
const valueTree = (text: string, scheme: Scheme): Path => parseValueText(text, scheme).root

function parsed<T extends Logical | Path>(
  text: string,
  { scheme = SCHEME, cache, ...place }: ParseOptions,
  read: (text: string, scheme: Scheme) => T,
) {
  assertString(text)
  const source = toBytes(text)
  try {
    const length = text.length > MAX_LENGTH ? Array.from(text).length : 0
    if (length > MAX_LENGTH) {
      const reason = `an expression has at most ${MAX_LENGTH} characters, found ${length}`
      throw new ExprSpanError('ExpressionTooLong', reason, 0, source.length)
    }
    const root = cache?.tree(text, scheme, read) ?? read(text, scheme)
    return { text, scheme, root, uses: survey(root, place) }
  } catch (error) {
    throw error instanceof ExprSpanError ? locate(source, error) : error
  }
}

/**
 * Returns the error for a part of a parsed expression that must not be used, such as a list that does not exist. The
 * class is NotAllowedHere.
 */
export function refusalAt(text: string, reason: string, { start, end }: Span): ExprError {
  return locate(toBytes(text), new ExprSpanError('NotAllowedHere', reason, start, end))
}

/** Result of a check, which is an error, or hints at probable mistakes of the author. */
export interface Checked {
  readonly error: ExprError | undefined
  readonly lints: readonly Lint[]
}

/** Parses a filter and returns its error or hints. Never throws for any text. */
export function check(text: string, options: ParseOptions = {}): Checked {
  try {
    return { error: undefined, lints: lint(parse(text, options)) }
  } catch (error) {
    if (error instanceof ExprError) return { error, lints: [] }
    throw error
  }
}

/**
 * Compiles a filter to a function that returns true for the contexts it matches. Lists are looked up now, by name and
 * type.
 */
export function compile({ root, scheme }: Expression, lists: Lists = NO_LISTS): Filter {
  return new Compiler(scheme, lists).filter(root)
}

/** Compiles a value expression to a function. The function returns the value, or undefined if it is missing. */
export function compileValue({ root, scheme }: ValueExpression, lists: Lists = NO_LISTS): Evaluate {
  return new Compiler(scheme, lists).value(root)
}
