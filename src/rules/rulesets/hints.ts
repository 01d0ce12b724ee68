import type { Issue } from '../../core/errors.js'
import type { Rule } from '../../core/model/ruleset.js'
import { ACTIONS } from '../actions/index.js'
import { ExprError, lint, lintRules, parse, parseValue, type Expression } from '../../expr/index.js'
import { KEY_SCHEME } from '../limits/key.js'
import { expressionsOf } from './validate.js'

/** Enough to look through at once. */
const MAX_HINTS = 100

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

/** What is allowed in the rules of a ruleset and yet hardly meant, at most a hundred; pointers as `/rules/0/expression`. */
export function rulesHints(rules: readonly Rule[]): Issue[] {
  const hints: Issue[] = []
  const running: { readonly expression: Expression; readonly terminating: boolean; readonly index: number }[] = []
  for (const [index, rule] of rules.entries()) {
    const at = `/rules/${index}`
    for (const { pointer, text, gives } of expressionsOf(rule, ACTIONS.get(rule.action))) {
      if (gives === 'filter') {
        const expression = parsed(() => parse(text))
        if (expression === undefined) continue
        hints.push(...told(`${at}${pointer}`, expression))
        if (pointer === '/expression' && rule.enabled) running.push({ expression, terminating: ends(rule), index })
      } else {
        const expression = parsed(() => parseValue(text, gives === 'key' ? { scheme: KEY_SCHEME } : {}))
        if (expression !== undefined) hints.push(...told(`${at}${pointer}`, expression))
      }
    }
  }
  for (const { hidden, hider } of lintRules(running)) {
    const number = (running[hider]?.index ?? 0) + 1
    hints.push({
      pointer: `/rules/${running[hidden]?.index}/expression`,
      message: `the rule is never reached: rule ${number} matches every request and ends the evaluation`,
    })
  }
  return hints.slice(0, MAX_HINTS)
}

// A rate limit ends the evaluation only of the requests beyond it.
const ends = ({ action, ratelimit }: Rule): boolean => TERMINATING.has(action) && ratelimit === undefined

const told = (pointer: string, expression: Parameters<typeof lint>[0]): Issue[] =>
  lint(expression).map(({ message }) => ({ pointer, message }))

/** Undefined for what does not parse: rules may have been stored when the language knew other names. */
function parsed<T>(parse: () => T): T | undefined {
  try {
    return parse()
  } catch (error) {
    if (error instanceof ExprError) return undefined
    throw error
  }
}
