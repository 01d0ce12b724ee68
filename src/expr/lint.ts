import type { Combination, Comparison, Logical, Path, Span } from './ast.js'
import { FIELDS } from './fields/index.js'
import type { Expression } from './expression.js'
import { argInfo } from './arguments.js'
import { toText } from './language/value.js'
import { walk } from './walk.js'

/** An allowed construct that is probably not meant. `start` and `end` are byte offsets into the expression. */
export interface Lint extends Span {
  readonly message: string
}

/** Returns hints about one expression, in order of position. */
export function lint({ root }: { readonly root: Logical | Path }): Lint[] {
  const found: Lint[] = []
  const report = (message: string, { start, end }: Span) => found.push({ message, start, end })
  walk(root, {
    logical(expr) {
      if (expr.kind === 'or' || expr.kind === 'xor') mixed(expr, report)
      if (expr.kind === 'all') allOfMissing(expr.of, report, expr.span)
    },
    comparison: (comparison) => COMPARISONS.forEach((look) => look(comparison, report)),
    path: (path) => upperCaseKey(path, report),
    call({ function: { name, params, optional, rest }, args }) {
      for (const [at, arg] of args.entries()) {
        const wrong = (params[at] ?? optional[at - params.length] ?? rest)?.check?.(argInfo(arg))
        if (wrong !== undefined) report(`${name} will be refused in a rule: ${wrong}`, arg.span)
      }
    },
  })
  return found.sort((a, b) => a.start - b.start)
}

type Report = (message: string, span: Span) => void

/** Reports `a or b and c`, which is valid in the grammar but ambiguous to many readers. */
function mixed({ kind, items }: Combination, report: Report): void {
  for (const item of items) {
    const tighter = item.kind === 'and' || item.kind === 'xor'
    if (tighter) report(`${item.kind} binds tighter than ${kind}: parentheses would make that clear`, item.span)
  }
}

/** Reports `all` over a missing array, which has no element that does not match. */
function allOfMissing(of: { kind: string; expr?: Logical }, report: Report, span: Span): void {
  const expr = of.kind === 'logical' ? of.expr : undefined
  const mapped = expr?.kind === 'compare' && expr.left.mapped > 0
  if (mapped) report('all(...) is also true if no element exists; add any(...) or len(...) > 0 to require one', span)
}

const FIELD_INFO = new Map(FIELDS.map((field) => [field.name, field]))

/** Maps whose keys are header names in lower case. */
const HEADERS = ['http.request.headers', 'http.response.headers', 'raw.http.response.headers']

function upperCaseKey({ base, accesses, span }: Path, report: Report): void {
  if (base.kind !== 'field') return
  const { name } = base.field
  const [first] = accesses
  if (HEADERS.includes(name) && first?.kind === 'key' && /[A-Z]/.test(first.key)) {
    const key = toText(first.key)
    report(`header names are in lower case here: ["${key}"] is never there, ["${key.toLowerCase()}"] may be`, span)
  }
  const info = FIELD_INFO.get(name)
  if (info?.deprecated === true) report(`${name} is deprecated: use ${info.aliasOf}`, span)
}

const fieldName = ({ base, accesses }: Path) => (base.kind === 'field' && accesses.length === 0 ? base.field.name : '')

/** Returns the texts that a comparison names as whole values. */
function texts({ test }: Comparison): readonly string[] {
  if (test.op === 'in') return test.type === 'Bytes' ? test.values : []
  return test.op === '==' && test.type === 'Bytes' ? [test.value] : []
}

const COMPARISONS: readonly ((comparison: Comparison, report: Report) => void)[] = [
  function emptySet({ test, span }, report) {
    if (test.op !== 'in') return
    const members = test.type === 'Bytes' ? test.values : test.ranges
    if (members.length === 0) report('an empty set holds nothing: this is always false', span)
  },
  function repeatedMember(comparison, report) {
    const seen = new Set<string>()
    for (const text of texts(comparison)) {
      if (seen.has(text)) report(`"${toText(text)}" is in the set twice`, comparison.span)
      seen.add(text)
    }
  },
  function overlapping({ test, span }, report) {
    if (test.op !== 'in' || test.type === 'Bytes') return
    const ranges =
      test.type === 'Int'
        ? test.ranges.map(([first, last]) => ({ first: Number(first), last: Number(last) }))
        : test.ranges.filter(({ first }) => typeof first === 'number')
    const sorted = [...ranges].sort((a, b) => (a.first < b.first ? -1 : 1))
    if (sorted.some(({ first }, at) => at > 0 && first <= (sorted[at - 1] as { last: typeof first }).last)) {
      report('members of the set overlap', span)
    }
  },
  function methodCase(comparison, report) {
    if (fieldName(comparison.left) !== 'http.request.method') return
    const wrong = texts(comparison).find((text) => /[a-z]/.test(text))
    if (wrong !== undefined) report(`methods are in upper case: "${wrong}" matches nothing`, comparison.span)
  },
  function countryCase(comparison, report) {
    if (!/^ip\.(src|geoip)\.(country|continent)$/.test(fieldName(comparison.left))) return
    const wrong = texts(comparison).find((text) => /[a-z]/.test(text))
    if (wrong !== undefined) report(`country and continent codes are in upper case: "${wrong}"`, comparison.span)
  },
  function foldedLiteral(comparison, report) {
    const { base } = comparison.left
    if (base.kind !== 'call') return
    const letters = base.function.name === 'lower' ? /[A-Z]/ : base.function.name === 'upper' ? /[a-z]/ : undefined
    const wrong = texts(comparison).find((text) => letters?.test(text))
    if (wrong !== undefined) report(`${base.function.name}(...) never gives "${toText(wrong)}"`, comparison.span)
  },
  function patternInText({ test, span }, report) {
    if (test.op !== 'contains' && !(test.op === '==' && test.type === 'Bytes')) return
    const text = test.value
    if (text.length > 1 && (text.startsWith('^') || text.endsWith('$'))) {
      report('^ and $ are literal here; only matches reads a pattern', span)
    }
  },
]

/**
 * Returns hints about rules in their order, by index: `hidden` is after `hider`, which ends the evaluation of every
 * request, and is never reached.
 */
export function lintRules(
  rules: readonly { readonly expression: Expression; readonly terminating: boolean }[],
): { readonly hidden: number; readonly hider: number }[] {
  const hider = rules.findIndex(({ expression, terminating }) => terminating && alwaysTrue(expression.root))
  if (hider === -1) return []
  return rules.slice(hider + 1).map((_, at) => ({ hidden: hider + 1 + at, hider }))
}

function alwaysTrue(expr: Logical): boolean {
  if (expr.kind === 'group') return alwaysTrue(expr.item)
  if (expr.kind === 'and') return expr.items.every(alwaysTrue)
  if (expr.kind === 'or') return expr.items.some(alwaysTrue)
  return expr.kind === 'compare' && expr.left.base.kind === 'field' && expr.left.base.field.constant === true
}
