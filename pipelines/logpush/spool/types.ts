import type { LogRecord } from '../../../src/core/emit.js'
import type { Scope } from '../../../src/core/scope.js'
import type { ScannedRecord } from '../../records/index.js'

/**
 * The place of a record in a spool: from 0, one more for each record, never used twice. A spool that lost records
 * (retention, a corrupt segment) has a gap; what comes later keeps its number.
 */
export type Position = number

/**
 * Records that were accepted together, as they lie in the spool: scanned once, the values of their fields side by side in
 * the order of the dataset, without keys. Members that are no field of the dataset are not kept.
 */
export interface Frame {
  /** Position of the first record. */
  readonly first: Position
  readonly count: number
  /** When they were accepted, ms since 1970. */
  readonly acceptedAt: number
  /**
   * The record at an index from 0, in an object that the next call for any frame of the spool reuses. With `places`, ascending, only these fields are
   * looked up, which is faster; nothing else of the object is to be looked at.
   */
  record(index: number, places?: Int16Array): ScannedRecord
  /** The record at an index as one JSON object, in bytes of its own. */
  line(index: number): Uint8Array
  /**
   * Says that neither the frame nor a record of it is looked at any more, so that its memory is used again at once; good
   * for readers of many frames.
   */
  release(): void
}

/** A frame without its header yet, for which room is left in front. */
export interface FrameParts {
  readonly bytes: Buffer
  readonly count: number
}

/** Takes records of one dataset and scope into the spool. Not safe to share between concurrent writers. */
export interface FrameWriter {
  /** Adds one JSON object; throws MalformedRecord, and then nothing was added. */
  add(bytes: Uint8Array, start?: number, end?: number): void
  /** Adds a record that a scanner of the same dataset has read and a check has accepted. */
  addScanned(record: ScannedRecord): void
  /** Adds an event of the daemon's own. A value that JSON cannot say stands as null. */
  addEvent(event: LogRecord): void
  /** Adds a frame that another process packed for the same dataset. */
  adopt(frame: FrameParts): void
  readonly count: number
  /** Bytes that the frame has so far: a writer commits at a few hundred KiB. */
  readonly size: number
  /**
   * Appends what was added as frames; resolves once they are durable, and the writer is empty again. Rejects with
   * SpoolFull: then nothing was appended, and `commit` can be called again.
   */
  commit(): Promise<void>
}

/** What a writer wants when the spools are at their limit. */
export interface WriterOptions {
  /**
   * `reject`, the default: commits reject with SpoolFull, for senders that can send again. `drop_oldest`:
   * the oldest records of all spools make room, and are counted.
   */
  readonly whenFull?: 'reject' | 'drop_oldest'
  /** Looks at each record that `add` has scanned; what it throws goes to the caller of `add`, and the record is not added. */
  readonly check?: (record: ScannedRecord) => void
}

/** The spool takes no records now: at its limit, or the disk is full. */
export class SpoolFull extends Error {
  override readonly name: string = 'SpoolFull'
}

/** The records on the disk have reached their limit. */
export class SpoolLimitReached extends SpoolFull {}

/** The servers of the spool do not respond. Whether they have the records is not known: send them again. */
export class SpoolUnavailable extends SpoolFull {
  override readonly name = 'SpoolUnavailable'
}

/** Another machine reads for the cursor now, or it was removed. Nothing was saved. */
export class CursorLost extends Error {
  override readonly name = 'CursorLost'
}

/** What a reader wants to find again beside a position; the spool stores it and does not look at it. */
export type CursorNotes = Readonly<Record<string, number>>

/** A batch: its end and its name; "" if it has none yet, null if it is delivered. */
export type StoredBatch = readonly [end: Position, name: string | null, notes?: CursorNotes]

/** What a job keeps between two starts; written durably before an upload begins and after it has ended. */
export interface CursorState {
  /** The first record that has not been delivered. */
  readonly next: Position
  /** Records from here on are still needed, at most `next`: a job that holds records back reads them again after a start. */
  readonly keep?: Position | undefined
  readonly notes?: CursorNotes | undefined
  /**
   * The batches that are on their way, made again, byte for byte, after a crash: the first one from `next` on, each other
   * from the end of the one before.
   */
  readonly batches?: readonly StoredBatch[] | undefined
}

/** One reader's place in a spool; what no cursor needs any more is deleted. */
export interface Cursor {
  readonly state: CursorState
  /** Durable when it resolves. Rejects with CursorLost. */
  save(state: CursorState): Promise<void>
  /** Ends the reader for good: it holds nothing back any more. */
  remove(): Promise<void>
  /**
   * Of a spool that several machines share: resolves when this machine alone reads for the cursor, with its latest state.
   * `lost` is called when that ends. Rejects with the signal's reason.
   */
  take?(lost: () => void, signal: AbortSignal): Promise<void>
  /** Another machine reads for it now. */
  readonly isTakenElsewhere?: boolean
}

/**
 * The durable record log of one dataset and scope. It is there for its readers: what every cursor has passed is deleted,
 * and while it has no cursor it keeps nothing, so that commits resolve at once and `end` stays.
 */
export interface Spool {
  /** Set if positions between two frames are not records: a gap does not mean a loss. */
  readonly sparse?: boolean
  readonly dataset: string
  readonly scope: Scope
  /** Position behind the last durable record. */
  readonly end: Position
  /** Position of the oldest record that is kept. */
  readonly start: Position
  writer(options?: WriterOptions): FrameWriter
  /** Names of the cursors that there are, opened or not. */
  readonly cursors: readonly string[]
  /** Opens the cursor of a reader; a new one starts at the end. A cursor outside of what is kept is moved, and the loss is counted. */
  cursor(name: string): Promise<Cursor>
  /**
   * The frame that holds `position`, or the next one that is kept; undefined when there is none yet. The same frame is
   * read once for all readers that are near it.
   */
  frame(position: Position): Promise<Frame | undefined>
  /** The same, if it needs no reading and holds `position`; undefined if `frame` has to be called. */
  cached?(position: Position): Frame | undefined
  /** Returns how many records there are from a position on, as far as that is known. */
  behind(position: Position): number
  /** The last frame with a record before `position`; undefined if none is kept. */
  before(position: Position): Promise<Frame | undefined>
  /** Resolves when `end` is beyond `position`; rejects with the signal's reason. */
  waitFor(position: Position, signal: AbortSignal): Promise<void>
}

/** Parts of a writer for events of the daemon. */
export type EventWriter = Pick<FrameWriter, 'addEvent' | 'adopt' | 'size' | 'commit'>

/** A spool for events of the daemon: durable here, or that of another process. */
export interface EventSpool extends Pick<Spool, 'dataset' | 'scope'> {
  writer(options?: WriterOptions): EventWriter
}

/** Opens the spool of a dataset and scope. */
export interface EventSpools {
  open(dataset: string, scope: Scope): Promise<EventSpool>
}

/** What a reader needs of a spool; input files have it too. */
export type ReadableSpool = Pick<Spool, 'end' | 'frame' | 'cached' | 'waitFor' | 'sparse'>

/** All spools of a daemon: in one folder, or on servers that several machines share. */
export interface Spools {
  /** Random, made with the spools and kept with them: tells their records from those of any others. */
  readonly id: string
  /** The reason why no records are taken now, if there is one. */
  readonly unavailable?: string | undefined
  /** Opens, or makes, the spool of a dataset and scope; the same object each time. */
  open(dataset: string, scope: Scope): Promise<Spool>
  /** Those that exist, as for the end of cursors whose jobs are gone. */
  all(): Iterable<Spool>
  /** Flushes, and closes all of them. */
  close(): Promise<void>
}
