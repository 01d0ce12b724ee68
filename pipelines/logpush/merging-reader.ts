import { MAX_SKEW_MS } from '../../src/core/clock-skew.js'
import { Scanner, SubrequestMerger, type OutputOptions, type ScannedRecord } from '../records/index.js'
import type { CompiledJob } from './settings/compiled-job.js'
import { compare, type Lines, type SpoolPosition, type Reader } from './spool/position.js'
import type { Frame, Position, ReadableSpool } from './spool/types.js'

/** Subrequests held back for one job. */
const HELD_BYTES = 16 * 2 ** 20

/**
 * If no records arrive, held records are checked against a time this far in the past. A record on its way into the
 * spool must not be older than that time, or a batch that is created again would differ.
 */
export const BEHIND_MS = 10_000

/** A line, and the record that brought it. */
interface Line {
  readonly text: Uint8Array
  readonly position: Position
  readonly skip: number
  /** Lines at the same position that were ready before its record arrived. */
  readonly ahead: number
}

/**
 * Reads records with their subrequests merged. The held records depend only on the records since the oldest held one
 * and on their times of acceptance. A reader that opens at a position reads those records again and has the same state.
 */
export class MergingReader implements Reader {
  missed = 0
  readonly #spool: ReadableSpool
  readonly #merger: SubrequestMerger
  readonly #scanner: Scanner
  /** Lines before it are not given. */
  readonly #from: SpoolPosition
  #rest: MergedLines | undefined
  /** The record that is merged next. */
  #position: Position
  /** Lines at `#position` that were ready before its record arrived. */
  #ahead = 0
  #until: number | undefined
  #time = 0

  private constructor(spool: ReadableSpool, { dataset }: CompiledJob, options: OutputOptions, from: SpoolPosition) {
    this.#spool = spool
    this.#merger = new SubrequestMerger(dataset, options, HELD_BYTES)
    this.#scanner = new Scanner(dataset)
    this.#from = from
    this.#position = from.keep ?? from.position
  }

  static async open(
    spool: ReadableSpool,
    job: CompiledJob,
    options: OutputOptions,
    from: SpoolPosition,
  ): Promise<MergingReader> {
    const reader = new MergingReader(spool, job, options, from)
    await reader.#repeat(from.position)
    reader.#position = from.position
    reader.#ahead = from.ahead ?? 0
    if (from.until !== undefined) reader.#rest = reader.#expired(from.until)
    return reader
  }

  get place(): SpoolPosition {
    return this.#rest?.place(this.#rest.begin) ?? this.#end()
  }

  async next(): Promise<Lines | undefined> {
    for (;;) {
      if (this.#rest !== undefined) return this.#rest
      const frame = await this.#spool.frame(this.#position)
      if (frame === undefined) return undefined
      if (!this.#spool.sparse) this.missed += Math.max(0, frame.first - this.#position)
      this.#rest = this.#merged(frame)
    }
  }

  due(untilMs: number): Lines | undefined {
    return (this.#rest ??= this.#expired(untilMs))
  }

  at(lines: Lines, index: number): void {
    if (lines === this.#rest) this.#rest = index < lines.count ? this.#rest.from(index) : undefined
  }

  /** Merges the records before a position, without returning lines. */
  async #repeat(end: Position): Promise<void> {
    while (this.#position < end) {
      const frame = await this.#spool.frame(this.#position)
      if (frame === undefined || frame.first >= end) return frame?.release()
      const last = Math.min(frame.count, end - frame.first)
      this.#time = timeAfter(this.#time, frame.acceptedAt)
      for (let index = Math.max(0, this.#position - frame.first); index < last; index++)
        this.#merger.add(frame.line(index), this.#time, frame.first + index)
      frame.release()
      this.#position = frame.first + last
    }
  }

  #merged(frame: Frame): MergedLines {
    const begin = Math.max(0, this.#position - frame.first)
    const keep = this.#merger.oldest ?? frame.first + begin
    const lines: Line[] = []
    const ahead = frame.first + begin === this.#position ? this.#ahead : 0
    this.#time = timeAfter(this.#time, frame.acceptedAt)
    for (let index = begin; index < frame.count; index++) {
      const position = frame.first + index
      const ready = this.#merger.add(frame.line(index), this.#time, position)
      const before = index === begin ? ahead : 0
      for (const [at, text] of ready.entries()) lines.push({ text, position, skip: before + at, ahead: before })
    }
    frame.release()
    this.#position = frame.first + frame.count
    this.#ahead = 0
    return this.#lines(lines, frame.acceptedAt, keep)
  }

  #expired(untilMs: number): MergedLines | undefined {
    const keep = this.#merger.oldest
    const ready = this.#merger.expired(untilMs)
    if (ready.length === 0) return undefined
    this.#until = untilMs
    const ahead = this.#ahead
    this.#ahead += ready.length
    const lines = ready.map((text, at) => ({ text, position: this.#position, skip: ahead + at, ahead }))
    return this.#lines(lines, untilMs, keep)
  }

  #lines(lines: readonly Line[], acceptedAt: number, keep: Position | undefined): MergedLines {
    const within = { keep, until: this.#until }
    const made = new MergedLines(lines, acceptedAt, this.#scanner, within, this.#end())
    return made.from(made.before(this.#from))
  }

  #end(): SpoolPosition {
    const ahead = this.#ahead
    return { position: this.#position, skip: ahead, ahead, keep: this.#merger.oldest, until: this.#until }
  }
}

/** The time of the merger, which does not go back unless the clock was set back. */
const timeAfter = (time: number, acceptedAt: number): number =>
  acceptedAt < time - MAX_SKEW_MS ? acceptedAt : Math.max(time, acceptedAt)

/** Added to the sampling key for each further line of a record. It is above all positions. */
const FURTHER = 2 ** 42

class MergedLines implements Lines {
  readonly begin: number
  readonly acceptedAt: number
  readonly frame = undefined
  readonly #lines: readonly Line[]
  readonly #scanner: Scanner
  /** Notes of every position within these lines. A reader that opens there creates all lines again. */
  readonly #within: Pick<SpoolPosition, 'keep' | 'until'>
  readonly #end: SpoolPosition
  #scanned: ScannedRecord | undefined
  #index = -1

  constructor(
    lines: readonly Line[],
    acceptedAt: number,
    scanner: Scanner,
    within: Pick<SpoolPosition, 'keep' | 'until'>,
    end: SpoolPosition,
    begin = 0,
  ) {
    this.#lines = lines
    this.acceptedAt = acceptedAt
    this.#scanner = scanner
    this.#within = within
    this.#end = end
    this.begin = begin
  }

  get count(): number {
    return this.#lines.length
  }

  from(begin: number): MergedLines {
    return new MergedLines(this.#lines, this.acceptedAt, this.#scanner, this.#within, this.#end, begin)
  }

  record(index: number): ScannedRecord {
    if (this.#scanned === undefined || index !== this.#index) {
      this.#scanned = this.#scanner.scan(this.#lines[index]!.text)
      this.#index = index
    }
    return this.#scanned
  }

  key(index: number): number {
    const { position, skip } = this.#lines[index]!
    return position + (skip % 1024) * FURTHER
  }

  place(index: number): SpoolPosition {
    const line = this.#lines[index]
    if (line === undefined) return this.#end
    const { position, skip, ahead } = line
    return { position, skip, ahead, ...this.#within }
  }

  cut(): number {
    return Infinity
  }

  before(place: SpoolPosition): number {
    const index = this.#lines.findIndex((line) => compare(line, place) >= 0)
    return index < 0 ? this.#lines.length : index
  }
}
