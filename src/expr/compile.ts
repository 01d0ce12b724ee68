import type { Access, Arg, Call, Combination, Comparison, Logical, Path } from './ast.js'
import { compileTest } from './compile-test.js'
import type { Context } from './context.js'
import type { Lists } from './lists.js'
import { argInfo, literalValue, typeOf } from './arguments.js'
import type { Callee, Scheme } from './language/scheme.js'
import type { Predicate } from './sets.js'
import { BOOL } from './language/types.js'
import type { Value } from './language/value.js'

/** A compiled filter. */
export type Filter = (context: Context) => boolean
/** A compiled value. Undefined if the value is missing. */
export type Evaluate = (context: Context) => Value | undefined
/** All elements of a mapped path. Undefined if the mapped value is missing. */
type Elements = (context: Context) => readonly Value[] | undefined
/** One result per element. */
type Results = (context: Context) => readonly boolean[]

const NOTHING: readonly never[] = []
/** Cost of a function call in addition to its arguments, in steps of the budget. */
const CALL_STEPS = 16
/** Cost of an element that `[*]` selects, with its comparison, in steps of the budget. */
const ELEMENT_STEPS = 2

/** Compiles a tree to a function. Constant parts are evaluated now. No code is generated as text. */
export class Compiler {
  readonly #scheme: Scheme
  readonly #lists: Lists

  constructor(scheme: Scheme, lists: Lists) {
    this.#scheme = scheme
    this.#lists = lists
  }

  filter(expr: Logical): Filter {
    switch (expr.kind) {
      case 'group':
        return this.filter(expr.item)
      case 'not': {
        const item = this.filter(expr.item)
        return (context) => !item(context)
      }
      case 'any':
      case 'all':
        return this.#quantifier(expr.kind, expr.of)
      case 'compare':
        return this.#comparison(expr)
      default:
        return combined(
          expr.kind,
          expr.items.map((item) => this.filter(item)),
        )
    }
  }

  value(path: Path): Evaluate {
    const { base, accesses } = path
    if (base.kind === 'call') return accessed(this.#call(base), accesses)
    const { index, constant } = base.field
    if (constant !== undefined) return () => constant
    const [first, second] = accesses
    if (first === undefined) return (context) => context.get(index)
    if (first.kind === 'key' && accesses.length === 1) return (context) => member(context.get(index), first.key)
    if (first.kind === 'key' && second?.kind === 'index' && accesses.length === 2) {
      return (context) => (member(context.get(index), first.key) as readonly Value[] | undefined)?.[second.index]
    }
    return accessed((context) => context.get(index), accesses)
  }

  #comparison({ left, test }: Comparison): Filter {
    const missing = test.op === '!=' && this.#scheme.missingNotEqual
    const predicate = compileTest(test, this.#lists)
    const value = this.value(left)
    const { base } = left
    if (base.kind === 'field' && left.accesses.length === 0 && base.field.constant === undefined) {
      const { index } = base.field
      // The most frequent comparisons without an additional call.
      if (test.op === 'true') return (context) => context.get(index) === true
      if (test.op === '==') {
        const literal = typeof test.value === 'bigint' ? Number(test.value) : test.value
        return (context) => context.get(index) === literal
      }
      return (context) => {
        const found = context.get(index)
        return found === undefined ? missing : predicate(found, context)
      }
    }
    if (test.op === 'true') return (context) => value(context) === true
    return (context) => {
      const found = value(context)
      return found === undefined ? missing : predicate(found, context)
    }
  }

  #quantifier(kind: 'any' | 'all', of: Arg): Filter {
    const all = kind === 'all'
    if (of.kind === 'path') {
      const value = this.value(of)
      return (context) => {
        const found = value(context) as readonly boolean[] | undefined
        return found !== undefined && (all ? !found.includes(false) : found.includes(true))
      }
    }
    if (of.kind === 'logical' && of.expr.kind === 'compare' && of.expr.left.mapped > 0) {
      return quantified(all, this.elements(of.expr.left), compileTest(of.expr.test, this.#lists))
    }
    const results = this.#results((of as Arg & { kind: 'logical' }).expr)
    return (context) => (all ? !results(context).includes(false) : results(context).includes(true))
  }

  /** Compiles an expression of type Array<Bool>. */
  #results(expr: Logical): Results {
    switch (expr.kind) {
      case 'group':
        return this.#results(expr.item)
      case 'not': {
        const item = this.#results(expr.item)
        return (context) => item(context).map((response) => !response)
      }
      case 'compare': {
        const predicate = compileTest(expr.test, this.#lists)
        const elements = expr.left.mapped > 0 ? this.elements(expr.left) : (this.value(expr.left) as Elements)
        return (context) => (elements(context) ?? NOTHING).map((element) => predicate(element, context))
      }
      case 'any':
      case 'all':
        throw new TypeError('a quantifier is of type Bool')
      default:
        return zipped(
          expr.kind,
          expr.items.map((item) => this.#results(item)),
        )
    }
  }

  /** Returns the elements of a mapped path. */
  elements(path: Path): Elements {
    const first = path.accesses.findIndex(({ kind }) => kind === 'each')
    const before = this.value({ ...path, accesses: path.accesses.slice(0, first) })
    const rest = path.accesses.slice(first)
    return (context) => {
      const found = before(context)
      if (found === undefined) return undefined
      const elements = spread(found, rest)
      context.spend(elements.length * ELEMENT_STEPS)
      return elements
    }
  }

  #arg(arg: Arg): Evaluate {
    if (arg.kind === 'path') return this.value(arg)
    if (arg.kind === 'literal') {
      const literal = literalValue(arg)
      return () => literal
    }
    if (typeOf(arg.expr) === BOOL) return this.filter(arg.expr)
    return this.#results(arg.expr)
  }

  #call(call: Call): Evaluate {
    const definition = call.function
    const infos = call.args.map(argInfo)
    const [head, ...tail] = call.args
    const read = (definition.reads ?? []).flatMap((name): Evaluate[] => {
      const field = this.#scheme.field(name)
      return field === undefined ? [() => undefined] : [(context) => context.get(field.index)]
    })
    const others = [...tail.map((arg) => this.#arg(arg)), ...read]
    if (head === undefined) {
      const callee = definition.prepare(infos)
      return (context) => callee(...others.map((other) => other(context)))
    }
    const elements = call.mapped ? this.elements(head as Path) : undefined
    const first = elements === undefined ? this.#arg(head) : undefined
    const steps = definition.callSteps ?? CALL_STEPS
    const evaluated = (callee: Callee): Evaluate =>
      first === undefined ? mapped(callee, elements as Elements, others, steps) : applied(callee, first, others, steps)
    const within = definition.prepareWithin?.(infos)
    if (within === undefined) return evaluated(definition.prepare(infos))
    return (context) => evaluated(within(context))(context)
  }
}

const member = (map: Value | undefined, key: string): Value | undefined =>
  (map as ReadonlyMap<string, Value> | undefined)?.get(key)

function access(value: Value | undefined, step: Access): Value | undefined {
  if (value === undefined) return undefined
  if (step.kind === 'key') return (value as ReadonlyMap<string, Value>).get(step.key)
  return step.kind === 'index' ? (value as readonly Value[])[step.index] : undefined
}

function accessed(base: Evaluate, accesses: readonly Access[]): Evaluate {
  const [only] = accesses
  if (only === undefined) return base
  if (accesses.length === 1) return (context) => access(base(context), only)
  return (context) => accesses.reduce(access, base(context))
}

/** Returns the elements that `[*]` and the accesses after it select. */
function spread(value: Value, accesses: readonly Access[]): readonly Value[] {
  if (accesses.length === 1 && !(value instanceof Map)) return value as readonly Value[]
  const found: Value[] = []
  collect(value, accesses, 1, found)
  return found
}

/** Appends the selection of the accesses from `from` on in the members of a value. */
function collect(value: Value, accesses: readonly Access[], from: number, found: Value[]): void {
  const members = value instanceof Map ? (value as ReadonlyMap<string, Value>).values() : (value as readonly Value[])
  for (const member of members) {
    let inner: Value | undefined = member
    let at = from
    for (; at < accesses.length && accesses[at]!.kind !== 'each'; at++) inner = access(inner, accesses[at]!)
    if (inner === undefined) continue
    if (at === accesses.length) found.push(inner)
    else collect(inner, accesses, at + 1, found)
  }
}

function applied(callee: Callee, head: Evaluate, others: readonly Evaluate[], steps: number): Evaluate {
  const [second, third] = others
  if (second === undefined) return (context) => callee(charged(head(context), context, steps))
  if (third === undefined)
    return (context) => callee(charged(head(context), context, steps), charged(second(context), context))
  return (context) =>
    callee(charged(head(context), context, steps), ...others.map((other) => charged(other(context), context)))
}

/** Charges the work of a function on one argument, and `further` steps. */
function charged(value: Value | undefined, context: Context, further = 0): Value | undefined {
  context.spend(further + sizeOf(value))
  return value
}

/** Returns the bytes of a string, or the members of an array or a map. */
function sizeOf(value: Value | undefined): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' ? ('size' in value ? value.size : value.length) : 0
}

/** Calls the function for each element of its first argument. Undefined results are omitted. */
function mapped(callee: Callee, head: Elements, others: readonly Evaluate[], steps: number): Evaluate {
  return (context) => {
    const elements = head(context)
    if (elements === undefined) return undefined
    const rest = others.map((other) => other(context))
    // Each call works on the other arguments too.
    const further = rest.reduce<number>((sum, value) => sum + sizeOf(value), steps)
    return elements.flatMap((element) => {
      const result = callee(charged(element, context, further), ...rest)
      // Wrapped in an array, because flatMap would flatten a result that is an array.
      return result === undefined ? [] : [result]
    })
  }
}

function quantified(all: boolean, elements: Elements, predicate: Predicate): Filter {
  return (context) => {
    const found = elements(context)
    if (found === undefined) return all
    for (const element of found) if (predicate(element, context) !== all) return !all
    return all
  }
}

function combined(kind: Combination['kind'], items: readonly Filter[]): Filter {
  const [first, second] = items as readonly [Filter, Filter]
  if (kind === 'xor') return (context) => items.reduce((parity, item) => parity !== item(context), false)
  if (items.length === 2) {
    if (kind === 'and') return (context) => first(context) && second(context)
    return (context) => first(context) || second(context)
  }
  if (kind === 'and') {
    return (context) => {
      for (const item of items) if (!item(context)) return false
      return true
    }
  }
  return (context) => {
    for (const item of items) if (item(context)) return true
    return false
  }
}

/** Combines element by element, up to the length of the shortest. */
function zipped(kind: Combination['kind'], items: readonly Results[]): Results {
  return (context) => {
    const columns = items.map((item) => item(context))
    const length = Math.min(...columns.map((column) => column.length))
    context.spend(length * columns.length)
    const results: boolean[] = []
    for (let at = 0; at < length; at++) {
      let result = kind === 'and'
      for (const column of columns) {
        const cell = column[at] === true
        result = kind === 'and' ? result && cell : kind === 'or' ? result || cell : result !== cell
      }
      results.push(result)
    }
    return results
  }
}
