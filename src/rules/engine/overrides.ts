import type { Rule } from '../../core/model/ruleset.js'

/** Settings of one level of overrides. What is absent is left to the level below. */
export interface Changes {
  readonly action?: string
  readonly enabled?: boolean
  readonly sensitivity_level?: 'default' | 'medium' | 'low' | 'eoff'
}

/** `overrides` of an execute rule. */
export interface Overrides extends Changes {
  readonly categories?: readonly (Changes & { readonly category: string })[]
  readonly rules?: readonly (Changes & { readonly id: string; readonly score_threshold?: number })[]
}

/** What holds for one rule of the ruleset that is run. */
export interface Overridden extends Changes {
  readonly score_threshold?: number
}

/**
 * What overrides make of each rule of a ruleset, each setting for itself: what is said of the rule goes before what is
 * said of its categories, where the last one listed wins, and that before what is said of the whole ruleset.
 */
export function overridden(rule: Rule, byRule: ReadonlyMap<string, Overridden>, overrides: Overrides): Overridden {
  const { categories = [], rules: _rules, ...all } = overrides
  const result: { -readonly [K in keyof Overridden]: Overridden[K] } = { ...all }
  for (const { category, ...changes } of categories)
    if (rule.categories?.includes(category)) Object.assign(result, changes)
  return Object.assign(result, byRule.get(rule.id))
}

/** The overrides of single rules, by the rule's id. */
export const overridesByRule = ({ rules = [] }: Overrides): ReadonlyMap<string, Overridden> =>
  new Map(rules.map(({ id, ...changes }) => [id, changes]))
