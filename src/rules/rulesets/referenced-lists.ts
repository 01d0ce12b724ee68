import type { Rule } from '../../core/model/ruleset.js'
import { ACTIONS } from '../actions/index.js'
import { ExprError, parse, parseValue, type Uses } from '../../expr/index.js'
import { KEY_SCHEME } from '../limits/key.js'
import { expressionsOf } from './validate.js'

/** Returns the names of the lists that a rule uses, in its expressions and as the source of its redirects. */
export function listsOf(rule: Rule): ReadonlySet<string> {
  const names = new Set<string>()
  const { from_list: from } = (rule.action_parameters ?? {}) as { readonly from_list?: { readonly name: string } }
  if (from) names.add(from.name.replace('$', ''))
  for (const { text, gives } of expressionsOf(rule, ACTIONS.get(rule.action)))
    // List names begin with it; most expressions have none and need no parsing.
    if (text.includes('$')) for (const { name } of usesOf(text, gives)) names.add(name)
  return names
}

function usesOf(text: string, gives: string): Uses['lists'] {
  try {
    if (gives === 'filter') return parse(text).uses.lists
    return parseValue(text, gives === 'key' ? { scheme: KEY_SCHEME } : {}).uses.lists
  } catch (error) {
    // Stored when the language knew other names; it never matches, and so uses nothing.
    if (error instanceof ExprError) return []
    throw error
  }
}
