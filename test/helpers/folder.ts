import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'

/**
 * Returns the bytes of all files below a folder that a running daemon writes to, in the order of their paths. A file
 * that is deleted during the read is skipped, as is one that is still being written (`.NAME.tmp`).
 */
export async function filesBelow(folder: string): Promise<Buffer[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = found
    .filter((entry) => entry.isFile() && !/^\..*\.tmp$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
  const read = await Promise.all(paths.sort().map(async (path) => await readFile(path).catch(gone)))
  return read.filter((bytes) => bytes !== undefined)
}

/** Returns the same as text, one character per byte. */
export async function textsBelow(folder: string): Promise<string[]> {
  return (await filesBelow(folder)).map((bytes) => bytes.toString('latin1'))
}

function gone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

/**
 * Creates a folder for the test, with this content. It is removed after all other teardowns of the test: tap removes a
 * folder before them if it was requested first, and running code would still write into it.
 */
export function testFolder(
  t: Pick<Test, 'testdir'> & { teardown(work: () => unknown): unknown },
  content?: Parameters<Test['testdir']>[0],
): string {
  t.teardown(() => undefined)
  return t.testdir(content)
}
