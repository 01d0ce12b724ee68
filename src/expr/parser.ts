import { argInfo, argType, countReason, typeOf } from './arguments.js'
import type { Access, Arg, Call, Combination, Literal, Logical, Path } from './ast.js'
import { ExprSpanError } from './error.js'
import { isHexDigit, isNameChar, lexerFor, type Lexer } from './lexer.js'
import { readOperator, readTest } from './operand.js'
import type { FunctionDef, Scheme } from './language/scheme.js'
import { arrayOf, BOOL, BYTES, INT, IP, type Type } from './language/types.js'

/** Maximum nesting of parentheses, `not`, calls and quantifiers. */
const MAX_NESTING = 128

/** A parsed text; `source` is the text as a byte string, to which all spans refer. */
export interface Parsed<T> {
  readonly source: string
  readonly root: T
}

/** Parses a filter, which is an expression of type Bool. Throws an ExprSpanError. */
export function parseFilter(text: string, scheme: Scheme): Parsed<Logical> {
  const lexer = lexerFor(text)
  const root = new Parser(lexer, scheme).logical(0)
  const type = typeOf(root)
  if (type !== BOOL) throw mismatch(lexer, BOOL, type)
  complete(lexer)
  return { source: lexer.source, root }
}

/** Parses a value, which is a field or a call of any type. Throws an ExprSpanError. */
export function parseValue(text: string, scheme: Scheme): Parsed<Path> {
  const lexer = lexerFor(text)
  const root = new Parser(lexer, scheme).path(0)
  if (root.mapped > 0) {
    const found = arrayOf(root.type).name
    const reason = `expected a single value, but got ${found}: a value may not end in [*]`
    throw lexer.issue('TypeMismatch', reason, root.span.start, root.span.end)
  }
  complete(lexer)
  return { source: lexer.source, root }
}

function complete(lexer: Lexer): void {
  if (lexer.at < lexer.end) throw lexer.issue('EOF', 'unrecognised input')
}

const mismatch = (lexer: Lexer, expected: Type, actual: Type) =>
  lexer.issue('TypeMismatch', `expected value of type ${expected.name}, but got ${actual.name}`)

type Combiner = Combination['kind']
// In the order in which they are matched. A larger number binds tighter.
const COMBINERS: readonly [text: string, kind: Combiner, precedence: number][] = [
  ['or', 'or', 1],
  ['||', 'or', 1],
  ['xor', 'xor', 2],
  ['^^', 'xor', 2],
  ['and', 'and', 3],
  ['&&', 'and', 3],
]

interface Ahead {
  combiner: readonly [text: string, kind: Combiner, precedence: number] | undefined
  /** Position to continue at. It is after the operator, or before the white space if no operator follows. */
  at: number
}

class Parser {
  readonly #lexer: Lexer
  readonly #scheme: Scheme

  constructor(lexer: Lexer, scheme: Scheme) {
    this.#lexer = lexer
    this.#scheme = scheme
  }

  /**
   * `simple { op simple }` by precedence climbing, where `and` binds tighter than `xor`, and `xor` tighter than `or`.
   */
  logical(depth: number): Logical {
    const first = this.#simple(depth)
    return this.#climb(first, 0, this.#combiner(), depth).expr
  }

  #climb(left: Logical, least: number, ahead: Ahead, depth: number): { expr: Logical; ahead: Ahead } {
    const lexer = this.#lexer
    let next = ahead
    while (next.combiner !== undefined) {
      const [, kind, precedence] = next.combiner
      lexer.at = next.at
      let right = this.#simple(depth)
      let after = lexer.at
      next = this.#combiner()
      while (next.combiner !== undefined && next.combiner[2] > precedence) {
        ;({ expr: right, ahead: next } = this.#climb(right, next.combiner[2], next, depth))
        after = lexer.at
        next = this.#combiner()
      }
      const [leftType, rightType] = [typeOf(left), typeOf(right)]
      if (leftType !== rightType) {
        lexer.at = next.at
        throw mismatch(lexer, leftType, rightType)
      }
      left = combine(kind, left, right)
      lexer.at = after
      if (next.combiner !== undefined && next.combiner[2] < least) next = { combiner: undefined, at: after }
    }
    lexer.at = next.at
    return { expr: left, ahead: next }
  }

  /** Returns the combining operator ahead, if there is one. The position does not change. */
  #combiner(): Ahead {
    const lexer = this.#lexer
    const before = lexer.at
    lexer.skipSpace()
    const combiner = COMBINERS.find(([text]) => lexer.take(text))
    if (combiner !== undefined) lexer.skipSpace()
    const at = combiner === undefined ? before : lexer.at
    lexer.at = before
    return { combiner, at }
  }

  #deeper(depth: number, at = this.#lexer.at): number {
    if (depth < MAX_NESTING) return depth + 1
    const reason = `maximum nesting depth exceeded (limit: ${MAX_NESTING})`
    throw this.#lexer.issue('NestingLimitExceeded', reason, at)
  }

  #simple(depth: number): Logical {
    const lexer = this.#lexer
    const start = lexer.at
    if (lexer.peek() === 0x28) {
      const deeper = this.#deeper(depth)
      lexer.at++
      lexer.skipSpace()
      const item = this.logical(deeper)
      lexer.skipSpace()
      lexer.expect(')')
      return { kind: 'group', item, span: { start, end: lexer.at } }
    }
    if (this.#not()) {
      const deeper = this.#deeper(depth, start)
      lexer.skipSpace()
      const item = this.#simple(deeper)
      return { kind: 'not', item, span: { start, end: lexer.at } }
    }
    const quantifier = this.#quantifier()
    if (quantifier !== undefined) return this.#quantified(quantifier, start, depth)
    return this.#comparison(this.path(depth))
  }

  #not(): boolean {
    return this.#lexer.take('not') || this.#lexer.take('!')
  }

  /** Reads `any` or `all` if a parenthesis follows. The position is then at the parenthesis. */
  #quantifier(): 'any' | 'all' | undefined {
    const lexer = this.#lexer
    const start = lexer.at
    const found = lexer.take('any') ? 'any' : lexer.take('all') ? 'all' : undefined
    if (found === undefined) return undefined
    lexer.skipSpace()
    if (lexer.peek() === 0x28) return found
    lexer.at = start
    return undefined
  }

  #quantified(kind: 'any' | 'all', start: number, depth: number): Logical {
    const lexer = this.#lexer
    const deeper = this.#deeper(depth, start)
    lexer.expect('(')
    lexer.skipSpace()
    const from = lexer.at
    const of = this.#arg(deeper)
    const type = argType(of)
    if (type !== arrayOf(BOOL)) {
      const reason = `expected value of type ${arrayOf(BOOL).name}, but got ${type.name}`
      throw lexer.issue('TypeMismatch', reason, from, lexer.at)
    }
    lexer.skipSpace()
    lexer.expect(')')
    return { kind, of, span: { start, end: lexer.at } }
  }

  /**
   * Reads the rest of the comparison after `left`. That is nothing for a Bool, and otherwise an operator and a literal.
   */
  #comparison(left: Path): Logical {
    const lexer = this.#lexer
    const { start } = left.span
    if (left.type === BOOL || left.type === arrayOf(BOOL)) {
      if (left.type !== BOOL && left.mapped > 0) throw this.#unsupported(arrayOf(left.type), lexer.at, lexer.at)
      return { kind: 'compare', left, test: { op: 'true' }, span: { start, end: lexer.at } }
    }
    lexer.skipSpace()
    const from = lexer.at
    const op = readOperator(lexer)
    if (op === undefined) throw lexer.issue('ExpectedName', 'expected ComparisonOp')
    const to = lexer.at
    lexer.skipSpace()
    const test = readTest(lexer, left.type, op)
    if (test === undefined) throw this.#unsupported(left.type, from, to)
    return { kind: 'compare', left, test, span: { start, end: lexer.at } }
  }

  #unsupported(type: Type, start: number, end: number) {
    return this.#lexer.issue('UnsupportedOp', `cannot perform this operation on type ${type.name}`, start, end)
  }

  /** Reads a field or a call, with its accesses. */
  path(depth: number): Path {
    const lexer = this.#lexer
    const { at: start } = lexer
    const base = this.#base(depth)
    let type = base.kind === 'field' ? base.field.type : base.type
    let mapped = 0
    const accesses: Access[] = []
    for (;;) {
      const from = lexer.at
      if (!lexer.take('[')) break
      const access = this.#access()
      const fits =
        access.kind === 'each' ? type.of : type.kind === (access.kind === 'key' ? 'Map' : 'Array') ? type.of : undefined
      if (fits === undefined) {
        const reason = `cannot access ${lexer.source.slice(from, lexer.at)} of type ${type.name}`
        throw lexer.issue('InvalidIndexAccess', reason, from, lexer.at)
      }
      type = fits
      if (access.kind === 'each') mapped++
      accesses.push(access)
    }
    return { kind: 'path', base, accesses, type, mapped, span: { start, end: lexer.at } }
  }

  #base(depth: number): Path['base'] {
    const lexer = this.#lexer
    const start = lexer.at
    const name = lexer.identifier()
    const field = this.#scheme.field(name)
    if (field !== undefined) return { kind: 'field', field }
    const definition = this.#scheme.functions.get(name)
    if (definition === undefined) throw lexer.issue('UnknownIdentifier', 'unknown identifier', start, lexer.at)
    lexer.skipSpace()
    return this.#call(definition, this.#deeper(depth))
  }

  #access(): Access {
    const lexer = this.#lexer
    lexer.skipSpace()
    const access = this.#accessed()
    lexer.skipSpace()
    lexer.expect(']')
    return access
  }

  #accessed(): Access {
    const lexer = this.#lexer
    if (lexer.take('*')) return { kind: 'each' }
    const start = lexer.at
    if (lexer.peek() === 0x22) {
      const key = lexer.quoted()
      if (isUtf8(key)) return { kind: 'key', key }
    } else {
      const index = attempt(() => lexer.int())
      if (index !== undefined && index >= 0n && index <= 0xffff_ffffn) return { kind: 'index', index: Number(index) }
      if (index !== undefined)
        throw lexer.issue('ExpectedLiteral', 'expected literal "expected positive integer as index"', start)
    }
    throw lexer.issue('ExpectedLiteral', 'expected literal "expected quoted utf8 string or positive integer"', start)
  }

  #call(definition: FunctionDef, depth: number): Call {
    const lexer = this.#lexer
    const { params, optional, rest } = definition
    lexer.expect('(')
    lexer.skipSpace()
    const args: Arg[] = []
    while (lexer.at < lexer.end && lexer.peek() !== 0x29) {
      if (args.length > 0) lexer.expect(',')
      lexer.skipSpace()
      const start = lexer.at
      const arg = this.#arg(depth)
      if (args.length > 0 && arg.kind === 'path' && arg.mapped > 0) {
        throw lexer.issue('InvalidMapEachAccess', 'only the first argument of a call may be mapped', start, lexer.at)
      }
      const param = params[args.length] ?? optional[args.length - params.length] ?? rest
      if (param === undefined)
        throw lexer.issue('InvalidArgumentsCount', countReason(definition, args.length + 1), start)
      const first = args[0]
      const place = `argument #${args.length}`
      const issue = (kind: 'InvalidArgumentKind' | 'InvalidArgumentType', reason: string) =>
        lexer.issue(kind, reason, start, lexer.at)
      const info = argInfo(arg)
      const found = arg.kind === 'literal' ? 'literal' : 'field'
      if (param.kind !== 'any' && param.kind !== found) {
        throw issue('InvalidArgumentKind', `invalid kind of ${place}: expected a ${param.kind}, but got a ${found}`)
      }
      if (!param.accepts(info.type, first === undefined ? undefined : argType(first))) {
        const reason = `invalid type of ${place}: expected value of type ${param.expected}, but got ${info.type.name}`
        throw issue('InvalidArgumentType', reason)
      }
      args.push(arg)
      lexer.skipSpace()
    }
    if (args.length < params.length) throw lexer.issue('InvalidArgumentsCount', countReason(definition, args.length))
    lexer.expect(')')
    const [first] = args
    const mapped = first?.kind === 'path' && first.mapped > 0
    const type = definition.returns(first === undefined ? BYTES : argType(first))
    return { kind: 'call', function: definition, args, type: mapped ? arrayOf(type) : type, mapped }
  }

  /** Reads one argument. A beginning that could be a name or a number is first parsed as a name. */
  #arg(depth: number): Arg {
    const lexer = this.#lexer
    const { at: start } = lexer
    const [c, c2, c3] = [lexer.peek(), lexer.peek(1), lexer.peek(2)]
    if (c === 0x22 || (c === 0x72 && (c2 === 0x22 || c2 === 0x23))) return this.#literal(BYTES, () => lexer.bytes())
    if (c === 0x28 || this.#startsLogical()) {
      const expr = this.logical(depth)
      return { kind: 'logical', expr, span: { start, end: lexer.at } }
    }
    const named = isNameOnly(c) || (isNameChar(c) && (isNameOnly(c2) || (isNameChar(c2) && isNameOnly(c3))))
    const path = named ? this.path(depth) : attempt(() => this.path(depth))
    if (path !== undefined) return this.#compared(path)

    for (const [type, read] of [
      [IP, () => lexer.ip()],
      [INT, () => lexer.int()],
      [BYTES, () => lexer.bytes()],
    ] as const) {
      lexer.at = start
      const literal = attempt(() => this.#literal(type, read))
      if (literal !== undefined) return literal
    }
    throw lexer.issue('EOF', 'unrecognised input', start)
  }

  #startsLogical(): boolean {
    const start = this.#lexer.at
    const logical = this.#not() || this.#quantifier() !== undefined
    this.#lexer.at = start
    return logical
  }

  /** Reads a path as an argument, or the comparison that it begins. */
  #compared(path: Path): Arg {
    const lexer = this.#lexer
    const end = lexer.at
    lexer.skipSpace()
    const compared = readOperator(lexer) !== undefined
    lexer.at = end
    if (!compared) return path
    const expr = this.#comparison(path)
    return { kind: 'logical', expr, span: { start: path.span.start, end: lexer.at } }
  }

  #literal(type: Type, read: () => Literal['value']): Literal {
    const start = this.#lexer.at
    const value = read()
    return { kind: 'literal', type, value, span: { start, end: this.#lexer.at } }
  }
}

/** Joins two sides. A repeated operator extends the list. */
function combine(kind: Combiner, left: Logical, right: Logical): Logical {
  const span = { start: left.span.start, end: right.span.end }
  return left.kind === kind ? { kind, items: [...left.items, right], span } : { kind, items: [left, right], span }
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof ExprSpanError) return undefined
    throw error
  }
}

const isNameOnly = (char: number): boolean => isNameChar(char) && !isHexDigit(char)

function isUtf8(bytes: string): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(bytes, 'latin1'))
    return true
  } catch {
    return false
  }
}
