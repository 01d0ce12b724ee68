import type { Logical, Path } from './ast.js'
import type { Uses } from './usage.js'
import type { Scheme } from './language/scheme.js'
import type { Type } from './language/types.js'

/** A filter that is parsed and allowed in its place. */
export interface Expression {
  readonly text: string
  readonly scheme: Scheme
  readonly root: Logical
  readonly uses: Uses
}

/** A value expression, which is a field or a call of any type. */
export interface ValueExpression extends Omit<Expression, 'root'> {
  readonly root: Path
  readonly type: Type
}
