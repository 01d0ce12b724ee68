import { createReadStream } from 'node:fs'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { s3Files } from '../../../sinks/s3.js'
import type { SinkDeps } from '../../../sinks/contract/sink-type.js'
import { isBucket, type BackupConfig } from '../../config/backup.js'
import type { BatchBody } from '../../core/sink.js'
import { makeFolder, syncFolder } from '../../disk/durable-write.js'

const MAX_NAMES = 100_000
const PIECE_BYTES = 256 * 1024
/** Beginning of the names of files that are not complete. */
const PARTIAL = '.partial-'

/** Where scheduled backups are. */
export interface BackupPlace {
  /** Returns the names of files whose name begins with `prefix`. */
  list(prefix: string): Promise<string[]>
  /** Resolves with a path for a file that is then passed to {@link BackupPlace.store}. The folder exists. */
  draft(name: string): Promise<string>
  /** Stores a complete file under its name, durably and as a whole. The draft is gone afterwards. */
  store(draft: string, name: string): Promise<void>
  remove(name: string): Promise<void>
  close(): void
}

/** Opens the place that the configuration names. `drafts`: a folder for files that are sent elsewhere. */
export function openPlace(
  backup: Pick<BackupConfig, 'to'>,
  { drafts, signal, sinks }: { drafts: string; signal: AbortSignal; sinks: SinkDeps },
): BackupPlace {
  return isBucket(backup) ? bucketPlace(backup.to, drafts, { signal, sinks }) : folderPlace(backup.to)
}

function folderPlace(folder: string): BackupPlace {
  return {
    async list(prefix) {
      return (await namesIn(folder)).filter((name) => name.startsWith(prefix))
    },
    async draft(name) {
      await makeFolder(fs, folder)
      await removeDrafts(folder)
      return join(folder, PARTIAL + name)
    },
    async store(draft, name) {
      await fs.rename(draft, join(folder, name))
      await syncFolder(fs, folder)
    },
    async remove(name) {
      await fs.rm(join(folder, name), { force: true })
    },
    close() {},
  }
}

function bucketPlace(
  to: string,
  drafts: string,
  { signal, sinks }: { readonly signal: AbortSignal; readonly sinks: SinkDeps },
): BackupPlace {
  const { store, prefix: folder } = s3Files(new URL(to), sinks)
  return {
    async list(prefix) {
      const keys = await store.list(folder + prefix, MAX_NAMES, signal)
      return keys.map((key) => key.slice(folder.length))
    },
    async draft(name) {
      await makeFolder(fs, drafts)
      await removeDrafts(drafts)
      return join(drafts, PARTIAL + name)
    },
    async store(draft, name) {
      try {
        await store.upload(folder + name, fileBody(draft, (await fs.stat(draft)).size), 'application/x-tar', signal)
      } finally {
        await fs.rm(draft, { force: true })
      }
    },
    async remove(name) {
      await store.remove(folder + name, signal)
    },
    close: () => store.close(),
  }
}

const fileBody = (path: string, length: number): BatchBody => ({
  length,
  encoding: 'identity',
  read: () => createReadStream(path, { highWaterMark: PIECE_BYTES }),
  bytes: async () => await fs.readFile(path),
})

/** Removes files that an ended process has not completed. */
async function removeDrafts(folder: string): Promise<void> {
  for (const name of await namesIn(folder))
    if (name.startsWith(PARTIAL)) await fs.rm(join(folder, name), { force: true })
}

async function namesIn(folder: string): Promise<string[]> {
  return await fs.readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}
