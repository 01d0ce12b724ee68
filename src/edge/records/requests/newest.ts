import type { RecordPlace } from '../../../core/model/requests/request-record.js'
import { EventLoopYield } from '../../../core/schedule/event-loop-yield.js'
import { linesOf, rayOf, readSegment, segmentsIn, type Line, type Segment } from './segments.js'

const slices = new EventLoopYield()

/** Lines that are read between two pauses. */
const LINES = 256

/** The records to read, in milliseconds since 1970. */
export interface Range {
  /** The first moment. */
  readonly since: number
  /** The first moment after the range. */
  readonly until: number
  /** Only what follows this record, in the order newest first. */
  readonly after?: RecordPlace | undefined
}

/** A record of a segment as bytes, with its place. */
export interface StoredLine extends RecordPlace {
  readonly bytes: Buffer
}

/** Yields the records of a folder that are in a range, newest first. */
export async function* newestFirst(folder: string, range: Range): AsyncGenerator<StoredLine> {
  const latest = Math.min(range.until, range.after ? range.after.at + 1 : Infinity)
  const waiting = (await segmentsIn(folder))
    .filter(({ closed }) => closed === undefined || (closed.to >= range.since && closed.from < latest))
    .toSorted((one, other) => newestOf(other) - newestOf(one))
  const readers: SegmentReader[] = []
  for (;;) {
    let next = newestReader(readers)
    while (waiting[0] && (!next || newestOf(waiting[0]) >= next.line!.at)) {
      const reader = await SegmentReader.open(waiting.shift()!, range)
      if (reader?.line) readers.push(reader)
      next = newestReader(readers)
    }
    if (!next) return
    yield next.taken()
    if (!next.line) readers.splice(readers.indexOf(next), 1)
  }
}

/** A record that is being written can be newer than all others. */
const newestOf = ({ closed }: Segment): number => closed?.to ?? Infinity

function newestReader(readers: readonly SegmentReader[]): SegmentReader | undefined {
  let newest: SegmentReader | undefined
  for (const reader of readers) if (!newest || reader.isBefore(newest)) newest = reader
  return newest
}

/** Whether a record comes after a place, in the order newest first. */
const follows = (record: RecordPlace, place: RecordPlace): boolean =>
  record.at < place.at || (record.at === place.at && record.ray < place.ray)

/** The records of one segment that are in a range, newest first. */
class SegmentReader {
  readonly #bytes: Buffer
  readonly #lines: readonly Line[]
  #next = 0

  private constructor(bytes: Buffer, lines: readonly Line[]) {
    this.#bytes = bytes
    this.#lines = lines
  }

  /** Returns undefined if the segment is gone. */
  static async open(segment: Segment, { since, until, after }: Range): Promise<SegmentReader | undefined> {
    const bytes = await readSegment(segment)
    if (!bytes) return undefined
    const lines: Line[] = []
    let read = 0
    for (const line of linesOf(bytes)) {
      if (++read % LINES === 0) await slices.yieldToEventLoop()
      if (line.at < since || line.at >= until) continue
      if (!after || line.at < after.at || follows({ at: line.at, ray: rayOf(bytes, line) }, after)) lines.push(line)
    }
    await slices.yieldToEventLoop()
    // Nearly in the order of time already, oldest first.
    lines.reverse()
    lines.sort((one, other) => other.at - one.at || (rayOf(bytes, one) < rayOf(bytes, other) ? 1 : -1))
    return new SegmentReader(bytes, lines)
  }

  get line(): Line | undefined {
    return this.#lines[this.#next]
  }

  get #ray(): string {
    return rayOf(this.#bytes, this.line!)
  }

  /** Whether its next record is newer. */
  isBefore(other: SegmentReader): boolean {
    const { at } = this.line!
    return at === other.line!.at ? this.#ray > other.#ray : at > other.line!.at
  }

  /** Returns its next record. */
  taken(): StoredLine {
    const line = this.line!
    const ray = this.#ray
    this.#next++
    return { at: line.at, ray, bytes: this.#bytes.subarray(line.from, line.to) }
  }
}
