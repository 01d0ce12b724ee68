import type { Field, FunctionDef } from './language/scheme.js'
import type { Type } from './language/types.js'
import type { IpRange } from './language/ip.js'
import type { Regex } from './regex/index.js'
import type { Wildcard } from './language/wildcard.js'
import type { Bytes, Ip } from './language/value.js'

/** Position of a part in the expression, as byte offsets. The end is not included. */
export interface Span {
  readonly start: number
  readonly end: number
}

export type OrderOp = '==' | '!=' | '<' | '<=' | '>' | '>='

/** A literal with its type. */
export type Literal = {
  readonly kind: 'literal'
  readonly type: Type
  readonly value: Bytes | Ip | bigint
  readonly span: Span
}

/** One `[...]` of a path. */
export type Access =
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'key'; readonly key: Bytes }
  | { readonly kind: 'each' }

/** A field or a call with its index accesses: `http.request.headers["a"][*]`. */
export interface Path {
  readonly kind: 'path'
  readonly base: { readonly kind: 'field'; readonly field: Field } | Call
  readonly accesses: readonly Access[]
  /** The type after all accesses. With a `[*]`, the type of one element. */
  readonly type: Type
  /** Number of `[*]`. */
  readonly mapped: number
  readonly span: Span
}

export interface Call {
  readonly kind: 'call'
  readonly function: FunctionDef
  readonly args: readonly Arg[]
  /** The type of the result. An Array if the first argument is mapped. */
  readonly type: Type
  readonly mapped: boolean
}

/** An argument of a call or a quantifier. */
export type Arg = Path | Literal | { readonly kind: 'logical'; readonly expr: Logical; readonly span: Span }

/** The operator and right side of a comparison. */
export type Test =
  | { readonly op: 'true' }
  | { readonly op: OrderOp; readonly type: 'Int'; readonly value: bigint }
  | { readonly op: OrderOp; readonly type: 'Bytes'; readonly value: Bytes }
  | { readonly op: OrderOp; readonly type: 'Ip'; readonly value: Ip }
  | { readonly op: 'in'; readonly type: 'Int'; readonly ranges: readonly (readonly [bigint, bigint])[] }
  | { readonly op: 'in'; readonly type: 'Bytes'; readonly values: readonly Bytes[] }
  | { readonly op: 'in'; readonly type: 'Ip'; readonly ranges: readonly IpRange[] }
  | { readonly op: 'list'; readonly type: 'Int' | 'Bytes' | 'Ip'; readonly list: string }
  | { readonly op: '&'; readonly value: bigint }
  | { readonly op: 'contains'; readonly value: Bytes }
  | { readonly op: 'matches'; readonly regex: Regex }
  | { readonly op: 'wildcard'; readonly wildcard: Wildcard }

export interface Comparison {
  readonly kind: 'compare'
  readonly left: Path
  readonly test: Test
  readonly span: Span
}

export interface Combination {
  readonly kind: 'and' | 'or' | 'xor'
  readonly items: readonly Logical[]
  readonly span: Span
}

/** An expression of type Bool or, if it contains a `[*]`, Array<Bool>. */
export type Logical =
  | Combination
  | { readonly kind: 'not'; readonly item: Logical; readonly span: Span }
  | { readonly kind: 'group'; readonly item: Logical; readonly span: Span }
  | { readonly kind: 'any' | 'all'; readonly of: Arg; readonly span: Span }
  | Comparison
