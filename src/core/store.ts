import type { Scope } from './scope.js'

/** A kind of stored thing. `name` is part of the key and never changes; T is what is stored. */
export interface Kind<T> {
  readonly name: string
  /** Never set; carries T. */
  readonly _type?: T
}

/** Declares a kind. */
export const kind = <T>(name: string): Kind<T> => ({ name })

/** A stored value with the number of its last change, for compare-and-set (ETag, If-Match). */
export interface Stored<T> {
  readonly id: string
  readonly scope: Scope
  readonly version: number
  readonly value: T
}

/** One write. `value: undefined` removes; `ifVersion` (0: must not exist) makes the whole batch fail on a mismatch. */
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

/** The store takes no writes now (disk full, Redis away); nothing was changed. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/**
 * Durable resources. All of them are kept in memory, loaded at start: reads are synchronous and cost nothing; a write
 * resolves once it is durable, and only then do reads and watchers see it. Values are deeply frozen JSON.
 */
export interface Store {
  get<T>(kind: Kind<T>, scope: Scope, id: string): Stored<T> | undefined
  /** All of one kind, of one scope or of every scope, in the order of their ids. */
  list<T>(kind: Kind<T>, scope?: Scope): Iterable<Stored<T>>
  count<T>(kind: Kind<T>, scope?: Scope): number
  /** All or nothing, durable when it resolves. Rejects with {@link VersionConflict} or {@link StoreUnavailable}. */
  batch(writes: readonly Write[], audit?: readonly AuditEntry[]): Promise<void>
  /** Reads, edits and writes one record, again when it changed meanwhile; returning undefined removes it. */
  change<T>(
    kind: Kind<T>,
    scope: Scope,
    id: string,
    edit: (old: T | undefined) => T | undefined,
    audit?: (before: T | undefined, after: T | undefined) => AuditEntry,
  ): Promise<T | undefined>
  /** Calls after each batch with what it changed, in order, from any machine. Returns how to stop it. */
  watch(listener: (changes: readonly Stored<unknown>[], removed: readonly Write[]) => void): () => void
  /** Audit entries, oldest first, after a cursor. */
  audit(after?: string, limit?: number): AsyncIterable<{ cursor: string; entry: AuditEntry }>
  /** False while writes are refused. */
  readonly writable: boolean
  close(): Promise<void>
}
