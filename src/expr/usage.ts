import type { Arg, Logical, Path, Span } from './ast.js'
import { ExprSpanError } from './error.js'
import { argInfo } from './arguments.js'
import type { Field, FunctionDef } from './language/scheme.js'
import { walk } from './walk.js'

/** Place of an expression in a rule. Absent members are not checked. */
export interface ExpressionPlace {
  /** The phase of its ruleset. */
  readonly phase?: string
  /** The member of the rule, if it is not `expression`: `counting_expression`, `target_url`. */
  readonly member?: string
}

/** Maximum number of regular expressions in one expression, as in the reference. */
const MAX_REGEXES = 64

/** Fields, lists and other names that an expression uses. */
export interface Uses {
  readonly fields: ReadonlySet<Field>
  readonly functions: ReadonlySet<string>
  readonly lists: readonly { readonly name: string; readonly type: 'Int' | 'Bytes' | 'Ip'; readonly span: Span }[]
  readonly regexes: number
}

/**
 * Collects the fields, functions and lists that an expression uses. Throws an ExprSpanError if a part is not allowed in
 * this place, or is used too often.
 */
export function survey(root: Logical | Path, place: ExpressionPlace): Uses {
  const fields = new Set<Field>()
  const functions = new Set<string>()
  const lists: Uses['lists'][number][] = []
  const filter = root.kind !== 'path'
  let regexes = 0
  const countRegex = (span: Span) => {
    if (++regexes > MAX_REGEXES) {
      const reason = `an expression has at most ${MAX_REGEXES} regular expressions`
      throw new ExprSpanError('TooManyRegexes', reason, span.start, span.end)
    }
  }
  walk(root, {
    comparison: ({ test, span }) => {
      if (test.op === 'matches') countRegex(span)
      if (test.op === 'list') lists.push({ name: test.list, type: test.type, span })
    },
    path: ({ base, span }) => {
      if (base.kind !== 'field') return
      fields.add(base.field)
      if (place.phase !== undefined && !allowed(base.field.phases, place)) {
        throw reject(`field ${base.field.name} is not available in ${placeName(place)}`, span)
      }
    },
    call: ({ function: definition, args }, { span }) => {
      const { name } = definition
      if (place.phase !== undefined) checkArgs(definition, args)
      if (name === 'regex_replace') countRegex(span)
      if (place.phase !== undefined) {
        if (!allowed(definition.phases, place)) throw reject(`${name} is not available in ${placeName(place)}`, span)
        if (filter && definition.valueOnly === true) {
          throw reject(`${name} is allowed in the value of an action only, not in a filter`, span)
        }
        const replaces = definition.once === true && [...functions].some((other) => other.endsWith('_replace'))
        if (replaces) throw reject('an expression has at most one regex_replace or wildcard_replace', span)
      }
      functions.add(name)
    },
  })
  return { fields, functions, lists, regexes }
}

const reject = (what: string, { start, end }: Span) => new ExprSpanError('NotAllowedHere', what, start, end)

/** Throws for the first argument beyond the limits of its parameter. */
function checkArgs({ params, optional, rest }: FunctionDef, args: readonly Arg[]): void {
  for (const [at, arg] of args.entries()) {
    const param = params[at] ?? optional[at - params.length] ?? rest
    const wrong = param?.check?.(argInfo(arg))
    if (wrong === undefined) continue
    throw new ExprSpanError(
      'InvalidArgumentValue',
      `invalid value of argument #${at}: ${wrong}`,
      arg.span.start,
      arg.span.end,
    )
  }
}

const placeName = ({ phase, member }: ExpressionPlace) => (member === undefined ? `${phase}` : `${phase} (${member})`)

function allowed(phases: readonly string[] | undefined, { phase = '', member }: ExpressionPlace): boolean {
  return phases === undefined || phases.includes(phase) || phases.includes(`${phase}(${member})`)
}
