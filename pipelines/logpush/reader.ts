import type { Output, RecordScanner, ScannedRecord } from '../records/index.js'
import type { CompiledJob } from './settings/compiled-job.js'
import { MergingReader } from './merging-reader.js'
import type { Lines, SpoolPosition, Reader } from './spool/position.js'
import type { Frame, Position, ReadableSpool } from './spool/types.js'
import { TransformReader } from './transform/transform-reader.js'
import type { TransformStage } from './transform/transformed-lines.js'

/** A reader from a place on. `stage` changes the records. */
export async function openReader(
  spool: ReadableSpool,
  job: CompiledJob,
  from: SpoolPosition,
  stage?: TransformStage,
): Promise<Reader> {
  if (job.merge !== undefined) return await MergingReader.open(spool, job, job.merge, from)
  const plain = new PlainReader(spool, from)
  const reader = job.view === undefined ? plain : new ViewReader(plain, job.view())
  return stage === undefined ? reader : new TransformReader(reader, stage)
}

/** A line is a record. */
class PlainReader implements Reader {
  missed = 0
  readonly #spool: ReadableSpool
  #position: Position

  constructor(spool: ReadableSpool, { position }: SpoolPosition) {
    this.#spool = spool
    this.#position = position
  }

  get place(): SpoolPosition {
    return { position: this.#position, skip: 0 }
  }

  async next(): Promise<FrameLines | undefined> {
    const frame = await this.#spool.frame(this.#position)
    if (frame === undefined) return undefined
    if (!this.#spool.sparse) this.missed += Math.max(0, frame.first - this.#position)
    return this.#from(frame)
  }

  cached(): FrameLines | undefined {
    const frame = this.#spool.cached?.(this.#position)
    return frame && this.#from(frame)
  }

  #from(frame: Frame): FrameLines {
    return new FrameLines(frame, Math.max(0, this.#position - frame.first))
  }

  due(): undefined {
    return undefined
  }

  // Releases the frame, as a job can stay at a position for hours. `next` reads it again.
  at(lines: Lines, index: number): void {
    this.#position = lines.place(index).position
    if (lines instanceof FrameLines) lines.release()
  }
}

/** Texts may be cut at each position that is a multiple of this number. */
const CUT = 4096

/** Lines whose fields are scanned again, as the job names them. */
class ViewReader implements Reader {
  readonly #reader: PlainReader
  readonly #scanner: RecordScanner

  constructor(reader: PlainReader, scanner: RecordScanner) {
    this.#reader = reader
    this.#scanner = scanner
  }

  get place(): SpoolPosition {
    return this.#reader.place
  }

  get missed(): number {
    return this.#reader.missed
  }

  async next(): Promise<Lines | undefined> {
    return this.#view(await this.#reader.next())
  }

  cached(): Lines | undefined {
    return this.#view(this.#reader.cached())
  }

  #view(lines: FrameLines | undefined): Lines | undefined {
    return lines && new ViewLines(lines, this.#scanner)
  }

  due(): undefined {
    return undefined
  }

  at(lines: Lines, index: number): void {
    this.#reader.at(lines instanceof ViewLines ? lines.lines : lines, index)
  }
}

class ViewLines implements Lines {
  readonly lines: FrameLines
  readonly frame = undefined
  readonly #scanner: RecordScanner
  #scanned: ScannedRecord | undefined
  #index = -1

  constructor(lines: FrameLines, scanner: RecordScanner) {
    this.lines = lines
    this.#scanner = scanner
  }

  get begin(): number {
    return this.lines.begin
  }

  get count(): number {
    return this.lines.count
  }

  get acceptedAt(): number {
    return this.lines.acceptedAt
  }

  record(index: number): ScannedRecord {
    if (this.#scanned === undefined || index !== this.#index) {
      this.#scanned = this.#scanner.scan(this.lines.frame.line(index))
      this.#index = index
    }
    return this.#scanned
  }

  raw(index: number): Uint8Array {
    return this.lines.frame.line(index)
  }

  addRaw(index: number, output: Output): void {
    this.lines.frame.addLine(index, output)
  }

  source(index: number): string | undefined {
    return this.lines.source(index)
  }

  key(index: number): number {
    return this.lines.key(index)
  }

  place(index: number): SpoolPosition {
    return this.lines.place(index)
  }

  cut(index: number): number {
    return this.lines.cut(index)
  }

  before(place: SpoolPosition): number {
    return this.lines.before(place)
  }
}

class FrameLines implements Lines {
  readonly begin: number
  readonly frame: Frame

  constructor(frame: Frame, begin: number) {
    this.frame = frame
    this.begin = begin
  }

  get count(): number {
    return this.frame.count
  }

  get acceptedAt(): number {
    return this.frame.acceptedAt
  }

  release(): void {
    this.frame.release()
  }

  record(index: number, places: Int16Array): ScannedRecord {
    return this.frame.record(index, places)
  }

  raw(index: number): Uint8Array {
    return this.frame.line(index)
  }

  addRaw(index: number, output: Output): void {
    this.frame.addLine(index, output)
  }

  source(index: number): string | undefined {
    return this.frame.source?.(index)
  }

  key(index: number): number {
    return this.frame.first + index
  }

  place(index: number): SpoolPosition {
    return { position: this.frame.first + index, skip: 0 }
  }

  cut(index: number): number {
    const { first } = this.frame
    return (Math.floor((first + index) / CUT) + 1) * CUT - first
  }

  before({ position }: SpoolPosition): number {
    return Math.min(this.frame.count, Math.max(0, position - this.frame.first))
  }
}
