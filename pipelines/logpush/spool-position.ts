import type { ScannedRecord } from '../records/index.js'
import type { CursorNotes, CursorState, Frame, Position, StoredBatch } from './spool/types.js'

/**
 * A place between two lines of a job. Most jobs have one line for each record, so that a position says all. Where
 * subrequests are merged, a record brings any number of lines, and what they are depends on records before it.
 */
export interface SpoolPosition {
  /** The record that brings the next line. */
  readonly position: Position
  /** So many lines that it brings are before this place. */
  readonly skip: number
  /** The oldest record that was held back here; undefined when none was. */
  readonly keep?: Position | undefined
  /** Of the lines before this place, those that are not made again from the records held back; 0 unless said. */
  readonly ahead?: number
  /** Time, in ms, for which records held back were looked through last while no records came. */
  readonly until?: number | undefined
}

/** The place before all lines. */
export const START: SpoolPosition = { position: 0, skip: 0 }

/** Some lines of a job, before its filter: what one frame brings. */
export interface Lines {
  /** Lines from here to `count` are new. */
  readonly begin: number
  readonly count: number
  /** When they were accepted, ms since 1970. */
  readonly acceptedAt: number
  /** Set where each record of a frame is a line, at the same index. */
  readonly frame: Frame | undefined
  /** In an object that the next call reuses, of which only the fields at `places` count. */
  record(index: number, places: Int16Array): ScannedRecord
  /** The text of the record, of lines whose fields are scanned again as the job names them. */
  raw?(index: number): Uint8Array
  /** What sampling of a line depends on: the same whenever the line is made again. */
  key(index: number): number
  /** The place in front of a line; at `count`, behind the last one. */
  place(index: number): SpoolPosition
  /**
   * The next index above `index`, also beyond `count`, at which the text of a batch is cut where it is long enough: the
   * same records for all jobs.
   */
  cut(index: number): number
  /** How many lines are before a place. */
  before(place: SpoolPosition): number
}

/** Goes through the lines of a job. */
export interface Reader {
  /** In front of the line that comes next. */
  readonly place: SpoolPosition
  /** Records that are not kept any more, though the reader had not got to them. */
  readonly missed: number
  /** What comes next; undefined while there is nothing. Call `at` with how far they were taken before the next call. */
  next(): Promise<Lines | undefined>
  /** The same, if it needs no reading; undefined if `next` has to be called. */
  cached?(): Lines | undefined
  /** Lines held back that were due by a time, ms since 1970, where no records come to push them on. */
  due(untilMs: number): Lines | undefined
  /** Takes note that lines up to `index` are done; `next` gives the others again. */
  at(lines: Lines, index: number): void
}

/** Below 0 when `a` comes first, 0 when both are the same. */
export const compare = (a: SpoolPosition, b: SpoolPosition): number => a.position - b.position || a.skip - b.skip

/** A part of the spool, from the end of the one before it, and what is known of its batch. */
export interface PlannedBatch {
  readonly end: SpoolPosition
  /** Nothing of it is to be sent. */
  readonly delivered?: boolean
  /** The name that it was sent under; without one it gets the name of its records. */
  readonly name?: string | undefined
  /** Maximum records of each batch of it; a batch of its own if there is no maximum. */
  readonly records?: number
  /** Maximum bytes, if they are fewer than those of other batches. */
  readonly bytes?: number
  /** Only the size of the next batch is planned: what follows is cut as if it had never been sent. */
  readonly free?: boolean
}

/** Returns the state of a cursor at a place, with the batches that are on their way from there. */
export function cursorAt(place: SpoolPosition, batches: readonly PlannedBatch[] = []): CursorState {
  const notes = notesOf(place)
  return {
    next: place.position,
    ...(place.keep !== undefined && { keep: place.keep }),
    ...(notes && { notes }),
    ...(batches.length > 0 && { batches: batches.map(storedBatch) }),
  }
}

/** Returns the place of a cursor. */
export const positionOf = ({ next, keep, notes }: CursorState): SpoolPosition => ({
  position: next,
  skip: notes?.['skip'] ?? 0,
  keep,
  ahead: notes?.['ahead'] ?? 0,
  until: notes?.['until'],
})

/** Returns the batches that a cursor names. */
export const planOf = ({ batches = [] }: CursorState): PlannedBatch[] =>
  batches.map(([end, name, notes]) => ({
    end: endAt(end, notes),
    ...(name === null ? { delivered: true } : name !== '' && { name }),
  }))

/** Returns the last position of the batches that a cursor names; 0 if it names none. */
export const furthestOf = ({ batches }: CursorState): Position => batches?.at(-1)?.[0] ?? 0

const endAt = (position: Position, notes: CursorNotes | undefined): SpoolPosition => ({
  position,
  skip: notes?.['skip'] ?? 0,
  until: notes?.['until'],
})

function storedBatch({ end, name = '', delivered = false }: PlannedBatch): StoredBatch {
  const notes = notesOf(end)
  const shown = delivered ? null : name
  return notes === undefined ? [end.position, shown] : [end.position, shown, notes]
}

function notesOf({ skip, ahead = 0, until }: SpoolPosition): CursorNotes | undefined {
  if (skip === 0 && until === undefined) return undefined
  return { skip, ahead, ...(until !== undefined && { until }) }
}
