import { RULESET_USES, type Ruleset } from '../../src/core/model/ruleset.js'
import { account } from '../../src/core/scope.js'
import type { Store, Write } from '../../src/core/store.js'
import type { Writer } from './shelf.js'

/**
 * The counts of rules that run other rulesets, brought from one version of a ruleset to the next. A count changes in
 * the batch that changes the rules, so that no ruleset can be removed while a rule comes to run it.
 */
export function useWrites(
  store: Store,
  { scope, accountId }: Pick<Writer, 'scope' | 'accountId'>,
  before: Ruleset | undefined,
  after: Ruleset | undefined,
): Write[] {
  const difference = new Map<string, number>()
  for (const [ruleset, step] of [
    [before, -1],
    [after, 1],
  ] as const)
    for (const id of executed(ruleset)) difference.set(id, (difference.get(id) ?? 0) + step)

  return [...difference].flatMap(([id, step]): Write[] => {
    const uses = store.get(RULESET_USES, scope, id) ?? store.get(RULESET_USES, account(accountId), id)
    if (step === 0 || !uses) return []
    const rules = uses.value.rules + step
    return [{ kind: RULESET_USES, scope: uses.scope, id, value: { rules }, ifVersion: uses.version }]
  })
}

/** The rulesets that the rules run, once for each rule. */
const executed = (ruleset: Ruleset | undefined): string[] =>
  (ruleset?.rules ?? [])
    .filter(({ action }) => action === 'execute')
    .map(({ action_parameters: params }) => String(params?.['id']))
