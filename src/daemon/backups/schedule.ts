import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { Counter, Gauge } from 'prom-client'
import { redact } from '../../../sinks/index.js'
import type { Config } from '../../config/schema.js'
import { isBucket, type BackupConfig } from '../../config/backup.js'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import { writeDurably } from '../../disk/durable-write.js'
import { openBackup } from '../../store/backup/read.js'
import { ownDestinations } from '../pipelines/destinations.js'
import { BackupRunning, type Backups } from './backups.js'
import { openPlace, type BackupPlace } from './places.js'

/** Wait after the first failure. It doubles up to the maximum, and is never longer than the period. */
const FIRST_RETRY_MS = 60_000
const MAX_RETRY_MS = 3_600_000
/** A wait for the next backup looks at the wall clock this often, which a suspended machine moves. */
const LOOK_MS = 60_000
const STAMP = /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.tar$/

/** A backup that was written. */
export interface WrittenBackup {
  readonly file: string
  /** RFC 3339. */
  readonly at: string
  /** Null for one of an earlier process. */
  readonly bytes: number | null
}

/** State of scheduled backups, as `edged status` shows it. */
export interface BackupStatus {
  /** Folder or bucket, without secrets. */
  readonly to: string
  readonly every_seconds: number
  readonly last: WrittenBackup | null
  /** RFC 3339. Null while one is being written. */
  readonly next_at: string | null
  /** Why the last attempt failed. Null if it did not. */
  readonly error: string | null
}

export interface ScheduleDeps {
  readonly backups: Pick<Backups, 'archive'>
  /** Name of this machine if others use the same store. */
  readonly machine: string | undefined
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/**
 * Writes backups on a schedule to a folder or a bucket, and deletes old ones. The time of the last one is in its name, so
 * a restart neither skips nor repeats one. A backup is complete and verified before it gets its name.
 */
export class BackupSchedule {
  readonly #deps: ScheduleDeps
  readonly #prefix: string
  readonly #written: Counter
  #running: { readonly stop: AbortController; readonly ended: Promise<void>; readonly text: string } | undefined
  #settings: BackupConfig | undefined
  #last: WrittenBackup | undefined
  #nextAt: number | undefined
  #error: string | undefined

  constructor(deps: ScheduleDeps) {
    this.#deps = deps
    const { machine } = deps
    this.#prefix = machine === undefined ? 'edged-' : `edged-${machine.replaceAll(/[^A-Za-z0-9_.-]/g, '_')}-`
    this.#written = this.#openMetrics(deps.metrics)
  }

  /** Applies the configuration. Resolves after a backup that is being written under a former one was given up. */
  async configure({ backup, data }: Pick<Config, 'backup' | 'data'>): Promise<void> {
    const text = JSON.stringify([backup, data])
    if (this.#running?.text === text) return
    await this.close()
    this.#settings = backup
    if (!backup) return
    const stop = new AbortController()
    this.#running = { stop, text, ended: this.#run(backup, data, stop.signal) }
  }

  /** Undefined if none is configured. */
  get status(): BackupStatus | undefined {
    const settings = this.#settings
    if (!settings) return undefined
    return {
      to: placeText(settings),
      every_seconds: settings.every / 1000,
      last: this.#last ?? null,
      next_at: this.#nextAt === undefined ? null : new Date(this.#nextAt).toISOString(),
      error: this.#error ?? null,
    }
  }

  /** Why backups fail. Undefined if they do not. */
  get unavailable(): string | undefined {
    return this.#error === undefined ? undefined : `the scheduled backup failed: ${this.#error}`
  }

  async close(): Promise<void> {
    this.#running?.stop.abort()
    await this.#running?.ended
    this.#running = undefined
    this.#last = this.#nextAt = this.#error = undefined
  }

  async #run(settings: BackupConfig, data: string, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps
    const place = openPlace(settings, {
      drafts: join(data, 'backup-upload'),
      signal,
      sinks: ownDestinations(this.#deps, [settings.to]),
    })
    let failures = 0
    try {
      while (!signal.aborted) {
        try {
          await this.#untilDue(settings, place, signal)
          await this.#write(settings, place, signal)
          failures = 0
        } catch (error) {
          if (signal.aborted) return
          const wait = Math.min(FIRST_RETRY_MS * 2 ** failures++, MAX_RETRY_MS, settings.every)
          this.#nextAt = clock.now() + wait
          // A backup by hand is no failure.
          if (!(error instanceof BackupRunning)) this.#failed(error)
          await clock.sleep(wait, signal)
        }
      }
    } catch (error) {
      if (!signal.aborted) log.error({ event: 'backup_schedule_ended', error: messageOf(error) })
    } finally {
      place.close()
    }
  }

  /** Resolves when the last backup is old enough. */
  async #untilDue(settings: BackupConfig, place: BackupPlace, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps
    const newest = (await this.#names(place)).at(-1)
    if (newest !== undefined && this.#last?.file !== newest)
      this.#last = { file: newest, at: timeOf(newest), bytes: null }
    // One of the future was written by a clock that is wrong.
    const last = Math.min(newest === undefined ? -Infinity : Date.parse(timeOf(newest)), clock.now())
    this.#nextAt = Math.max(last + settings.every, clock.now())
    for (let wait = this.#nextAt - clock.now(); wait > 0; wait = this.#nextAt - clock.now())
      await clock.sleep(Math.min(wait, LOOK_MS), signal)
  }

  async #write(settings: BackupConfig, place: BackupPlace, signal: AbortSignal): Promise<void> {
    const { backups, clock, log } = this.#deps
    this.#nextAt = undefined
    const at = clock.now()
    const name = `${this.#prefix}${stampOf(at)}.tar`
    const draft = await place.draft(name)
    const { bytes, counts } = await (async () => {
      try {
        await writeDurably(fs, draft, backups.archive(settings.with_key), { signal })
        const archive = await openBackup(draft)
        await archive.close()
        const { records, files = {}, elsewhere = [] } = archive.manifest
        return { bytes: (await fs.stat(draft)).size, counts: { records, files, elsewhere } }
      } catch (error) {
        await fs.rm(draft, { force: true }).catch(() => undefined)
        throw error
      }
    })()
    await place.store(draft, name)
    this.#last = { file: name, at: new Date(at).toISOString(), bytes }
    this.#error = undefined
    this.#written.inc({ outcome: 'written' })
    log.info({ event: 'backup_written', to: placeText(settings), file: name, bytes, ...counts })
    await this.#prune(settings, place)
  }

  /** Deletes the oldest. A failure does not make the new backup worse, and is tried again after the next one. */
  async #prune({ keep }: BackupConfig, place: BackupPlace): Promise<void> {
    const { log } = this.#deps
    try {
      for (const name of (await this.#names(place)).slice(0, -keep)) {
        await place.remove(name)
        log.info({ event: 'backup_deleted', file: name })
      }
    } catch (error) {
      log.warn({ event: 'backup_not_deleted', error: messageOf(error) })
    }
  }

  /** Returns the names of the backups of this machine, oldest first. */
  async #names(place: BackupPlace): Promise<string[]> {
    const names = await place.list(this.#prefix)
    return names.filter((name) => STAMP.test(name) && name.length === this.#prefix.length + STAMP_LENGTH).sort()
  }

  #failed(error: unknown): void {
    this.#error = messageOf(error)
    this.#written.inc({ outcome: 'failed' })
    this.#deps.log.error({
      event: 'backup_failed',
      error: this.#error,
      next_at: new Date(this.#nextAt ?? 0).toISOString(),
    })
  }

  #openMetrics(metrics: Metrics): Counter {
    const registers = [metrics]
    const last = new Gauge({
      name: 'edged_backup_last_success_timestamp_seconds',
      help: 'Unix time of the newest scheduled backup. Absent before there is one.',
      registers,
      collect: () => {
        if (this.#last) last.set(Date.parse(this.#last.at) / 1000)
        else last.remove()
      },
    })
    const bytes = new Gauge({
      name: 'edged_backup_last_bytes',
      help: 'Size of the last scheduled backup of this process. Absent before there is one.',
      registers,
      collect: () => {
        const size = this.#last?.bytes
        if (typeof size === 'number') bytes.set(size)
        else bytes.remove()
      },
    })
    const written = new Counter({
      name: 'edged_backups_total',
      help: 'Scheduled backups, by outcome.',
      labelNames: ['outcome'],
      registers,
    })
    for (const outcome of ['written', 'failed']) written.inc({ outcome }, 0)
    return written
  }
}

/** Returns where backups go, without secrets. */
const placeText = (settings: BackupConfig): string => (isBucket(settings) ? redact(settings.to) : settings.to)

/** Returns `20261128T111500Z`. */
const stampOf = (at: number): string => `${new Date(at).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
const STAMP_LENGTH = '20261128T111500Z.tar'.length

/** Returns the time in the name of a backup, RFC 3339. */
const timeOf = (name: string): string => name.slice(-STAMP_LENGTH).replace(STAMP, '$1-$2-$3T$4:$5:$6.000Z')
