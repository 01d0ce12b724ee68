import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, syncFolder, type Disk } from '../../disk/durable-write.js'
import { META, type Meta } from './format.js'
import { lastPut, readLevelLog } from './log.js'
import { load, open, StoreDamaged } from './open.js'
import { MemoryIndex } from '../records/memory-index.js'
import type { StoreOptions } from '../records/options.js'
import { readWitness, type Witnessed } from './witness.js'

/** Result of the check of a store that may be opened. */
export interface Checked {
  /** The last confirmed state of the store, if it has an intact witness. */
  readonly witnessed: Witnessed | undefined
  /** Description of the damage or loss, if the loss is accepted. */
  readonly loss?: string
  /** Copy of the store with this loss. */
  readonly copy?: string
}

/**
 * Checks the store before the database opens it. LevelDB drops the unreadable part of its log, and deletes the file.
 * Rejects with {@link StoreDamaged}, and changes nothing, if confirmed writes are missing. If the loss is accepted,
 * makes a copy.
 *
 * If all files are intact and have the last confirmed write, the check only reads the log. Otherwise the check uses a
 * copy of the store, which the database may open.
 */
export async function checkLevel(folder: string, options: StoreOptions): Promise<Checked> {
  const { acceptLoss = false, log } = options
  const witness = await readWitness(folder)
  const witnessed = witness === 'damaged' ? undefined : witness
  const logs = await readLogs(folder)
  if (!acceptLoss && logs.damage === undefined && hasConfirmed(logs.meta, witness)) return { witnessed }

  await assertUnlocked(folder)
  const tried = await tryCopy(folder, options)
  const missing = tried.how ?? lossOf(tried.meta!, witness)
  const isLoss = missing !== undefined || logs.isCertain
  if (!isLoss) {
    // The rest of a write that was never confirmed, after a power failure.
    if (logs.damage !== undefined) log.warn({ event: 'store_write_incomplete', place: logs.damage })
    return { witnessed }
  }
  const loss = [logs.damage, missing].filter((text) => text !== undefined).join('; ')
  if (!acceptLoss) throw new StoreDamaged(folder, loss)
  const copy = `${folder}.damaged-${new Date(options.clock.now()).toISOString().replaceAll(/[:.]/g, '')}`
  await copyStore(folder, copy)
  return { witnessed, loss, copy }
}

/** Returns whether intact logs have all confirmed writes. `last` is undefined if the logs have no write. */
function hasConfirmed(last: Meta | undefined, witness: Witnessed | 'damaged' | undefined): boolean {
  if (witness === 'damaged') return false
  if (witness === undefined) return last?.witness !== true
  return (last?.version ?? witness.tables) >= witness.version
}

/** Returns a description of the data that a store with this content lacks, if any. */
export function lossOf(meta: Meta, witnessed: Witnessed | 'damaged' | undefined): string | undefined {
  if (witnessed === undefined)
    return meta.witness === true ? 'its file witness, which has what was confirmed, is missing' : undefined
  if (witnessed === 'damaged') return 'its file witness, which has what was confirmed, is damaged'
  const { version, records, sum, audit, at } = witnessed
  if (meta.version > version) return undefined
  if (meta.version === version)
    return meta.records === records && meta.sum === sum && meta.audit === audit
      ? undefined
      : `it lacks the content that was confirmed with write ${version} at ${at}`
  const first = meta.version + 1
  const lost =
    first === version ? `the confirmed write ${version} is` : `the confirmed writes ${first} to ${version} are`
  return `${lost} missing (the last one was at ${at}): it holds ${meta.records} records and ${meta.audit} audit entries, not ${records} and ${audit}`
}

interface Logs {
  /** The first damage, as text. */
  readonly damage?: string
  readonly isCertain: boolean
  /** State after the last write in a log. Undefined if the logs have no write. */
  readonly meta?: Meta
}

const LOG = /^\d+\.log$/
const MANIFEST = /^MANIFEST-\d+$/

/** Reads the logs and the manifest of a store. */
async function readLogs(folder: string): Promise<Logs> {
  let damage: string | undefined
  let isCertain = false
  let last: Buffer | undefined
  const note = (written: Buffer) => (last = lastPut(written, META) ?? last)
  const names = await fs.readdir(folder)
  for (const name of names.filter((one) => LOG.test(one) || MANIFEST.test(one)).toSorted(byNumber)) {
    const isLog = LOG.test(name)
    const found = await readLevelLog(join(folder, name), isLog ? note : () => undefined)
    if (!found) continue
    damage ??= `${name} is damaged at byte ${found.offset}`
    isCertain ||= isLog && found.isCertain
  }
  const meta = last && (JSON.parse(last.toString()) as Meta)
  return { isCertain, ...(damage !== undefined && { damage }), ...(meta && { meta }) }
}

const numberOf = (name: string): number => Number(/\d+/.exec(name)?.[0])
const byNumber = (a: string, b: string): number => numberOf(a) - numberOf(b)

/**
 * Rejects if another process has the store open. Changes nothing, because the database rejects every store that exists.
 */
async function assertUnlocked(folder: string): Promise<void> {
  const error = await open(folder, { createIfMissing: false, errorIfExists: true }).catch((cause: unknown) => cause)
  const { cause } = error as { cause?: { code?: string } }
  if (cause?.code === 'LEVEL_LOCKED') throw error
}

/** Opens a copy of the store. Resolves with its content, or with a description of its damage. */
async function tryCopy(folder: string, options: StoreOptions): Promise<{ meta?: Meta; how?: string }> {
  const copy = `${folder}.check`
  try {
    await copyStore(folder, copy)
    const db = await open(copy, { createIfMissing: false, shown: folder })
    try {
      const { meta } = await load(db, folder, new MemoryIndex(options.log))
      return { meta }
    } finally {
      await db.close()
    }
  } catch (error) {
    if (error instanceof StoreDamaged) return { how: error.how }
    throw error
  } finally {
    await fs.rm(copy, { recursive: true, force: true })
  }
}

const TABLE = /\.(ldb|sst)$/

/** Copies a store. Its tables are linked, because the database never changes one. */
async function copyStore(folder: string, copy: string): Promise<void> {
  await fs.rm(copy, { recursive: true, force: true })
  await makeFolder(fs, copy)
  for (const name of await fs.readdir(folder)) {
    const [from, to] = [join(folder, name), join(copy, name)]
    // Not every file system has links.
    if (TABLE.test(name)) await fs.link(from, to).catch(async () => await fs.copyFile(from, to))
    else await fs.copyFile(from, to)
  }
  await syncFiles(copy)
}

/** Syncs all files of a folder, then the folder. */
export async function syncFiles(folder: string, disk: Disk = fs): Promise<void> {
  for (const name of await disk.readdir(folder)) await syncFolder(disk, join(folder, name))
  await syncFolder(disk, folder)
}
