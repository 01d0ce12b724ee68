import type { Config } from '../../config/schema.js'
import type { Clock } from '../../core/clock.js'
import { newId } from '../../core/ids.js'
import type { Log } from '../../core/log.js'
import { MAX_PURGE_RECORDS, STORE_IDENTITY } from '../../core/model/purge.js'
import { DAEMON } from '../../core/scope.js'
import type { Store } from '../../core/store.js'
import { DiskOwner } from '../../edge/cache/files/owner.js'
import { eachPurge, inOrder, purgeOf } from './purges.js'

/**
 * Opens the files of the response cache, and follows purges: those since the daemon ran last, then each one before the API
 * responds. Undefined without `cache.disk`.
 */
export async function openCacheDisk(
  { cache, store: url }: Pick<Config, 'cache' | 'store'>,
  { store, clock, log }: { store: Store; clock: Clock; log: Log },
): Promise<CacheFiles | undefined> {
  if (!cache.disk || cache.memory === 0) return undefined
  const identity = url === 'memory' ? undefined : await identityOf(store)
  const owner = await DiskOwner.open(cache.disk, { identity, clock, log })
  const watching = eachPurge(store, (zone, stored, version) => owner.purge(zone, purgeOf(stored), version))
  if (identity !== undefined) applyMissed(store, owner)
  return {
    owner,
    configure({ disk }) {
      if (disk) owner.configure(disk.bytes)
    },
    async close() {
      watching.close()
      await owner.close()
    },
  }
}

/** The files of the response cache. */
export interface CacheFiles {
  readonly owner: DiskOwner
  /** Applies another limit. */
  configure(cache: Config['cache']): void
  close(): Promise<void>
}

/** Returns the name of the store: purges are numbered by its versions. */
async function identityOf(store: Store): Promise<string> {
  const stored = await store.change(STORE_IDENTITY, DAEMON, 'purges', (old) => old ?? { id: newId() })
  return stored!.value.id
}

/**
 * Applies the purges of the time when this daemon did not run. Deletes all files of a zone if some of its purges are
 * not stored any more.
 */
function applyMissed(store: Store, owner: DiskOwner): void {
  const { base, seen } = owner.start
  const counts = new Map<string, number>()
  for (const { scope } of inOrder(store)) counts.set(scope.id, (counts.get(scope.id) ?? 0) + 1)
  const oldest = new Set<string>()
  for (const { scope, value, version } of inOrder(store)) {
    const isOldest = !oldest.has(scope.id)
    oldest.add(scope.id)
    if (base + version <= seen) continue
    const mayMiss = isOldest && counts.get(scope.id)! >= MAX_PURGE_RECORDS
    owner.purge(scope.id, mayMiss ? { everything: true } : purgeOf(value), version)
  }
}
