import { randomBytes, randomUUID } from 'node:crypto'
import { Redis, type RedisOptions } from 'ioredis'
import { messageOf } from '../core/errors.js'
import type { Log } from '../core/log.js'
import { AUDIT, BEGIN, CHANGES, COMMIT, META, RESTORING, SCHEMA } from './redis-script.js'

/** Options of every connection to Redis. */
export const OPTIONS: RedisOptions = {
  lazyConnect: true,
  connectTimeout: 5000,
  // A server that accepts connections but does not respond counts as unreachable.
  commandTimeout: 5000,
  keepAlive: 10_000,
  // Nothing is queued: a write fails immediately while Redis is unreachable, and its caller decides.
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: (tries) => Math.min(50 * 2 ** Math.min(tries, 6), 2000),
}

/** The two connections of a store: one that waits for changes, one for everything else. */
export interface Link {
  readonly redis: Redis
  readonly follower: Redis
  /** Host and port, for messages; never the password. */
  readonly where: string
}

/** Connects to Redis. Rejects with a message that names host and port if it is unreachable or not usable. */
export async function openLink(url: string, log: Log): Promise<Link> {
  const { host } = new URL(url)
  const where = `Redis at ${host}`
  const redis = new Redis(url, OPTIONS)
  const follower = new Redis(url, OPTIONS)
  let fault: unknown
  for (const connection of [redis, follower]) connection.on('error', (error) => (fault = error))
  try {
    await redis.connect()
    await follower.connect()
    await warnOfLoss(redis, log)
    return { redis, follower, where }
  } catch (error) {
    redis.disconnect()
    follower.disconnect()
    throw new Error(`${where} cannot be used: ${messageOf(fault ?? error)}`, { cause: error })
  }
}

/** Returns the identity of the data. It differs if Redis was restarted or replaced, or all data was deleted. */
export async function identity(redis: Redis): Promise<{ run: string; epoch: string }> {
  const began = await redis.eval(BEGIN, 2, META, CHANGES, randomBytes(8).toString('hex'))
  const [schema, epoch] = began as [string, string]
  if (schema === RESTORING)
    throw new Error('a backup was not restored completely; delete its keys edged:* and restore the backup again')
  if (Number(schema) > SCHEMA)
    throw new Error(`its data was written by a newer edged (schema ${schema}, not ${SCHEMA})`)
  // If INFO is not allowed, every connection counts as another server.
  const server = await redis.info('server').catch(() => '')
  return { run: /^run_id:(\w+)/m.exec(server)?.[1] ?? randomUUID(), epoch }
}

/** Runs COMMIT, which a server may have dropped from its script cache. */
export async function commit(redis: Redis, keys: readonly string[], args: readonly (string | number)[]) {
  const all = [META, CHANGES, AUDIT, ...keys]
  try {
    return (await redis.evalsha(COMMIT.sha, all.length, ...all, ...args)) as [string, ...number[]]
  } catch (error) {
    if (!messageOf(error).startsWith('NOSCRIPT')) throw error
    return (await redis.eval(COMMIT.lua, all.length, ...all, ...args)) as [string, ...number[]]
  }
}

/** A setting of Redis that may lose confirmed data. */
export interface RiskySetting {
  readonly setting: string
  readonly wanted: string
  /** Undefined if it cannot be read. */
  readonly found: string | undefined
  /** What can happen, or why the setting cannot be read. */
  readonly risk: string
}

const SAFE_SETTINGS: readonly (readonly [setting: string, wanted: string, risk: string])[] = [
  ['appendonly', 'yes', 'a restart of Redis loses what was written since its last snapshot'],
  ['appendfsync', 'always', 'a crash of its machine loses up to a second of confirmed writes'],
  ['maxmemory-policy', 'noeviction', 'Redis may drop records when its memory is full'],
]

/** Returns the settings of Redis that may lose confirmed data. */
export async function riskySettings(redis: Redis): Promise<RiskySetting[]> {
  const risky: RiskySetting[] = []
  for (const [setting, wanted, risk] of SAFE_SETTINGS) {
    try {
      const [, found] = (await redis.config('GET', setting)) as [string, string]
      if (found !== wanted) risky.push({ setting, wanted, found, risk })
    } catch (error) {
      risky.push({ setting, wanted, found: undefined, risk: messageOf(error) })
    }
  }
  return risky
}

async function warnOfLoss(redis: Redis, log: Log): Promise<void> {
  for (const { setting, wanted, found, risk } of await riskySettings(redis)) {
    if (found === undefined) log.warn({ event: 'redis_setting_unknown', setting, wanted, error: risk })
    else log.warn({ event: 'redis_may_lose', setting, found, wanted, otherwise: risk })
  }
}
