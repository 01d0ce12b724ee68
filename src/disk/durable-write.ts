import { randomBytes } from 'node:crypto'
import type * as fs from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'

/** The part of `node:fs/promises` that durable writes use, so that tests can inject faults and power loss. */
export type Disk = Pick<typeof fs, 'open' | 'rename' | 'rm' | 'readdir' | 'mkdir' | 'stat'>

/** Content of a file, either complete or as chunks that are written as they are produced. */
export type FileContent = Uint8Array | string | Iterable<Uint8Array> | AsyncIterable<Uint8Array>

export interface DurableWriteOptions {
  /** Permissions of the file. Default: 0600. */
  readonly mode?: number
  /**
   * Name of the temporary file, in the folder of the file. By default, the name is random, so that concurrent writers
   * do not collide. A fixed name leaves at most one temporary file behind, no matter how often the process is killed.
   */
  readonly temporary?: string
  /** Aborts between two chunks. */
  readonly signal?: AbortSignal
}

/** Number of paths that a process remembers because their entries are durable. */
const MAX_DURABLE_ENTRIES = 4096
/** Codes for a folder that this process must not or cannot sync. Such a folder was not changed by this process. */
const NOT_SYNCABLE: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'EROFS', 'EINVAL', 'ENOTSUP'])
const durableEntries = new WeakMap<Disk, Set<string>>()

/** Ending of the names of temporary files. */
export const TEMPORARY = '.tmp'

/**
 * Writes a file atomically and durably. Resolves after the file and its folder are synced. If it rejects, the file has its
 * previous content or the new one, never a part. The new content might not survive a crash then, so a caller must not
 * rely on either content before another write resolves. A symbolic link at `path` is replaced, not followed.
 */
export async function writeDurably(
  disk: Disk,
  path: string,
  content: FileContent,
  { mode = 0o600, temporary: name, signal }: DurableWriteOptions = {},
): Promise<void> {
  const folder = dirname(path)
  const temporary = join(folder, name ?? `${basename(path)}.${randomBytes(6).toString('hex')}${TEMPORARY}`)
  if (name !== undefined) await disk.rm(temporary, { force: true })
  try {
    // `wx` follows no link.
    const file = await disk.open(temporary, 'wx', mode)
    try {
      for await (const chunk of chunksOf(content)) {
        signal?.throwIfAborted()
        await file.writeFile(chunk)
      }
      await file.datasync()
    } finally {
      await file.close()
    }
    await disk.rename(temporary, path)
  } catch (error) {
    await disk.rm(temporary, { force: true }).catch(() => undefined)
    throw error
  }
  await syncFolder(disk, folder)
}

const chunksOf = (content: FileContent): Iterable<Uint8Array | string> | AsyncIterable<Uint8Array> =>
  typeof content === 'string' || content instanceof Uint8Array ? [content] : content

/** Makes the entries of a folder durable. Without it, a crash can undo a creation, a rename or a removal. */
export async function syncFolder(disk: Disk, path: string): Promise<void> {
  const folder = await disk.open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/**
 * Makes the name of a file or folder durable, once per process unless it `isNew`. An earlier process may have ended between
 * the creation of the name and the sync of its folder, and an earlier sync may have failed.
 */
export async function syncEntry(disk: Disk, path: string, { isNew = false } = {}): Promise<void> {
  let known = durableEntries.get(disk)
  if (known === undefined) durableEntries.set(disk, (known = new Set()))
  const entry = resolve(path)
  if (isNew) known.delete(entry)
  else if (known.has(entry)) return
  try {
    await syncFolder(disk, dirname(entry))
  } catch (error) {
    if (isNew || !NOT_SYNCABLE.has((error as NodeJS.ErrnoException).code)) throw error
  }
  for (const oldest of known) {
    if (known.size < MAX_DURABLE_ENTRIES) break
    known.delete(oldest)
  }
  known.add(entry)
}

/** Creates a folder and its missing parents, and returns its path. All entries that it creates are durable. */
export async function makeFolder(disk: Disk, path: string, mode = 0o700): Promise<string> {
  // One by one: `recursive` never ends where the file system accepts no folders, as in /proc (Node.js 20).
  const missing: string[] = []
  let folder = resolve(path)
  for (; !(await isFolder(disk, folder)); folder = dirname(folder)) missing.push(folder)
  // Folders are synced one by one, so that a crash leaves at most the deepest entry without durability.
  await syncEntry(disk, folder)
  for (const folder of missing.toReversed()) {
    try {
      await disk.mkdir(folder, { mode })
    } catch (error) {
      // Another process may create it at the same time.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    await syncEntry(disk, folder, { isNew: true })
  }
  return path
}

/** Returns false if nothing has this path. Throws if something else has it. */
async function isFolder(disk: Disk, path: string): Promise<boolean> {
  try {
    if ((await disk.stat(path)).isDirectory()) return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
  throw Object.assign(new Error(`${path} is not a folder`), { code: 'ENOTDIR' })
}

/** Returns the names in a folder. Removes temporary files that a crash left behind. */
export async function namesIn(disk: Disk, path: string): Promise<string[]> {
  const names: string[] = []
  for (const name of await disk.readdir(path)) {
    if (name.endsWith(TEMPORARY)) await disk.rm(join(path, name), { force: true })
    else names.push(name)
  }
  return names
}
