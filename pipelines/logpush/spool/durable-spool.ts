import type { FileHandle } from 'node:fs/promises'
import type { Clock } from '../../../src/core/clock.js'
import { messageOf } from '../../../src/core/errors.js'
import type { Log } from '../../../src/core/log.js'
import type { Scope } from '../../../src/core/scope.js'
import { scannerOf, type RecordScanner, type Dataset } from '../../records/index.js'
import {
  SpoolFull,
  type Cursor,
  type Frame,
  type FrameParts,
  type FrameWriter,
  type Position,
  type Spool,
  type WriterOptions,
} from './types.js'
import type { BlockCache } from './block-cache.js'
import type { Buffers } from './buffers.js'
import { Cursors } from './cursors.js'
import { writeDurably, type Disk } from '../../../src/disk/durable-write.js'
import { writeAt } from '../../../src/disk/positioned-io.js'
import { namesFrame, RECORDS, writeHeader } from './frame.js'
import { fingerprint } from './layout.js'
import type { QuotaUser, DiskQuota } from './disk-quota.js'
import type { LossCounter } from './loss-counter.js'
import type { OpenFiles } from './open-files.js'
import { Reader } from './reader.js'
import { listSegments, recoverLast } from './recover.js'
import { Segment } from './segment.js'
import { Waiters } from './waiters.js'
import { PackedWriter } from './writer.js'

/** What is written at once, at most; a single commit may be larger. */
const GROUP_BYTES = 4 * 2 ** 20
const GROUP_COMMITS = 512
/** A segment that all cursors have passed is replaced by an empty one when it has grown so large. */
const WORTH_DELETING = 4 * 2 ** 20
/** The same when all spools are at their limit. */
const WORTH_RECLAIMING = 64 * 1024

export interface SpoolDeps {
  readonly disk: Disk
  readonly files: OpenFiles
  readonly clock: Clock
  readonly log: Log
  readonly cache: BlockCache
  /** For frames that are being made. */
  readonly buffers: Buffers
  readonly quota: DiskQuota
  readonly losses: LossCounter
  /** Called for each append that the disk refuses. */
  readonly failed: () => void
  /** Appends go to a new segment when one has so many bytes. */
  readonly segmentBytes: number
}

interface Commit {
  readonly frames: readonly FrameParts[]
  readonly bytes: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** A spool in a folder. One append at a time goes to the last segment; commits that come meanwhile go together next. */
export class DurableSpool implements Spool, QuotaUser {
  readonly dataset: string
  readonly scope: Scope
  readonly #names: readonly string[]
  readonly #fingerprint: number
  readonly #folder: string
  readonly #deps: SpoolDeps
  readonly #scanner: RecordScanner
  readonly #reader: Reader
  readonly #waiters = new Waiters()
  #cursors!: Cursors
  /** In order, at least one. The last takes the appends. */
  #segments: Segment[] = []
  #end: Position = 0
  /** The last segment, open for appends. */
  #file: FileHandle | undefined
  /** The last segment may have bytes beyond its size. */
  #dirty = false
  /** The records of the last segment have the fields that the dataset has now. */
  #current = false
  #failing = false
  #closed = false
  #waiting: Commit[] = []
  #writing: Promise<void> | undefined
  /** What changes the segments happens one after the other. */
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(dataset: Dataset, scope: Scope, folder: string, deps: SpoolDeps) {
    this.dataset = dataset.name
    this.scope = scope
    this.#names = dataset.names
    this.#fingerprint = fingerprint(dataset.names)
    this.#folder = folder
    this.#deps = deps
    this.#scanner = scannerOf(dataset)
    const { disk, files, cache, losses } = deps
    this.#reader = new Reader({ disk, files, folder, dataset, cache, losses })
  }

  /** Opens the spool in a folder that exists, and mends what a crash has left. */
  static async open(dataset: Dataset, scope: Scope, folder: string, deps: SpoolDeps): Promise<DurableSpool> {
    const spool = new DurableSpool(dataset, scope, folder, deps)
    await spool.#recover()
    deps.quota.join(spool)
    return spool
  }

  async #recover(): Promise<void> {
    const { disk, files, log, quota, losses } = this.#deps
    this.#cursors = await Cursors.open(disk, this.#folder, log, () => void this.#release())
    this.#segments = await listSegments(disk, files, this.#folder)
    const last = this.#segments.at(-1)
    if (last !== undefined) {
      const { end, cut, names } = await recoverLast(disk, last, this.#reader)
      if (cut > 0) log.warn({ event: 'spool_tail_cut', segment: last.path, bytes: cut })
      this.#end = end
      this.#current = names !== undefined && fingerprint(names) === this.#fingerprint
    }
    for (const { size } of this.#segments) quota.changed(size)
    const furthest = this.#cursors.furthest()
    if (furthest > this.#end) {
      // The disk has lost records that it had confirmed. Their positions are not given to others.
      if (last !== undefined) {
        losses.add('damage', furthest - this.#end, { segment: last.path })
        this.#reader.knowGap(last)
      }
      this.#end = furthest
      await this.#startSegment()
    } else if (last === undefined) await this.#startSegment()
    const lost = this.#cursors.moveUp(this.start)
    if (lost > 0) losses.add('missing', lost)
    await this.#release()
  }

  get end(): Position {
    return this.#end
  }

  get start(): Position {
    return this.#segments[0]!.first
  }

  get cursors(): string[] {
    return this.#cursors.names
  }

  writer({ whenFull = 'reject', check }: WriterOptions = {}): FrameWriter {
    const append = (frames: readonly FrameParts[], bytes: number) => this.#append(frames, bytes, whenFull)
    return new PackedWriter(this.#scanner, this.#names, this.#deps.buffers, append, check)
  }

  async cursor(name: string): Promise<Cursor> {
    return await this.#inTurn(
      async () => this.#cursors.get(name) ?? (await this.#cursors.make(name, { next: this.#end })),
    )
  }

  async frame(position: Position): Promise<Frame | undefined> {
    const segments = this.#segments
    let index = segments.length - 1
    while (index > 0 && segments[index]!.first > position) index--
    for (; index < segments.length; index++) {
      const end = segments[index + 1]?.first ?? this.#end
      if (end <= position) continue
      const frame = await this.#find(segments[index]!, position, end)
      if (frame !== undefined) return frame
    }
    return undefined
  }

  cached(position: Position): Frame | undefined {
    const segments = this.#segments
    let index = segments.length - 1
    while (index > 0 && segments[index]!.first > position) index--
    const end = segments[index + 1]?.first ?? this.#end
    return position < end ? this.#reader.cached(segments[index]!, position, end) : undefined
  }

  /** A segment that is deleted meanwhile has nothing any more. */
  async #find(segment: Segment, position: Position, end: Position): Promise<Frame | undefined> {
    try {
      return await this.#reader.find(segment, position, end)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT' && !this.#segments.includes(segment)) return undefined
      throw error
    }
  }

  behind(position: Position): number {
    return Math.max(0, this.#end - position)
  }

  async before(position: Position): Promise<Frame | undefined> {
    // Records of damaged segments are skipped.
    for (let at = position - 1; at >= this.start; at--) {
      const frame = await this.frame(at)
      if (frame !== undefined && frame.first <= at) return frame
      frame?.release()
    }
    return undefined
  }

  async waitFor(position: Position, signal: AbortSignal): Promise<void> {
    if (this.#end <= position) await this.#waiters.wait(position, signal)
  }

  get oldestAt(): number | undefined {
    const [oldest] = this.#segments
    return oldest!.first < this.#end ? oldest!.touchedAt : undefined
  }

  async reclaim(): Promise<void> {
    await this.#release(WORTH_RECLAIMING)
  }

  async dropOldest(reason: 'limit' | 'age'): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#segments.length === 1) await this.#startSegment()
      const [oldest, next] = this.#segments
      const undelivered = next!.first - Math.max(oldest!.first, this.#cursors.least(next!.first))
      this.#segments = this.#segments.slice(1)
      await this.#delete(oldest!)
      this.#cursors.moveUp(next!.first)
      if (undelivered > 0) this.#deps.losses.add(reason, undelivered)
    })
  }

  /** Finishes what is in progress; later commits are refused. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#writing
    await this.#cursors.idle()
    await this.#inTurn(async () => {
      // What was refused is not to be there after the next start.
      if (this.#dirty) await this.#cut().catch(() => undefined)
      await this.#closeFile()
    })
  }

  async #append(frames: readonly FrameParts[], bytes: number, whenFull: WriterOptions['whenFull']): Promise<void> {
    if (this.#closed) throw new SpoolFull('the spool is closed')
    if (frames.length === 0 || this.#cursors.size === 0) return
    await this.#deps.quota.reserve(bytes, whenFull)
    try {
      // It may have been closed while there was no room.
      if (this.#closed) throw new SpoolFull('the spool is closed')
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push({ frames, bytes, resolve, reject })
        this.#writing ??= this.#write()
      })
    } finally {
      this.#deps.quota.release(bytes)
    }
  }

  async #write(): Promise<void> {
    // The rest of this turn of the event loop may bring more for the first group.
    await new Promise(setImmediate)
    while (this.#waiting.length > 0) {
      const group = this.#nextGroup()
      await this.#inTurn(() => this.#writeGroup(group))
    }
    this.#writing = undefined
  }

  #nextGroup(): Commit[] {
    let count = 0
    for (let bytes = 0; count < Math.min(this.#waiting.length, GROUP_COMMITS) && bytes < GROUP_BYTES; count++)
      bytes += this.#waiting[count]!.bytes
    return this.#waiting.splice(0, count)
  }

  async #writeGroup(group: readonly Commit[]): Promise<void> {
    const { clock, quota } = this.#deps
    if (this.#cursors.size === 0) {
      for (const { resolve } of group) resolve()
      return
    }
    const acceptedAt = clock.now()
    const pieces: Buffer[] = []
    let end = this.#end
    let bytes = 0
    for (const { frames } of group) {
      for (const frame of frames) {
        const { count } = frame
        writeHeader(frame.bytes, { kind: RECORDS, fingerprint: this.#fingerprint, count, first: end, acceptedAt })
        pieces.push(frame.bytes)
        end += count
        bytes += frame.bytes.length
      }
    }
    try {
      const file = await this.#ready()
      const segment = this.#segments.at(-1)!
      this.#dirty = true
      await writeAt(file, pieces, segment.size)
      await file.datasync()
      this.#dirty = false
      segment.size += bytes
      segment.touchedAt = acceptedAt
    } catch (error) {
      this.#fails(error)
      // Maybe for the next one.
      void this.reclaim()
      const full = new SpoolFull(`the disk does not take log records: ${messageOf(error)}`, { cause: error })
      for (const { reject } of group) reject(full)
      return
    }
    this.#works()
    quota.changed(bytes)
    this.#end = end
    for (const { resolve } of group) resolve()
    this.#waiters.arrived(end)
  }

  /** The last segment, open, with nothing behind its size. */
  async #ready(): Promise<FileHandle> {
    const last = this.#segments.at(-1)!
    if (this.#dirty) {
      try {
        await this.#cut()
      } catch {
        // What cannot be mended is left behind: a segment ends where the next one begins.
        await this.#startSegment()
      }
    } else if (last.size >= this.#deps.segmentBytes || !this.#current) await this.#startSegment()
    this.#file ??= await this.#deps.disk.open(this.#segments.at(-1)!.path, 'r+')
    return this.#file
  }

  /** Takes what was refused from the end of the last segment. */
  async #cut(): Promise<void> {
    await this.#file?.truncate(this.#segments.at(-1)!.size)
    this.#dirty = false
  }

  /** Begins a segment at the end. One that is empty is replaced. */
  async #startSegment(): Promise<void> {
    const { disk, files, clock, quota } = this.#deps
    const now = clock.now()
    const head = namesFrame(this.#names, this.#fingerprint, this.#end, now)
    const segment = new Segment(files, this.#folder, this.#end, head.length, now)
    await writeDurably(disk, segment.path, head)
    await this.#closeFile()
    const last = this.#segments.at(-1)
    if (last?.first === segment.first) {
      quota.changed(-last.size)
      this.#reader.forget(last)
      this.#segments = [...this.#segments.slice(0, -1), segment]
    } else this.#segments = [...this.#segments, segment]
    quota.changed(head.length)
    this.#dirty = false
    this.#current = true
  }

  async #closeFile(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    // What was written is durable already, or was refused.
    await file?.close().catch(() => undefined)
  }

  /** Deletes the segments that every cursor has passed; the last one too if it has grown. */
  async #release(worth = WORTH_DELETING): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#closed) return
      const least = this.#cursors.least(this.#end)
      const last = this.#segments.at(-1)!
      const passed = least >= this.#end && last.first < this.#end
      if (passed && (this.#cursors.size === 0 || last.size >= worth)) await this.#replacePassed(last)
      const kept = this.#segments.findIndex((_, index) => (this.#segments[index + 1]?.first ?? Infinity) > least)
      const gone = this.#segments.slice(0, kept)
      this.#segments = this.#segments.slice(kept)
      for (const segment of gone) await this.#delete(segment)
    }).catch((error: unknown) => this.#deps.log.warn({ event: 'spool_release_failed', error: messageOf(error) }))
  }

  /** Begins a segment behind the last one, of which nobody needs anything. */
  async #replacePassed(last: Segment): Promise<void> {
    try {
      await this.#startSegment()
    } catch {
      // On a full disk it has to go before there is room for the one that follows it.
      await this.#empty(last)
      await this.#startSegment()
    }
  }

  /** Gives back what the last segment has on the disk. */
  async #empty(last: Segment): Promise<void> {
    const file = await this.#deps.disk.open(last.path, 'r+')
    try {
      await file.truncate(0)
    } finally {
      await file.close()
    }
    this.#reader.forget(last)
    this.#deps.quota.changed(-last.size)
    last.size = 0
    this.#dirty = false
    this.#current = false
  }

  async #delete(segment: Segment): Promise<void> {
    this.#reader.forget(segment)
    this.#deps.quota.changed(-segment.size)
    await this.#deps.disk.rm(segment.path, { force: true })
  }

  #fails(error: unknown): void {
    this.#deps.failed()
    if (this.#failing) return
    this.#failing = true
    this.#deps.log.error({ event: 'spool_failing', folder: this.#folder, error: messageOf(error) })
  }

  #works(): void {
    if (!this.#failing) return
    this.#failing = false
    this.#deps.log.info({ event: 'spool_works_again', folder: this.#folder })
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work)
    this.#turn = mine.catch(() => undefined)
    return await mine
  }
}
