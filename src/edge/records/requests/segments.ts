import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, inflateRaw } from 'node:zlib'

const inflated = promisify(inflateRaw)

/** Records of a segment. */
export const SEGMENT_RECORDS = 10_000
/** A segment ends earlier if it has this many bytes. */
export const SEGMENT_BYTES = 8 * 1024 * 1024
/** Maximum bytes of a segment that is read: more than a segment with one batch too many. */
const MAX_READ = 4 * SEGMENT_BYTES

/** A file of records, in the order of their ends. */
export interface Segment {
  readonly name: string
  readonly path: string
  /** When it was begun, in milliseconds since 1970. With the number of its process, this identifies the segment. */
  readonly begun: number
  readonly process: number
  /** Undefined while a process appends to the segment. */
  readonly closed:
    | {
        /** The times of the oldest and the newest record. */
        readonly from: number
        readonly to: number
        readonly records: number
        /** Some record stands for several requests. */
        readonly isSampled: boolean
      }
    | undefined
}

const OPEN = /^(\d{1,15})-(\d{1,5})\.ndjson$/
const CLOSED = /^(\d{1,15})-(\d{1,15})-(\d{1,15})-(\d{1,5})-(\d{1,9})(s?)\.z$/

export const openName = (begun: number, process: number): string => `${begun}-${process}.ndjson`

export const closedName = (
  { begun, process }: Pick<Segment, 'begun' | 'process'>,
  { from, to, records, isSampled }: NonNullable<Segment['closed']>,
): string => `${from}-${to}-${begun}-${process}-${records}${isSampled ? 's' : ''}.z`

/** Path of the sorted ray ids beside a closed segment. */
export const raysPath = (path: string): string => path.replace(/\.z$/, '.rays')

/** Returns the segments of a folder, the one that was begun last at the end. None if there is no such folder. */
export async function segmentsIn(folder: string): Promise<Segment[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  })
  const segments = names.flatMap((name) => segmentOf(folder, name) ?? [])
  const closed = new Set(segments.filter((one) => one.closed).map(identity))
  // A process that is killed while it closes a segment leaves both files.
  return segments
    .filter((one) => one.closed !== undefined || !closed.has(identity(one)))
    .toSorted((one, other) => one.begun - other.begun || one.process - other.process)
}

const identity = ({ begun, process }: Segment): string => `${begun}-${process}`

function segmentOf(folder: string, name: string): Segment | undefined {
  const path = join(folder, name)
  const open = OPEN.exec(name)
  if (open) return { name, path, begun: Number(open[1]), process: Number(open[2]), closed: undefined }
  const closed = CLOSED.exec(name)
  if (!closed) return undefined
  const [from, to, begun, process, records] = closed.slice(1).map(Number) as [number, number, number, number, number]
  return { name, path, begun, process, closed: { from, to, records, isSampled: closed[6] === 's' } }
}

/** Returns the lines of a segment, each with its line feed. Undefined if the segment is deleted or not readable. */
export async function readSegment({ path, closed }: Segment): Promise<Buffer | undefined> {
  try {
    const bytes = await readFile(path)
    if (!closed) return wholeLines(bytes)
    return await inflated(bytes, { maxOutputLength: MAX_READ, finishFlush: constants.Z_SYNC_FLUSH })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Damaged after a crash: the other segments are readable.
    if (code === 'ENOENT' || code?.startsWith('Z_') === true || code === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw error
  }
}

const LINE_FEED = 0x0a

/** Returns the bytes without a line that was not written to its end. */
export const wholeLines = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.lastIndexOf(LINE_FEED) + 1)

/** The first members of each line have a fixed length: `{"at":1795867871123,"ray":"0123456789abcdef",`. */
const AT_FROM = 6
const AT_TO = 19
const RAY_FROM = 27
const RAY_TO = 43
const BEGINNING = '{"at":'

/** A line of a segment. */
export interface Line {
  readonly at: number
  readonly from: number
  readonly to: number
}

/** Yields the lines of a segment, in its order. What is not a record is left out. */
export function* linesOf(bytes: Buffer): Generator<Line> {
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(LINE_FEED, from)
    const to = end < 0 ? bytes.length : end
    if (to - from > RAY_TO && bytes.toString('latin1', from, from + BEGINNING.length) === BEGINNING) {
      const at = Number(bytes.toString('latin1', from + AT_FROM, from + AT_TO))
      if (at > 0) yield { at, from, to }
    }
    from = to + 1
  }
}

/** Returns the ray id of a line. */
export const rayOf = (bytes: Buffer, { from }: Line): string => bytes.toString('latin1', from + RAY_FROM, from + RAY_TO)

/** Returns the line of a ray id. */
export function lineOfRay(bytes: Buffer, ray: string): Line | undefined {
  const text = `,"ray":"${ray}",`
  for (let found = bytes.indexOf(text, 0, 'latin1'); found >= 0; found = bytes.indexOf(text, found + 1, 'latin1')) {
    const from = bytes.lastIndexOf(LINE_FEED, found) + 1
    if (found - from !== AT_TO) continue
    const end = bytes.indexOf(LINE_FEED, found)
    return {
      at: Number(bytes.toString('latin1', from + AT_FROM, from + AT_TO)),
      from,
      to: end < 0 ? bytes.length : end,
    }
  }
  return undefined
}

/** Whether some record of a segment stands for several requests. Quotation marks inside of texts are escaped. */
export const isSampled = (bytes: Buffer): boolean => bytes.includes('","n":')
