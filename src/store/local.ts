import type { Scope } from '../core/scope.js'
import type { AuditEntry, Change, Kind, Store, Stored, Write } from '../core/store.js'
import { checkedCursor } from './audit-trail.js'
import type { GroupWriter } from './group-writer.js'
import { decidedBy, prepared, recordName } from './record.js'
import type { Resident } from './resident.js'

/** A place for records that one process has to itself. */
export interface Place {
  readonly resident: Resident
  readonly writer: GroupWriter
  readonly audit: (after: string, limit: number) => AsyncIterable<{ cursor: string; entry: AuditEntry }>
  /** False while the place itself takes no writes. */
  readonly available: () => boolean
  readonly close: () => Promise<void>
}

/** The store over such a place: reads from memory, writes through its one writer. */
export function localStore({ resident, writer, audit, available, close }: Place): Store {
  return {
    get: <T>(kind: Kind<T>, scope: Scope, id: string) => resident.get(kind, scope, id),
    list: <T>(kind: Kind<T>, scope?: Scope) => resident.list(kind, scope),
    count: (kind, scope) => resident.count(kind, scope),
    records: () => resident.records(),
    watch: (listener: (changes: readonly Change[]) => void) => resident.watch(listener),
    audit: (after = '0', limit = Infinity) => audit(checkedCursor(after, /^\d{1,16}$/), limit),
    get writable() {
      return available() && !writer.closed
    },

    async batch(writes: readonly Write[], entries: readonly AuditEntry[] = []) {
      const decided = { writes: prepared(writes), audit: [...entries] }
      return (await writer.write(() => decided)).version
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
      const { changes } = await writer.write((row) => {
        old = row(name)?.stored as Stored<T> | undefined
        return decidedBy(name, old, edit, auditOf)
      })
      return changes[0] ? (changes[0].row?.stored as Stored<T> | undefined) : old
    },

    async close() {
      await writer.close()
      await close()
    },
  }
}
