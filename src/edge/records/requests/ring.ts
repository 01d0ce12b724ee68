import { open, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { closeSegment } from './closing.js'
import {
  linesOf,
  openName,
  raysPath,
  readSegment,
  SEGMENT_BYTES,
  SEGMENT_RECORDS,
  segmentsIn,
  type Segment,
} from './segments.js'
import { makeFolder, type Disk } from '../../../disk/durable-write.js'

/** A segment ends after this time, so that the oldest records of a quiet zone can be deleted. */
const MAX_AGE_MS = 86_400_000

/** Encoded records of one zone, a line each. */
export interface Batch {
  readonly lines: Buffer
  readonly records: number
}

/** The end of a ring: the segment that one process appends to. */
interface Open {
  readonly segment: Segment
  readonly file: FileHandle
  records: number
  bytes: number
}

/** The last records of one zone. Each process appends to segments of its own. */
export class Ring {
  readonly #folder: string
  readonly #process: number
  readonly #disk: Disk
  #open: Open | undefined
  /** What the segment had when its file was closed. */
  #known: { readonly segment: Segment; readonly records: number } | undefined
  #closing: Promise<void> | undefined

  constructor(folder: string, process: number, disk: Disk) {
    this.#folder = folder
    this.#process = process
    this.#disk = disk
  }

  /** Whether a file is open for the ring. */
  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** Appends records, and keeps about the last `keep` ones. Rejects if the disk does not accept them. */
  async append({ lines, records }: Batch, keep: number, now: number): Promise<void> {
    if (now - (this.#open?.segment.begun ?? now) > MAX_AGE_MS) await this.#next(keep)
    const end = (this.#open ??= await this.#begin(now))
    await end.file.appendFile(lines)
    end.records += records
    end.bytes += lines.length
    if (end.records >= SEGMENT_RECORDS || end.bytes >= SEGMENT_BYTES) await this.#next(keep)
  }

  /** Closes the file. The next batch opens it again. */
  async release(): Promise<void> {
    const end = this.#open
    this.#open = undefined
    if (!end) return
    this.#known = { segment: end.segment, records: end.records }
    await end.file.close()
  }

  async close(): Promise<void> {
    await this.release()
    await this.#closing
  }

  /** Opens the segment of this process that is not full, or a new one. */
  async #begin(now: number): Promise<Open> {
    await makeFolder(this.#disk, this.#folder)
    await this.#closing
    const known = this.#known
    if (known) return await opened(known.segment, known.records)
    const left = (await segmentsIn(this.#folder)).filter((one) => !one.closed && one.process === this.#process)
    const last = left.pop()
    for (const segment of left) await closeSegment(segment)
    if (last) {
      const bytes = (await readSegment(last)) ?? Buffer.alloc(0)
      const end = await opened(last, [...linesOf(bytes)].length)
      // A process that was killed may have written a part of a line.
      if (end.bytes > bytes.length) await end.file.truncate(bytes.length)
      end.bytes = bytes.length
      if (end.records < SEGMENT_RECORDS && end.bytes < SEGMENT_BYTES) return end
      await end.file.close()
      await closeSegment(last)
    }
    const name = openName(now, this.#process)
    const path = join(this.#folder, name)
    return await opened({ name, path, begun: now, process: this.#process, closed: undefined }, 0)
  }

  /** Begins another segment with the next batch. The full one is compressed beside the requests. */
  async #next(keep: number): Promise<void> {
    const end = this.#open
    this.#open = undefined
    this.#known = undefined
    if (!end) return
    await end.file.close()
    await this.#closing
    this.#closing = closeSegment(end.segment)
      .then(async () => await dropOldest(this.#folder, keep))
      // The segment stays as it is; the next start of the process closes it.
      .catch(() => undefined)
  }
}

async function opened(segment: Segment, records: number): Promise<Open> {
  const file = await open(segment.path, 'a', 0o600)
  const { size } = await file.stat()
  return { segment, file, records, bytes: size }
}

/** Deletes the oldest segments without which `keep` records remain. */
export async function dropOldest(folder: string, keep: number): Promise<void> {
  const segments = await segmentsIn(folder)
  let kept = 0
  for (const segment of segments.toReversed()) {
    if (segment.closed && kept >= keep) await deleteSegment(segment)
    kept += segment.closed?.records ?? 0
  }
}

export async function deleteSegment({ path }: Segment): Promise<void> {
  await Promise.all([rm(path, { force: true }), rm(raysPath(path), { force: true })])
}
