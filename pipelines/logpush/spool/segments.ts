import type { FileHandle } from 'node:fs/promises'
import type { Clock } from '../../../src/core/clock.js'
import type { Log } from '../../../src/core/log.js'
import { syncFolder, writeDurably, type Disk } from '../../../src/disk/durable-write.js'
import { writeAt } from '../../../src/disk/positioned-io.js'
import type { DiskQuota } from './disk-quota.js'
import { namesFrame } from './frame.js'
import { fingerprint } from './layout.js'
import type { OpenFiles } from './open-files.js'
import type { Reader } from './reader.js'
import { listSegments, recoverLast } from './recover.js'
import { Segment } from './segment.js'
import type { Frame, Position } from './types.js'

export interface SegmentsDeps {
  readonly disk: Disk
  readonly files: OpenFiles
  readonly clock: Clock
  readonly log: Log
  readonly quota: DiskQuota
  readonly reader: Reader
  readonly folder: string
  /** Fields of the dataset. */
  readonly names: readonly string[]
  /** Size in bytes after which appends go to a new segment. */
  readonly segmentBytes: number
}

/** Frames to be appended. */
export interface Addition {
  readonly pieces: readonly Buffer[]
  readonly bytes: number
  /** Position after the last record. */
  readonly end: Position
  readonly acceptedAt: number
}

/** The files with the records of one spool. Changes must come one at a time. */
export class Segments {
  readonly #deps: SegmentsDeps
  readonly #fingerprint: number
  /** In order. The last takes the appends. */
  #all: Segment[] = []
  #end: Position = 0
  /** The last segment, open for appends. */
  #file: FileHandle | undefined
  /** The last segment may have bytes beyond its size. */
  #dirty = false
  /**
   * Whether records can be appended to the last segment. It has the current fields of the dataset, and no later segment
   * can be on the disk.
   */
  #appendable = false

  private constructor(deps: SegmentsDeps) {
    this.#deps = deps
    this.#fingerprint = fingerprint(deps.names)
  }

  /** Finds the segments and repairs damage from a crash. All records before `passed` were read. */
  static async open(deps: SegmentsDeps, passed: Position): Promise<Segments> {
    const segments = new Segments(deps)
    await segments.#recover(passed)
    return segments
  }

  async #recover(passed: Position): Promise<void> {
    const { disk, files, folder, reader, log, quota } = this.#deps
    this.#all = await listSegments(disk, files, folder)
    const { last } = this
    if (last !== undefined) {
      const { end, cut, names } = await recoverLast(disk, last, reader, passed)
      if (cut > 0) log.warn({ event: 'spool_tail_cut', segment: last.path, bytes: cut })
      this.#end = end
      this.#appendable = names !== undefined && fingerprint(names) === this.#fingerprint
    }
    for (const { size } of this.#all) quota.changed(size)
  }

  /** Position after the last durable record. */
  get end(): Position {
    return this.#end
  }

  get first(): Segment | undefined {
    return this.#all[0]
  }

  get last(): Segment | undefined {
    return this.#all.at(-1)
  }

  async frame(position: Position): Promise<Frame | undefined> {
    const segments = this.#all
    for (let index = indexOf(segments, position); index < segments.length; index++) {
      const end = segments[index + 1]?.first ?? this.#end
      if (end <= position) continue
      const frame = await this.#find(segments[index]!, position, end)
      if (frame !== undefined) return frame
    }
    return undefined
  }

  cached(position: Position): Frame | undefined {
    const segments = this.#all
    const index = indexOf(segments, position)
    const end = segments[index + 1]?.first ?? this.#end
    return position < end ? this.#deps.reader.cached(segments[index]!, position, end) : undefined
  }

  /** A segment that is deleted meanwhile has nothing any more. */
  async #find(segment: Segment, position: Position, end: Position): Promise<Frame | undefined> {
    try {
      return await this.#deps.reader.find(segment, position, end)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT' && !this.#all.includes(segment)) return undefined
      throw error
    }
  }

  /** Appends frames, which are durable when this resolves. If it rejects, a later start does not find these frames. */
  async append({ pieces, bytes, end, acceptedAt }: Addition): Promise<void> {
    try {
      const file = await this.#ready()
      const last = this.last!
      this.#dirty = true
      await writeAt(file, pieces, last.size)
      await file.datasync()
      this.#dirty = false
      last.size += bytes
      last.touchedAt = acceptedAt
    } catch (error) {
      // A later start must not find records that were rejected.
      if (this.#dirty) await this.#cut().catch(() => undefined)
      throw error
    }
    this.#deps.quota.changed(bytes)
    this.#end = end
  }

  /** Returns the last segment, open, without bytes after its size. */
  async #ready(): Promise<FileHandle> {
    // A segment that cannot be cut keeps its rest. A segment ends at the first position of the next one.
    if (this.#dirty) await this.#cut().catch(() => undefined)
    if (this.#dirty || !this.#appendable || this.last!.size >= this.#deps.segmentBytes) await this.begin()
    this.#file ??= await this.#deps.disk.open(this.last!.path, 'r+')
    return this.#file
  }

  /** Removes rejected bytes from the end of the last segment. */
  async #cut(): Promise<void> {
    await this.#file?.truncate(this.last!.size)
    this.#dirty = false
  }

  /** Begins a segment at the end, or at a later position. One that is empty is replaced. */
  async begin(end = this.#end): Promise<void> {
    const { disk, files, folder, names, clock, quota } = this.#deps
    this.#end = end
    // The file can exist although the write rejects. The next start would append to it, so nothing else may be used.
    this.#appendable = false
    const now = clock.now()
    const head = namesFrame(names, this.#fingerprint, end, now)
    const segment = new Segment(files, folder, end, head.length, now)
    await writeDurably(disk, segment.path, head)
    await this.#closeFile()
    if (this.last?.first === segment.first) this.#replaceLast(segment)
    else this.#all = [...this.#all, segment]
    quota.changed(head.length)
    this.#dirty = false
    this.#appendable = true
  }

  #replaceLast(segment: Segment): void {
    const last = this.last!
    this.#deps.quota.changed(-last.size)
    this.#deps.reader.forget(last)
    this.#all = [...this.#all.slice(0, -1), segment]
  }

  /** Begins a segment after the last one, whose records nobody needs. */
  async beginAfterPassed(): Promise<void> {
    try {
      await this.begin()
    } catch {
      // On a full disk the last one has to go before there is room for the one that follows it.
      await this.#empty()
      await this.begin()
    }
  }

  /** Frees the disk space of the last segment. Its name has the end from now on, so that no position is used again. */
  async #empty(): Promise<void> {
    const { disk, files, folder } = this.#deps
    const last = this.last!
    const empty = new Segment(files, folder, this.#end, 0, last.touchedAt)
    await this.#closeFile()
    await disk.rename(last.path, empty.path)
    this.#replaceLast(empty)
    this.#dirty = false
    this.#appendable = false
    await syncFolder(disk, folder)
    const file = await disk.open(empty.path, 'r+')
    try {
      await file.truncate(0)
    } finally {
      await file.close()
    }
  }

  /** Deletes the segments whose records are all before a position. Those that cannot be deleted stay for the next time. */
  async deleteBefore(position: Position): Promise<void> {
    const kept = this.#all.findIndex((_, index) => (this.#all[index + 1]?.first ?? Infinity) > position)
    await this.#delete(this.#all.slice(0, kept))
  }

  /** Deletes the oldest segment, which is not the last. */
  async deleteFirst(): Promise<void> {
    await this.#delete(this.#all.slice(0, 1))
  }

  async #delete(gone: readonly Segment[]): Promise<void> {
    const { disk, reader, quota } = this.#deps
    this.#all = this.#all.filter((segment) => !gone.includes(segment))
    const left: Segment[] = []
    let failure: unknown
    for (const segment of gone) {
      reader.forget(segment)
      try {
        await disk.rm(segment.path, { force: true })
        quota.changed(-segment.size)
      } catch (error) {
        failure ??= error
        left.push(segment)
      }
    }
    if (left.length === 0) return
    this.#all = [...left, ...this.#all]
    throw failure
  }

  /** Finishes the last segment: rejected bytes must not be there after the next start. */
  async close(): Promise<void> {
    if (this.#dirty) await this.#cut().catch(() => undefined)
    await this.#closeFile()
  }

  async #closeFile(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    // Written bytes are durable already or were rejected.
    await file?.close().catch(() => undefined)
  }
}

/** Returns the index of the segment that has a position, or 0. */
function indexOf(segments: readonly Segment[], position: Position): number {
  let index = segments.length - 1
  while (index > 0 && segments[index]!.first > position) index--
  return index
}
