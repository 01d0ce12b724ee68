import { constants, type BigIntStats } from 'node:fs'
import { open, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readAt, writeAt } from '../positioned-io.js'
import { WalCopy } from './wal.js'

/** Frames are copied at least this often, because the log holds 4 MiB before it starts again. */
const CHUNK_BYTES = 256 * 1024
/** Attempts while the process with the database runs, and then while it is paused. */
const MAX_ATTEMPTS = 12
const MAX_PAUSED_ATTEMPTS = 5
const MAX_WAIT_MS = 250
/** Times of files are multiples of a tick of the kernel. A change within it would not be noticed. */
const TICK_MS = 50

/** A database changed in a way that a copy cannot follow. */
class DatabaseUnsettled extends Error {
  override readonly name = 'DatabaseUnsettled'
}

/** A copy of a database as of one moment. */
export interface DatabaseCopy {
  /** Valid until the next copy. */
  readonly file: FileHandle
  readonly bytes: number
  /** When the copy was complete, in milliseconds since 1970. */
  readonly takenAt: number
}

/**
 * Copies SQLite databases that other processes write. Neither locks nor stops them: while the pages are copied, the
 * frames that are committed to the write-ahead log are copied too, and written over the pages afterwards. The copy has
 * all transactions that ended before the copy did, each of them as a whole.
 */
export class DatabaseCopier {
  readonly #copy: FileHandle
  readonly #frames: FileHandle
  readonly #memory = Buffer.allocUnsafeSlow(CHUNK_BYTES)

  private constructor(copy: FileHandle, frames: FileHandle) {
    this.#copy = copy
    this.#frames = frames
  }

  /** `folder` holds one copy at a time, and must exist. */
  static async open(folder: string): Promise<DatabaseCopier> {
    const copy = await open(join(folder, 'copy'), 'w+', 0o600)
    const frames = await open(join(folder, 'frames'), 'w+', 0o600).catch(async (error: unknown) => {
      await copy.close()
      throw error
    })
    return new DatabaseCopier(copy, frames)
  }

  /**
   * Copies a database. Resolves with undefined if it does not exist, or was deleted during that. `paused` runs its
   * argument while no process writes the database. It is used only if a process closes and opens the database so often
   * that no copy can follow. Rejects with {@link DatabaseUnsettled} if that does not help.
   */
  async copy(path: string, paused: <T>(work: () => Promise<T>) => Promise<T>): Promise<DatabaseCopy | undefined> {
    const found = await this.#attempts(path, MAX_ATTEMPTS)
    if (found !== 'changed') return found
    const last = await paused(async () => await this.#attempts(path, MAX_PAUSED_ATTEMPTS))
    if (last !== 'changed') return last
    throw new DatabaseUnsettled(`${path} is opened and closed too often to be copied; try again later`)
  }

  async close(): Promise<void> {
    await Promise.all([this.#copy.close(), this.#frames.close()])
  }

  async #attempts(path: string, count: number): Promise<DatabaseCopy | 'changed' | undefined> {
    for (let attempt = 0; attempt < count; attempt++) {
      if (attempt > 0) await sleep(Math.random() * Math.min(5 * 2 ** attempt, MAX_WAIT_MS))
      const database = await openIfExists(path)
      if (!database) return undefined
      try {
        const found = await this.#attempt(path, database)
        if (found !== 'changed') return found
      } finally {
        await database.close()
      }
    }
    return 'changed'
  }

  async #attempt(path: string, database: FileHandle): Promise<DatabaseCopy | 'changed' | undefined> {
    await Promise.all([this.#copy.truncate(0), this.#frames.truncate(0)])
    const log = new FollowedLog(path, this.#frames)
    try {
      if (!(await log.open(await database.stat({ bigint: true })))) return 'changed'
      let bytes = 0
      for (let follows = performance.now(); ;) {
        const chunk = await readAt(database, bytes, bytes + CHUNK_BYTES, this.#memory)
        if (chunk.length > 0) await writeAt(this.#copy, [chunk], bytes)
        bytes += chunk.length
        if (chunk.length < CHUNK_BYTES) break
        const now = performance.now()
        if (now < follows) continue
        if (!(await log.follow())) return 'changed'
        // A long transaction is read from its beginning each time.
        follows = 2 * performance.now() - now
      }
      if (!(await log.follow())) return 'changed'
      const takenAt = Date.now()
      if (!(await log.isComplete())) return 'changed'
      if (!(await isFile(path, database))) return undefined
      const size = await log.applyTo(this.#copy, bytes)
      await this.#copy.truncate(size)
      return { file: this.#copy, bytes: size, takenAt }
    } finally {
      await log.close()
    }
  }
}

/** The write-ahead log of a database, which exists only while a process has the database open. */
class FollowedLog {
  readonly #path: string
  readonly #frames: FileHandle
  #begun: BigIntStats | undefined
  #file: FileHandle | undefined
  #copy: WalCopy | undefined

  constructor(path: string, frames: FileHandle) {
    this.#path = path
    this.#frames = frames
  }

  /** Resolves with false if the database is just being created or closed. */
  async open(begun: BigIntStats): Promise<boolean> {
    this.#begun = begun
    if (await this.#opened()) return await this.follow()
    // Before its log, a database is created with a rollback journal.
    if (await exists(`${this.#path}-journal`)) return false
    const age = Date.now() - Number(begun.mtimeMs)
    if (age < 0 || age >= TICK_MS) return true
    await sleep(TICK_MS)
    return false
  }

  /** Copies committed frames. Resolves with false if some may be missing. */
  async follow(): Promise<boolean> {
    if (!this.#copy) {
      if (!(await this.#opened())) return true
      // Nothing may have been written to the database before the log was there.
      if (!(await this.#isUnchanged())) return false
    }
    return await this.#copy!.advance()
  }

  /** Whether nothing but followed logs has changed the database. */
  async isComplete(): Promise<boolean> {
    // A log that was deleted was read completely, but another one may have come and gone since.
    if (this.#file) return (await this.#file.stat()).nlink > 0
    return (
      (await this.#isUnchanged()) && !(await exists(`${this.#path}-wal`)) && !(await exists(`${this.#path}-journal`))
    )
  }

  /** Writes the frames of the log over a copy of this size. Resolves with the size of the database. */
  async applyTo(copy: FileHandle, bytes: number): Promise<number> {
    const { pages, pageSize } = this.#copy ?? {}
    if (pages === undefined || pageSize === undefined) return bytes
    await this.#copy!.apply(copy)
    return pages * pageSize
  }

  async close(): Promise<void> {
    await this.#file?.close()
  }

  async #opened(): Promise<boolean> {
    this.#file = await openIfExists(`${this.#path}-wal`)
    if (!this.#file) return false
    this.#copy = new WalCopy(this.#file, this.#frames)
    return true
  }

  async #isUnchanged(): Promise<boolean> {
    const now = await stat(this.#path, { bigint: true }).catch(() => undefined)
    const begun = this.#begun
    return now?.ino === begun?.ino && now?.size === begun?.size && now?.mtimeNs === begun?.mtimeNs
  }
}

/** Whether a path still leads to this file. */
async function isFile(path: string, file: FileHandle): Promise<boolean> {
  const [now, opened] = await Promise.all([stat(path).catch(() => undefined), file.stat()])
  return now?.ino === opened.ino
}

async function openIfExists(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined
}
