import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import type { ClassicLevel } from 'classic-level'
import { messageOf } from '../../../src/core/errors.js'
import type { Log } from '../../../src/core/log.js'
import { makeFolder, syncFolder, writeDurably, type Disk } from '../../../src/disk/durable-write.js'
import { cursorBatches } from './migration-002-cursor-batches.js'
import type { SpoolMigration } from './migration.js'

/** All migrations in order. The first one leads to format 2. */
const MIGRATIONS: readonly SpoolMigration[] = [cursorBatches]

/** Version of the layout of segments and cursors. A spool of a newer one is rejected. */
export const FORMAT = 1 + MIGRATIONS.length

const FORMAT_KEY = 'format'
/** In the database of the lock once the copy is complete, until the migration is. */
const COPIED_KEY = 'copied'

export interface SpoolFolder {
  readonly disk: Disk
  /** Folder of all spools. */
  readonly folder: string
  /** Folder below it with a folder per scope, with a folder per spool each. */
  readonly scopes: string
  /** Database that is locked while a process uses the folder. */
  readonly lock: ClassicLevel
  /** Copies the database of the lock. */
  readonly copyLock: (folder: string) => Promise<void>
  readonly log: Log
}

/** Returns the format that a lock names. */
export async function formatIn(lock: ClassicLevel): Promise<number> {
  // Versions before the format had a number have written format 1.
  return Number((await lock.get(FORMAT_KEY)) ?? 1)
}

/** Returns the format of a spool. Throws if a newer version has written it. */
export function readable(format: number): number {
  if (format <= FORMAT) return format
  throw new Error(
    `the log spool was written by a newer edged (format ${format}, not ${FORMAT}); start that version, or set data to another folder`,
  )
}

/** Returns the operation that notes the format in the database of the lock. */
export const formatEntry = (format: number) => ({ type: 'put', key: FORMAT_KEY, value: String(format) }) as const

/**
 * Converts all spools of a folder to the current format. Copies them to `spool.format-N` next to the folder, then
 * converts them one by one. After a crash the next start repeats an incomplete copy or continues the conversion.
 */
export async function migrateSpools(from: number, spools: SpoolFolder): Promise<void> {
  if (from === FORMAT) return
  const { disk, folder, scopes, lock, log } = spools
  const steps = MIGRATIONS.slice(from - 1)
  const copy = `${folder}.format-${from}`
  log.info({ event: 'spool_migrating', from, to: FORMAT, migrations: steps.map(({ name }) => name) })
  if ((await lock.get(COPIED_KEY)) === undefined) {
    await copySpools(spools, copy).catch((cause: unknown) => {
      throw new Error(`the log spool cannot be copied to ${copy} before its migration: ${messageOf(cause)}`, { cause })
    })
    await lock.put(COPIED_KEY, String(from), { sync: true })
  }
  for (const scope of await disk.readdir(scopes))
    for (const dataset of await disk.readdir(join(scopes, scope)))
      for (const { convert } of steps) await convert(disk, join(scopes, scope, dataset))
  await lock.batch([formatEntry(FORMAT), { type: 'del', key: COPIED_KEY }], { sync: true })
  log.info({ event: 'spool_migrated', from, to: FORMAT, copy })
}

/** Copies all spools. Segments that nothing is appended to become hard links, so the copy needs little space. */
async function copySpools({ disk, scopes, copyLock }: SpoolFolder, copy: string): Promise<void> {
  const unfinished = `${copy}.new`
  await disk.rm(unfinished, { recursive: true, force: true })
  await copyFolder(disk, scopes, await makeFolder(disk, join(unfinished, 'scopes')))
  await copyLock(join(unfinished, 'lock'))
  await disk.rm(copy, { recursive: true, force: true })
  await disk.rename(unfinished, copy)
  await syncFolder(disk, join(copy, '..'))
}

async function copyFolder(disk: Disk, from: string, to: string): Promise<void> {
  const names = (await disk.readdir(from)).sort()
  const last = names.findLast((name) => name.endsWith('.seg'))
  for (const name of names) {
    const path = join(from, name)
    if ((await disk.stat(path)).isDirectory()) await copyFolder(disk, path, await makeFolder(disk, join(to, name)))
    else if (name.endsWith('.seg') && name !== last) await fs.link(path, join(to, name))
    else {
      const file = await disk.open(path)
      try {
        await writeDurably(disk, join(to, name), file.createReadStream({ autoClose: false }))
      } finally {
        await file.close()
      }
    }
  }
  await syncFolder(disk, to)
}
