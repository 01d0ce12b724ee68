import type { Rule } from '../../core/model/ruleset.js'

/** Settings of one level of overrides. Absent settings come from the level below. */
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

/** The settings that apply to one rule of the ruleset that is run. */
export interface Overridden extends Changes {
  readonly score_threshold?: number
}

/**
 * Returns the effect of overrides on each rule of a ruleset, per setting. Overrides of the rule take precedence over
 * overrides of its categories (the last listed one wins). Both take precedence over overrides of the whole ruleset.
 */
export function overridden(rule: Rule, byRule: ReadonlyMap<string, Overridden>, overrides: Overrides): Overridden {
  const { categories = [], rules: _rules, ...all } = overrides
  const result: { -readonly [K in keyof Overridden]: Overridden[K] } = { ...all }
  for (const { category, ...changes } of categories)
    if (rule.categories?.includes(category)) Object.assign(result, changes)
  return Object.assign(result, byRule.get(rule.id))
}

/** Returns the overrides of single rules, by the rule's id. */
export const overridesByRule = ({ rules = [] }: Overrides): ReadonlyMap<string, Overridden> =>
  new Map(rules.map(({ id, ...changes }) => [id, changes]))
