import { PURGE, type StoredPurge } from '../core/model/purge.js'
import type { Store } from '../core/store.js'
import type { ResponseCache } from '../edge/cache/cache.js'

/**
 * Applies purges of the API to the cache of this process, whichever process or machine stored them. The API responds
 * after every process of this machine has applied the change.
 */
export function watchPurges(store: Pick<Store, 'watch'>, cache: ResponseCache): { close: () => void } {
  const unwatch = store.watch((changes) => {
    for (const change of changes) {
      if (change.kind !== PURGE.name || change.value === undefined) continue
      const { kind, values } = change.value as StoredPurge
      const purge = kind === 'everything' ? { everything: true } : { [kind === 'files' ? 'urls' : kind]: values }
      cache.purge(change.scope.id, purge, kind)
    }
  })
  return { close: unwatch }
}
