import { existsSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { EventLoopYield } from '../core/event-loop-yield.js'
import { isDiskFull, messageOf } from '../core/errors.js'
import { StoreFull, StoreUnavailable, type Store } from '../core/store.js'
import { NUMBERS } from './audit-trail.js'
import { makeFolder, syncFolder, type Disk } from '../disk/durable-write.js'
import { GroupWriter } from './write-batcher.js'
import {
  auditKey,
  damaged,
  decodeRow,
  encodeRow,
  META,
  openFault,
  putMeta,
  RECORDS,
  rowKey,
  SLICE_OPERATIONS,
  write,
  type Database,
  type Meta,
  type Operation,
} from './level-format.js'
import { LevelTrail } from './level-audit.js'
import { migrateLevel } from './level-migrate.js'
import { SCHEMA, tooNew } from './migrations/index.js'
import type { Commit, Row, RowChange } from './record.js'
import type { StoreOptions } from './options.js'
import { MemoryIndex } from './memory-index.js'
import { createStore, type Backend } from './create-store.js'

const RETRY_MS = 5000

/** Opens the store in a local folder, for one process: every write is on the disk before it is confirmed. */
export async function openLevel(options: StoreOptions): Promise<Store> {
  const folder = join(options.folder, 'store')
  if (!existsSync(folder)) await createLevel(options)
  const db = await open(folder, { createIfMissing: false })
  try {
    let loaded = await load(db, folder, new MemoryIndex(options.log))
    if (loaded.meta.schema < SCHEMA) {
      await migrateLevel(db, loaded, createLevel, options)
      loaded = await load(db, folder, new MemoryIndex(options.log))
    }
    const trail = new LevelTrail(db, options)
    await trail.find(loaded.meta.audit)
    return createStore(new LevelPlace(db, loaded, trail, options))
  } catch (error) {
    await db.close()
    throw error
  }
}

/**
 * Creates a store in a temporary folder and renames it, so that an incomplete store never exists. `fill` writes its
 * content; without it, the store is empty. It replaces one with the same name, which only a copy can have.
 */
export async function createLevel(
  { folder: parent, disk = fs }: { readonly folder: string; readonly disk?: Disk },
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
  const db = await open(unfinished, { createIfMissing: true })
  try {
    await fill(db)
  } finally {
    await db.close()
  }
  if (name !== 'store') await disk.rm(folder, { recursive: true, force: true })
  await disk.rename(unfinished, folder)
  await syncFolder(disk, dirname(folder))
}

async function open(folder: string, options: { createIfMissing: boolean }): Promise<Database> {
  const db: Database = new ClassicLevel(folder, { keyEncoding: 'utf8', valueEncoding: 'buffer', ...options })
  try {
    await db.open()
    return db
  } catch (error) {
    throw openFault(error, folder)
  }
}

interface Loaded {
  readonly resident: MemoryIndex
  readonly meta: Meta
}

async function load(db: Database, folder: string, resident: MemoryIndex): Promise<Loaded> {
  const text = await db.get<string, string>(META, { valueEncoding: 'utf8' })
  if (text === undefined) throw damaged(folder, 'what it knows of itself is gone')
  const meta = JSON.parse(text) as Meta
  if (meta.schema > SCHEMA) throw new Error(`the store in ${folder} ${tooNew(meta.schema)}`)

  let all = 0
  const entries = db.iterator({ ...RECORDS, fillCache: false, highWaterMarkBytes: 1 << 20 })
  // Fewer than requested may arrive. Only an empty list means the end.
  for (let some = await entries.nextv(1000); some.length > 0; some = await entries.nextv(1000)) {
    for (const [key, bytes] of some) {
      const row = decodeRow(key.slice(1), bytes)
      if (!row) throw damaged(folder, `the record ${key.slice(1)} fails its checksum`)
      resident.load(row)
      all ^= row.sum
    }
  }
  await entries.close()
  if (resident.size !== meta.records || all !== meta.sum)
    throw damaged(folder, `it holds ${resident.size} records, not the ${meta.records} that were last written`)
  return { resident, meta }
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
  readonly #options: StoreOptions
  #meta: Meta
  readonly #closing = new AbortController()
  readonly #slices = new EventLoopYield()
  #recovering: Promise<void> | undefined
  /** Error of the latest failed write. */
  #failure: StoreUnavailable | undefined

  constructor(db: Database, { resident, meta }: Loaded, trail: LevelTrail, options: StoreOptions) {
    this.resident = resident
    this.#writer = new GroupWriter(resident, meta.version, (commits) => this.#persist(commits))
    this.#db = db
    this.#trail = trail
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

  /** Returns operations that restore the state before a failed write: the disk may have stored it despite the error. */
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
