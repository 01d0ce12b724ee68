import { join } from 'node:path'
import type { Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { redisServer, type RedisServer } from '../helpers/redis.js'
import { startDaemon, type Daemon } from './daemon.js'

/** Starts two daemons with one Redis. `configOf` returns their configuration with the options that they share. */
export async function startOnRedis(
  t: Test,
  configOf: (shared: object) => object,
): Promise<{ redis: RedisServer; one: Daemon; two: Daemon }> {
  const folder = testFolder(t, { redis: {}, one: {}, two: {} })
  const redis = await redisServer(join(folder, 'redis'))
  t.teardown(async () => await redis.kill())
  const config = configOf({ store: redis.url, secrets: { key: 'ab'.repeat(32) } })
  const [one, two] = await Promise.all([
    startDaemon(t, config, join(folder, 'one')),
    startDaemon(t, config, join(folder, 'two')),
  ])
  return { redis, one, two }
}
