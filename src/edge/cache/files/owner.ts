import * as fs from 'node:fs/promises'
import { mkdir, open, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../core/clock.js'
import { messageOf } from '../../../core/errors.js'
import type { Log } from '../../../core/log.js'
import { syncFolder, TEMPORARY, writeDurably, type Disk } from '../../../disk/durable-write.js'
import { Purges, type Purge } from '../entries/purge.js'
import { decodeHead, FOLDERS, isFileName, PARTIAL, pathOf, urlPrefix, type FileHead } from './format.js'
import { DiskIndex } from './index.js'
import { PurgeJournal, type DiskPurge } from './journal.js'

/** Why a file was removed. Labels a metric. */
const DISK_REMOVALS = ['capacity', 'purge', 'invalid'] as const
type DiskRemoval = (typeof DISK_REMOVALS)[number]
export const DISK_OPERATIONS = ['read', 'write', 'remove'] as const
export type DiskOperation = (typeof DISK_OPERATIONS)[number]

/** Everything that a reader of the files needs to begin. */
export interface DiskStart {
  readonly folder: string
  /** Added to the versions of the store. */
  readonly base: number
  /** Purges with numbers up to this one have been applied to the files, except the purges in `pending`. */
  readonly seen: number
  readonly pending: readonly DiskPurge[]
}

/** What those who read and write the files report to the owner, and ask it. */
export interface DiskOwnerPort {
  /** Whether the file exists. Undefined if that is not known. */
  has(name: string): boolean | undefined
  /**
   * Reserves bytes of the tier. Removes other files if necessary. With `mayWait`, waits until the files were counted
   * after the start.
   */
  reserve(bytes: number, mayWait: boolean): Promise<boolean>
  /** Ends a reservation. `name` is the file that now has these bytes, or undefined if it was not written. */
  settle(bytes: number, name: string | undefined, isReserve: boolean): void
  hit(name: string): void
  /** A file was found to be damaged or outdated, and was removed. */
  removed(name: string, reason: DiskRemoval): void
  failed(operation: DiskOperation, error: unknown): void
}

const STATE = 'state.json'
const JOURNAL = 'purges.jsonl'
/** Writing stops for this long after the disk was full. */
const FULL_MS = 30_000
/** Share of the bytes that is freed then. */
const FREED_SHARE = 0.05
/** Files that a scan reads concurrently. */
const SCAN_BATCH = 64
const HEAD_BYTES = 8192
/** A sweep begins when writes that began before the purge have ended. */
const SETTLE_MS = 2000
const FULL_CODES = new Set(['ENOSPC', 'EDQUOT'])

/**
 * Owns the folder of the disk tier: sizes, eviction, the removal of purged files. Any number of processes read and write
 * the files. Readers find a file by its name, so they need no index, and the owner counts the files after the start.
 */
export class DiskOwner implements DiskOwnerPort {
  readonly index = new DiskIndex()
  readonly evictions = new Map<DiskRemoval, number>(DISK_REMOVALS.map((reason) => [reason, 0]))
  readonly errors = new Map<DiskOperation, number>(DISK_OPERATIONS.map((operation) => [operation, 0]))
  limit: number
  readonly #disk: Disk
  readonly #folder: string
  readonly #clock: Clock
  readonly #log: Log
  readonly #purges = new Purges()
  readonly #journal: PurgeJournal
  #start: DiskStart
  #identity = ''
  #pending: DiskPurge[] = []
  #reserved = 0
  #isComplete = false
  #counting: Promise<void> | undefined
  #fullUntil = 0
  #sweeping: Promise<void> | undefined
  readonly #closing = new AbortController()
  #removals: Promise<unknown> = Promise.resolve()

  private constructor(folder: string, limit: number, { disk, clock, log }: { disk: Disk; clock: Clock; log: Log }) {
    this.#disk = disk
    this.#folder = folder
    this.limit = limit
    this.#clock = clock
    this.#log = log
    this.#start = { folder, base: 0, seen: 0, pending: [] }
    this.#journal = new PurgeJournal(disk, join(folder, JOURNAL), (error) => this.failed('write', error))
  }

  /**
   * Opens the folder and creates it if necessary. `identity` identifies the store that numbers purges. It is undefined
   * if the store forgets them at each start.
   */
  static async open(
    { folder, bytes }: { folder: string; bytes: number },
    { identity, clock, log, disk = fs }: { identity: string | undefined; clock: Clock; log: Log; disk?: Disk },
  ): Promise<DiskOwner> {
    const owner = new DiskOwner(folder, bytes, { disk, clock, log })
    await owner.#open(identity)
    return owner
  }

  get start(): DiskStart {
    return { ...this.#start, pending: this.#pending }
  }

  get bytes(): number {
    return this.index.bytes + this.#reserved
  }

  get entries(): number {
    return this.index.count
  }

  has(name: string): boolean | undefined {
    return this.#isComplete ? this.index.has(name) : this.index.has(name) || undefined
  }

  async reserve(bytes: number, mayWait: boolean): Promise<boolean> {
    if (mayWait) await this.#counting
    if (!this.#isComplete || bytes > this.limit / 2 || this.#clock.monotonic() < this.#fullUntil) return false
    if (!this.#free(bytes)) return false
    this.#reserved += bytes
    // The bytes are free only after the evicted files are removed.
    await this.#removals
    return true
  }

  settle(bytes: number, name: string | undefined, isReserve: boolean): void {
    this.#reserved -= bytes
    if (name !== undefined) this.index.set(name, bytes, { isReserve })
  }

  hit(name: string): void {
    this.index.hit(name)
  }

  removed(name: string, reason: DiskRemoval): void {
    if (this.index.delete(name)) this.#count(reason)
  }

  failed(operation: DiskOperation, error: unknown): void {
    this.errors.set(operation, this.errors.get(operation)! + 1)
    const isFull = FULL_CODES.has((error as NodeJS.ErrnoException).code ?? '')
    const now = this.#clock.monotonic()
    if (isFull && now < this.#fullUntil) return
    this.#log.warn(
      {
        event: isFull ? 'cache_disk_full' : 'cache_disk_failed',
        folder: this.#folder,
        operation,
        error: messageOf(error),
      },
      isFull
        ? `the disk of cache.disk.folder is full; responses are cached in memory only for ${FULL_MS / 1000} s. Free space or lower cache.disk.bytes`
        : 'a file of the response cache failed; the response is fetched from the origin',
    )
    if (!isFull) return
    this.#fullUntil = now + FULL_MS
    this.#free(this.limit - this.bytes + this.index.bytes * FREED_SHARE)
  }

  /**
   * Applies a purge. It must not be acknowledged before {@link recorded}. `version` is the version of its record in the
   * store.
   */
  purge(zone: string, purge: Purge, version: number): void {
    const number = this.#start.base + version
    this.#add({ number, zone, purge })
    this.#journal.append({ number, zone, purge })
    this.sweep()
  }

  /** Resolves when the purges so far survive the end of the process and a loss of power; undefined if that is so now. */
  get recorded(): Promise<void> | undefined {
    return this.#journal.recorded
  }

  /** Applies another limit. */
  configure(bytes: number): void {
    this.limit = bytes
    if (this.#isComplete) this.#free(0)
  }

  /** Removes the unfinished writes of a process that ended, and counts the files that the process finished. */
  async ended(pid: number, reserved: number): Promise<void> {
    this.#reserved -= reserved
    await this.#each(async (folder, name) => {
      if (name.includes(`-${pid}-`)) await unlink(join(this.#folder, folder, name)).catch(() => undefined)
      else if (isFileName(name) && !this.index.has(name)) await this.#scanned(folder, name)
    })
  }

  /** Removes purged files in the background. */
  sweep(): void {
    this.#sweeping ??= this.#sweep().finally(() => (this.#sweeping = undefined))
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#sweeping
    await this.#removals
    await this.#journal.recorded
  }

  async #open(identity: string | undefined): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const state = await this.#readState()
    this.#identity = identity ?? 'none'
    const isSame = state !== undefined && identity !== undefined && state.identity === identity
    if (!isSame && state?.identity !== this.#identity) await this.#discard()
    const journal = await this.#journal.read()
    // Versions of a store that forgets begin again at 1, so its numbers begin above all earlier ones.
    const base = isSame ? state.base : this.#clock.now() * 1000
    const seen = isSame ? Math.max(state.seen, ...journal.map(({ number }) => number)) : base
    this.#start = { folder: this.#folder, base, seen, pending: [] }
    for (const pending of journal) this.#add(pending)
    await this.#writeState()
    await Promise.all(
      FOLDERS.map(async (name) => await mkdir(join(this.#folder, name), { recursive: true, mode: 0o700 })),
    )
    this.#counting = this.#scan()
  }

  #add(purge: DiskPurge): void {
    this.#pending.push(purge)
    this.#purges.add(purge.zone, purge.purge, purge.number)
    this.#start = { ...this.#start, seen: Math.max(this.#start.seen, purge.number) }
  }

  async #readState(): Promise<{ identity: string; base: number; seen: number } | undefined> {
    try {
      const state = JSON.parse(await readFile(join(this.#folder, STATE), 'utf8')) as Record<string, unknown>
      const { identity, base, seen } = state
      if (typeof identity !== 'string' || typeof base !== 'number' || typeof seen !== 'number') return undefined
      return { identity, base, seen }
    } catch {
      return undefined
    }
  }

  async #writeState(): Promise<void> {
    const { base, seen } = this.#start
    try {
      const text = JSON.stringify({ identity: this.#identity, base, seen })
      await writeDurably(this.#disk, join(this.#folder, STATE), text, { temporary: `${STATE}${TEMPORARY}` })
    } catch (error) {
      this.failed('write', error)
    }
  }

  /** Removes everything that belongs to another store, because the purges of that store are not known. */
  async #discard(): Promise<void> {
    const trash = join(this.#folder, `discarded-${process.pid}`)
    await mkdir(trash, { recursive: true })
    for (const name of [...FOLDERS, JOURNAL, STATE])
      await rename(join(this.#folder, name), join(trash, name)).catch(() => undefined)
    await syncFolder(this.#disk, this.#folder)
    void rm(trash, { recursive: true, force: true }).catch((error: unknown) => this.failed('remove', error))
  }

  /** Counts the files. Files that were not completed are removed. */
  async #scan(): Promise<void> {
    try {
      await this.#each(async (folder, name) => await this.#scanned(folder, name))
      for (const name of await readdir(this.#folder))
        if (name.startsWith('discarded-')) await rm(join(this.#folder, name), { recursive: true, force: true })
    } catch (error) {
      this.failed('read', error)
    }
    this.#isComplete = true
    this.#free(0)
    if (this.#pending.length > 0 && !this.#closing.signal.aborted) this.sweep()
  }

  async #each(visit: (folder: string, name: string) => Promise<void>): Promise<void> {
    for (const folder of FOLDERS) {
      const names = await readdir(join(this.#folder, folder))
      for (let at = 0; at < names.length && !this.#closing.signal.aborted; at += SCAN_BATCH)
        await Promise.all(names.slice(at, at + SCAN_BATCH).map(async (name) => await visit(folder, name)))
    }
  }

  async #scanned(folder: string, name: string): Promise<void> {
    const path = join(this.#folder, folder, name)
    try {
      if (!isFileName(name)) {
        await unlink(path)
        return
      }
      const { size } = await stat(path)
      this.index.set(name, size, { isMain: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.failed('read', error)
    }
  }

  /** Removes files until `bytes` bytes are free. */
  #free(bytes: number): boolean {
    while (this.bytes + bytes > this.limit) {
      const name = this.index.evict(this.limit)
      if (name === undefined) return false
      this.#count('capacity')
      this.#unlink(name)
    }
    return true
  }

  #unlink(name: string): void {
    const removal = this.#disk
      .rm(join(this.#folder, pathOf(name)), { force: true })
      .catch((error: unknown) => this.failed('remove', error))
    this.#removals = Promise.all([this.#removals, removal])
  }

  #count(reason: DiskRemoval): void {
    this.evictions.set(reason, this.evictions.get(reason)! + 1)
  }

  /** Removes what purges cover, then forgets these purges. */
  async #sweep(): Promise<void> {
    while (this.#isComplete && this.#pending.length > 0 && !this.#closing.signal.aborted) {
      await this.#clock.sleep(SETTLE_MS, this.#closing.signal).catch(() => undefined)
      if (this.#closing.signal.aborted) return
      const swept = this.#pending.slice()
      const names = onlyUrls(swept) ? this.#namesOf(swept) : [...this.index.names()]
      for (let at = 0; at < names.length; at += SCAN_BATCH) {
        if (this.#closing.signal.aborted) return
        await Promise.all(names.slice(at, at + SCAN_BATCH).map(async (name) => await this.#sweepFile(name)))
      }
      await this.#syncRemovals()
      this.#pending = this.#pending.slice(swept.length)
      if (this.#pending.length > 0) continue
      await this.#writeState()
      if (this.#pending.length > 0) continue
      this.#purges.forget(this.#start.seen)
      // This must be in the same turn, so that a purge that arrives next stays in the journal.
      this.#journal.clear()
    }
  }

  /**
   * Makes removals durable, including the removals by other processes, because the purges that cover the files are
   * forgotten next.
   */
  async #syncRemovals(): Promise<void> {
    await this.#removals
    try {
      for (const name of FOLDERS) await syncFolder(this.#disk, join(this.#folder, name))
    } catch (error) {
      this.failed('remove', error)
    }
  }

  #namesOf(purges: readonly DiskPurge[]): string[] {
    const prefixes = new Set(purges.flatMap(({ zone, purge }) => (purge.urls ?? []).map((url) => urlPrefix(zone, url))))
    return [...this.index.names()].filter((name) => prefixes.has(name.slice(0, 16)))
  }

  async #sweepFile(name: string): Promise<void> {
    const head = await this.#readHead(name)
    if (head && !this.#purges.covers({ ...head, checked: head.born })) return
    this.removed(name, head ? 'purge' : 'invalid')
    this.#unlink(name)
  }

  async #readHead(name: string): Promise<FileHead | undefined> {
    try {
      const file = await open(join(this.#folder, pathOf(name)))
      try {
        const read = async (bytes: number) => (await file.read(Buffer.alloc(bytes), 0, bytes, 0)).buffer
        const first = decodeHead(await read(HEAD_BYTES), false)
        const found = first && 'needed' in first ? decodeHead(await read(first.needed), true) : first
        return found && 'head' in found ? found.head : undefined
      } finally {
        await file.close()
      }
    } catch {
      return undefined
    }
  }
}

const onlyUrls = (purges: readonly DiskPurge[]): boolean => purges.every(({ purge }) => purge.urls !== undefined)

/** Returns the name under which a file is written. */
export const partialPath = (folder: string, name: string, number: number): string =>
  join(folder, `${pathOf(name)}-${process.pid}-${number}${PARTIAL}`)
