import type { Clock } from '../../../src/core/clock.js'
import { messageOf } from '../../../src/core/errors.js'
import type { Log } from '../../../src/core/log.js'
import type { Scope } from '../../../src/core/scope.js'
import type { Disk } from '../../../src/disk/durable-write.js'
import type { WriteHealth } from '../../../src/disk/write-health.js'
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
import { RECORDS, writeHeader } from './frame.js'
import { fingerprint } from './layout.js'
import type { QuotaUser, DiskQuota } from './disk-quota.js'
import type { LossCounter } from './loss-counter.js'
import type { OpenFiles } from './open-files.js'
import { Reader } from './reader.js'
import { Segments, type Addition } from './segments.js'
import { Waiters } from './waiters.js'
import { PackedWriter } from './writer.js'

/** Maximum bytes of one write. A single commit may be larger. */
const GROUP_BYTES = 4 * 2 ** 20
const GROUP_COMMITS = 512
/** A segment that all cursors have passed is replaced by an empty one when it has grown so large. */
const WORTH_DELETING = 4 * 2 ** 20
/** The same threshold when all spools are at their limit. */
const WORTH_RECLAIMING = 64 * 1024

export interface SpoolDeps {
  readonly disk: Disk
  readonly files: OpenFiles
  readonly clock: Clock
  readonly log: Log
  readonly cache: BlockCache
  /** Buffers for frames in creation. */
  readonly buffers: Buffers
  readonly quota: DiskQuota
  readonly losses: LossCounter
  /** Called for each append that the disk rejects. */
  readonly failed: () => void
  /** Receives the results of writes. */
  readonly health: WriteHealth
  /** Size in bytes after which appends go to a new segment. */
  readonly segmentBytes: number
  /** Size in bytes from which a segment that all cursors have passed is replaced. Default: 4 MiB. */
  readonly worthDeleting?: number
}

interface Commit {
  readonly frames: readonly FrameParts[]
  readonly bytes: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * A spool in a folder. One append at a time goes to the last segment. Commits that arrive during an append are written
 * together next.
 */
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
  #segments!: Segments
  #closed = false
  #waiting: Commit[] = []
  #writing: Promise<void> | undefined
  /** Serializes changes of the segments. */
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

  /** Opens the spool in an existing folder and repairs damage from a crash. */
  static async open(dataset: Dataset, scope: Scope, folder: string, deps: SpoolDeps): Promise<DurableSpool> {
    const spool = new DurableSpool(dataset, scope, folder, deps)
    await spool.#recover()
    deps.quota.join(spool)
    return spool
  }

  async #recover(): Promise<void> {
    const { disk, log, losses } = this.#deps
    this.#cursors = await Cursors.open(disk, this.#folder, log, () => void this.#release())
    const furthest = this.#cursors.furthest()
    this.#segments = await Segments.open(
      { ...this.#deps, reader: this.#reader, folder: this.#folder, names: this.#names },
      furthest,
    )
    const { end, last } = this.#segments
    if (furthest > end) {
      // The disk has lost records that it had confirmed. Their positions are not reused. No reader needs the records
      // that all cursors have passed. A crash can happen while their segment is replaced.
      if (last !== undefined) {
        losses.add('damage', furthest - Math.max(end, this.#cursors.least(furthest)), { segment: last.path })
        this.#reader.knowGap(last)
      }
      await this.#segments.begin(furthest)
    } else if (last === undefined) await this.#segments.begin()
    const lost = this.#cursors.moveUp(this.start)
    if (lost > 0) losses.add('missing', lost)
    await this.#release()
  }

  get end(): Position {
    return this.#segments.end
  }

  get start(): Position {
    return this.#segments.first!.first
  }

  get cursors(): string[] {
    return this.#cursors.names
  }

  writer({ whenFull = 'reject', check }: WriterOptions = {}): FrameWriter {
    const append = (frames: readonly FrameParts[], bytes: number) => this.#append(frames, bytes, whenFull)
    return new PackedWriter(this.#scanner, this.#names, this.#deps.buffers, append, check)
  }

  async cursor(name: string): Promise<Cursor> {
    return await this.#inTurn(async () => {
      const known = this.#cursors.get(name)
      if (known !== undefined) return known
      try {
        return await this.#cursors.make(name, { next: this.end })
      } catch (error) {
        this.#deps.health.failed(this.#folder, error)
        throw error
      }
    })
  }

  async frame(position: Position): Promise<Frame | undefined> {
    return await this.#segments.frame(position)
  }

  cached(position: Position): Frame | undefined {
    return this.#segments.cached(position)
  }

  behind(position: Position): number {
    return Math.max(0, this.end - position)
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
    if (this.end <= position) await this.#waiters.wait(position, signal)
  }

  get oldestAt(): number | undefined {
    const oldest = this.#segments.first!
    return oldest.first < this.end ? oldest.touchedAt : undefined
  }

  async reclaim(): Promise<void> {
    await this.#release(WORTH_RECLAIMING)
  }

  async dropOldest(reason: 'limit' | 'age'): Promise<void> {
    await this.#inTurn(async () => {
      const oldest = this.#segments.first!
      if (oldest === this.#segments.last) await this.#segments.begin()
      await this.#segments.deleteFirst()
      const { start } = this
      const undelivered = start - Math.max(oldest.first, this.#cursors.least(start))
      this.#cursors.moveUp(start)
      if (undelivered > 0) this.#deps.losses.add(reason, undelivered)
    })
  }

  /** Finishes work in progress. Later commits are rejected. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#writing
    await this.#cursors.idle()
    await this.#inTurn(async () => await this.#segments.close())
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
    if (this.#cursors.size === 0) {
      for (const { resolve } of group) resolve()
      return
    }
    try {
      await this.#segments.append(this.#additionOf(group))
    } catch (error) {
      this.#deps.failed()
      this.#deps.health.failed(this.#folder, error)
      // Maybe for the next one.
      void this.reclaim()
      const full = new SpoolFull(`cannot write log records to the disk: ${messageOf(error)}`, { cause: error })
      for (const { reject } of group) reject(full)
      return
    }
    this.#deps.health.worked(this.#folder)
    for (const { resolve } of group) resolve()
    this.#waiters.arrived(this.end)
  }

  /** Gives the records of a group their positions. */
  #additionOf(group: readonly Commit[]): Addition {
    const acceptedAt = this.#deps.clock.now()
    const pieces: Buffer[] = []
    let { end } = this
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
    return { pieces, bytes, end, acceptedAt }
  }

  /** Deletes the segments that every cursor has passed. The last segment is deleted too if it has grown. */
  async #release(least = Infinity): Promise<void> {
    const worth = Math.min(least, this.#deps.worthDeleting ?? WORTH_DELETING)
    await this.#inTurn(async () => {
      if (this.#closed) return
      await this.#cursors.clear().catch((error: unknown) => this.#notReleased(error))
      const { end } = this
      const needed = this.#cursors.kept(end)
      const last = this.#segments.last!
      const passed = needed >= end && last.first < end
      if (passed && (this.#cursors.size === 0 || last.size >= worth)) await this.#segments.beginAfterPassed()
      await this.#segments.deleteBefore(needed)
    }).catch((error: unknown) => this.#notReleased(error))
  }

  #notReleased(error: unknown): void {
    this.#deps.log.warn({ event: 'spool_release_failed', error: messageOf(error) })
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work)
    this.#turn = mine.catch(() => undefined)
    return await mine
  }
}
