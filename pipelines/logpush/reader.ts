import type { ScannedRecord } from '../records/index.js'
import type { CompiledJob } from './compiled-job.js'
import { MergingReader } from './merging-reader.js'
import type { Lines, SpoolPosition, Reader } from './spool-position.js'
import type { Frame, Position, ReadableSpool } from './spool/types.js'

/** A reader from a place on. */
export async function openReader(spool: ReadableSpool, job: CompiledJob, from: SpoolPosition): Promise<Reader> {
  return job.merge === undefined ? new PlainReader(spool, from) : await MergingReader.open(spool, job, job.merge, from)
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

  async next(): Promise<Lines | undefined> {
    const frame = await this.#spool.frame(this.#position)
    if (frame === undefined) return undefined
    this.missed += Math.max(0, frame.first - this.#position)
    return new FrameLines(frame, Math.max(0, this.#position - frame.first))
  }

  due(): undefined {
    return undefined
  }

  // The frame is let go, as a job can stay where it is for hours: `next` asks for it again.
  at(lines: Lines, index: number): void {
    this.#position = lines.place(index).position
    if (lines instanceof FrameLines) lines.release()
  }
}

/** At each position that is a multiple of it, texts may be cut. */
const CUT = 2048

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
