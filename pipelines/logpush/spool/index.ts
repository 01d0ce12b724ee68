import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import type { ClassicLevel } from 'classic-level'
import { AgeClock } from '../../../src/core/age-clock.js'
import type { Clock } from '../../../src/core/clock.js'
import { messageOf } from '../../../src/core/errors.js'
import type { Log } from '../../../src/core/log.js'
import type { Metrics } from '../../../src/core/metrics/metrics.js'
import type { Scope } from '../../../src/core/scope.js'
import { makeFolder, namesIn, type Disk } from '../../../src/disk/durable-write.js'
import { WriteHealth } from '../../../src/disk/write-health.js'
import { storedDataset } from '../../records/index.js'
import type { Spool, Spools } from './types.js'
import { BlockCache } from './block-cache.js'
import { Buffers } from './buffers.js'
import { DurableSpool } from './durable-spool.js'
import { FRAME_ROOM } from './layout.js'
import { DiskQuota } from './disk-quota.js'
import { lockSpools, noteIdentity, writeLock } from './folder-lock.js'
import { LossCounter } from './loss-counter.js'
import { migrateSpools } from './migrations.js'
import { spoolMetrics, type SpoolMetrics } from './metrics.js'
import { OpenFiles } from './open-files.js'

export interface SpoolLimits {
  /** Bytes of all spools together. */
  readonly bytes: number
  /** Records older than this are deleted, even if undelivered. If undefined, age has no limit. */
  readonly ageMs?: number
  /** Bytes of one segment. Default is 64 MiB, or less if `bytes` is low. */
  readonly segmentBytes?: number
}

export interface SpoolsOptions {
  readonly clock: Clock
  readonly log: Log
  readonly metrics?: Metrics
  readonly limits: SpoolLimits
  /** File system. Default is the file system of Node. */
  readonly disk?: Disk
}

const SEGMENT_BYTES = 64 * 2 ** 20
const AGE_CHECK_MS = 60_000
const SCOPES = 'scopes'

/**
 * Opens the spools in a folder, creates the folder if necessary, and repairs damage from a crash. Rejects if another
 * process has the folder open.
 *
 *     spool/lock/                                     held by the process that has it open
 *     spool/identity                                  id and format, as the lock has them
 *     spool/scopes/zone-9f18.../http_requests/
 *       0000000000000000.seg, 0000000000052133.seg    records, named by the position of the first
 *       cursors/job-12                                position of a reader
 *       damaged/0000000000000000.seg-4096             unreadable pieces of segments
 */
export async function openSpools(folder: string, options: SpoolsOptions): Promise<Spools> {
  const disk = options.disk ?? fs
  await makeFolder(disk, folder)
  const { lock, id, format } = await lockSpools(disk, folder, options.log)
  try {
    const scopes = await makeFolder(disk, join(folder, SCOPES))
    const copyLock = async (path: string): Promise<void> => await writeLock(path, { id, format })
    await migrateSpools(format, { disk, folder, scopes, lock, copyLock, log: options.log })
    await noteIdentity(disk, folder, id)
    const spools = new FolderSpools(disk, scopes, id, lock, options)
    await spools.openAll()
    return spools
  } catch (error) {
    await lock.close()
    throw error
  }
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
  readonly #health: WriteHealth
  #aging: Promise<void> | undefined

  constructor(disk: Disk, folder: string, id: string, lock: ClassicLevel, options: SpoolsOptions) {
    this.id = id
    this.#disk = disk
    this.#files = new OpenFiles(disk)
    this.#folder = folder
    this.#lock = lock
    this.#options = options
    this.#health = new WriteHealth('the log spool', { disk, clock: options.clock, log: options.log })
    const quota = new DiskQuota(options.limits.bytes)
    this.#quota = quota
    const { metrics, limits } = options
    if (metrics !== undefined) {
      this.#metrics = spoolMetrics(metrics)
      this.#metrics.stored(() => quota.stored)
    }
    if (limits.ageMs !== undefined) this.#aging = this.#age(limits.ageMs)
  }

  get unavailable(): string | undefined {
    return this.#health.unavailable
  }

  /** Opens all spools in the folder. */
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
    await this.#health.close()
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
        health: this.#health,
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
