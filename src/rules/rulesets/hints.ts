import type { Issue } from '../../core/errors.js'
import type { Pause } from '../../core/event-loop-yield.js'
import type { Rule } from '../../core/model/ruleset.js'
import { ExprError, lint, lintRules, parse, type Expression } from '../../expr/index.js'
import { ACTIONS } from '../actions/index.js'
import { KEY_SCHEME } from '../limits/key.js'
import { parsedFilter, parsedValue } from '../parsed.js'
import { phaseNamed } from '../phases.js'
import { expressionsOf } from './validate.js'

/** A message about rules that are valid. */
export interface Hint extends Issue {
  readonly code: number
}

/** Code of hints at what the author of a rule probably did not mean. */
const DOUBTFUL = 20100
/** Code of the message for members that are stored without effect here. */
const INERT = 10900
const MAX_HINTS = 100

/** Returns whether a page of this name is stored for `serve_error` rules. */
type IsPage = (name: string) => boolean

const MISSING_PAGE: Hint = {
  code: INERT,
  pointer: '/action_parameters/asset_name',
  message: 'without effect until a page with this name is stored in custom_pages/assets of the same account or zone',
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

/** Returns hints about the rules of a ruleset, at most 100; pointers as `/rules/0/expression`. */
export async function rulesHints(
  rules: readonly Rule[],
  phase: string | undefined,
  pause: Pause,
  isPage?: IsPage,
): Promise<Hint[]> {
  const hints: Hint[] = []
  for (const [index, rule] of rules.entries()) {
    await pause()
    const at = `/rules/${index}`
    hints.push(...ownHints(rule, phase, isPage).map((hint) => ({ ...hint, pointer: `${at}${hint.pointer}` })))
    if (hints.length >= MAX_HINTS) break
  }
  for (const { hidden, hider } of hiddenRules(rules))
    hints.push({ ...neverReached(hider), pointer: `/rules/${hidden}/expression` })
  return hints.slice(0, MAX_HINTS)
}

/** Returns hints about one rule of a ruleset; pointers are relative to it. */
export function ruleHints(rules: readonly Rule[], index: number, phase: string, isPage?: IsPage): Hint[] {
  const rule = rules[index]
  if (rule === undefined) return []
  const found = hiddenRules(rules).find(({ hidden }) => hidden === index)
  const hints = ownHints(rule, phase, isPage)
  return [...hints, ...(found ? [{ ...neverReached(found.hider), pointer: '/expression' }] : [])].slice(0, MAX_HINTS)
}

const neverReached = (hider: number) => ({
  code: DOUBTFUL,
  message: `the rule is never reached: rule ${hider + 1} matches every request and ends the evaluation`,
})

function ownHints(rule: Rule, phase: string | undefined, isPage: IsPage = () => true): Hint[] {
  const action = ACTIONS.get(rule.action)
  const doubtful = expressionsOf(rule, action).flatMap(({ pointer, text, gives }): Hint[] => {
    const expression = parsed(() =>
      gives === 'filter' ? parsedFilter(text) : parsedValue(text, gives === 'key' ? { scheme: KEY_SCHEME } : {}),
    )
    return (expression ? lint(expression) : []).map(({ message }) => ({ code: DOUBTFUL, pointer, message }))
  })
  const inert = [
    ...(phase !== undefined && phaseNamed(phase)?.layer === 'network' ? ['/action'] : []),
    // No list of exposed credentials exists here, so such a rule never acts. Its log line says that they were submitted.
    ...(rule.exposed_credential_check ? ['/exposed_credential_check'] : []),
    ...(action?.inert(rule.action_parameters ?? {}) ?? []).map((pointer) =>
      rule.action_parameters === undefined ? '/action' : `/action_parameters${pointer}`,
    ),
  ]
  const asset = rule.action === 'serve_error' ? rule.action_parameters?.['asset_name'] : undefined
  const missing = typeof asset === 'string' && !isPage(asset) ? [MISSING_PAGE] : []
  return [
    ...doubtful,
    ...inert.map((pointer) => ({ code: INERT, pointer, message: 'stored, without effect here' })),
    ...missing,
  ]
}

/** Returns the rules that no request reaches, each with the rule that ends the evaluation before it. */
function hiddenRules(rules: readonly Rule[]): readonly { readonly hidden: number; readonly hider: number }[] {
  const running: { readonly expression: Expression; readonly terminating: boolean; readonly index: number }[] = []
  for (const [index, rule] of rules.entries()) {
    if (!rule.enabled) continue
    // Only an expression with the word can be true for every request; the others need no parsing.
    const expression =
      ends(rule) && rule.expression.includes('true') ? parsed(() => parsedFilter(rule.expression)) : NEVER
    if (expression !== undefined) running.push({ expression, terminating: ends(rule), index })
  }
  return lintRules(running).map(({ hidden, hider }) => ({
    hidden: running[hidden]?.index ?? -1,
    hider: running[hider]?.index ?? -1,
  }))
}

const NEVER = parse('false')

// A rate limit ends the evaluation only of the requests beyond it.
const ends = ({ action, ratelimit }: Rule): boolean => TERMINATING.has(action) && ratelimit === undefined

/** Returns undefined if the text does not parse: rules may have been stored when the language knew other names. */
function parsed<T>(parse: () => T): T | undefined {
  try {
    return parse()
  } catch (error) {
    if (error instanceof ExprError) return undefined
    throw error
  }
}
