import type { Scope } from '../../core/scope.js'

/** A record, as a migration reads and returns it. */
export interface MigratedRecord {
  readonly kind: string
  readonly scope: Scope
  readonly id: string
  readonly value: unknown
}

/** A step from one schema of the store to the next. It is never changed after its release. */
export interface Migration {
  /** Name for the log. */
  readonly name: string
  /** Kinds of the records that it converts. All others stay as they are. */
  readonly kinds: readonly string[]
  /** Returns the replacement of a record, which is the record itself, others, or none. Depends only on its argument. */
  readonly convert: (record: MigratedRecord) => readonly MigratedRecord[]
}
