import {
  ExpressionCache,
  parse,
  parseValue,
  type Expression,
  type ParseOptions,
  type ValueExpression,
} from '../expr/index.js'

/** About all expressions of a large ruleset; 30 MB of memory during its change. */
const MAX_CHARACTERS = 1_000_000

/** Expressions of the rules that are being changed. The check, the hints and the engine parse each expression once. */
const cache = new ExpressionCache(MAX_CHARACTERS)

/** Parses a filter of a rule. Throws an ExprError. */
export const parsedFilter = (text: string, options: ParseOptions = {}): Expression => parse(text, { ...options, cache })

/** Parses a value expression of a rule. Throws an ExprError. */
export const parsedValue = (text: string, options: ParseOptions = {}): ValueExpression =>
  parseValue(text, { ...options, cache })

/** Releases the memory of the expressions, when a change is complete. */
export const forgetExpressions = (): void => cache.clear()
