import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import type { Blobs } from '../../core/blobs.js'
import { AgeClock } from '../../core/age-clock.js'
import type { Clock } from '../../core/clock.js'
import { KeyedMutex } from '../../core/keyed-mutex.js'
import { blobName, intact, isBlobName } from './blob-name.js'
import { makeFolder, TEMPORARY, writeDurably, type Disk } from '../../disk/durable-write.js'
import type { WriteHealth } from '../../disk/write-health.js'

export interface FileBlobsOptions {
  readonly disk?: Disk
  /** Receives the results of writes. */
  readonly health?: WriteHealth
}

/** Creates a blob store of files, in folders by the first two digits of their names. */
export function fileBlobs(folder: string, clock: Clock, { disk = fs, health }: FileBlobsOptions = {}): Blobs {
  const shardOf = (name: string) => join(folder, name.slice(0, 2))
  /** Ensures that a blob that is put again during its removal exists afterwards. */
  const turns = new KeyedMutex()
  const ages = new AgeClock(clock)

  async function write(name: string, bytes: Uint8Array): Promise<void> {
    try {
      await writeDurably(disk, join(await makeFolder(disk, shardOf(name)), name), bytes)
    } catch (error) {
      health?.failed(folder, error)
      throw error
    }
    health?.worked(folder)
  }

  /** Removes a file if it is older. Returns whether it did. */
  async function clear(path: string, olderThanMs: number): Promise<boolean> {
    const found = await disk.stat(path).catch(noneWhenMissing)
    if (!found || ages.now() - found.mtimeMs <= olderThanMs) return false
    await disk.rm(path, { force: true })
    return true
  }

  return {
    async put(bytes) {
      const name = blobName(bytes)
      await turns.run(name, async () => await write(name, bytes))
      return name
    },

    async get(name) {
      if (!isBlobName(name)) return undefined
      const bytes = await fs.readFile(join(shardOf(name), name)).catch(noneWhenMissing)
      return bytes && intact(name, bytes)
    },

    async collect(referenced, olderThanMs) {
      let gone = 0
      const files = await disk.readdir(folder, { recursive: true, withFileTypes: true }).catch(noneWhenMissing)
      for (const file of files ?? []) {
        const unfinished = file.name.endsWith(TEMPORARY)
        if (!file.isFile() || !(unfinished || isBlobName(file.name)) || referenced.has(file.name)) continue
        const path = join(file.parentPath, file.name)
        const cleared = await turns.run(file.name, async () => await clear(path, olderThanMs))
        if (cleared && !unfinished) gone += 1
      }
      return gone
    },
  }
}

function noneWhenMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
