import { randomBytes } from 'node:crypto'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Another process runs with the same state. */
export class StateInUse extends Error {
  override readonly name = 'StateInUse'
}

const LOCK = 'lock'

/**
 * Locks the folder of a run for this process. A lock of a process that does not exist any more is replaced. Rejects
 * with StateInUse if another run holds the lock. Returns a function that releases it.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, LOCK)
  const mine = join(folder, `${LOCK}.${randomBytes(6).toString('hex')}`)
  const owner = `${process.pid} ${(await startOf(process.pid)) ?? ''} ${mine}`
  await writeFile(mine, owner, { mode: 0o600 })
  try {
    for (;;) {
      if (await isLinked(mine, path)) return async () => await release(path, owner)
      const other = await readFile(path, 'utf8').catch(() => '')
      if (other !== '' && (await isAlive(other)))
        throw new StateInUse(
          `${folder} is in use by another run (process ${Number.parseInt(other, 10)}); use --state for a second run`,
        )
      await removeStale(path, other)
    }
  } finally {
    await rm(mine, { force: true })
  }
}

async function isLinked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Removes a lock, unless another process has created it in the meantime. */
async function removeStale(path: string, stale: string): Promise<void> {
  const aside = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await rename(path, aside)
  } catch {
    return
  }
  if ((await readFile(aside, 'utf8')) !== stale) await isLinked(aside, path)
  await rm(aside, { force: true })
}

async function release(path: string, owner: string): Promise<void> {
  if ((await readFile(path, 'utf8').catch(() => '')) === owner) await rm(path, { force: true })
}

async function isAlive(owner: string): Promise<boolean> {
  const [id = '', start = ''] = owner.split(' ')
  const pid = Number(id)
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  // Process ids are used again, for example after a restart of the machine.
  const now = await startOf(pid)
  return now === undefined || start === '' || now === start
}

/** Returns the start time of a process, in clock ticks since the boot. Undefined if the system does not report one. */
async function startOf(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The name of the program, in parentheses, may contain spaces.
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')[19]
}
