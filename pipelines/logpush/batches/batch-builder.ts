import type { Batch } from '../../../src/core/sink.js'
import { BatchText, type Dedupe, type ScannedRecord, type Shape } from '../../records/index.js'
import type { CompiledJob } from '../settings/compiled-job.js'
import type { BatchLimits } from '../settings/limits.js'
import { lineAt, linesOf, linesUpTo, linesWithin } from './formatted-block.js'
import type { Lines, SpoolPosition } from '../spool/position.js'
import type { Shared } from './shared-formatting.js'
import type { JobFilter } from './shared-filters.js'
import type { JobRows } from './shared-rows.js'
import type { Frame } from '../spool/types.js'
import type { Buffers } from '../spool/buffers.js'
import type { BatchBodyHandle, OpenBody, SharedChunk } from './batch-buffer.js'
import { TransformedLines } from '../transform/transformed-lines.js'

/** A batch that is ready to be sent, and the lines that it holds. */
export interface ReadyBatch extends Batch {
  readonly body: BatchBodyHandle
  readonly first: SpoolPosition
  readonly end: SpoolPosition
  /** All its records come from one record of the spool, so it cannot be sent in parts. */
  readonly isOne: boolean
}

/** Stages of a job that have a state, which outlives a batch. */
export interface Stages {
  readonly shape?: Shape | undefined
  readonly dedupe?: Dedupe | undefined
}

export interface BatchBuilderOptions {
  readonly stages?: Stages
  readonly shared?: Shared | undefined
  readonly rows?: JobRows | undefined
  readonly filter?: JobFilter | undefined
}

/** Bytes of text that are passed on together for compression. A piece that ends at {@link Lines.cut} may be shorter. */
const PIECE = 512 * 1024
const SHORT_PIECE = 32 * 1024

/** The batch that a job fills now. */
export class BatchBuilder {
  readonly #job: CompiledJob
  readonly #limits: BatchLimits
  readonly #stage: OpenBody
  readonly #buffers: Buffers
  /** Of `#buffers`. */
  #memory: Buffer<ArrayBuffer> | undefined
  readonly #text: BatchText
  readonly #shared: Shared | undefined
  readonly #rows: JobRows | undefined
  readonly #filter: JobFilter | undefined
  readonly #stages: Stages
  #handedOn = 0
  /**
   * Begin of the text that is not passed on yet, the number of records before it, and its end if it has to be passed
   * on.
   */
  #pieceFrom: SpoolPosition | undefined
  #pieceRecords = 0
  #pieceEnd: SpoolPosition | undefined
  #first: SpoolPosition | undefined
  #from = 0
  #to = 0
  /** Number of records of the spool that its records come from. */
  #sources = 0
  /** Records that passed the filter and were left out by sampling. */
  sampledOut = 0
  /** Records that passed the filter and repeated one before them. */
  repeated = 0
  /** The batch accepts no further line. */
  full = false

  /**
   * `buffers` provides memory for the text. `stages` are the stages of the job. `shared` is shared with jobs of the
   * same recipe, and `rows` with jobs of the same style.
   */
  constructor(
    job: CompiledJob,
    limits: BatchLimits,
    stage: OpenBody,
    buffers: Buffers,
    { stages = {}, shared, rows, filter }: BatchBuilderOptions = {},
  ) {
    this.#stages = stages
    this.#job = job
    this.#limits = limits
    this.#stage = stage
    this.#shared = shared
    this.#rows = rows
    this.#filter = filter
    this.#buffers = buffers
    this.#text = new BatchText(job.format, (bytes) => this.#room(bytes))
  }

  get records(): number {
    return this.#text.records
  }

  /** When its first record was accepted, ms since 1970. */
  get from(): number {
    return this.#from
  }

  /**
   * Adds the lines from `index` up to `end` that the job keeps. Returns the index of the first line that was not
   * examined. Stops when the batch is full, and when `flush` should be called.
   */
  add(lines: Lines, index: number, end: number): number {
    const text = this.#text
    const before = text.records
    const cut = lines.cut(index)
    const taken = this.#take(lines, index, Math.min(end, cut))
    if (text.records > before) this.#to = Math.max(this.#from, lines.acceptedAt)
    const bytes = text.size - this.#handedOn
    if (bytes >= PIECE || (taken === cut && bytes >= SHORT_PIECE)) this.#pieceEnd = lines.place(taken)
    return taken
  }

  #take(lines: Lines, index: number, end: number): number {
    const { frame } = lines
    const shared = this.#shared
    if (lines instanceof TransformedLines) return this.#writeChanged(lines, index, end)
    return shared === undefined || shared.alone || frame === undefined
      ? this.#write(lines, index, end)
      : this.#copy(lines, shared, frame, index, end)
  }

  #write(lines: Lines, index: number, end: number): number {
    const { keeps, looks, samples } = this.#job
    const { bytes, records } = this.#limits
    const { dedupe } = this.#stages
    const text = this.#text
    const { frame } = lines
    const rows = frame !== undefined && this.#rows?.begin(frame) ? this.#rows : undefined
    const kept = frame && this.#filter?.kept(frame)
    for (let at = index; at < end; at++) {
      if (kept === undefined ? !keeps(lines.record(at, looks)) : kept[at] === 0) continue
      if (dedupe?.repeats(lines.record(at, looks), lines.key(at), lines.acceptedAt)) {
        this.repeated++
        continue
      }
      if (!samples(lines.key(at))) {
        this.sampledOut++
        continue
      }
      if (rows?.has(frame!, at)) rows.addTo(text, at)
      else this.#add(lines, at)
      if (text.size > bytes && text.records > 1) {
        text.removeLast()
        this.full = true
        return at
      }
      if (text.records === 1) this.#begin(lines, at)
      this.full = text.records >= records || text.size > bytes
      if (this.full || text.size - this.#handedOn >= PIECE) return at + 1
    }
    return end
  }

  /** Adds the records that lines have become. All records of one line are in one batch. */
  #writeChanged(lines: TransformedLines, index: number, end: number): number {
    const { bytes, records } = this.#limits
    const { shape = (record: ScannedRecord) => record } = this.#stages
    const text = this.#text
    for (let at = index; at < end; at++) {
      const before = text.records
      const count = lines.size(at)
      if (count > 0) {
        text.addGroup(count, (record) => shape(lines.changed(at, record)))
        this.full = text.records >= records || text.size > bytes
        if (before > 0 && (text.records > records || text.size > bytes)) {
          text.removeLast()
          return at
        }
        if (before === 0) this.#begin(lines, at)
        this.#sources++
      } else if (lines.choice(at) === 'repeated') this.repeated++
      else if (lines.choice(at) === 'sampled_out') this.sampledOut++
      if (this.full || text.size - this.#handedOn >= PIECE) return at + 1
    }
    return end
  }

  #add(lines: Lines, at: number): void {
    const { shape } = this.#stages
    const record = lines.record(at, this.#job.writes)
    this.#text.add(shape === undefined ? record : shape(record))
  }

  /** Adds the same lines, copied from another job if it has formatted them already. */
  #copy(lines: Lines, shared: Shared, frame: Frame, index: number, end: number): number {
    const page = shared.page(frame, this.#job, this.#rows)
    const { bytes, records } = this.#limits
    const text = this.#text
    const line = lineAt(page, index)
    const wanted = lineAt(page, end) - line
    if (wanted === 0) return end
    const delimiter = text.records > 0 ? 0 : this.#job.format.delimiter.length
    const fitting = linesWithin(page, line, bytes - text.size + delimiter)
    const least = text.records > 0 ? 0 : 1
    const toPiece = linesUpTo(page, line, PIECE - (text.size - this.#handedOn) + delimiter)
    const count = Math.min(wanted, Math.max(fitting, least), records - text.records, toPiece)
    if (count > 0) {
      if (text.records === 0) this.#begin(lines, page.indexes[line]!)
      text.addWritten(linesOf(page, line, count), count)
      this.full = text.records >= records || text.size > bytes
      if (this.full || text.size - this.#handedOn >= PIECE) return page.indexes[line + count - 1]! + 1
    }
    if (count === wanted) return end
    this.full = true
    return page.indexes[line + count]!
  }

  /** Whether `flush` has something to hand on. */
  get isDue(): boolean {
    return this.#pieceEnd !== undefined
  }

  /** Passes on text that is due. Resolves when there is capacity for more. */
  async flush(): Promise<void> {
    const end = this.#pieceEnd
    if (end === undefined) return
    const of = this.#piece(end)
    this.#pieceFrom = end
    this.#pieceRecords = this.records
    this.#pieceEnd = undefined
    this.#handedOn = this.#text.size
    await this.#text.take(async (text) => await this.#stage.write(text, of))
  }

  /** Ends the batch before `end`. The batch has at least one record. */
  async close(
    end: SpoolPosition,
    nameOf: (batch: Pick<ReadyBatch, 'from' | 'to' | 'first' | 'end' | 'records'>) => string,
  ): Promise<ReadyBatch> {
    if (this.#first === undefined) throw new Error('a batch without records')
    const { records, size } = this.#text
    const range = { from: new Date(this.#from), to: new Date(this.#to), first: this.#first, end, records }
    const of = this.#piece(end)
    const ended = this.#text.close(async (text) => await this.#stage.end(text, of))
    this.#giveBack()
    const body = await ended
    return { ...range, name: nameOf(range), size, body, isOne: records === 1 || this.#sources === 1 }
  }

  async discard(): Promise<void> {
    this.#giveBack()
    await this.#stage.discard()
  }

  #room(bytes: number): Uint8Array<ArrayBuffer> {
    if (bytes > this.#buffers.size) return new Uint8Array(bytes)
    this.#memory = this.#buffers.take()
    const { buffer, byteOffset, length } = this.#memory
    return new Uint8Array(buffer, byteOffset, length)
  }

  /** The text is not written to any more. */
  #giveBack(): void {
    if (this.#memory !== undefined) this.#buffers.give(this.#memory)
    this.#memory = undefined
  }

  /** Returns the identity of the piece that ends at `end`, if other jobs may have the same piece. */
  #piece(end: SpoolPosition): SharedChunk | undefined {
    const shared = this.#shared
    if (shared === undefined || shared.alone) return undefined
    // If records were deleted in the meantime, the same positions yield fewer lines. The number of lines distinguishes
    // such pieces.
    const records = this.records - this.#pieceRecords
    const begins = this.#pieceFrom === undefined ? 'first' : ''
    const from = this.#pieceFrom ?? this.#first
    return { shared, id: `${begins} ${from?.position} ${end.position} ${records}` }
  }

  #begin(lines: Lines, at: number): void {
    this.#first = lines.place(at)
    this.#from = lines.acceptedAt
  }
}
