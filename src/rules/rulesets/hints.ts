import type { Issue } from '../../core/errors.js'
import type { Pause } from '../../core/schedule/event-loop-yield.js'
import type { Rule } from '../../core/model/ruleset.js'
import { ExprError, lint, lintRules, parse, type Expression } from '../../expr/index.js'
import { ACTIONS } from '../actions/index.js'
import { KEY_SCHEME } from '../limits/key.js'
import { conditionsInForce } from '../limits/in-force.js'
import { parsedFilter, parsedValue } from '../parsed.js'
import { phaseNamed, type Phase } from '../phases.js'
import { expressionsOf } from './validate.js'

/** A message about rules that are valid. */
export interface Hint extends Issue {
  readonly code: number
}

/** Code of hints at probable mistakes of a rule's author. */
const DOUBTFUL = 20100
/** Code of the message for members that are stored without effect here. */
const INERT = 10900
const MAX_HINTS = 100
const WITHOUT_EFFECT = 'stored, without effect here'
const ACTS_ALWAYS = 'the rule acts on every request that its expression matches'
/** The log line of such a rule shows that credentials were submitted. */
const NEVER_ACTS = `${WITHOUT_EFFECT}: no list of exposed credentials exists, so the rule never acts`
const CONDITIONS = ['ratelimit', 'exposed_credential_check'] as const

/** Returns whether a page of this name is stored for `serve_error` rules. */
type IsPage = (name: string) => boolean

const MISSING_PAGE: Hint = {
  code: INERT,
  pointer: '/action_parameters/asset_name',
  message:
    'the rule does not act until a page with this name is stored in custom_pages/assets of the same account or zone',
}

/** Actions after which no further rule of the phase runs. */
const TERMINATING = new Set([
  'block',
  'challenge',
  'force_connection_close',
  'js_challenge',
  'managed_challenge',
  'redirect',
  'serve_error',
])

/** Returns hints about the rules of a ruleset, at most 100. Pointers are as `/rules/0/expression`. */
export async function rulesHints(
  rules: readonly Rule[],
  phase: string | undefined,
  pause: Pause,
  isPage?: IsPage,
): Promise<Hint[]> {
  const spec = phase === undefined ? undefined : phaseNamed(phase)
  const hints: Hint[] = []
  for (const [index, rule] of rules.entries()) {
    await pause()
    const at = `/rules/${index}`
    hints.push(...ownHints(rule, spec, isPage).map((hint) => ({ ...hint, pointer: `${at}${hint.pointer}` })))
    if (hints.length >= MAX_HINTS) break
  }
  for (const { hidden, hider } of hiddenRules(rules, spec))
    hints.push({ ...neverReached(hider), pointer: `/rules/${hidden}/expression` })
  return hints.slice(0, MAX_HINTS)
}

/** Returns hints about one rule of a ruleset. Pointers are relative to the rule. */
export function ruleHints(rules: readonly Rule[], index: number, phase: string, isPage?: IsPage): Hint[] {
  const rule = rules[index]
  if (rule === undefined) return []
  const spec = phaseNamed(phase)
  const found = hiddenRules(rules, spec).find(({ hidden }) => hidden === index)
  const hints = ownHints(rule, spec, isPage)
  return [...hints, ...(found ? [{ ...neverReached(found.hider), pointer: '/expression' }] : [])].slice(0, MAX_HINTS)
}

const neverReached = (hider: number) => ({
  code: DOUBTFUL,
  message: `the rule is never reached: rule ${hider + 1} matches every request and ends the evaluation`,
})

function ownHints(rule: Rule, phase: Phase | undefined, isPage: IsPage = () => true): Hint[] {
  const action = ACTIONS.get(rule.action)
  const doubtful = expressionsOf(rule, action).flatMap(({ pointer, text, gives }): Hint[] => {
    const expression = parsed(() =>
      gives === 'filter' ? parsedFilter(text) : parsedValue(text, gives === 'key' ? { scheme: KEY_SCHEME } : {}),
    )
    return (expression ? lint(expression) : []).map(({ message }) => ({ code: DOUBTFUL, pointer, message }))
  })
  const inert = [
    ...(phase?.layer === 'network' ? ['/action'] : []),
    ...(action?.inert(rule.action_parameters ?? {}) ?? []).map((pointer) =>
      rule.action_parameters === undefined ? '/action' : `/action_parameters${pointer}`,
    ),
  ]
  const asset = rule.action === 'serve_error' ? rule.action_parameters?.['asset_name'] : undefined
  const missing = typeof asset === 'string' && !isPage(asset) ? [MISSING_PAGE] : []
  return [
    ...doubtful,
    ...inert.map((pointer) => ({ code: INERT, pointer, message: WITHOUT_EFFECT })),
    ...(phase ? inertConditions(rule, phase) : []),
    ...missing,
  ]
}

/** Returns hints about a rate limit and a check for exposed credentials that have no effect. */
function inertConditions(rule: Rule, phase: Phase): Hint[] {
  const inForce = conditionsInForce(rule, phase)
  return CONDITIONS.flatMap((member): Hint[] => {
    if (rule[member] === undefined) return []
    if (inForce[member] === undefined)
      return [{ code: INERT, pointer: `/${member}`, message: `${WITHOUT_EFFECT}: ${ACTS_ALWAYS}` }]
    return member === 'ratelimit' ? [] : [{ code: INERT, pointer: `/${member}`, message: NEVER_ACTS }]
  })
}

/** Returns the rules that no request reaches, each with the rule that ends the evaluation before it. */
function hiddenRules(
  rules: readonly Rule[],
  phase: Phase | undefined,
): readonly { readonly hidden: number; readonly hider: number }[] {
  const running: { readonly expression: Expression; readonly terminating: boolean; readonly index: number }[] = []
  for (const [index, rule] of rules.entries()) {
    if (!rule.enabled) continue
    // Only an expression with the word can be true for every request. Other expressions need no parsing.
    const expression =
      ends(rule, phase) && rule.expression.includes('true') ? parsed(() => parsedFilter(rule.expression)) : NEVER
    if (expression !== undefined) running.push({ expression, terminating: ends(rule, phase), index })
  }
  return lintRules(running).map(({ hidden, hider }) => ({
    hidden: running[hidden]?.index ?? -1,
    hider: running[hider]?.index ?? -1,
  }))
}

const NEVER = parse('false')

// A rate limit ends the evaluation only of the requests beyond it.
const ends = (rule: Rule, phase: Phase | undefined): boolean =>
  TERMINATING.has(rule.action) && (phase ? conditionsInForce(rule, phase) : rule).ratelimit === undefined

/**
 * Returns undefined if the text does not parse, because rules may have been stored when the language had other names.
 */
function parsed<T>(parse: () => T): T | undefined {
  try {
    return parse()
  } catch (error) {
    if (error instanceof ExprError) return undefined
    throw error
  }
}
