import type { Issue } from '../../core/errors.js'
import type { Ruleset } from '../../core/model/ruleset.js'
import { actionsOf } from '../actions/index.js'
import type { RuleContext } from '../types.js'

interface Changes {
  readonly action?: string
}

interface ExecuteParams {
  readonly id: string
  readonly overrides?: Changes & {
    readonly categories?: readonly Changes[]
    readonly rules?: readonly (Changes & { readonly id: string })[]
  }
}

/** Message about a ruleset that does not exist. */
export const NO_SUCH_RULESET = 'no ruleset has this id'

/** Actions whose parameters an override cannot contain. */
const NO_OVERRIDES = new Set(['skip', 'rewrite'])

/**
 * Returns the issues of the ruleset that an execute rule names, and of the overrides. Pointers are relative to
 * `action_parameters`.
 */
export function executeIssues(params: unknown, context: RuleContext): Issue[] {
  const { id, overrides = {} } = params as ExecuteParams
  const target = context.target(id)
  const refused = refusedTarget(target, context)
  if (!target || refused) return [{ pointer: '/id', message: refused ?? NO_SUCH_RULESET }]

  const allowed = actionsOf(context.phase.name, 'managed').filter(({ name }) => !NO_OVERRIDES.has(name))
  const names = allowed.map(({ name }) => name)
  const { categories = [], rules = [] } = overrides
  const changes: [pointer: string, changes: Changes][] = [
    ['/overrides', overrides],
    ...categories.map((change, index): [string, Changes] => [`/overrides/categories/${index}`, change]),
    ...rules.map((change, index): [string, Changes] => [`/overrides/rules/${index}`, change]),
  ]
  const known = new Set(target.rules.map((rule) => rule.id))
  return [
    ...changes.flatMap(([at, { action }]) =>
      action === undefined || names.includes(action)
        ? []
        : [{ pointer: `${at}/action`, message: `must be one of ${names.join(', ')}` }],
    ),
    ...rules.flatMap((rule, index) =>
      known.has(rule.id)
        ? []
        : [{ pointer: `/overrides/rules/${index}/id`, message: 'must be the id of a rule of the ruleset that runs' }],
    ),
  ]
}

// Entry points run custom and managed rulesets, custom ones run managed ones. Thus no ruleset can run itself.
function refusedTarget(target: Ruleset | undefined, { phase, kind }: RuleContext): string | undefined {
  if (!target) return undefined
  if (target.phase !== phase.name) return `that ruleset is of ${target.phase}, not of ${phase.name}`
  if (target.kind === 'managed' || (target.kind === 'custom' && kind !== 'custom')) return undefined
  return `a ${target.kind} ruleset cannot be run by rules of a ${kind} one`
}
