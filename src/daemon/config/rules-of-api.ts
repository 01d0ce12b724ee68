import { BadConfig, type ConfigIssue } from '../../config/load.js'
import type { Config } from '../../config/schema.js'
import { LIST_NAMES } from '../../core/model/list.js'
import { ENTRY_POINTS, RULESETS } from '../../core/model/ruleset.js'
import { account } from '../../core/scope.js'
import type { StoreReader } from '../../core/store.js'
import { missingList } from '../../rules/rulesets/expression.js'
import { FileRulesets } from '../../rules/rulesets/file-rulesets.js'
import type { KeptRules } from './kept-rules.js'
import { listsOf } from '../../rules/rulesets/referenced-lists.js'

/** Returns the rules that the API stored for phases of the configuration file. */
export function keptRules(config: Config, store: StoreReader): readonly KeptRules[] {
  return new FileRulesets(config).all.flatMap(({ scope, value: { ruleset } }) => {
    const { phase } = ruleset
    const entry = store.get(ENTRY_POINTS, scope, phase)
    const rules = entry && store.get(RULESETS, scope, entry.value.ruleset_id)?.value.ruleset.rules.length
    return rules ? [{ scope, phase, rules }] : []
  })
}

/** Throws a BadConfig if rules of the file name lists or rulesets that neither the file nor the store has. */
export function assertKnownToRules(config: Config, store: StoreReader): void {
  const accounts = new Map(config.zones.map((zone) => [zone.id, zone.account]))
  const lists = new Set(config.lists.map(({ name }) => name))
  const { file = '', lines = {} } = config.places ?? {}
  const issues = new FileRulesets(config).all.flatMap(({ scope, value: { ruleset } }) => {
    const home = account(scope.type === 'zone' ? (accounts.get(scope.id) ?? '') : scope.id)
    return ruleset.rules.flatMap((rule, index): ConfigIssue[] => {
      const missing = [...listsOf(rule)].filter((name) => !lists.has(name) && !store.get(LIST_NAMES, home, name))
      const target = rule.action === 'execute' ? String(rule.action_parameters?.['id']) : undefined
      const isMissing =
        target !== undefined && !store.get(RULESETS, scope, target) && !store.get(RULESETS, home, target)
      const line = lines[`${scope.id}/${ruleset.phase}`]?.[index + 1] ?? 1
      return [...missing.map(missingList), ...(isMissing ? [`no ruleset has the id ${target}`] : [])].map(
        (message) => ({
          file,
          line,
          column: 1,
          message: `${ruleset.phase}, rule ${index + 1}: ${message}`,
        }),
      )
    })
  })
  if (issues.length > 0) throw new BadConfig(issues)
}
