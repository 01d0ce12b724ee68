import { randomBytes, randomUUID } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import type { Socket } from 'node:net'
import { Redis, type RedisOptions } from 'ioredis'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { CLUSTER_PREFIX, findOwner, ownerConnector } from './owner.js'
import { SCHEMA, tooNew } from '../migrations/index.js'
import { AUDIT, BEGIN, CHANGES, COMMIT, META, RESTORING } from './script.js'
import { redisTarget } from './url.js'

/** Options of every connection to Redis. */
const OPTIONS: RedisOptions = {
  lazyConnect: true,
  connectTimeout: 5000,
  // A server that accepts connections but does not respond counts as unreachable.
  commandTimeout: 5000,
  keepAlive: 10_000,
  // Nothing is queued. A write fails immediately while Redis is unreachable, and its caller decides.
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: (tries) => Math.min(50 * 2 ** Math.min(tries, 6), 2000),
}

/** Time to connect before a start or a command gives up. Sentinels and nodes are asked again until then. */
const CONNECT_MS = 10_000

/** Creates a connection to the Redis of a URL, not connected yet. It restores itself, and looks for the master again. */
export function redisConnection(url: string, more: RedisOptions = {}): Redis {
  const target = redisTarget(url)
  const { type, hosts, db, username, password, tls } = target
  const redis: Redis = new Redis({
    ...OPTIONS,
    db,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls }),
    ...(type === 'single' ? hosts[0]! : { Connector: ownerConnector(target, (error) => redis.emit('error', error)) }),
    ...(type === 'cluster' && { keyPrefix: CLUSTER_PREFIX }),
    ...more,
  })
  // Each failed command rejects separately.
  redis.on('error', () => undefined)
  return redis
}

/** Connects. Rejects if that takes too long. The connection attempt continues in the background. */
export async function connectRedis(redis: Redis): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no server was found within ${CONNECT_MS / 1000} s`)), CONNECT_MS)
  })
  try {
    await Promise.race([redis.connect(), late])
  } finally {
    clearTimeout(timer)
  }
}

/** The two connections of a store. One waits for changes, and one is for everything else. */
export interface Link {
  readonly redis: Redis
  readonly follower: Redis
  /** Host and port, for messages. Never the password. */
  readonly where: string
  /** Another server may take over, with what its replication has got. */
  readonly failsOver: boolean
  /** Resolves with whether another server took over from the one that `redis` is connected to. */
  readonly isReplaced: () => Promise<boolean>
}

/** Redis does not respond now, but may later. */
export class RedisUnreachable extends Error {
  override readonly name = 'RedisUnreachable'
}

/** Redis responds, but its data cannot be used in this state. */
export class RedisUnusable extends Error {
  override readonly name = 'RedisUnusable'
}

/** All records of users are missing in Redis, and nobody has accepted the loss. */
export class RedisEmptied extends RedisUnusable {
  constructor() {
    super(
      'all records in it are gone, and this machine had some; restore a backup into it, or, if that is intended, start with ' +
        'edged serve --accept-empty-store',
    )
  }
}

/**
 * Connects to Redis. Rejects with a message that names host and port if it is not usable, with {@link RedisUnreachable}
 * if it does not respond.
 */
export async function openLink(url: string, log: Log): Promise<Link> {
  const target = redisTarget(url)
  const { where } = target
  const failsOver = target.type !== 'single'
  const redis = redisConnection(url)
  const follower = redisConnection(url)
  let issue: unknown
  for (const connection of [redis, follower]) connection.on('error', (error) => (issue = error))
  try {
    // As with one server, which is asked once. The caller decides how to continue.
    if (failsOver && !(await findOwner(target, target.hosts, (error) => (issue = error))))
      throw new Error('no server was found')
    await connectRedis(redis)
    await connectRedis(follower)
    await warnOfLoss(redis, log)
    const isReplaced = async (): Promise<boolean> => {
      const found = failsOver ? await findOwner(target) : undefined
      const { remoteAddress, remotePort } = (redis as unknown as { readonly stream?: Socket }).stream ?? {}
      if (!found || remoteAddress === undefined) return false
      const addresses = await lookup(found.owner.host, { all: true })
      return remotePort !== found.owner.port || !addresses.some(({ address }) => address === remoteAddress)
    }
    return { redis, follower, where, failsOver, isReplaced }
  } catch (error) {
    redis.disconnect()
    follower.disconnect()
    const message = `${where} cannot be used: ${messageOf(issue ?? error)}`
    if (isRefusal(issue ?? error)) throw new Error(message, { cause: error })
    throw new RedisUnreachable(message, { cause: error })
  }
}

/** Errors of a server that is not the one to ask, or not ready. Another server, or the same one, responds later. */
const ELSEWHERE = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|READONLY|MASTERDOWN|LOADING|UNBLOCKED)\b/

/** Returns whether Redis itself returned this error, such as MISCONF or OOM. False if another attempt may succeed. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ReplyError' && !ELSEWHERE.test(error.message)

/** Returns the identity of the data. It differs if Redis was restarted or replaced, or all data was deleted. */
export async function identity(redis: Redis): Promise<{ run: string; epoch: string }> {
  const began = await redis.eval(BEGIN, 2, META, CHANGES, randomBytes(8).toString('hex'))
  const [schema, epoch, migrating] = began as [string, string, string | null]
  if (schema === RESTORING)
    throw new RedisUnusable(
      'a backup was not restored completely; delete its keys edged:* and restore the backup again',
    )
  if (Number(schema) > SCHEMA) throw new RedisUnusable(`its data ${tooNew(schema)}`)
  if (Number(schema) < SCHEMA || migrating !== null)
    throw new RedisUnreachable(`its data has schema ${migrating ?? schema} and waits for its migration`)
  // If INFO is not allowed, every connection counts as another server.
  const server = await redis.info('server').catch(() => '')
  return { run: /^run_id:(\w+)/m.exec(server)?.[1] ?? randomUUID(), epoch }
}

type CommitReply = [outcome: string, ...number[]]

/** Runs COMMIT, which a server may have dropped from its script cache. */
export async function commit(
  redis: Redis,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<CommitReply> {
  const all = [META, CHANGES, AUDIT, ...keys]
  try {
    return (await redis.evalsha(COMMIT.sha, all.length, ...all, ...args)) as CommitReply
  } catch (error) {
    if (!messageOf(error).startsWith('NOSCRIPT')) throw error
    return (await redis.eval(COMMIT.lua, all.length, ...all, ...args)) as CommitReply
  }
}

/** Time for a replica to confirm a write. */
const REPLICA_MS = 500

/** Waits until a replica has all writes of this connection. `alone` means that the master has no replica. */
export async function replicated(redis: Redis): Promise<'yes' | 'no' | 'alone'> {
  if ((await redis.wait(1, REPLICA_MS)) > 0) return 'yes'
  return /^connected_slaves:0\r?$/m.test(await redis.info('replication')) ? 'alone' : 'no'
}

/** A setting of Redis that may lose confirmed data. */
export interface RiskySetting {
  readonly setting: string
  readonly wanted: string
  /** Undefined if it cannot be read. */
  readonly found: string | undefined
  /** The possible loss, or why the setting cannot be read. */
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
