import type { Scope } from './scope.js'

/** A kind of stored thing. `name` is part of the key and never changes; T is what is stored. */
export interface Kind<T> {
  readonly name: string
  /** Never set; carries T. */
  readonly _type?: T
}

/** Declares a kind. */
export const kind = <T>(name: string): Kind<T> => ({ name })

/** A record whose id is a name that only one resource may have: which one has it. */
export interface NameOwner {
  readonly id: string
}

/**
 * A stored value with the number of its last change, for compare-and-set (ETag, If-Match). Versions grow over the
 * whole store and are never used twice, so a record that was removed and made anew has another version than before.
 */
export interface Stored<T> {
  /** Name of its kind. */
  readonly kind: string
  readonly scope: Scope
  readonly id: string
  readonly version: number
  readonly value: T
}

/** What happened to one record; its value is undefined when it was removed. */
export type Change = Stored<unknown>

/**
 * One write. `value: undefined` removes, anything else must be JSON; `ifVersion` (0: must not exist) makes the whole
 * batch fail on a mismatch. A batch names each record at most once.
 */
export interface Write {
  readonly kind: Kind<unknown>
  readonly scope: Scope
  readonly id: string
  readonly value: unknown
  readonly ifVersion?: number
}

/** One line of the audit record; stands in the same batch as the change that it tells of. */
export interface AuditEntry {
  readonly at: string
  readonly actor: { readonly type: string; readonly id: string; readonly name?: string }
  readonly action: string
  readonly resource: { readonly kind: string; readonly scope: Scope; readonly id: string }
  readonly requestId: string
  /** SHA-256 of the JSON before and after, hexadecimal; null where there was or is nothing. */
  readonly before: string | null
  readonly after: string | null
}

/** Somebody else changed the record since it was read. Read again and decide again. */
export class VersionConflict extends Error {
  override readonly name = 'VersionConflict'
}

/**
 * The store takes no writes now (disk full, Redis away); nothing was changed. Only a write that was on its way to Redis
 * when the connection broke may have been done all the same: reads show it once the connection is back.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** The disk of the store is full. */
export class StoreFull extends StoreUnavailable {}

/** How much of the audit record is kept; what goes beyond is dropped with a later change. */
export interface AuditRetention {
  /** Newest entries kept. */
  readonly entries: number
  /** Entries older than this may go as well. */
  readonly days?: number
}

/**
 * Durable resources. All of them are kept in memory, loaded at start: reads are synchronous and cost nothing; a write
 * resolves once it is durable, and only then do reads and watchers see it. Values are deeply frozen JSON.
 */
export interface Store {
  get<T>(kind: Kind<T>, scope: Scope, id: string): Stored<T> | undefined
  /** All of one kind, of one scope or of every scope, in the order of their ids (UTF-16 code units). Never changes later. */
  list<T>(kind: Kind<T>, scope?: Scope): readonly Stored<T>[]
  count<T>(kind: Kind<T>, scope?: Scope): number
  /** Every record of every kind, in no order. */
  records(): Iterable<Stored<unknown>>
  /**
   * All or nothing, durable when it resolves, with the version that each of its records now has. Rejects with
   * {@link VersionConflict} or {@link StoreUnavailable}.
   */
  batch(writes: readonly Write[], audit?: readonly AuditEntry[]): Promise<number>
  /**
   * Reads, edits and writes one record as one step that no other change comes between, and resolves with what is stored
   * then. `edit` gets the value and its version (undefined and 0 where there is none), may run more than once, may throw
   * to refuse; it returns the new value, the very value it got to leave all as it is, or undefined to remove.
   */
  change<T>(
    kind: Kind<T>,
    scope: Scope,
    id: string,
    edit: (old: T | undefined, version: number) => T | undefined,
    audit?: (before: T | undefined, after: T | undefined) => AuditEntry,
  ): Promise<Stored<T> | undefined>
  /** Calls after each batch with what it changed, in the order of the batches, from any machine. Returns how to stop it. */
  watch(listener: (changes: readonly Change[]) => void): () => void
  /**
   * Audit entries, oldest first, after a cursor that an earlier entry came with. Throws InvalidInput when that is none.
   */
  audit(after?: string, limit?: number): AsyncIterable<{ readonly cursor: string; readonly entry: AuditEntry }>
  /** False while writes are refused. */
  readonly writable: boolean
  /** The reason why writes are refused, if they are. */
  readonly unavailable: string | undefined
  close(): Promise<void>
}
