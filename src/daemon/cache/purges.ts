import { PURGE, type StoredPurge } from '../../core/model/purge.js'
import { changesOf, type Store } from '../../core/store.js'
import type { ResponseCache } from '../../edge/cache/cache.js'
import { storedUrls } from '../../edge/cache/key.js'
import type { Purge } from '../../edge/cache/entries/purge.js'

/** Returns the purge of a record. */
export function purgeOf({ kind, values }: StoredPurge): Purge {
  if (kind === 'everything') return { everything: true }
  return kind === 'files' ? { urls: values.flatMap(storedUrls) } : { [kind]: values }
}

/** Calls `apply` with each purge that the API stores. */
export function eachPurge(
  store: Pick<Store, 'watch'>,
  apply: (zone: string, stored: StoredPurge, version: number) => void,
): { close: () => void } {
  const unwatch = store.watch((changes) => {
    for (const { scope, version, value } of changesOf(PURGE, changes))
      if (value !== undefined) apply(scope.id, value, version)
  })
  return { close: unwatch }
}

/**
 * Applies purges of the API to the cache of this process, whichever process or machine stored them. The API responds
 * after every process of this machine has applied the change.
 */
export function watchPurges(store: Pick<Store, 'watch' | 'list'>, cache: ResponseCache): { close: () => void } {
  const watching = eachPurge(store, (zone, stored, version) =>
    cache.purge(zone, purgeOf(stored), { kind: stored.kind, version }),
  )
  // Those that were stored while this process started concern files on disk.
  for (const { scope, value, version } of inOrder(store)) cache.missed(scope.id, purgeOf(value), version)
  return watching
}

/** Returns the stored purges in the order in which they were made. */
export const inOrder = (
  store: Pick<Store, 'list'>,
): readonly { scope: { id: string }; value: StoredPurge; version: number }[] =>
  [...store.list(PURGE)].sort((a, b) => a.version - b.version)
