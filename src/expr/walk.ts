import type { Arg, Call, Comparison, Logical, Path } from './ast.js'

/** Callbacks of a walk, for each part, outer parts before inner ones. */
export interface Visitor {
  logical?(expr: Logical): void
  comparison?(comparison: Comparison): void
  path?(path: Path): void
  call?(call: Call, path: Path): void
}

/** Visits every part of an expression. */
export function walk(root: Logical | Path, visitor: Visitor): void {
  if (root.kind === 'path') walkPath(root, visitor)
  else walkLogical(root, visitor)
}

function walkLogical(expr: Logical, visitor: Visitor): void {
  visitor.logical?.(expr)
  switch (expr.kind) {
    case 'group':
    case 'not':
      return walkLogical(expr.item, visitor)
    case 'any':
    case 'all':
      return walkArg(expr.of, visitor)
    case 'compare':
      visitor.comparison?.(expr)
      return walkPath(expr.left, visitor)
    default:
      for (const item of expr.items) walkLogical(item, visitor)
  }
}

function walkPath(path: Path, visitor: Visitor): void {
  visitor.path?.(path)
  if (path.base.kind !== 'call') return
  visitor.call?.(path.base, path)
  for (const arg of path.base.args) walkArg(arg, visitor)
}

function walkArg(arg: Arg, visitor: Visitor): void {
  if (arg.kind === 'path') walkPath(arg, visitor)
  else if (arg.kind === 'logical') walkLogical(arg.expr, visitor)
}
