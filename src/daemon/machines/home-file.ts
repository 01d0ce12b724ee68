import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder, type Disk } from '../../disk/durable-write.js'
import { readAt, writeAt } from '../../disk/positioned-io.js'

/** File with the name of the data, in the folder that holds the data. */
export const HOME_FILE = 'home'
/** Bytes of that file: the name and the end of the line. */
const FILE_BYTES = 33
/** A crash may have left a file without its content. */
const NAME = /^[0-9a-f]{32}$/

/** Returns the name of the data in a folder. Undefined without such a file, and if a crash has torn the file. */
export async function readHome(disk: Disk, folder: string): Promise<string | undefined> {
  try {
    return await using(await disk.open(join(folder, HOME_FILE)), nameIn)
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/**
 * Gives the data in a folder a name, and makes the name durable. Returns the name that the data has. Data that has a name keeps
 * it: an operator can move a folder to this place at any moment. So the file is not replaced, and only a file that was read is
 * written to.
 */
export async function nameHome(disk: Disk, folder: string, proposed: string): Promise<string> {
  const name = await using(await openOrCreate(disk, join(folder, HOME_FILE)), async (file) => {
    const name = (await nameIn(file)) ?? proposed
    // Again, because a process that was killed may not have synced the name.
    await writeAt(file, [Buffer.from(`${name}\n`)], 0)
    await file.datasync()
    return name
  })
  await syncFolder(disk, folder)
  return name
}

async function openOrCreate(disk: Disk, path: string): Promise<FileHandle> {
  try {
    return await disk.open(path, 'wx+', 0o600)
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
  }
  return await disk.open(path, 'r+')
}

async function nameIn(file: FileHandle): Promise<string | undefined> {
  const name = (await readAt(file, 0, FILE_BYTES)).toString().trim()
  return NAME.test(name) ? name : undefined
}

async function using<T>(file: FileHandle, work: (file: FileHandle) => Promise<T>): Promise<T> {
  try {
    return await work(file)
  } finally {
    await file.close()
  }
}

const isCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException).code === code
