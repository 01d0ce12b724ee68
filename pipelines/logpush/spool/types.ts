import type { LogRecord } from '../../../src/core/emit.js'
import type { Scope } from '../../../src/core/scope.js'
import type { Output, ScannedRecord } from '../../records/index.js'

/**
 * Position of a record in a spool. It starts at 0, grows by one for each record and is never reused. A spool that lost
 * records (retention, a corrupt segment) has a gap, and later records keep their numbers.
 */
export type Position = number

/**
 * Records that were accepted together, as stored in the spool. They were scanned once. The values of their fields are
 * adjacent, in the order of the dataset, without keys. Members that are not fields of the dataset are not stored.
 */
export interface Frame {
  /** Position of the first record. */
  readonly first: Position
  readonly count: number
  /** When they were accepted, ms since 1970. */
  readonly acceptedAt: number
  /**
   * Returns the record at an index from 0, in an object that the next call for any frame of the spool reuses. With
   * `places`, ascending, only these fields are located, which is faster. Do not read other members of the object then.
   */
  record(index: number, places?: Int16Array): ScannedRecord
  /** The record at an index as one JSON object, in bytes of its own. */
  line(index: number): Uint8Array
  /** Adds the same to an output. */
  addLine(index: number, output: Output): void
  /** Returns the file and line of the record at an index, for frames of files. */
  source?(index: number): string
  /**
   * Ends the use of the frame and its records, so its memory is reused immediately. Useful for readers of many frames.
   */
  release(): void
}

/** A frame without its header, with free memory for the header at its start. */
export interface FrameParts {
  readonly bytes: Buffer
  readonly count: number
}

/** Writes records of one dataset and scope into the spool. Not safe to share between concurrent writers. */
export interface FrameWriter {
  /** Adds one JSON object. If it throws MalformedRecord, nothing was added. */
  add(bytes: Uint8Array, start?: number, end?: number): void
  /** Adds a record that a scanner of the same dataset has read and a check has accepted. */
  addScanned(record: ScannedRecord): void
  /** Adds an event of the daemon. A value that JSON cannot represent is stored as null. */
  addEvent(event: LogRecord): void
  /** Adds a frame that another process packed for the same dataset. */
  adopt(frame: FrameParts): void
  readonly count: number
  /** Bytes of the frame so far. Writers commit at a few hundred KiB. */
  readonly size: number
  /**
   * Appends the added records as frames. Resolves after they are durable and the writer is empty again. If it rejects
   * with SpoolFull, nothing was appended, and `commit` can be called again.
   */
  commit(): Promise<void>
}

/** Behavior of a writer when the spools are at their limit. */
export interface WriterOptions {
  /**
   * With `reject`, the default, commits reject with SpoolFull, for senders that can send again. With `drop_oldest`, the
   * oldest records of all spools are deleted and counted.
   */
  readonly whenFull?: 'reject' | 'drop_oldest'
  /** Checks each record that `add` has scanned. `add` throws the error of the check, and the record is not added. */
  readonly check?: (record: ScannedRecord) => void
}

/** The spool accepts no records now, because it is at its limit or the disk is full. */
export class SpoolFull extends Error {
  override readonly name: string = 'SpoolFull'
}

/** The records on the disk have reached their limit. */
export class SpoolLimitReached extends SpoolFull {}

/** The servers of the spool do not respond. They may or may not have the records. Send the records again. */
export class SpoolUnavailable extends SpoolFull {
  override readonly name = 'SpoolUnavailable'
}

/** Another machine reads for the cursor now, or it was removed. Nothing was saved. */
export class CursorLost extends Error {
  override readonly name = 'CursorLost'
}

/** Data that a reader stores with a position. The spool does not interpret it. */
export type CursorNotes = Readonly<Record<string, number>>

/** End and name of a batch. The name is "" if it has none yet and null if it is delivered. */
export type StoredBatch = readonly [end: Position, name: string | null, notes?: CursorNotes]

/** State of a job between two starts, written durably before an upload begins and after it has ended. */
export interface CursorState {
  /** The first record that has not been delivered. */
  readonly next: Position
  /**
   * Position, at most `next`, of the first record that is still needed. A job that holds records reads them again after
   * a start.
   */
  readonly keep?: Position | undefined
  readonly notes?: CursorNotes | undefined
  /**
   * Batches in flight, created again byte for byte after a crash. The first one starts at `next`, each other at the end
   * of the one before.
   */
  readonly batches?: readonly StoredBatch[] | undefined
}

/** Position of one reader in a spool. Records that no cursor needs are deleted. */
export interface Cursor {
  readonly state: CursorState
  /** Durable when it resolves. Rejects with CursorLost. */
  save(state: CursorState): Promise<void>
  /** Ends the reader permanently. It retains no records any more. */
  remove(): Promise<void>
  /**
   * Only for a spool shared by several machines. Resolves with the latest state loaded, once only this machine reads
   * for the cursor. Calls `lost` when that ends. Rejects with the signal's reason.
   */
  take?(lost: () => void, signal: AbortSignal): Promise<void>
  /** Another machine reads for it now. */
  readonly isTakenElsewhere?: boolean
}

/**
 * Durable record log of one dataset and scope. Records that every cursor has passed are deleted. Without a cursor
 * nothing is stored, so commits resolve immediately and `end` stays.
 */
export interface Spool {
  /** Whether positions between two frames are not records. A gap then does not mean a loss. */
  readonly sparse?: boolean
  readonly dataset: string
  readonly scope: Scope
  /** Position after the last durable record. */
  readonly end: Position
  /** Position of the oldest record that is kept. */
  readonly start: Position
  writer(options?: WriterOptions): FrameWriter
  /** Names of the cursors that there are, opened or not. */
  readonly cursors: readonly string[]
  /**
   * Opens the cursor of a reader. A new one starts at the end. A cursor outside of the stored records is moved, and the
   * loss is counted.
   */
  cursor(name: string): Promise<Cursor>
  /**
   * Returns the frame that holds `position`, or the next stored one. Undefined if there is none yet. A frame is read
   * once for all readers at nearby positions.
   */
  frame(position: Position): Promise<Frame | undefined>
  /** Returns the same frame if it needs no reading and holds `position`. If undefined, call `frame`. */
  cached?(position: Position): Frame | undefined
  /** Returns how many records there are from a position on, as far as that is known. */
  behind(position: Position): number
  /** Returns the last frame with a record before `position`. Undefined if none is stored. */
  before(position: Position): Promise<Frame | undefined>
  /** Resolves when `end` is beyond `position`. Rejects with the signal's reason. */
  waitFor(position: Position, signal: AbortSignal): Promise<void>
}

/** Parts of a writer for events of the daemon. */
export type EventWriter = Pick<FrameWriter, 'addEvent' | 'adopt' | 'size' | 'commit'>

/** A spool for events of the daemon. It is durable here or belongs to another process. */
export interface EventSpool extends Pick<Spool, 'dataset' | 'scope'> {
  writer(options?: WriterOptions): EventWriter
}

/** Opens the spool of a dataset and scope. */
export interface EventSpools {
  open(dataset: string, scope: Scope): Promise<EventSpool>
}

/** Members of a spool that readers use. Input files have them too. */
export type ReadableSpool = Pick<Spool, 'end' | 'frame' | 'cached' | 'waitFor' | 'sparse'>

/** All spools of a daemon, in one folder or on servers that several machines share. */
export interface Spools {
  /** Random id, created and stored with the spools. It distinguishes their records from records of other spools. */
  readonly id: string
  /** The reason why no records are taken now, if there is one. */
  readonly unavailable?: string | undefined
  /** Opens or creates the spool of a dataset and scope. Returns the same object each time. */
  open(dataset: string, scope: Scope): Promise<Spool>
  /** Returns the existing spools, for example to end cursors whose jobs are deleted. */
  all(): Iterable<Spool>
  /** Flushes and closes all spools. */
  close(): Promise<void>
}
