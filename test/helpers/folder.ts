import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'

/**
 * The bytes of all files below a folder that a running daemon writes to, in the order of their paths. A file that goes
 * while the folder is read is left out, as is one that is still being written (`.NAME.tmp`).
 */
export async function filesBelow(folder: string): Promise<Buffer[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = found
    .filter((entry) => entry.isFile() && !/^\..*\.tmp$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
  const read = await Promise.all(paths.sort().map(async (path) => await readFile(path).catch(gone)))
  return read.filter((bytes) => bytes !== undefined)
}

/** The same as text, a character for each byte. */
export async function textsBelow(folder: string): Promise<string[]> {
  return (await filesBelow(folder)).map((bytes) => bytes.toString('latin1'))
}

function gone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

/**
 * A folder of the test's own, with this content. It goes after everything that the test tears down: tap removes a folder
 * before that where it was asked for first, and what still runs would write into it meanwhile.
 */
export function testFolder(t: Test, content?: Parameters<Test['testdir']>[0]): string {
  t.teardown(() => undefined)
  return t.testdir(content)
}
