import type { StoredFinding } from '../core/model/finding.js'
import type { StoredPolicy } from '../core/model/policy.js'
import type { Stored } from '../core/store.js'

interface Enabled {
  readonly policy: StoredPolicy
  readonly integrations: ReadonlySet<string>
}
type ByType = ReadonlyMap<string, readonly Enabled[]>

const byType = new WeakMap<readonly Stored<StoredPolicy>[], ByType>()

/** The enabled policies, out of all of an account, that are about a finding; the oldest first. */
export function policiesFor(
  all: readonly Stored<StoredPolicy>[],
  { finding_type_id, integration }: Pick<StoredFinding, 'finding_type_id' | 'integration'>,
): StoredPolicy[] {
  let sorted = byType.get(all)
  if (!sorted) byType.set(all, (sorted = enabledByType(all)))
  return (sorted.get(finding_type_id) ?? []).flatMap(({ policy, integrations }) =>
    policy.applies_to_all_integrations || integrations.has(integration.id) ? policy : [],
  )
}

/** A list of the store never changes, so what is made of it is made once. */
function enabledByType(all: readonly Stored<StoredPolicy>[]): ByType {
  const found = new Map<string, Enabled[]>()
  for (const { value: policy } of all) {
    if (policy.disabled_at !== undefined) continue
    const one = { policy, integrations: new Set(policy.integration_ids) }
    const ofType = found.get(policy.finding_type_id)
    if (ofType) ofType.push(one)
    else found.set(policy.finding_type_id, [one])
  }
  return found
}
