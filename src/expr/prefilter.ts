import type { Arg, Comparison, Logical, Path } from './ast.js'
import type { IpRange } from './language/ip.js'
import { BOOL } from './language/types.js'
import type { Bytes, Value } from './language/value.js'
import { lowerAscii } from './language/wildcard.js'

/**
 * A condition that is fast to evaluate for all rules together. Texts are in lower case. Gates ignore the case of ASCII
 * letters, so they may pass a request that the rule then does not match, but never the reverse.
 */
export type Gate = { readonly path: Path } & (
  | { readonly kind: 'equal'; readonly value: Value; readonly folded: boolean }
  | { readonly kind: 'prefix' | 'contains'; readonly text: Bytes }
  | { readonly kind: 'ip'; readonly range: IpRange }
)

/** Gates for a rule. At least one is open whenever the rule matches. Includes an estimate of how often one is open. */
export interface Gates {
  readonly gates: readonly Gate[]
  readonly share: number
}

/** A text of this many bytes is as selective as a longer one, and needs a smaller automaton. */
const MAX_TEXT = 32
const MIN_CONTAINED = 3
/** Gates that open more often than this are not worth evaluating. */
const MAX_SHARE = 0.7
const MAX_GATES = 256

/** Returns the gates of a filter. Undefined if no gates are known and the filter must always be evaluated. */
export function gatesOf(expr: Logical): Gates | undefined {
  const found = necessary(expr)
  return found !== undefined && found.share <= MAX_SHARE && found.gates.length <= MAX_GATES ? found : undefined
}

/** Returns the gates of a filter, or of at least one element if it is mapped. */
function necessary(expr: Logical): Gates | undefined {
  switch (expr.kind) {
    case 'group':
      return necessary(expr.item)
    case 'any':
      return ofArg(expr.of)
    case 'compare':
      return ofComparison(expr)
    case 'and': {
      // All gates are necessary. The gate that is open least often suffices.
      const known = expr.items.map(necessary).filter((gates) => gates !== undefined)
      return known.reduce<Gates | undefined>(
        (best, next) => (best && best.share <= next.share ? best : next),
        undefined,
      )
    }
    case 'or': {
      const all = expr.items.map(necessary)
      if (all.includes(undefined)) return undefined
      return both(all as Gates[])
    }
    default:
      return undefined
  }
}

const both = (all: readonly Gates[]): Gates => ({
  gates: all.flatMap(({ gates }) => gates),
  share: all.reduce((sum, { share }) => sum + share, 0),
})

function ofArg(arg: Arg): Gates | undefined {
  if (arg.kind === 'logical') return necessary(arg.expr)
  return arg.kind === 'path' ? ofCall(arg) : undefined
}

/** Returns the gates of `starts_with(...)` and `ends_with(...)`, mapped or not. */
function ofCall({ base, accesses }: Path): Gates | undefined {
  if (base.kind !== 'call' || accesses.length > 0) return undefined
  const [subject, literal] = base.args
  if (subject?.kind !== 'path' || literal?.kind !== 'literal' || typeof literal.value !== 'string') return undefined
  const { path } = unfolded(subject)
  if (base.function.name === 'starts_with') return prefix(path, literal.value)
  return base.function.name === 'ends_with' ? contains(path, [literal.value]) : undefined
}

function ofComparison({ left, test }: Comparison): Gates | undefined {
  const { base } = left
  if (base.kind === 'field' && base.field.constant !== undefined) {
    return base.field.constant ? undefined : { gates: [], share: 0 }
  }
  const { path, folded } = unfolded(left)
  switch (test.op) {
    case 'true':
      if (base.kind === 'call') return ofCall(left)
      // A field of type Array<Bool> without `[*]` is not equal to a Bool.
      return path.type === BOOL ? equal(path, [true], false) : undefined
    case '==':
      if (test.type === 'Ip') return inRanges(path, [{ first: test.value, last: test.value }])
      return equal(path, [typeof test.value === 'bigint' ? Number(test.value) : test.value], folded)
    case 'in':
      if (test.type === 'Ip') return inRanges(path, test.ranges)
      if (test.type === 'Bytes') return equal(path, test.values, folded)
      if (test.ranges.some(([first, last]) => first !== last)) return undefined
      return equal(
        path,
        test.ranges.map(([first]) => Number(first)),
        false,
      )
    case 'contains':
      return contains(path, [test.value])
    case 'matches':
      return test.regex.required === undefined ? undefined : contains(path, test.regex.required)
    case 'wildcard': {
      const { parts, strict } = test.wildcard
      const [first = ''] = parts
      if (parts.length === 1) return equal(path, [first], folded || !strict)
      if (first.length >= MIN_CONTAINED) return prefix(path, first)
      return contains(path, [parts.reduce((best, part) => (part.length > best.length ? part : best))])
    }
    default:
      return undefined
  }
}

/** Returns the argument of `lower(x)` and `upper(x)`. */
function unfolded(path: Path): { path: Path; folded: boolean } {
  const { base, accesses } = path
  if (base.kind !== 'call' || !['lower', 'upper'].includes(base.function.name)) return { path, folded: false }
  const [inner] = base.args
  const plain = accesses.length === (base.mapped ? 1 : 0) && accesses.every(({ kind }) => kind === 'each')
  if (inner?.kind !== 'path' || !plain) return { path, folded: false }
  return { path: unfolded(inner).path, folded: true }
}

/** Share of requests in which a field has one certain value, for fields with few values. */
const COMMON: Readonly<Record<string, number>> = {
  'http.request.method': 0.3,
  'http.request.version': 0.4,
  'cf.edge.server_port': 0.4,
  'ip.src.country': 0.06,
  'ip.src.continent': 0.2,
}

function equal(path: Path, values: readonly Value[], folded: boolean): Gates {
  const name = path.base.kind === 'field' ? path.base.field.name : ''
  const each = path.type.kind === 'Bool' ? 0.5 : Object.hasOwn(COMMON, name) ? (COMMON[name] as number) : 0.02
  const fold = (value: Value) => (folded && typeof value === 'string' ? lowerAscii(value) : value)
  return {
    gates: values.map((value) => ({ kind: 'equal', path, value: fold(value), folded })),
    share: values.length * each,
  }
}

function inRanges(path: Path, ranges: readonly IpRange[]): Gates {
  const share = ranges.reduce((sum, { first, last }) => {
    const addresses = typeof first === 'number' ? (last as number) - first : 0
    return sum + Math.max(0.002, addresses / 2 ** 28)
  }, 0)
  return { gates: ranges.map((range) => ({ kind: 'ip', path, range })), share }
}

function prefix(path: Path, text: Bytes): Gates {
  const folded = lowerAscii(text.slice(0, MAX_TEXT))
  return { gates: [{ kind: 'prefix', path, text: folded }], share: Math.max(0.01, 0.7 ** folded.length) }
}

function contains(path: Path, texts: readonly Bytes[]): Gates | undefined {
  if (texts.some((text) => text.length < MIN_CONTAINED)) return undefined
  const gates = texts.map((text): Gate => ({ kind: 'contains', path, text: lowerAscii(text.slice(0, MAX_TEXT)) }))
  return { gates, share: texts.reduce((sum, text) => sum + Math.max(0.03, 0.5 ** text.length), 0) }
}
