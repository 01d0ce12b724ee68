import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Blobs } from '../core/blobs.js'
import type { Clock } from '../core/clock.js'
import { blobName, intact, isBlobName } from './blob-name.js'
import { syncFolder, TEMPORARY, writeDurably } from './durable-file.js'

/** Blobs as files, in folders by the first two digits of their names. */
export function fileBlobs(folder: string, clock: Clock): Blobs {
  const shardOf = (name: string) => join(folder, name.slice(0, 2))

  return {
    async put(bytes) {
      const name = blobName(bytes)
      const made = await mkdir(shardOf(name), { recursive: true, mode: 0o700 })
      if (made !== undefined) await syncFolder(folder)
      await writeDurably(join(shardOf(name), name), bytes)
      return name
    },

    async get(name) {
      if (!isBlobName(name)) return undefined
      const bytes = await readFile(join(shardOf(name), name)).catch(noneWhenMissing)
      return bytes && intact(name, bytes)
    },

    async collect(referenced, olderThanMs) {
      let gone = 0
      const files = await readdir(folder, { recursive: true, withFileTypes: true }).catch(noneWhenMissing)
      for (const file of files ?? []) {
        const unfinished = file.name.endsWith(TEMPORARY)
        if (!file.isFile() || !(unfinished || isBlobName(file.name)) || referenced.has(file.name)) continue
        const path = join(file.parentPath, file.name)
        const found = await stat(path).catch(noneWhenMissing)
        if (!found || clock.now() - found.mtimeMs <= olderThanMs) continue
        await rm(path, { force: true })
        if (!unfinished) gone += 1
      }
      return gone
    },
  }
}

function noneWhenMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
