import type { Arg, Comparison, Logical, Path, Span, Test } from '../ast.js'
import type { Expression } from '../expression.js'
import { formatIp } from '../language/ip.js'
import { toBytes, toText } from '../language/value.js'

/** Where a part is in the text, in bytes. */
interface Placed {
  /** The part as it is written. */
  readonly text: string
  readonly start: number
  readonly length: number
}

/** What is compared on the right side. */
export type TreeValue = string | number | boolean | readonly string[] | null

/** An expression as a form can show it. */
export type Tree = Placed &
  (
    | { readonly type: 'and' | 'or' | 'xor'; readonly items: readonly Tree[] }
    | { readonly type: 'not'; readonly item: Tree }
    | {
        readonly type: 'comparison'
        readonly field: string
        /** The key of a map, such as the name of a header field. */
        readonly key: string | null
        /** One of the values of a list or map has to fit, or each. */
        readonly quantifier: 'any' | 'all' | null
        /** The function that changes the field first: `lower`, `upper`, `len`, `url_decode`. */
        readonly transform: string | null
        readonly operator: string
        /** The name of a list for `in_list`, a list of texts for `in`, null for a field that is true or false. */
        readonly value: TreeValue
      }
    /** What a form cannot show. */
    | { readonly type: 'text' }
  )

const NAMES: Readonly<Record<string, string>> = {
  '==': 'eq',
  '!=': 'ne',
  '<': 'lt',
  '<=': 'le',
  '>': 'gt',
  '>=': 'ge',
  '&': 'bitwise_and',
}
const TRANSFORMS: ReadonlySet<string> = new Set(['lower', 'upper', 'len', 'url_decode'])
/** Functions that are conditions on a field and a text. */
const CONDITIONS: ReadonlySet<string> = new Set(['starts_with', 'ends_with'])

/** Returns a filter as a tree. Parentheses are left out, because the tree has their order. */
export function treeOf({ text, root }: Expression): Tree {
  const source = toBytes(text)
  return new Trees(source).of(root)
}

interface Left {
  readonly field: string
  readonly key: string | null
  readonly transform: string | null
}

class Trees {
  readonly #source: string

  constructor(source: string) {
    this.#source = source
  }

  of(expr: Logical): Tree {
    const placed = this.#placed(expr.span)
    switch (expr.kind) {
      case 'group':
        return this.of(expr.item)
      case 'not':
        return { type: 'not', item: this.of(expr.item), ...placed }
      case 'any':
      case 'all':
        return this.#quantified(expr.kind, expr.of, placed)
      case 'compare':
        return this.#comparison(expr, null, placed)
      default:
        return { type: expr.kind, items: expr.items.map((item) => this.of(item)), ...placed }
    }
  }

  #quantified(quantifier: 'any' | 'all', of: Arg, placed: Placed): Tree {
    const inner = of.kind === 'logical' && of.expr.kind === 'compare' ? of.expr : undefined
    return inner ? this.#comparison(inner, quantifier, placed) : { type: 'text', ...placed }
  }

  #comparison({ left, test, span }: Comparison, quantifier: 'any' | 'all' | null, placed: Placed): Tree {
    const condition = test.op === 'true' ? conditionOf(left) : undefined
    if (condition) return { type: 'comparison', quantifier, ...condition, ...placed }
    const side = leftOf(left)
    if (!side) return { type: 'text', ...placed }
    const right = this.#source.slice(left.span.end, span.end)
    return { type: 'comparison', quantifier, ...side, ...operatorOf(test, right), ...placed }
  }

  #placed({ start, end }: Span): Placed {
    return { text: toText(this.#source.slice(start, end)), start, length: end - start }
  }
}

/** Returns `starts_with(FIELD, "text")` as a comparison. */
function conditionOf({ base, accesses }: Path) {
  if (base.kind !== 'call' || accesses.length > 0 || !CONDITIONS.has(base.function.name)) return undefined
  const [subject, value] = base.args
  const side = subject?.kind === 'path' ? leftOf(subject) : undefined
  if (!side || value?.kind !== 'literal' || typeof value.value !== 'string') return undefined
  return { ...side, operator: base.function.name, value: toText(value.value) }
}

/** Returns the field of the left side. Undefined if a form cannot show the side. */
function leftOf({ base, accesses }: Path, transform: string | null = null): Left | undefined {
  if (base.kind === 'call') {
    const [only, ...others] = base.args
    const { name } = base.function
    if (transform !== null || !TRANSFORMS.has(name) || others.length > 0 || only?.kind !== 'path') return undefined
    return accesses.length > 0 ? undefined : leftOf(only, name)
  }
  const [first, ...rest] = accesses
  const key = first?.kind === 'key' ? toText(first.key) : null
  const others = key === null ? accesses : rest
  // All values, or the first one.
  if (others.length > 1 || (others[0]?.kind === 'index' && others[0].index !== 0)) return undefined
  return { field: base.field.name, key, transform }
}

function operatorOf(test: Test, right: string): { operator: string; value: TreeValue } {
  switch (test.op) {
    case 'true':
      return { operator: 'is_true', value: null }
    case 'list':
      return { operator: 'in_list', value: test.list }
    case 'in':
      return { operator: 'in', value: 'values' in test ? test.values.map(toText) : setItems(right) }
    case 'contains':
      return { operator: 'contains', value: toText(test.value) }
    case 'matches':
      return { operator: 'matches', value: toText(test.regex.pattern) }
    case 'wildcard':
      return {
        operator: test.wildcard.strict ? 'strict_wildcard' : 'wildcard',
        value: toText(test.wildcard.pattern),
      }
    case '&':
      return { operator: NAMES['&']!, value: numberOf(test.value) }
    default:
      if (test.type === 'Int') return { operator: NAMES[test.op]!, value: numberOf(test.value) }
      return {
        operator: NAMES[test.op]!,
        value: test.type === 'Ip' ? formatIp(test.value) : toText(test.value),
      }
  }
}

/** Numbers keep all their digits. */
const numberOf = (value: bigint): number | string => {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

/** Returns the numbers, addresses and ranges of a set as they are written. */
const setItems = (right: string): string[] =>
  right
    .slice(right.indexOf('{') + 1, right.lastIndexOf('}'))
    .split(/\s+/)
    .filter((item) => item !== '')
