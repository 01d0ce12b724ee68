import type { Cursor, ReadableSpool } from '../../logpush/spool/types.js'

/** Input of a run, which is input files or a spool that a source fills. */
export interface Input {
  /** Id of the records. It distinguishes the names of batches from names of other runs. */
  readonly id: string
  readonly spool: ReadableSpool
  readonly cursor: Pick<Cursor, 'state' | 'save'>
  /** Cursors of routes by their names. Undefined if the input was opened without routes. */
  readonly routes?: ReadonlyMap<string, Pick<Cursor, 'state' | 'save'>> | undefined
  /** The source waits because the spool is full of records that are not delivered. */
  readonly full?: boolean
  /** Returns whether nothing follows a position any more. */
  over(position: number): boolean
  /** Whether the input does not end on its own. The caller ends it with `stop`. */
  readonly endless: boolean
  /** Accepts no more records. Records accepted so far, or already available, are the whole input. */
  stop(): void
  /** Rejects when the source cannot go on. */
  readonly failed: Promise<never>
  /** Stores that everything was delivered, for a later run that continues from there. */
  finished?(): Promise<void>
  close(): Promise<void>
}
