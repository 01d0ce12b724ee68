import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { Blobs } from '../core/blobs.js'
import type { Clock } from '../core/clock.js'
import type { Closable } from '../core/closing-stack.js'
import { fileBlobs } from './file-blobs.js'
import { memoryBlobs } from './memory-blobs.js'
import { redisBlobs } from './redis-blobs.js'
import { OPTIONS } from './redis-connection.js'

/** Blobs take longer than records: a transaction of 64 MB is one command. */
const COMMAND_TIMEOUT = 60_000

/**
 * Opens the blobs that go with the store of this URL: files in `blobs` below the folder, Redis on a connection of its own,
 * or memory. Where Redis is away, what is asked of them rejects until it is back.
 */
export async function openBlobs(
  url: string,
  { folder, clock }: { readonly folder: string; readonly clock: Clock },
): Promise<Blobs & Closable> {
  if (url === 'memory') return { ...memoryBlobs(clock), close() {} }
  if (!/^rediss?:/.test(url)) return { ...fileBlobs(join(folder, 'blobs'), clock), close() {} }
  const redis = new Redis(url, { ...OPTIONS, commandTimeout: COMMAND_TIMEOUT })
  // Each failed command rejects by itself; the connection comes back by itself.
  redis.on('error', () => undefined)
  await redis.connect().catch(() => undefined)
  return { ...redisBlobs(redis, clock), close: () => redis.disconnect() }
}
