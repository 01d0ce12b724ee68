import type { Blobs } from '../../core/blobs.js'
import type { Clock } from '../../core/clock.js'
import type { Closable } from '../../core/closing-stack.js'
import { redisBlobs } from './blobs.js'
import { connectRedis, redisConnection } from './connection.js'

/** Timeout for commands on blobs, which are slower than on records, because a transaction of 64 MB is one command. */
const COMMAND_TIMEOUT = 60_000

/** Opens the blobs in Redis on a separate connection. While Redis is unreachable, all operations reject. */
export async function openRedisBlobs(url: string, clock: Clock): Promise<Blobs & Closable> {
  const redis = redisConnection(url, { commandTimeout: COMMAND_TIMEOUT })
  await connectRedis(redis).catch(() => undefined)
  return { ...redisBlobs(redis, clock), close: () => redis.disconnect() }
}
