import type { CursorNotes, CursorState, Position } from './spool.js'

/**
 * A place between two lines of a job. Most jobs have one line for each record, so that a position says all. Where
 * subrequests are merged, a record brings any number of lines, and what they are depends on records before it.
 */
export interface Place {
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

/** Below 0 when `a` comes first, 0 when both are the same. */
export const compare = (a: Place, b: Place): number => a.position - b.position || a.skip - b.skip

/** How a place stands in a cursor. */
export function cursorAt(place: Place, open?: { readonly end: Place; readonly name: string }): CursorState {
  const notes = notesOf(place)
  return {
    next: place.position,
    ...(place.keep !== undefined && { keep: place.keep }),
    ...(notes && { notes }),
    ...(open && { open: openAt(place, open.end, open.name) }),
  }
}

/** The place of a cursor. */
export const placeOf = ({ next, keep, notes }: CursorState): Place => ({
  position: next,
  skip: notes?.['skip'] ?? 0,
  keep,
  ahead: notes?.['ahead'] ?? 0,
  until: notes?.['until'],
})

/** Where the batch ends that a cursor holds. */
export const endOf = ({ end, notes }: NonNullable<CursorState['open']>): Place => ({
  position: end,
  skip: notes?.['skip'] ?? 0,
  until: notes?.['until'],
})

function openAt(first: Place, end: Place, name: string): NonNullable<CursorState['open']> {
  const notes = notesOf(end)
  return { first: first.position, end: end.position, name, ...(notes && { notes }) }
}

function notesOf({ skip, ahead = 0, until }: Place): CursorNotes | undefined {
  if (skip === 0 && until === undefined) return undefined
  return { skip, ahead, ...(until !== undefined && { until }) }
}
