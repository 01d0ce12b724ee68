import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { AgeClock } from '../../../src/core/age-clock.js'
import type { Clock } from '../../../src/core/clock.js'
import { messageOf } from '../../../src/core/errors.js'
import type { Log } from '../../../src/core/log.js'
import type { Metrics } from '../../../src/core/metrics.js'
import type { Scope } from '../../../src/core/scope.js'
import { makeFolder, namesIn, type Disk } from '../../../src/disk/durable-write.js'
import { storedDataset } from '../../records/index.js'
import type { Spool, Spools } from './types.js'
import { BlockCache } from './block-cache.js'
import { Buffers } from './buffers.js'
import { DurableSpool } from './durable-spool.js'
import { FRAME_ROOM } from './layout.js'
import { DiskQuota } from './disk-quota.js'
import { LossCounter } from './loss-counter.js'
import { FORMAT, formatEntry, formatOf, migrateSpools } from './migrations/index.js'
import { spoolMetrics, type SpoolMetrics } from './metrics.js'
import { OpenFiles } from './open-files.js'

export interface SpoolLimits {
  /** Bytes of all spools together. */
  readonly bytes: number
  /** Records older than this are dropped, delivered or not; kept for any time unless said. */
  readonly ageMs?: number
  /** Bytes of one segment; 64 MiB unless said, and less where `bytes` are few. */
  readonly segmentBytes?: number
}

export interface SpoolsOptions {
  readonly clock: Clock
  readonly log: Log
  readonly metrics?: Metrics
  readonly limits: SpoolLimits
  /** The file system; that of Node unless said. */
  readonly disk?: Disk
}

const SEGMENT_BYTES = 64 * 2 ** 20
const AGE_CHECK_MS = 60_000
const SCOPES = 'scopes'
const LOCK = 'lock'
const ID = 'id'

/**
 * Opens the spools in a folder, which is made if there is none, and mends what a crash has left. Rejects when
 * another process has the folder open.
 *
 *     spool/lock/                                     held by the process that has it open
 *     spool/scopes/zone-9f18.../http_requests/
 *       0000000000000000.seg, 0000000000052133.seg    records, named by the position of the first
 *       cursors/job-12                                what a reader has reached
 *       damaged/0000000000000000.seg-4096             pieces of segments that could not be read
 */
export async function openSpools(folder: string, options: SpoolsOptions): Promise<Spools> {
  const disk = options.disk ?? fs
  await makeFolder(disk, folder)
  const lock = await lockFolder(join(folder, LOCK))
  try {
    const scopes = await makeFolder(disk, join(folder, SCOPES))
    const id = await idOf(lock)
    const format = await formatOf(lock)
    const copyLock = async (path: string): Promise<void> => await writeLock(path, id, format)
    await migrateSpools(format, { disk, folder, scopes, lock, copyLock, log: options.log })
    const spools = new FolderSpools(disk, scopes, id, lock, options)
    await spools.openAll()
    return spools
  } catch (error) {
    await lock.close()
    throw error
  }
}

/** A database is held by one process at a time, and let go by the system when that process ends, however it ends. */
async function lockFolder(path: string): Promise<ClassicLevel> {
  const level = new ClassicLevel(path)
  try {
    await level.open()
    return level
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : (error as Error)
    if ((cause as NodeJS.ErrnoException).code === 'LEVEL_LOCKED')
      throw new Error(`the log spool in ${path} is in use by another process`, { cause: error })
    throw new Error(`the log spool in ${path} cannot be opened: ${cause.message}`, { cause: error })
  }
}

/** Returns the id of the spools, which is made with them. */
async function idOf(lock: ClassicLevel): Promise<string> {
  const known = await lock.get(ID)
  if (known !== undefined) return known
  const id = randomBytes(8).toString('hex')
  await lock.batch([{ type: 'put', key: ID, value: id }, formatEntry(FORMAT)], { sync: true })
  return id
}

/** Creates the database of the lock in a copy. */
async function writeLock(path: string, id: string, format: number): Promise<void> {
  const level = new ClassicLevel(path)
  await level.batch([{ type: 'put', key: ID, value: id }, formatEntry(format)], { sync: true })
  await level.close()
}

class FolderSpools implements Spools {
  readonly id: string
  readonly #disk: Disk
  readonly #files: OpenFiles
  readonly #folder: string
  readonly #lock: ClassicLevel
  readonly #options: SpoolsOptions
  readonly #quota: DiskQuota
  readonly #cache = new BlockCache()
  readonly #buffers = new Buffers(FRAME_ROOM, 16)
  readonly #spools = new Map<string, Promise<DurableSpool>>()
  readonly #open = new Map<string, DurableSpool>()
  readonly #closing = new AbortController()
  readonly #metrics: SpoolMetrics | undefined
  #aging: Promise<void> | undefined

  constructor(disk: Disk, folder: string, id: string, lock: ClassicLevel, options: SpoolsOptions) {
    this.id = id
    this.#disk = disk
    this.#files = new OpenFiles(disk)
    this.#folder = folder
    this.#lock = lock
    this.#options = options
    const quota = new DiskQuota(options.limits.bytes)
    this.#quota = quota
    const { metrics, limits } = options
    if (metrics !== undefined) {
      this.#metrics = spoolMetrics(metrics)
      this.#metrics.stored(() => quota.stored)
    }
    if (limits.ageMs !== undefined) this.#aging = this.#age(limits.ageMs)
  }

  /** Opens those that the folder has. */
  async openAll(): Promise<void> {
    for (const owner of await namesIn(this.#disk, this.#folder)) {
      const scope = scopeOf(owner)
      if (scope === undefined) continue
      for (const dataset of await namesIn(this.#disk, join(this.#folder, owner))) {
        if (storedDataset(dataset) === undefined) continue
        try {
          await this.open(dataset, scope)
        } catch (error) {
          // The others continue. The next caller that opens this one gets the error again.
          this.#options.log.error({ event: 'spool_unreadable', scope, dataset, error: messageOf(error) })
        }
      }
    }
  }

  async open(dataset: string, scope: Scope): Promise<Spool> {
    const key = join(ownerName(scope), dataset)
    let opening = this.#spools.get(key)
    if (opening === undefined) {
      opening = this.#openSpool(key, dataset, scope)
      this.#spools.set(key, opening)
      opening.catch(() => this.#spools.delete(key))
    }
    return await opening
  }

  all(): Iterable<Spool> {
    return this.#open.values()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#aging
    await Promise.allSettled(this.#spools.values())
    for (const spool of this.#open.values()) await spool.close()
    await this.#files.close()
    await this.#lock.close()
  }

  async #openSpool(key: string, name: string, scope: Scope): Promise<DurableSpool> {
    const dataset = storedDataset(name)
    if (dataset === undefined) throw new Error(`unknown dataset ${name}`)
    const { clock, log, limits } = this.#options
    const labels = { dataset: name, scope: `${scope.type}/${scope.id}` }
    const spool = await DurableSpool.open(
      dataset,
      scope,
      await makeFolder(this.#disk, join(this.#folder, ownerName(scope), name)),
      {
        disk: this.#disk,
        files: this.#files,
        clock,
        log,
        cache: this.#cache,
        buffers: this.#buffers,
        quota: this.#quota,
        losses: new LossCounter(labels, { clock, log, ...(this.#metrics && { counter: this.#metrics.lost }) }),
        failed: () => this.#metrics?.failures.inc(),
        segmentBytes: limits.segmentBytes ?? Math.min(SEGMENT_BYTES, Math.ceil(limits.bytes / 16)),
      },
    )
    this.#open.set(key, spool)
    return spool
  }

  async #age(ageMs: number): Promise<void> {
    const { clock, log } = this.#options
    const { signal } = this.#closing
    const ages = new AgeClock(clock)
    while (!signal.aborted) {
      try {
        await clock.sleep(AGE_CHECK_MS, signal)
        await this.#quota.dropBefore(ages.now() - ageMs)
      } catch (error) {
        if (!signal.aborted) log.warn({ event: 'spool_aging_failed', error: messageOf(error) })
      }
    }
  }
}

const ownerName = ({ type, id }: Scope): string => `${type}-${encodeURIComponent(id)}`

function scopeOf(owner: string): Scope | undefined {
  const match = /^(account|zone|daemon)-(.+)$/.exec(owner)
  return match === null ? undefined : { type: match[1] as Scope['type'], id: decodeURIComponent(match[2]!) }
}
