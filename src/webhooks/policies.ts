import type { StoredFinding } from '../core/model/finding.js'
import type { StoredPolicy } from '../core/model/policy.js'
import type { Stored } from '../core/store.js'

const byType = new WeakMap<readonly Stored<StoredPolicy>[], ReadonlyMap<string, readonly StoredPolicy[]>>()

/** The enabled policies, out of all of an account, that are about a finding; the oldest first. */
export function policiesFor(
  all: readonly Stored<StoredPolicy>[],
  { finding_type_id, integration }: Pick<StoredFinding, 'finding_type_id' | 'integration'>,
): StoredPolicy[] {
  let sorted = byType.get(all)
  if (!sorted) byType.set(all, (sorted = enabledByType(all)))
  return (sorted.get(finding_type_id) ?? []).filter(
    ({ applies_to_all_integrations, integration_ids }) =>
      applies_to_all_integrations || integration_ids.includes(integration.id),
  )
}

/** A list of the store never changes, so what is made of it is made once. */
function enabledByType(all: readonly Stored<StoredPolicy>[]): ReadonlyMap<string, readonly StoredPolicy[]> {
  const found = new Map<string, StoredPolicy[]>()
  for (const { value } of all) {
    if (value.disabled_at !== undefined) continue
    const ofType = found.get(value.finding_type_id)
    if (ofType) ofType.push(value)
    else found.set(value.finding_type_id, [value])
  }
  return found
}
