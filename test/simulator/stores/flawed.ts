import type { Scope } from '../../../src/core/scope.js'
import { StoreUnavailable, type AuditEntry, type Kind, type Store } from '../../../src/core/store.js'

/** Ways in which a store can break its promises, to prove that a run notices. */
export const FLAWED = {
  /** Changes a record without comparing its version. */
  blind: (store: Store): Store => ({
    ...methodsOf(store),
    change: async <T>(
      kind: Kind<T>,
      scope: Scope,
      id: string,
      edit: (old: T | undefined, version: number) => T | undefined,
      audit?: (before: T | undefined, after: T | undefined) => AuditEntry,
    ) => {
      const found = store.get(kind, scope, id)
      const value = edit(found?.value, found?.version ?? 0)
      await store.batch([{ kind, scope, id, value }], audit && [audit(found?.value, value)])
      return store.get(kind, scope, id)
    },
  }),
  /** Tells watchers of most batches. */
  deaf: (store: Store): Store => ({
    ...methodsOf(store),
    watch: (listener) => {
      let count = 0
      return store.watch((changes) => {
        if (++count % 7 > 0) listener(changes)
      })
    },
  }),
  /** Writes the records of a batch one by one. */
  split: (store: Store): Store => ({
    ...methodsOf(store),
    batch: async (writes, audit) => {
      let version = 0
      for (const write of writes) version = await store.batch([write], write === writes.at(-1) ? audit : [])
      return version
    },
  }),
  /** Makes a batch that it has said it cannot make. */
  late: (store: Store): Store => ({
    ...methodsOf(store),
    batch: async (writes, audit) => {
      try {
        return await store.batch(writes, audit)
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error
        await store.batch(
          writes.map(({ kind, scope, id, value }) => ({ kind, scope, id, value })),
          audit,
        )
        throw error
      }
    },
  }),
  /** Compares no versions. */
  unversioned: (store: Store): Store => ({
    ...methodsOf(store),
    batch: async (writes, audit) =>
      await store.batch(
        writes.map(({ kind, scope, id, value }) => ({ kind, scope, id, value })),
        audit,
      ),
  }),
  /** Does not wait for the batches of other machines. */
  stale: (store: Store): Store => ({ ...methodsOf(store), caughtUp: () => undefined }),
  /** Forgets audit entries. */
  unaudited: (store: Store): Store => ({ ...methodsOf(store), batch: async (writes) => await store.batch(writes) }),
}

export function methodsOf(store: Store): Store {
  return {
    get: (kind, scope, id) => store.get(kind, scope, id),
    list: (kind, scope) => store.list(kind, scope),
    count: (kind, scope) => store.count(kind, scope),
    records: () => store.records(),
    batch: async (writes, audit) => await store.batch(writes, audit),
    change: async (kind, scope, id, edit, audit) => await store.change(kind, scope, id, edit, audit),
    watch: (listener) => store.watch(listener),
    audit: (cursor, limit, order) => store.audit(cursor, limit, order),
    caughtUp: () => store.caughtUp(),
    get writable() {
      return store.writable
    },
    get unavailable() {
      return store.unavailable
    },
    close: async () => await store.close(),
  }
}
