import type { Issue } from '../../core/errors.js'
import type { Pause } from '../../core/schedule/event-loop-yield.js'
import type { Rule } from '../../core/model/ruleset.js'
import { issuesOf, soundMembers } from '../../core/schema.js'
import type { Action, ExpressionUse } from '../action.js'
import { ACTIONS, actionsOf } from '../actions/index.js'
import { repeats } from '../actions/shared.js'
import { unicodeTables } from '../../expr/index.js'
import type { RuleContext } from '../types.js'
import { executeIssues } from './execute-target.js'
import { checkExpression, missingList, type ExpressionPurpose } from './expression.js'
import { ratelimitIssues, ratelimitPresence } from './ratelimit.js'
import { RuleInput } from './rule-input.js'

/** Maximum number of reported issues, enough to correct an input. More would repeat the same. */
const MAX_ISSUES = 100
/** Maximum number of values in one rule, far beyond any real rule, and fast to check. */
const MAX_VALUES = 20_000

const shape = issuesOf(RuleInput)

/** Returns the issues of the rules of a ruleset, below `/rules`. */
export async function rulesIssues(rules: readonly unknown[], context: RuleContext, pause: Pause): Promise<Issue[]> {
  const steps = rulesChecked(rules, context)
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    await pause()
  }
}

/** {@link rulesIssues} in one turn, for a program that serves nobody. */
export function rulesIssuesNow(rules: readonly unknown[], context: RuleContext): Issue[] {
  const steps = rulesChecked(rules, context)
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** Yields before each rule, and after each table that its expressions need. */
function* rulesChecked(rules: readonly unknown[], context: RuleContext): Generator<undefined, Issue[]> {
  const issues: Issue[] = []
  for (const [index, rule] of rules.entries()) {
    yield undefined
    for (const _ of unicodeTables(JSON.stringify(rule))) yield undefined
    for (const issue of ruleIssues(rule, context)) issues.push({ ...issue, pointer: `/rules/${index}${issue.pointer}` })
    if (issues.length >= MAX_ISSUES) break
  }
  return [...issues, ...repeatedNames(rules)]
}

/** Builds the tables that the expressions of a rule need, one in each turn of the event loop. */
export async function buildTables(rule: unknown, pause: Pause): Promise<void> {
  await pause()
  for (const _ of unicodeTables(JSON.stringify(rule))) await pause()
}

/**
 * Returns the issues of one rule. Pointers are relative to the rule. If there are none, the rule is a
 * {@link RuleInput}.
 */
export function ruleIssues(input: unknown, context: RuleContext): Issue[] {
  if (valuesIn(input) > MAX_VALUES) return [{ pointer: '', message: `has more than ${MAX_VALUES} values` }]
  const wrong = shape(input)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return [...wrong]
  const given: Partial<RuleInput> = input
  // Members that fit are checked although others do not, so that one response reports all issues.
  const rule: Partial<RuleInput> = wrong.length === 0 ? given : soundMembers(given, wrong)
  const { phase, kind } = context
  const action = rule.action === undefined ? undefined : ACTIONS.get(rule.action)
  const misplaced = !action || !actionsOf(phase.name, kind).includes(action)
  const inParameters = parameterIssues(action, given, context)
  const issues: Issue[] = [...wrong]
  if (misplaced && rule.action !== undefined)
    issues.push({ pointer: '/action', message: refusedAction(rule.action, context) })
  issues.push(...inParameters)
  if (rule.action !== undefined) issues.push(...ratelimitPresence(phase, rule.action, given.ratelimit !== undefined))
  if (rule.ratelimit) issues.push(...ratelimitIssues(rule.ratelimit))
  if (rule.categories && kind !== 'managed')
    issues.push({ pointer: '/categories', message: 'is allowed in managed rulesets only' })
  issues.push(...repeats('/categories', rule.categories ?? [], String))
  if (phase.name === 'http_log_custom_fields' && rule.expression !== undefined && rule.expression.trim() !== 'true')
    issues.push({ pointer: '/expression', message: `must be true in ${phase.name}` })
  issues.push(...expressionIssues(rule, misplaced || inParameters.length > 0 ? undefined : action, context))
  return issues
}

/** Returns the issues of rules that are the same in every phase, below `/rules`. For a ruleset whose phase is wrong. */
export async function unplacedRulesIssues(
  rules: readonly unknown[],
  { list }: Pick<RuleContext, 'list'>,
  pause: Pause,
): Promise<Issue[]> {
  const issues: Issue[] = []
  for (const [index, rule] of rules.entries()) {
    await buildTables(rule, pause)
    const wrong = shape(rule)
    const sound = typeof rule === 'object' && rule !== null ? soundMembers(rule as Partial<RuleInput>, wrong) : {}
    for (const issue of [...wrong, ...expressionIssues(sound, undefined, { list })])
      issues.push({ ...issue, pointer: `/rules/${index}${issue.pointer}` })
    if (issues.length >= MAX_ISSUES) break
  }
  return [...issues, ...repeatedNames(rules)]
}

/** Returns the issues of ids and refs that several rules of an input have. */
const repeatedNames = (rules: readonly unknown[]): Issue[] =>
  (['id', 'ref'] as const).flatMap((member) =>
    repeats(
      '/rules',
      rules.map((rule, index) => ({ name: (Object(rule) as Partial<RuleInput>)[member], index })),
      nameKey,
      member,
    ),
  )

/** Rules without the member are as different as their places. */
const nameKey = ({ name, index }: { readonly name: unknown; readonly index: number }): string =>
  typeof name === 'string' ? name : ` ${index}`

function parameterIssues(action: Action | undefined, rule: Partial<RuleInput>, context: RuleContext): Issue[] {
  const params: unknown = rule.action_parameters
  if (!action || !actionsOf(context.phase.name, context.kind).includes(action)) return []
  const at = '/action_parameters'
  if (params === undefined) return action.optional ? [] : [{ pointer: at, message: `is required by ${action.name}` }]
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return []
  const credentials = rule.exposed_credential_check !== undefined
  const issues = action.validate(params, { ...context, credentials })
  const found = issues.length > 0 ? issues : referenceIssues(action.name, params, context)
  return found.map(({ pointer, message }) => ({ pointer: `${at}${pointer}`, message }))
}

/** Returns the issues of references in parameters, such as rulesets that are run and lists of redirects. */
function referenceIssues(action: string, params: object, context: RuleContext): Issue[] {
  if (action === 'execute') return executeIssues(params, context)
  const { from_list: from } = params as { readonly from_list?: { readonly name: string } }
  if (action !== 'redirect' || !from) return []
  const name = from.name.replace('$', '')
  const kind = context.list(name)
  if (kind === 'redirect' || kind === 'unknown') return []
  const message = kind ? `the list $${name} is of kind ${kind}, not redirect` : missingList(name)
  return [{ pointer: '/from_list/name', message }]
}

function refusedAction(action: string, { phase, kind }: RuleContext): string {
  const allowed = actionsOf(phase.name, kind).map(({ name }) => name)
  return `${action} is not allowed in ${kind} rulesets of ${phase.name}; allowed: ${allowed.join(', ')}`
}

type Use = Omit<ExpressionUse, 'gives'> & Pick<ExpressionPurpose, 'gives'>

/**
 * Returns every expression of a rule with a valid shape. Expressions in its parameters are included only if `action` is
 * passed.
 */
export function expressionsOf(rule: Partial<RuleInput> | Rule, action: Action | undefined): Use[] {
  const { expression, ratelimit, exposed_credential_check: credentials } = rule
  const uses: Use[] = []
  if (expression !== undefined) uses.push({ pointer: '/expression', text: expression, gives: 'filter' })
  if (ratelimit?.counting_expression)
    uses.push({ pointer: '/ratelimit/counting_expression', text: ratelimit.counting_expression, gives: 'filter' })
  for (const [index, text] of (ratelimit?.characteristics ?? []).entries())
    uses.push({ pointer: `/ratelimit/characteristics/${index}`, text, gives: 'key' })
  for (const [name, text] of Object.entries(credentials ?? {}))
    uses.push({ pointer: `/exposed_credential_check/${name}`, text, gives: 'value' })
  for (const use of action?.expressions(rule.action_parameters ?? {}) ?? [])
    uses.push({ ...use, pointer: `/action_parameters${use.pointer}` })
  return uses
}

function expressionIssues(
  rule: Partial<RuleInput>,
  action: Action | undefined,
  { phase, list }: Pick<RuleContext, 'list'> & Partial<Pick<RuleContext, 'phase'>>,
): Issue[] {
  return expressionsOf(rule, action).flatMap(({ pointer, text, gives }) => {
    const issue = checkExpression(text, { phase: phase?.name, pointer, gives, list })
    return issue === undefined ? [] : [{ pointer, ...issue }]
  })
}

/** Returns the number of values in a JSON value. Counting stops soon after too many. */
function valuesIn(input: unknown): number {
  const left = [input]
  let count = 0
  while (left.length > 0 && count <= MAX_VALUES) {
    const next = left.pop()
    count++
    if (typeof next !== 'object' || next === null) continue
    for (const value of Object.values(next)) {
      left.push(value)
      if (left.length > MAX_VALUES) return left.length
    }
  }
  return count
}
