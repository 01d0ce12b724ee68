import { join } from 'node:path'
import type { Blobs } from '../core/blobs.js'
import type { Clock } from '../core/clock.js'
import type { Closable } from '../core/closing-stack.js'
import { fileBlobs } from './file-blobs.js'
import { memoryBlobs } from './memory-blobs.js'

/** Timeout for commands on blobs, which are slower than on records: a transaction of 64 MB is one command. */
const COMMAND_TIMEOUT = 60_000

/**
 * Opens the blobs of the store with this URL: files in `blobs` below the folder, Redis on a separate connection, or
 * memory. While Redis is unreachable, all operations reject.
 */
export async function openBlobs(
  url: string,
  { folder, clock }: { readonly folder: string; readonly clock: Clock },
): Promise<Blobs & Closable> {
  if (url === 'memory') return { ...memoryBlobs(clock), close() {} }
  if (!url.startsWith('redis')) return { ...fileBlobs(join(folder, 'blobs'), clock), close() {} }
  // Proxy processes start faster without the Redis client.
  const [{ redisBlobs }, { connectRedis, redisConnection }] = await Promise.all([
    import('./redis-blobs.js'),
    import('./redis-connection.js'),
  ])
  const redis = redisConnection(url, { commandTimeout: COMMAND_TIMEOUT })
  await connectRedis(redis).catch(() => undefined)
  return { ...redisBlobs(redis, clock), close: () => redis.disconnect() }
}
