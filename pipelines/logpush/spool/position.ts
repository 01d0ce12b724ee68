import type { Output, ScannedRecord } from '../../records/index.js'
import type { CursorNotes, CursorState, Frame, Position, StoredBatch } from './types.js'

/**
 * A position between two lines of a job. Most jobs have one line for each record, so `position` is enough. If
 * subrequests are merged, a record yields any number of lines, and they depend on earlier records.
 */
export interface SpoolPosition {
  /** The record that brings the next line. */
  readonly position: Position
  /** Number of lines of this record before the position. */
  readonly skip: number
  /** Position of the oldest record that was held here. Undefined if none was held. */
  readonly keep?: Position | undefined
  /** Number of lines before the position that are not created again from the held records. Default is 0. */
  readonly ahead?: number
  /** Time, in ms, for which held records were last examined while no records arrived. */
  readonly until?: number | undefined
}

/** The place before all lines. */
export const START: SpoolPosition = { position: 0, skip: 0 }

/** Lines of a job from one frame, before the filter. */
export interface Lines {
  /** Lines from here to `count` are new. */
  readonly begin: number
  readonly count: number
  /** When they were accepted, ms since 1970. */
  readonly acceptedAt: number
  /** Set where each record of a frame is a line, at the same index. */
  readonly frame: Frame | undefined
  /** Returns a record in an object that the next call reuses. Only the fields at `places` are valid. */
  record(index: number, places: Int16Array): ScannedRecord
  /** Returns the text of the record, in bytes of its own. Not available for merged subrequests. */
  raw?(index: number): Uint8Array
  /** Adds the same to an output. */
  addRaw?(index: number, output: Output): void
  /** Returns the file and line of a record. Undefined if the spool does not store them. */
  source?(index: number): string | undefined
  /** Returns the sampling key of a line. It is the same whenever the line is created again. */
  key(index: number): number
  /** Returns the position before a line. At `count` it is the position after the last line. */
  place(index: number): SpoolPosition
  /**
   * Returns the next index above `index`, possibly beyond `count`, at which the text of a batch is cut if it is long
   * enough. It is at the same records for all jobs.
   */
  cut(index: number): number
  /** How many lines are before a place. */
  before(place: SpoolPosition): number
}

/** Goes through the lines of a job. */
export interface Reader {
  /** Position before the next line. */
  readonly place: SpoolPosition
  /** Records that are not kept any more, though the reader had not got to them. */
  readonly missed: number
  /**
   * Returns the next lines. Undefined if there are none yet. Call `at` with the number of consumed lines before the
   * next call.
   */
  next(): Promise<Lines | undefined>
  /** Returns the same if it needs no reading. If undefined, call `next`. */
  cached?(): Lines | undefined
  /** Returns held lines that were due by a time, in ms since 1970, for use while no records arrive. */
  due(untilMs: number): Lines | undefined
  /** Notes that lines up to `index` are done. `next` returns the others again. */
  at(lines: Lines, index: number): void
}

/** Returns a number below 0 if `a` is first, and 0 if both are the same. */
export const compare = (a: SpoolPosition, b: SpoolPosition): number => a.position - b.position || a.skip - b.skip

/** A part of the spool, from the end of the part before it, and known properties of its batch. */
export interface PlannedBatch {
  readonly end: SpoolPosition
  /** Nothing in this part is to be sent. */
  readonly delivered?: boolean
  /** Name under which it was sent. Without one it is named by its records. */
  readonly name?: string | undefined
  /** Maximum records of each batch in this part. Undefined if the part is one batch. */
  readonly records?: number
  /** Maximum bytes, if lower than for other batches. */
  readonly bytes?: number
  /** Only the size of the next batch is planned. Records after it are cut as if they had never been sent. */
  readonly free?: boolean
}

/** Returns the state of a cursor at a position, with the batches in flight from there. */
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
