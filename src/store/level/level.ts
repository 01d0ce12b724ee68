import * as fs from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { systemClock } from '../../core/clock.js'
import { EventLoopYield } from '../../core/schedule/event-loop-yield.js'
import { isDiskFull, messageOf } from '../../core/errors.js'
import { StoreFull, StoreUnavailable, type Store } from '../../core/store.js'
import { NUMBERS } from '../records/audit-trail.js'
import { makeFolder, syncEntry, syncFolder } from '../../disk/durable-write.js'
import { GroupWriter } from '../records/write-batcher.js'
import {
  auditKey,
  encodeRow,
  META,
  putMeta,
  rowKey,
  SLICE_OPERATIONS,
  write,
  type Database,
  type Meta,
  type Operation,
} from './format.js'
import { LevelTrail } from './audit.js'
import { lossOf, syncFiles, type Checked } from './check.js'
import { LEVEL, type LevelOptions } from './engine.js'
import { load, StoreDamaged, type Loaded } from './open.js'
import { migrateLevel } from './migrate.js'
import { SCHEMA } from '../migrations/index.js'
import type { Commit, Row, RowChange } from '../records/record.js'
import type { StoreOptions } from '../records/options.js'
import { MemoryIndex } from '../records/memory-index.js'
import { createStore, type Backend } from '../records/create-store.js'
import { createWitness, Witness, witnessedOf } from './witness.js'

const RETRY_MS = 5000

async function exists(folder: string, { disk = fs }: StoreOptions): Promise<boolean> {
  try {
    await disk.stat(folder)
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return false
    const message = `data: the store in ${dirname(folder)} cannot be read: ${messageOf(cause)}; set data to another folder`
    throw new Error(message, { cause })
  }
}

/** Syncs the name of a store that exists. The process that created it may have ended between the rename and the sync. */
async function confirmCreated(folder: string, { disk = fs }: StoreOptions): Promise<void> {
  try {
    await syncEntry(disk, folder)
  } catch (cause) {
    throw new Error(`the name of the store in ${folder} cannot be synced to the disk: ${messageOf(cause)}`, { cause })
  }
}

/** Opens the store in a local folder, for one process. Every write is on the disk before it is confirmed. */
export async function openLevel(options: LevelOptions): Promise<Store> {
  const folder = join(options.folder, 'store')
  const { engine = LEVEL } = options
  if (await exists(folder, options)) await confirmCreated(folder, options)
  else await createLevel(options)
  const checked = await engine.check(folder, options)
  const db = await engine.open(folder, { createIfMissing: false })
  let witness: Witness | undefined
  try {
    let loaded = await loadChecked(db, folder, checked, options)
    witness = await Witness.open(folder, loaded.meta, options)
    if (loaded.meta.schema < SCHEMA) {
      await migrateLevel(db, loaded, createLevel, options)
      loaded = await load(db, folder, new MemoryIndex(options.log))
      await witness.write(loaded.meta)
    }
    const trail = new LevelTrail(db, options)
    await trail.find(loaded.meta.audit)
    return createStore(new LevelPlace(db, loaded, { trail, witness, options }))
  } catch (error) {
    await witness?.close()
    await db.close()
    throw error
  }
}

/** Reads the store, and writes the remaining data if its loss is accepted. */
async function loadChecked(
  db: Database,
  folder: string,
  { witnessed, loss, copy }: Checked,
  { log }: StoreOptions,
): Promise<Loaded> {
  const salvage = loss !== undefined
  const loaded = await load(db, folder, new MemoryIndex(log), { salvage })
  if (!salvage) {
    const missing = lossOf(loaded.meta, witnessed)
    if (missing !== undefined) throw new StoreDamaged(folder, missing)
    return loaded
  }
  // No number is used again, because clients know versions of lost writes, and cursors of lost audit entries.
  const version = Math.max(loaded.meta.version, witnessed?.version ?? 0)
  const meta = { ...loaded.meta, version, audit: Math.max(loaded.meta.audit, witnessed?.audit ?? 0) }
  const drops = loaded.damaged.map((name): Operation => ({ type: 'del', key: rowKey(name) }))
  await write(db, [...drops, putMeta(meta)])
  log.error(
    { event: 'store_loss_accepted', loss, damaged_records: loaded.damaged, copy },
    'the store lost confirmed writes',
  )
  return { ...loaded, meta }
}

/**
 * Creates a store in a temporary folder and renames it, so that an incomplete store never exists. `fill` writes its
 * content. Without `fill`, the store is empty. It replaces one with the same name, which only a copy can have.
 */
export async function createLevel(
  {
    folder: parent,
    disk = fs,
    clock = systemClock,
    engine = LEVEL,
  }: Pick<LevelOptions, 'folder'> & Partial<LevelOptions>,
  fill: (db: Database) => Promise<void> = async (db) =>
    await write(db, [putMeta({ schema: SCHEMA, version: 0, records: 0, sum: 0, audit: 0 })]),
  name = 'store',
): Promise<void> {
  const folder = join(parent, name)
  const unfinished = `${folder}.new`
  try {
    await disk.rm(unfinished, { recursive: true, force: true })
    await makeFolder(disk, unfinished)
  } catch (cause) {
    const message = `data: cannot create the store in ${dirname(folder)}: ${messageOf(cause)}; set data to another folder`
    throw new Error(message, { cause })
  }
  const db = await engine.open(unfinished, { createIfMissing: true })
  try {
    await fill(db)
    const meta = JSON.parse((await db.get<string, string>(META, { valueEncoding: 'utf8' }))!) as Meta
    await createWitness(disk, unfinished, witnessedOf(meta, 0, clock.now()))
  } finally {
    await db.close()
  }
  // Not every write of `fill` was synced.
  await syncFiles(unfinished, disk)
  if (name !== 'store') await disk.rm(folder, { recursive: true, force: true })
  await disk.rename(unfinished, folder)
  await syncFolder(disk, dirname(folder))
}

/** Returns the operation that stores this row under its name, or deletes it. */
function operation(name: string, row: Row | undefined, json?: string): Operation {
  const key = rowKey(name)
  return row ? { type: 'put', key, value: encodeRow(row, name, json) } : { type: 'del', key }
}

class LevelPlace implements Backend {
  readonly resident: MemoryIndex
  readonly cursors = NUMBERS
  readonly #writer: GroupWriter
  readonly #db: Database
  readonly #trail: LevelTrail
  readonly #witness: Witness
  readonly #options: StoreOptions
  #meta: Meta
  readonly #closing = new AbortController()
  readonly #slices = new EventLoopYield()
  #recovering: Promise<void> | undefined
  /** Error of the latest failed write. */
  #failure: StoreUnavailable | undefined

  constructor(
    db: Database,
    { resident, meta }: Loaded,
    { trail, witness, options }: { trail: LevelTrail; witness: Witness; options: StoreOptions },
  ) {
    this.resident = resident
    this.#writer = new GroupWriter(resident, meta.version, (commits) => this.#persist(commits))
    this.#db = db
    this.#trail = trail
    this.#witness = witness
    this.#options = options
    this.#meta = meta
  }

  readonly write: Backend['write'] = (decide) => this.#writer.write(decide)
  readonly audit: Backend['audit'] = (cursor, limit, order) => this.#trail.read(cursor, limit, order)
  readonly unavailable = (): string | undefined => (this.#recovering === undefined ? undefined : this.#failure?.message)

  readonly close = async (): Promise<void> => {
    await this.#writer.idle()
    this.#closing.abort()
    await this.#recovering
    await this.#db.close()
    await this.#witness.close()
  }

  async #persist(commits: readonly Commit[]): Promise<void> {
    if (this.#recovering !== undefined && this.#failure) throw this.#failure

    // The last change of each record.
    const changed = new Map<string, RowChange>()
    const operations: Operation[] = []
    for (const { changes } of commits)
      for (const change of changes) {
        operations.push(operation(change.name, change.row, change.json))
        changed.set(change.name, change)
        if (operations.length % SLICE_OPERATIONS === 0) await this.#slices.yieldToEventLoop()
      }
    const entries = commits.flatMap(({ audit }) => audit)
    const meta = this.#metaAfter(changed.values(), commits.at(-1)!.version, entries.length)
    try {
      operations.push(...(await this.#trail.append(entries, this.#meta.audit)), putMeta(meta))
      await write(this.#db, operations)
      // Runs after the batch, so that the data of the witness is on the disk whenever the power fails.
      await this.#witness.write(meta)
    } catch (error) {
      this.#recovering = this.#recover(this.#undo(changed.values(), entries.length), error)
      this.#failure = isDiskFull(error)
        ? new StoreFull('cannot write to the store: its disk is full; free space on it', { cause: error })
        : new StoreUnavailable(`the store cannot write: ${messageOf(error)}`, { cause: error })
      throw this.#failure
    }

    this.#meta = meta
  }

  #metaAfter(changed: Iterable<RowChange>, version: number, entries: number): Meta {
    let { records, sum } = this.#meta
    for (const { at, row } of changed) {
      const next = row?.sum
      const before = this.resident.at(at)?.sum
      records += Number(next !== undefined) - Number(before !== undefined)
      sum ^= (before ?? 0) ^ (next ?? 0)
    }
    return { schema: SCHEMA, version, records, sum, audit: this.#meta.audit + entries }
  }

  /**
   * Returns operations that restore the state before a failed write, because the disk may have stored it despite the
   * error.
   */
  #undo(changed: Iterable<RowChange>, entries: number): Operation[] {
    const operations: Operation[] = [putMeta(this.#meta)]
    for (const { name, at } of changed) operations.push(operation(name, this.resident.at(at)))
    for (let index = 1; index <= entries; index += 1)
      operations.push({ type: 'del', key: auditKey(this.#meta.audit + index) })
    return operations
  }

  /** Reopens the database until a write succeeds. After an I/O error its handle rejects every write. */
  async #recover(undo: Operation[], error: unknown): Promise<void> {
    const { log, clock } = this.#options
    const { signal } = this.#closing
    log.error({ event: 'store_unavailable', error: messageOf(error) })
    while (!signal.aborted) {
      try {
        await clock.sleep(RETRY_MS, signal)
        // First, because the failed write may be in it, and is about to be undone.
        await this.#witness.write(this.#meta)
        await this.#db.close()
        await this.#db.open()
        await write(this.#db, undo)
        await this.#trail.find(this.#meta.audit)
        this.#recovering = undefined
        log.info({ event: 'store_available' })
        return
      } catch (failure) {
        log.debug({ event: 'store_still_unavailable', error: messageOf(failure) })
      }
    }
  }
}
