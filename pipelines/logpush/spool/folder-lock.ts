import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { messageOf } from '../../../src/core/errors.js'
import type { Log } from '../../../src/core/log.js'
import { writeDurably, type Disk } from '../../../src/disk/durable-write.js'
import { FORMAT, formatEntry, formatIn, readable } from './migrations.js'

const LOCK = 'lock'
const IDENTITY = 'identity'
const ID = 'id'

/** Id and format of the spools in a folder. */
interface Identity {
  readonly id: string
  readonly format: number
}

export interface LockedFolder extends Identity {
  /** Database that is locked while a process uses the folder. The system releases it when the process ends. */
  readonly lock: ClassicLevel
}

/**
 * Locks a folder of spools. Rejects if another process holds the lock. A damaged lock is replaced, because the identity
 * file next to it has the same id and format.
 */
export async function lockSpools(disk: Disk, folder: string, log: Log): Promise<LockedFolder> {
  const path = join(folder, LOCK)
  const known = await readIdentity(join(folder, IDENTITY))
  const lock = await openOrReplace(disk, path, log)
  try {
    return { lock, ...(await identityOf(lock, known, join(folder, 'scopes'))) }
  } catch (error) {
    await lock.close()
    throw error
  }
}

/** Writes the identity file next to the lock, unless it is correct. */
export async function noteIdentity(disk: Disk, folder: string, id: string): Promise<void> {
  const path = join(folder, IDENTITY)
  const known = await readIdentity(path)
  if (known?.id === id && known.format === FORMAT) return
  await writeDurably(disk, path, `${JSON.stringify({ id, format: FORMAT })}\n`, { temporary: `${IDENTITY}.tmp` })
}

/** Creates the database of the lock in a copy. */
export async function writeLock(path: string, { id, format }: Identity): Promise<void> {
  const lock = new ClassicLevel(path)
  await lock.batch([{ type: 'put', key: ID, value: id }, formatEntry(format)], { sync: true })
  await lock.close()
}

async function readIdentity(path: string): Promise<Identity | undefined> {
  try {
    const { id, format } = JSON.parse(await fs.readFile(path, 'utf8')) as Partial<Identity>
    return typeof id === 'string' && typeof format === 'number' ? { id, format } : undefined
  } catch (error) {
    // Damaged, but the lock has the same content.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function identityOf(lock: ClassicLevel, known: Identity | undefined, scopes: string): Promise<Identity> {
  const id = await lock.get(ID)
  if (id !== undefined) return { id, format: readable(Math.max(await formatIn(lock), known?.format ?? 0)) }
  // Without either, existing spools are converted from the first format. Spools in a later format do not change.
  const isNew = known === undefined && (await fs.readdir(scopes).catch(() => [])).length === 0
  const identity = known ?? { id: randomBytes(8).toString('hex'), format: isNew ? FORMAT : 1 }
  await lock.batch([{ type: 'put', key: ID, value: identity.id }, formatEntry(identity.format)], { sync: true })
  return { id: identity.id, format: readable(identity.format) }
}

async function openOrReplace(disk: Disk, path: string, log: Log): Promise<ClassicLevel> {
  const opened = await tryOpen(path)
  if (opened instanceof ClassicLevel) return opened
  if (isDamage(opened)) {
    log.warn({ event: 'spool_lock_replaced', path, error: opened.message })
    await disk.rm(path, { recursive: true, force: true })
    const again = await tryOpen(path)
    if (again instanceof ClassicLevel) return again
    throw fault(path, again)
  }
  throw fault(path, opened)
}

async function tryOpen(path: string): Promise<ClassicLevel | Error> {
  const lock = new ClassicLevel(path)
  try {
    await lock.open()
    // Damage of a value shows when it is read.
    await lock.get(ID)
    return lock
  } catch (error) {
    await lock.close().catch(() => undefined)
    return error instanceof Error && error.cause instanceof Error
      ? error.cause
      : new Error(messageOf(error), { cause: error })
  }
}

/**
 * Returns whether the database itself is damaged. Other errors are failures of the machine, for example a full disk.
 */
const isDamage = (error: NodeJS.ErrnoException): boolean =>
  error.code === 'LEVEL_CORRUPTION' || error.code === 'LEVEL_INVALID_ARGUMENT' || /no such file/i.test(error.message)

const fault = (path: string, cause: NodeJS.ErrnoException): Error =>
  new Error(
    cause.code === 'LEVEL_LOCKED'
      ? `the log spool in ${path} is in use by another process`
      : `the log spool in ${path} cannot be opened: ${cause.message}`,
    { cause },
  )
