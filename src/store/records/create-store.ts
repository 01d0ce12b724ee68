import type { Scope } from '../../core/scope.js'
import {
  StoreUnavailable,
  type AuditEntry,
  type AuditOrder,
  type Change,
  type FoundEntry,
  type Kind,
  type Store,
  type Stored,
  type Write,
} from '../../core/store.js'
import { checkedCursor } from './audit-trail.js'
import { decidedBy, prepared, recordName, type Commit, type Decide } from './record.js'
import type { MemoryIndex } from './memory-index.js'

/** Persistent storage of a store. All else is the same for every type of store. */
export interface Backend {
  /** All durable records, and nothing else. */
  readonly resident: MemoryIndex
  /**
   * Resolves with the result after it is durable and visible in `resident`. If another machine can change a record
   * in between, `decide` is called again, provided that `only` names the one record it reads.
   */
  readonly write: (decide: Decide, only?: string) => Promise<Commit>
  /** Resolves when `resident` has every batch confirmed before the call. Absent if this process writes all batches. */
  readonly caughtUp?: () => Promise<void>
  readonly audit: (cursor: string | undefined, limit: number, order: AuditOrder) => AsyncIterable<FoundEntry>
  /** Format of its cursors. */
  readonly cursors: RegExp
  /** Returns the reason why the backend rejects writes, if it does. */
  readonly unavailable: () => string | undefined
  /** Finishes the writes in flight, then releases all resources. */
  readonly close: () => Promise<void>
}

/** Creates a store over a backend. Reads use memory, and writes go through the backend. */
export function createStore(place: Backend): Store {
  const { resident } = place
  let closed: Promise<void> | undefined

  async function write(decide: Decide, only?: string): Promise<Commit> {
    if (closed) throw new StoreUnavailable('the store is closed')
    return await place.write(decide, only)
  }

  return {
    get: <T>(kind: Kind<T>, scope: Scope, id: string) => resident.get(kind, scope, id),
    list: <T>(kind: Kind<T>, scope?: Scope) => resident.list(kind, scope),
    count: (kind, scope) => resident.count(kind, scope),
    records: () => resident.records(),
    watch: (listener: (changes: readonly Change[]) => void) => resident.watch(listener),
    caughtUp: () => place.caughtUp?.(),
    audit: (cursor, limit = Infinity, order = 'oldest_first') =>
      place.audit(cursor === undefined ? cursor : checkedCursor(cursor, place.cursors), limit, order),
    get writable() {
      return closed === undefined && place.unavailable() === undefined
    },
    get unavailable() {
      return closed === undefined ? place.unavailable() : 'the store is closed'
    },

    async batch(writes: readonly Write[], audit: readonly AuditEntry[] = []) {
      const decided = { writes: prepared(writes), audit: [...audit] }
      return (await write(() => decided)).version
    },

    async change<T>(
      kind: Kind<T>,
      scope: Scope,
      id: string,
      edit: (old: T | undefined, version: number) => T | undefined,
      auditOf?: (before: T | undefined, after: T | undefined) => AuditEntry,
    ) {
      const name = recordName(kind.name, scope, id)
      let old: Stored<T> | undefined
      const { changes } = await write((row) => {
        old = row(name)?.stored as Stored<T> | undefined
        return decidedBy(name, old, edit, auditOf)
      }, name)
      return changes[0] ? (changes[0].row?.stored as Stored<T> | undefined) : old
    },

    async close() {
      closed ??= place.close()
      await closed
    },
  }
}
