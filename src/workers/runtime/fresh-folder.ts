import { createHash } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** Paths of unix sockets have at most 107 bytes. */
const MAX_PARENT = 40

/**
 * Creates the folder for sockets and configurations of processes, outside of the data folder because its path must be
 * short. Deletes the folders of killed daemons with the same data folder, because configurations contain secrets.
 */
export async function freshFolder(data: string): Promise<string> {
  const parent = tmpdir().length > MAX_PARENT ? '/tmp' : tmpdir()
  const prefix = `edged-${createHash('sha256').update(resolve(data)).digest('hex').slice(0, 8)}-`
  const old = (await readdir(parent)).filter((name) => name.startsWith(prefix))
  // Folders of other users cannot be deleted.
  await Promise.allSettled(old.map(async (name) => await rm(join(parent, name), { recursive: true, force: true })))
  return await mkdtemp(join(parent, prefix))
}
