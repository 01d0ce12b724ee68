import type { Rule } from '../../core/model/ruleset.js'
import { ACTIONS } from '../actions/index.js'
import { ExprError, type Uses } from '../../expr/index.js'
import { KEY_SCHEME } from '../limits/key.js'
import { parsedFilter, parsedValue } from '../parsed.js'
import { expressionsOf } from './validate.js'

/** A list is named as `$name`. In patterns, `$` is the end of the text. */
const MAYBE_LIST = /\$\w/

/** Returns the names of the lists that a rule uses, in its expressions and as the source of its redirects. */
export function listsOf(rule: Rule): ReadonlySet<string> {
  const names = new Set<string>()
  const { from_list: from } = (rule.action_parameters ?? {}) as { readonly from_list?: { readonly name: string } }
  if (from) names.add(from.name.replace('$', ''))
  const { expression, action_parameters, ratelimit, exposed_credential_check } = rule
  const others = [action_parameters, ratelimit, exposed_credential_check].filter((part) => part !== undefined)
  if (!MAYBE_LIST.test(expression) && !(others.length > 0 && MAYBE_LIST.test(JSON.stringify(others)))) return names
  for (const { text, gives } of expressionsOf(rule, ACTIONS.get(rule.action)))
    // Most expressions name no list and need no parsing.
    if (MAYBE_LIST.test(text)) for (const { name } of usesOf(text, gives)) names.add(name)
  return names
}

function usesOf(text: string, gives: string): Uses['lists'] {
  try {
    if (gives === 'filter') return parsedFilter(text).uses.lists
    return parsedValue(text, gives === 'key' ? { scheme: KEY_SCHEME } : {}).uses.lists
  } catch (error) {
    // Stored when the language had other names. It never matches, and so uses nothing.
    if (error instanceof ExprError) return []
    throw error
  }
}
