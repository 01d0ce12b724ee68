import type { Arg, Literal, Logical } from './ast.js'
import type { ArgInfo, FunctionDef } from './language/scheme.js'
import { arrayOf, BOOL, type Type } from './language/types.js'
import type { Bytes, Ip } from './language/value.js'

/** Returns Bool, or Array<Bool> if the expression is mapped. */
export function typeOf(expr: Logical): Type {
  switch (expr.kind) {
    case 'any':
    case 'all':
      return BOOL
    case 'not':
    case 'group':
      return typeOf(expr.item)
    case 'compare':
      if (expr.left.mapped > 0) return arrayOf(BOOL)
      return expr.test.op === 'true' ? expr.left.type : BOOL
    default:
      return typeOf(expr.items[0] as Logical)
  }
}

/** Returns the type of an argument. */
export const argType = (arg: Arg): Type => (arg.kind === 'logical' ? typeOf(arg.expr) : arg.type)

/** Returns the known facts about one argument of a function. */
export function argInfo(arg: Arg): ArgInfo {
  const plain = arg.kind === 'path' && arg.base.kind === 'field' && arg.accesses.length === 0
  return {
    type: argType(arg),
    literal: arg.kind === 'literal' ? literalValue(arg) : undefined,
    field: plain && arg.base.kind === 'field' ? arg.base.field.name : undefined,
  }
}

/** Returns a literal as a value of the language. */
export const literalValue = (literal: Literal): Bytes | Ip =>
  typeof literal.value === 'bigint' ? Number(literal.value) : literal.value

/** Returns why a number of arguments is wrong. */
export function countReason({ name, params, optional, rest }: FunctionDef, found: number): string {
  const max = params.length + optional.length
  const wanted =
    rest !== undefined ? `${params.length} or more` : params.length === max ? `${max}` : `${params.length} to ${max}`
  return `invalid number of arguments: ${name} takes ${wanted}, found ${found}`
}
