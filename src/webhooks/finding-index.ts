import { INSTANCES, type StoredInstance } from '../core/model/finding.js'
import type { Scope } from '../core/scope.js'
import type { Store } from '../core/store.js'

/** What the instances of a finding come to. */
export interface FindingStats {
  readonly active: number
  readonly archived: number
  /** RFC 3339; of the active ones. Undefined where there is none. */
  readonly latest: string | undefined
}

interface OfFinding {
  readonly ids: Set<string>
  stats?: FindingStats | undefined
}

const NO_STATS: FindingStats = { active: 0, archived: 0, latest: undefined }

/** Which instances belong to which finding; follows the store. */
export class FindingIndex {
  readonly #store: Store
  readonly #accounts = new Map<string, Map<string, OfFinding>>()

  /** Follows the store for as long as the store is open. */
  constructor(store: Store) {
    this.#store = store
    for (const { scope, id, value } of store.list(INSTANCES)) this.#put(scope, id, value)
    store.watch((changes) => {
      for (const { kind, scope, id, value } of changes)
        if (kind === INSTANCES.name && value !== undefined) this.#put(scope, id, value as StoredInstance)
    })
  }

  /** The instances of a finding, in the order in which they came. */
  instances(scope: Scope, findingId: string): StoredInstance[] {
    const ids = this.#accounts.get(scope.id)?.get(findingId)?.ids ?? []
    return [...ids].flatMap((id) => this.#store.get(INSTANCES, scope, id)?.value ?? [])
  }

  stats(scope: Scope, findingId: string): FindingStats {
    const found = this.#accounts.get(scope.id)?.get(findingId)
    if (!found) return NO_STATS
    found.stats ??= this.#counted(scope, findingId)
    return found.stats
  }

  #counted(scope: Scope, findingId: string): FindingStats {
    const all = this.instances(scope, findingId)
    const active = all.filter(({ is_archived }) => !is_archived)
    let latest: string | undefined
    for (const { affliction_date } of active)
      if (latest === undefined || Date.parse(affliction_date) > Date.parse(latest)) latest = affliction_date
    return { active: active.length, archived: all.length - active.length, latest }
  }

  /** An instance never leaves its finding, and is never removed. */
  #put(scope: Scope, id: string, { finding_id }: StoredInstance): void {
    let findings = this.#accounts.get(scope.id)
    if (!findings) this.#accounts.set(scope.id, (findings = new Map()))
    const found = findings.get(finding_id)
    if (!found) findings.set(finding_id, { ids: new Set([id]) })
    else {
      found.ids.add(id)
      found.stats = undefined
    }
  }
}
