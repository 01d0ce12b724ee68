import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import type { Blobs } from '../core/blobs.js'
import type { Clock } from '../core/clock.js'
import type { Closable } from '../core/closing-stack.js'
import type { Log } from '../core/log.js'
import { WriteHealth } from '../disk/write-health.js'
import { fileBlobs } from './blobs/file-blobs.js'
import { memoryBlobs } from './blobs/memory-blobs.js'

/** Blobs that have to be closed. */
export interface OpenBlobs extends Blobs, Closable {
  /** Why they cannot be written; undefined if they can, or if they are not on a disk of this machine. */
  readonly unavailable?: string | undefined
}

/**
 * Opens the blobs of the store with this URL. They are files in `blobs` below the folder, in Redis on a separate
 * connection, or in memory. While Redis is unreachable, all operations reject.
 */
export async function openBlobs(
  url: string,
  { folder, clock, log }: { readonly folder: string; readonly clock: Clock; readonly log: Log },
): Promise<OpenBlobs> {
  if (url === 'memory') return { ...memoryBlobs(clock), close() {} }
  if (!url.startsWith('redis')) {
    const health = new WriteHealth('the store of uploads and values', { disk: fs, clock, log })
    return {
      ...fileBlobs(join(folder, 'blobs'), clock, { health }),
      get unavailable() {
        return health.unavailable
      },
      close: async () => await health.close(),
    }
  }
  // Proxy processes start faster without the Redis client.
  const { openRedisBlobs } = await import('./redis/open-blobs.js')
  return await openRedisBlobs(url, clock)
}
