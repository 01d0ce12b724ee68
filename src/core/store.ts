import type { Scope } from './scope.js'

/** A kind of stored record. `name` is part of the key and never changes; T is the type of the value. */
export interface Kind<T> {
  readonly name: string
  /** Never set. Carries T. */
  readonly _type?: T
}

/** Declares a kind. */
export const kind = <T>(name: string): Kind<T> => ({ name })

/** The owner of a unique name. The id of the record is the name. */
export interface NameOwner {
  readonly id: string
}

/**
 * A stored value with the number of its last change, for compare-and-set (ETag, If-Match). Versions grow over the
 * whole store and are never reused, so a record that was deleted and created again has a new version.
 */
export interface Stored<T> {
  /** Name of its kind. */
  readonly kind: string
  readonly scope: Scope
  readonly id: string
  readonly version: number
  readonly value: T
}

/** A change of one record. The value is undefined if the record was deleted. */
export type Change = Stored<unknown>

/**
 * Returns the changes of one kind. Values are parsed when they are read, so a watcher must not read values of other
 * kinds. A batch can have thousands of changes.
 */
export function* changesOf<T>(kind: Kind<T>, changes: readonly Change[]): Generator<Stored<T | undefined>> {
  for (const change of changes) if (change.kind === kind.name) yield change as Stored<T | undefined>
}

/**
 * One write. `value: undefined` deletes, and any other value must be JSON. `ifVersion` (0 if the record must not exist)
 * makes the whole batch fail on a mismatch. A batch names each record at most once.
 */
export interface Write {
  readonly kind: Kind<unknown>
  readonly scope: Scope
  readonly id: string
  readonly value: unknown
  /** JSON of the value, which is frozen at every level. Without it the store serializes the value, in one turn. */
  readonly json?: string
  readonly ifVersion?: number
}

/** Origin of an API request, for the audit record. */
export interface RequestSource {
  readonly ip: string
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly userAgent?: string
}

/** A record before and after a change, without secrets and bounded in size. Undefined where it did not exist. */
export interface AuditValues {
  readonly before: unknown
  readonly after: unknown
  /** `changes`: only what differs, because the record is large. `part`: the beginning of that. */
  readonly extent: 'whole' | 'changes' | 'part'
}

/** One line of the audit record, stored in the same batch as its change. */
export interface AuditEntry {
  readonly at: string
  readonly actor: { readonly type: string; readonly id: string; readonly name?: string }
  readonly action: string
  readonly resource: { readonly kind: string; readonly scope: Scope; readonly id: string }
  readonly requestId: string
  /** The request that made the change. Undefined for a change by the daemon itself. */
  readonly request?: RequestSource
  /** SHA-256 of the JSON before and after, hexadecimal. Null if the record did not exist. */
  readonly before: string | null
  readonly after: string | null
  /** Undefined for kinds that are not shown to people, and in entries of earlier versions. */
  readonly values?: AuditValues
}

/** The record was changed since it was read. Read and decide again. */
export class VersionConflict extends Error {
  override readonly name = 'VersionConflict'
}

/**
 * The store accepts no writes now (disk full, Redis unreachable). Nothing was changed. Exception: a write in flight to
 * Redis when the connection broke might have been applied. Reads show the write after the reconnect.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** The disk of the store is full. */
export class StoreFull extends StoreUnavailable {}

export type AuditOrder = 'oldest_first' | 'newest_first'

/** One audit entry, and the cursor after it for further reading. */
export interface FoundEntry {
  readonly cursor: string
  readonly entry: AuditEntry
}

/** Limits of the audit record. Entries beyond them are deleted with a later change. */
export interface AuditRetention {
  /** Number of newest entries to retain. */
  readonly entries: number
  /** Entries older than this are deleted as well. */
  readonly days?: number
}

/** The reading side of a store, as far as the proxy needs it. */
export type StoreReader = Pick<Store, 'get' | 'list' | 'watch'>

/**
 * Durable records, all in memory and loaded at the start, so that reads are synchronous and fast. A write resolves once
 * it is durable, and only then is it visible to reads and watchers. Values are deeply frozen JSON.
 */
export interface Store {
  get<T>(kind: Kind<T>, scope: Scope, id: string): Stored<T> | undefined
  /** Returns all of a kind, of one or all scopes, in the order of their ids (UTF-16 code units). Never changes. */
  list<T>(kind: Kind<T>, scope?: Scope): readonly Stored<T>[]
  count<T>(kind: Kind<T>, scope?: Scope): number
  /** Returns every record of every kind, unordered. */
  records(): Iterable<Stored<unknown>>
  /**
   * Writes atomically. Durable when it resolves, with the new version of its records. Rejects with
   * {@link VersionConflict} or {@link StoreUnavailable}.
   */
  batch(writes: readonly Write[], audit?: readonly AuditEntry[]): Promise<number>
  /**
   * Reads, edits and writes one record atomically, and resolves with the stored value.
   * `edit` gets the value and its version (undefined and 0 if there is no record), can run more than once, can throw to
   * reject. It returns the new value, the same value to change nothing, or undefined to delete.
   */
  change<T>(
    kind: Kind<T>,
    scope: Scope,
    id: string,
    edit: (old: T | undefined, version: number) => T | undefined,
    audit?: (before: T | undefined, after: T | undefined) => AuditEntry,
  ): Promise<Stored<T> | undefined>
  /** Calls `listener` with the changes of each batch, in order, from any machine. Returns a function that stops it. */
  watch(listener: (changes: readonly Change[]) => void): () => void
  /**
   * Reads audit entries in the given order, oldest first by default, starting after the entry with this cursor. Throws
   * InvalidInput for a bad cursor.
   */
  audit(cursor?: string, limit?: number, order?: AuditOrder): AsyncIterable<FoundEntry>
  /**
   * Resolves when reads have every batch that any machine confirmed before the call. Undefined if reads always have
   * every batch because no other machine writes. Rejects with {@link StoreUnavailable} if this cannot be known now.
   */
  caughtUp(): Promise<void> | undefined
  /** False while writes are rejected. */
  readonly writable: boolean
  /** The reason why writes are rejected, if they are. */
  readonly unavailable: string | undefined
  close(): Promise<void>
}
