import type { Cursor, ReadableSpool } from '../logpush/spool/types.js'

/** What a run reads: input files, or a spool into which a source takes records. */
export interface Input {
  /** Names the records: it distinguishes the names of batches from those of other runs. */
  readonly id: string
  readonly spool: ReadableSpool
  readonly cursor: Pick<Cursor, 'state' | 'save'>
  /** Cursors of routes by their names; undefined if the input was opened without routes. */
  readonly routes?: ReadonlyMap<string, Pick<Cursor, 'state' | 'save'>> | undefined
  /** The source waits because the spool is full of records that are not delivered. */
  readonly full?: boolean
  /** Whether nothing comes behind a position any more. */
  over(position: number): boolean
  /** It does not end by itself: the caller ends it with `stop`. */
  readonly endless: boolean
  /** Takes no more: what has been taken, or is there by now, is the whole of the input. */
  stop(): void
  /** Rejects when the source cannot go on. */
  readonly failed: Promise<never>
  /** Stores that everything was delivered, for a later run that goes on behind it. */
  finished?(): Promise<void>
  close(): Promise<void>
}
