import type { StoredFinding } from '../core/model/finding.js'
import type { StoredPolicy } from '../core/model/policy.js'
import type { Stored } from '../core/store.js'

interface Enabled {
  readonly policy: StoredPolicy
  readonly integrations: ReadonlySet<string>
}
type ByType = ReadonlyMap<string, readonly Enabled[]>

const byType = new WeakMap<readonly Stored<StoredPolicy>[], ByType>()

/** Returns the enabled policies of an account that match a finding, oldest first. */
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

/** Groups the enabled policies by type. Lists of the store are immutable, so callers cache the result. */
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
