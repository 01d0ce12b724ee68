import type { Scope } from '../../src/core/scope.js'
import type { ScannedRecord } from '../records/index.js'

/**
 * The place of a record in a spool: from 0, one more for each record, never used twice. A spool that lost records
 * (retention, a corrupt segment) has a gap; what comes later keeps its number.
 */
export type Position = number

/** Records that were accepted together, as they lie in the spool: scanned once, with the places of their fields. */
export interface Frame {
  /** Position of the first record. */
  readonly first: Position
  readonly count: number
  /** When they were accepted, ms since 1970. */
  readonly acceptedAt: number
  /** The record at an index from 0, in an object that the next call reuses. */
  record(index: number): ScannedRecord
}

/** Takes records of one dataset and scope into the spool. Not safe to share between concurrent writers. */
export interface FrameWriter {
  /** Adds one JSON object; throws MalformedRecord, and then nothing was added. */
  add(bytes: Uint8Array, start?: number, end?: number): void
  readonly count: number
  /** Bytes that the frame has so far: a writer commits at a few hundred KiB. */
  readonly size: number
  /** Appends what was added as frames; resolves once they are durable. Rejects with SpoolFull, and then nothing was appended. */
  commit(): Promise<void>
}

/** The spool takes no records now: at its limit, or the disk is full. */
export class SpoolFull extends Error {
  override readonly name = 'SpoolFull'
}

/** What a job keeps between two starts; written durably before an upload begins and after it has ended. */
export interface CursorState {
  /** The first record that has not been delivered. */
  readonly next: Position
  /** The batch that is being uploaded: made again, byte for byte, after a crash. */
  readonly open?: { readonly first: Position; readonly end: Position; readonly name: string } | undefined
}

/** One reader's place in a spool; what no cursor needs any more is deleted. */
export interface Cursor {
  readonly state: CursorState
  /** Durable when it resolves. */
  save(state: CursorState): Promise<void>
  /** Ends the reader for good: it holds nothing back any more. */
  remove(): Promise<void>
}

/** The durable record log of one dataset and scope. */
export interface Spool {
  readonly dataset: string
  readonly scope: Scope
  /** Position behind the last durable record. */
  readonly end: Position
  /** Position of the oldest record that is kept. */
  readonly start: Position
  writer(): FrameWriter
  /** Opens the cursor of a reader; a new one starts at the end. A cursor outside of what is kept is moved, and the loss is counted. */
  cursor(name: string): Promise<Cursor>
  /**
   * The frame that holds `position`, or the next one that is kept; undefined when there is none yet. The same frame is
   * read once for all readers that are near it.
   */
  frame(position: Position): Promise<Frame | undefined>
  /** Resolves when `end` is beyond `position`; rejects with the signal's reason. */
  waitFor(position: Position, signal: AbortSignal): Promise<void>
}

/** All spools of a daemon, in one folder. */
export interface Spools {
  /** Opens, or makes, the spool of a dataset and scope; the same object each time. */
  open(dataset: string, scope: Scope): Promise<Spool>
  /** Flushes, and closes all of them. */
  close(): Promise<void>
}
