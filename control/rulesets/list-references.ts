import { LIST_NAMES, type ListNamed } from '../../src/core/model/list.js'
import { RULESET_USES, type Rule, type Ruleset } from '../../src/core/model/ruleset.js'
import { account } from '../../src/core/scope.js'
import { VersionConflict, type Store, type Write } from '../../src/core/store.js'
import { listsOf } from '../../src/rules/rulesets/referenced-lists.js'
import type { Actor } from '../resources/audit.js'

type Rules = Pick<Ruleset, 'rules'>

/**
 * Returns writes that update the counts of rules that run other rulesets or use lists, between two ruleset versions.
 * A count changes in the batch that changes the rules, so no ruleset can be deleted while a new rule runs it. Throws
 * VersionConflict if a new rule uses a list that `list` does not know.
 */
export function useWrites(
  store: Store,
  { scope, accountId }: Pick<Actor, 'scope' | 'accountId'>,
  before: Rules | undefined,
  after: Rules | undefined,
  list?: ListNamed,
): Write[] {
  const home = account(accountId)
  const old = new Set(before?.rules)
  const kept = new Set(after?.rules.filter((rule) => old.has(rule)))
  const changed = (ruleset: Rules | undefined) => (ruleset?.rules ?? []).filter((rule) => !kept.has(rule))
  const runs = [...difference(executed(changed(before)), executed(changed(after)))].flatMap(([id, step]): Write[] => {
    const uses = store.get(RULESET_USES, scope, id) ?? store.get(RULESET_USES, home, id)
    if (!uses) return []
    const rules = uses.value.rules + step
    return [{ kind: RULESET_USES, scope: uses.scope, id, value: { rules }, ifVersion: uses.version }]
  })
  const lists = [...difference(listed(changed(before)), listed(changed(after)))].flatMap(([name, step]): Write[] => {
    const found = store.get(LIST_NAMES, home, name)
    // Lists of the configuration have no record. A list that was deleted while its rules were checked is reported by
    // the next check.
    if (!found && step > 0 && list && list(name) === undefined) throw new VersionConflict(`list ${name} not found`)
    if (!found) return []
    const rules = Math.max(0, found.value.rules + step)
    return [{ kind: LIST_NAMES, scope: home, id: name, value: { ...found.value, rules }, ifVersion: found.version }]
  })
  return [...runs, ...lists]
}

/** Returns how many more times each name is in `after` than in `before`, without those that are equal. */
function difference(before: readonly string[], after: readonly string[]): Map<string, number> {
  const steps = new Map<string, number>()
  for (const name of before) steps.set(name, (steps.get(name) ?? 0) - 1)
  for (const name of after) steps.set(name, (steps.get(name) ?? 0) + 1)
  for (const [name, step] of steps) if (step === 0) steps.delete(name)
  return steps
}

/** Returns the lists that the rules use, once for each rule. */
const listed = (rules: readonly Rule[]): string[] => rules.flatMap((rule) => [...listsOf(rule)])

/** Returns the rulesets that the rules run, once for each rule. */
const executed = (rules: readonly Rule[]): string[] =>
  rules.filter(({ action }) => action === 'execute').map(({ action_parameters: params }) => String(params?.['id']))
