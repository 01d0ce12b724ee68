/**
 * Input files used like a spool. They can be read again, so no copy is needed. Positions count the valid records of the
 * whole input. The cursor is a file that also has their position in the input.
 */
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../src/core/clock.js'
import { messageOf } from '../../../src/core/errors.js'
import { EventLoopYield } from '../../../src/core/schedule/event-loop-yield.js'
import {
  MalformedRecord,
  Output,
  recordCheck,
  scannerOf,
  type RecordScanner,
  UnfitRecord,
  type Dataset,
  type ScannedRecord,
} from '../../records/index.js'
import type { LineFormat } from '../../records/text/index.js'
import { furthestOf } from '../../logpush/spool/position.js'
import { withBatches } from '../../../src/core/model/cursor-batches.js'
import type { CursorState, Frame, Position, ReadableSpool } from '../../logpush/spool/types.js'
import { namesIn, writeDurably } from '../../../src/disk/durable-write.js'
import { addedSince, withNewFiles, type TrailFile } from './continued-files.js'
import { FileTrail, InputGone, type Trail, type TrailBlock } from './file-trail.js'
import type { FilePlace } from './line-range.js'
import { FollowTrail, type FollowState } from './follow-trail.js'
import { MAX_LINE_BYTES } from '../lines/line-blocks.js'
import { writeRecord } from '../lines/record-text.js'
import type { Input } from '../intake/input.js'
import { isBlank } from '../intake/record-intake.js'
import type { RunStats } from '../intake/run-stats.js'

const POLL_MS = 250
const STATE = 'cursor.json'

/** Contents of the file of a cursor. */
interface State {
  /** Names this run of the input, over all its resumptions. */
  readonly id: string
  readonly cursor: CursorState
  /** Position in the input before the record `cursor.next`. */
  readonly at: Mark
  readonly trail: readonly TrailFile[] | FollowState
  readonly times: readonly Moment[]
  /** All of the input was delivered. */
  readonly over?: boolean
}

/** A position in the input and the position of the next record. */
interface Mark extends FilePlace {
  readonly position: Position
}

/** From this position on records were accepted at this time, ms since 1970. */
type Moment = readonly [position: Position, ms: number]

export interface FileSpoolOptions {
  readonly dataset: Dataset
  /** Format of lines. Undefined for JSON. */
  readonly lines?: LineFormat | undefined
  /** Files. If they are followed, paths and globs of files. */
  readonly paths: readonly string[]
  readonly follow: boolean
  /** Called with the path of a content if some records may be lost. */
  readonly lost: (path: string, message: string) => void
  /** Called once with a file to follow that does not exist. */
  readonly missing: (path: string) => void
  /** Existing folder of the cursor. */
  readonly folder: string
  /** Called with a summary of an earlier run if the state of that run is ignored. */
  readonly leftOver: (what: string) => void
  /** Continue an earlier run. */
  readonly resume: boolean
  readonly clock: Clock
  readonly stats: RunStats
}

/** The reading side of a spool, over input files. */
export class FileSpool implements Input, ReadableSpool {
  readonly id: string
  readonly spool = this
  readonly cursor = this
  readonly endless: boolean
  /** Whatever happens shows where frames are asked for. */
  readonly failed = new Promise<never>(() => {})
  state: CursorState
  #ended = false
  #stopped = false
  readonly #options: FileSpoolOptions
  readonly #trail: Trail<State['trail']>
  readonly #valid: ValidRecords
  #frame: FileFrame | undefined
  /** Position after the last frame. */
  #end: Position
  /** Requested positions, in order. The cursor needs the first one. */
  #marks: Mark[]
  readonly #times: Moment[]
  /** The furthest line that has been counted. */
  #counted: { file: number; line: number } = { file: 0, line: 0 }

  private constructor(options: FileSpoolOptions, trail: Trail<State['trail']>, { id, cursor, at, times }: State) {
    this.id = id
    this.endless = options.follow
    this.#options = options
    this.state = cursor
    this.#trail = trail
    this.#valid = new ValidRecords(options)
    this.#end = at.position
    this.#marks = [at]
    this.#times = [...times]
  }

  /** Opens the input. Files that a crash left half written are deleted. */
  static async open(options: FileSpoolOptions): Promise<FileSpool> {
    await namesIn(fs, options.folder)
    const found = await readState(options.folder)
    if (found !== undefined && !options.resume) options.leftOver(doneBy(found))
    const stored = options.resume ? found : undefined
    const state = stored === undefined ? beginning(options.paths) : await continued(stored, options)
    const { follow, paths: patterns, missing, lost, clock, stats } = options
    const isText = options.lines !== undefined
    const from = { from: state.at, progress: (bytes: number) => void (stats.inputBytes += bytes) }
    const damaged = (path: string, message: string) => stats.damage(path, message)
    const trail = follow
      ? await FollowTrail.open(
          { ...from, isText, patterns, missing, lost, clock },
          stored?.trail as FollowState | undefined,
        )
      : new FileTrail(state.trail as readonly TrailFile[], { ...from, isText, damaged })
    return new FileSpool(options, trail, state)
  }

  get end(): Position {
    return this.#end
  }

  /** Returns whether nothing follows the content that has been read. */
  over(): boolean {
    return this.#ended
  }

  /** For followed files, makes their current content the end of the input. */
  stop(): void {
    this.#stopped = true
    this.#trail.finish()
  }

  /** Stores the position of the run. It is durable when this resolves. */
  async save(cursor: CursorState): Promise<void> {
    await this.#save(cursor, false)
  }

  async finished(): Promise<void> {
    await this.#save({ next: this.#end }, true)
  }

  async #save(cursor: CursorState, over: boolean): Promise<void> {
    const needed = Math.min(cursor.next, cursor.keep ?? cursor.next)
    if (this.#frame?.holds(needed)) this.#marked(this.#frame, needed)
    const at = this.#marks.findLast(({ position }) => position <= needed) ?? this.#marks[0]!
    const time = this.#times.findLast(([position]) => position <= needed)
    const times = this.#times.slice(Math.max(0, this.#times.indexOf(time!)))
    const state: State = { id: this.id, over, cursor, at, trail: this.#trail.state, times }
    await writeDurably(fs, join(this.#options.folder, STATE), JSON.stringify(state))
    this.state = cursor
    // If the write fails, the run needs everything from the position before on.
    this.#marks.splice(0, Math.max(0, this.#marks.indexOf(at)))
    this.#times.splice(0, Math.max(0, this.#times.indexOf(time!)))
    await this.#trail.forget(at.file)
  }

  /** Returns the frame that holds a position, or the next one. Undefined if there is none now, see `over`. */
  async frame(position: Position): Promise<Frame | undefined> {
    if (this.#frame?.holds(position)) return this.#marked(this.#frame, position)
    if (position < this.#end) await this.#back(position)
    for (;;) {
      const frame = await this.#read()
      if (frame === undefined) return undefined
      if (frame.holds(position)) return this.#marked(frame, position)
    }
  }

  /** Resolves when there may be more. */
  async waitFor(_position: Position, signal: AbortSignal): Promise<void> {
    await this.#options.clock.sleep(POLL_MS, signal)
  }

  async close(): Promise<void> {
    await this.#trail.close()
  }

  #marked(frame: FileFrame, position: Position): FileFrame {
    const mark = frame.mark(position)
    const last = this.#marks.at(-1)!
    if (position > last.position) this.#marks.push(mark)
    return frame
  }

  async #back(position: Position): Promise<void> {
    const mark = this.#marks.findLast((mark) => mark.position <= position)
    if (mark === undefined) throw new InputGone(`record ${position} of the input is not at hand any more`)
    await this.#trail.seek(mark)
    this.#frame = undefined
    this.#end = mark.position
    this.#ended = false
  }

  /** Reads the next frame. Skips blocks without a valid record. */
  async #read(): Promise<FileFrame | undefined> {
    for (;;) {
      const block = await this.#trail.next()
      if (block === undefined) {
        this.#ended = !this.#options.follow || this.#stopped
        return undefined
      }
      // A stretch before this one may be lost. Its positions stay unused.
      const { stretch } = block
      stretch.position ??= this.#end
      this.#end = Math.max(this.#end, stretch.position)
      const frame = await this.#valid.frame(block, this.#end, this.#acceptedAt(), this.#known(block))
      if (frame.count === 0) continue
      this.#frame = frame
      this.#end += frame.count
      return frame
    }
  }

  /** How many lines of a block have been counted before, when some are read again. */
  #known({ file, line, count }: TrailBlock): number {
    const { file: lastFile, line: lastLine } = this.#counted
    if (file < lastFile) return count
    const known = file === lastFile ? Math.max(0, lastLine - line + 1) : 0
    if (known < count) this.#counted = { file, line: line + count - 1 }
    return known
  }

  #acceptedAt(): number {
    const known = this.#times.findLast(([position]) => position <= this.#end)
    const later = this.#times.some(([position]) => position > this.#end)
    if (known !== undefined && (later || this.#end < this.#limit())) return known[1]
    // Names of batches have seconds. A long list of times would only make saving slower.
    const now = Math.floor(this.#options.clock.now() / 1000) * 1000
    if (known !== undefined && (known[1] === now || this.#times.length >= MAX_TIMES)) return known[1]
    this.#times.push([this.#end, now])
    return now
  }

  /** Returns the position below which records have the acceptance times of the batches in the cursor. */
  #limit(): Position {
    return furthestOf(this.state)
  }
}

const MAX_TIMES = 1000

const beginning = (paths: readonly string[]): State => ({
  id: randomBytes(8).toString('hex'),
  cursor: { next: 0 },
  at: { position: 0, file: 0, offset: 0, line: 1 },
  trail: paths.map((path) => ({ path })),
  times: [],
})

const doneBy = ({ over, cursor: { next } }: State): string =>
  over ? `which delivered all of its ${next} records` : `which stopped before record ${next + 1}`

/** The state of a run that continues an earlier one. */
async function continued(state: State, { follow, paths }: FileSpoolOptions): Promise<State> {
  if (follow) return state
  const files = state.trail as readonly TrailFile[]
  if (!state.over) return { ...state, trail: await withNewFiles(files, paths) }
  const trail = await addedSince(files, paths)
  const { offset, line } = trail[0]?.begin ?? { offset: 0, line: 1 }
  return { ...state, over: false, at: { position: state.cursor.next, file: 0, offset, line }, trail }
}

/** Reads the state of an earlier run. Undefined if there is none. */
async function readState(folder: string): Promise<State | undefined> {
  const path = join(folder, STATE)
  try {
    const state = JSON.parse(await fs.readFile(path, 'utf8')) as State
    return { ...state, cursor: withBatches(state.cursor) as CursorState }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new InputGone(`${path} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

/** Valid records of one block of lines, as located by the scanner. Valid until the next frame is created. */
class FileFrame implements Frame {
  readonly first: Position
  readonly acceptedAt: number
  readonly #block: TrailBlock
  readonly #records: readonly Kept[]
  count = 0

  constructor(block: TrailBlock, first: Position, acceptedAt: number, records: readonly Kept[]) {
    this.#block = block
    this.first = first
    this.acceptedAt = acceptedAt
    this.#records = records
  }

  holds(position: Position): boolean {
    return position >= this.first && position < this.first + this.count
  }

  record(index: number): ScannedRecord {
    return this.#records[index]!
  }

  line(index: number): Uint8Array {
    const { bytes, from, to } = this.#records[index]!
    return bytes.slice(from, to)
  }

  addLine(index: number, output: Output): void {
    const { bytes, from, to } = this.#records[index]!
    output.append(bytes.subarray(from, to))
  }

  source(index: number): string {
    const { stretch, line } = this.#block
    return `${stretch.path}:${line + this.#records[index]!.at}`
  }

  /** The next frame takes this memory anyway. */
  release(): void {}

  /** The place of a record of this frame. */
  mark(position: Position): Mark {
    const { file, base, starts, line } = this.#block
    const { at } = this.#records[position - this.first]!
    return { position, file, offset: base + starts[at]!, line: line + at }
  }
}

/** A scanned record, and which line of its block it was. */
interface Kept extends ScannedRecord {
  bytes: Uint8Array
  /** Where its JSON text begins and ends in `bytes`. */
  from: number
  to: number
  at: number
}

/** Makes frames, in memory that is used again. */
class ValidRecords {
  readonly #scanner: RecordScanner
  readonly #check: (record: ScannedRecord) => void
  readonly #fields: number
  readonly #stats: RunStats
  readonly #pool: Kept[] = []
  readonly #lines: LineFormat | undefined
  /** Records of lines that are not JSON. */
  readonly #output = new Output()
  readonly #slices = new EventLoopYield()

  constructor({ dataset, lines, stats }: FileSpoolOptions) {
    this.#stats = stats
    this.#lines = lines
    this.#scanner = scannerOf(dataset)
    this.#check = recordCheck(dataset)
    this.#fields = dataset.names.length
  }

  /** Lines before `known` have been counted already. */
  async frame(block: TrailBlock, first: Position, acceptedAt: number, known: number): Promise<FileFrame> {
    this.#output.length = 0
    const frame = new FileFrame(block, first, acceptedAt, this.#pool)
    const stats = this.#stats
    for (let at = 0; at < block.count; at++) {
      if (isBlank(block.bytes, block.starts[at]!, block.ends[at]!)) continue
      // Some formats take much longer for a line than JSON.
      if (this.#lines !== undefined) await this.#slices.yieldToEventLoop()
      const invalid = this.#add(frame, block, at)
      if (at < known || (block.torn && invalid !== undefined)) continue
      stats.read++
      if (invalid !== undefined) stats.reject(`${block.stretch.path}:${block.line + at}`, invalid)
    }
    return frame
  }

  /** Adds the record of a line to a frame. Returns the reason if it is invalid. */
  #add(frame: FileFrame, { bytes, starts, ends }: TrailBlock, at: number): string | undefined {
    try {
      if (ends[at]! < 0) throw new UnfitRecord(`the record is longer than ${MAX_LINE_BYTES} bytes`)
      const [text, from, to] = this.#text(bytes, starts[at]!, ends[at]!)
      const record = this.#scanner.scan(text, from, to)
      this.#check(record)
      const kept = this.#keep(frame.count++, record)
      kept.from = from
      kept.to = to
      kept.at = at
      return undefined
    } catch (error) {
      if (!(error instanceof MalformedRecord || error instanceof UnfitRecord)) throw error
      return error.message
    }
  }

  /** Returns where the JSON text of a line is. */
  #text(bytes: Uint8Array, start: number, end: number): [bytes: Uint8Array, from: number, to: number] {
    if (this.#lines === undefined) return [bytes, start, end]
    const output = this.#output
    const from = output.length
    writeRecord(this.#lines, bytes, start, end, output)
    return [output.bytes, from, output.length]
  }

  #keep(index: number, { bytes, starts, ends, marks }: ScannedRecord): Kept {
    const kept = (this.#pool[index] ??= this.#made())
    kept.bytes = bytes
    kept.starts.set(starts)
    kept.ends.set(ends)
    kept.marks.set(marks)
    return kept
  }

  #made(): Kept {
    const count = this.#fields
    return {
      bytes: new Uint8Array(0),
      starts: new Int32Array(count),
      ends: new Int32Array(count),
      marks: new Uint8Array(count),
      from: 0,
      to: 0,
      at: 0,
    }
  }
}
