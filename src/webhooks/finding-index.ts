import { INSTANCES, timeOf, type StoredInstance } from '../core/model/finding.js'
import type { Scope } from '../core/scope.js'
import { changesOf, type Store } from '../core/store.js'

/** Counts of the instances of a finding. */
export interface FindingStats {
  readonly active: number
  readonly archived: number
  /** Latest affliction date of the active instances, RFC 3339. Undefined if none is active. */
  readonly latest: string | undefined
}

/** The instances of one finding. */
interface OfFinding {
  /** Affliction date in milliseconds by id. Undefined for archived instances. */
  readonly times: Map<string, number | undefined>
  active: number
  /** The active instance with the latest date. Null if it must be searched again. */
  latest: string | undefined | null
}

/** Index of instances by finding. Follows the store. */
export class FindingIndex {
  readonly #store: Store
  readonly #accounts = new Map<string, Map<string, OfFinding>>()

  /** Follows the store until the store is closed. */
  constructor(store: Store) {
    this.#store = store
    for (const { scope, id, value } of store.list(INSTANCES)) this.#put(scope, id, value)
    store.watch((changes) => {
      for (const { scope, id, value } of changesOf(INSTANCES, changes))
        if (value !== undefined) this.#put(scope, id, value)
    })
  }

  /** Returns the instances of a finding, in the order of their creation. */
  instances(scope: Scope, findingId: string): StoredInstance[] {
    const ids = this.#accounts.get(scope.id)?.get(findingId)?.times.keys() ?? []
    return [...ids].flatMap((id) => this.#store.get(INSTANCES, scope, id)?.value ?? [])
  }

  stats(scope: Scope, findingId: string): FindingStats {
    const found = this.#accounts.get(scope.id)?.get(findingId)
    if (!found) return { active: 0, archived: 0, latest: undefined }
    if (found.latest === null) found.latest = latestOf(found)
    const latest =
      found.latest === undefined ? undefined : this.#store.get(INSTANCES, scope, found.latest)?.value.affliction_date
    return { active: found.active, archived: found.times.size - found.active, latest }
  }

  /** Instances never change their finding and are never removed. */
  #put(scope: Scope, id: string, { finding_id, is_archived, affliction_date }: StoredInstance): void {
    let findings = this.#accounts.get(scope.id)
    if (!findings) this.#accounts.set(scope.id, (findings = new Map()))
    let found = findings.get(finding_id)
    if (!found) findings.set(finding_id, (found = { times: new Map(), active: 0, latest: undefined }))
    const { times, latest } = found
    const before = times.get(id)
    const time = is_archived ? undefined : timeOf(affliction_date)
    times.set(id, time)
    found.active += Number(time !== undefined) - Number(before !== undefined)
    if (latest === null) return
    if (latest === id) found.latest = null
    else if (time !== undefined && (latest === undefined || time > (times.get(latest) ?? 0))) found.latest = id
  }
}

function latestOf({ times }: OfFinding): string | undefined {
  let latest: string | undefined
  let max = -Infinity
  for (const [id, time] of times) {
    if (time === undefined || time <= max) continue
    latest = id
    max = time
  }
  return latest
}
