import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Redis } from 'ioredis'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { migrateRows, migrationNames, SCHEMA } from '../migrations/index.js'
import type { Row } from '../records/record.js'
import { RedisUnreachable } from './connection.js'
import { loadAll, scannedKeys } from './load.js'
import {
  CHANGES,
  LOCKED,
  META,
  MIGRATION,
  PREPARED_PATTERN,
  preparedKey,
  preparedName,
  RESTORING,
  rowKey,
} from './script.js'

/** After this time without renewal, another machine takes over a migration. */
const LOCK_MS = 15_000
const BATCH = 256
const BATCH_BYTES = 2 ** 20

export interface RedisMigrationDeps {
  readonly log: Log
  /** Copies all data before the migration. Resolves with the path of the copy after it is durable. */
  readonly copy: (schema: number, version: number, rows: ReadonlyMap<string, Row>) => Promise<string>
}

type Command = readonly [name: string, keys: readonly string[], ...args: string[]]

/**
 * Brings the data of a Redis to the current schema if it has an older one. Rejects with {@link RedisUnreachable} while
 * another machine does that. A crash at any point is repaired by the next start of any machine.
 *
 * 1. `meta` gets the new schema and a new epoch. Machines of an older version write nothing from now on.
 * 2. The data is copied, and the new form of each record is prepared beside the old one.
 * 3. After a mark in `meta` that all are prepared, each takes the place of the old one.
 * 4. `meta` loses its marks, and gets another epoch.
 */
export async function migrateRedis(redis: Redis, deps: RedisMigrationDeps): Promise<void> {
  const wanted = async (): Promise<boolean> => {
    const [schema, migrating] = await redis.hmget(META, 'schema', 'migrating')
    if (schema === null || schema === undefined || schema === RESTORING) return false
    return Number(schema) < SCHEMA || (Number(schema) === SCHEMA && migrating !== null)
  }
  if (!(await wanted())) return
  const self = `${hostname()} (process ${process.pid}, ${randomBytes(4).toString('hex')})`
  if ((await redis.set(MIGRATION, self, 'PX', LOCK_MS, 'NX')) === null) {
    const other = await redis.get(MIGRATION)
    throw new RedisUnreachable(`its data is being migrated by ${other ?? 'another machine'}; this machine waits`)
  }
  const lock = new MigrationLock(redis, self)
  try {
    // Another machine may have finished between the two.
    while (await wanted()) await step(redis, lock, deps)
  } finally {
    await lock.release()
  }
}

/** Commands that run only while this machine has the lock. */
class MigrationLock {
  readonly #redis: Redis
  readonly #self: string
  readonly #timer: NodeJS.Timeout

  constructor(redis: Redis, self: string) {
    this.#redis = redis
    this.#self = self
    // If that fails, the next command fails too.
    const renew = () => void this.run([['PEXPIRE', [MIGRATION], String(LOCK_MS)]]).catch(() => undefined)
    this.#timer = setInterval(renew, LOCK_MS / 5)
  }

  async run(commands: readonly Command[]): Promise<void> {
    const keys = commands.flatMap(([, keys]) => keys)
    const json = JSON.stringify(commands.map(([name, keys, ...args]) => [name, keys.length, ...args]))
    await this.#redis.eval(LOCKED, 1 + keys.length, MIGRATION, ...keys, this.#self, json)
  }

  /** Runs commands in batches of bounded size. */
  async runAll(commands: Iterable<readonly Command[]>): Promise<void> {
    let batch: Command[] = []
    let bytes = 0
    for (const some of commands) {
      batch.push(...some)
      bytes += some.reduce((sum, [, , ...args]) => sum + args.reduce((size, arg) => size + arg.length, 0), 0)
      if (batch.length < BATCH && bytes < BATCH_BYTES) continue
      await this.run(batch)
      batch = []
      bytes = 0
    }
    if (batch.length > 0) await this.run(batch)
  }

  async release(): Promise<void> {
    clearInterval(this.#timer)
    await this.run([['DEL', [MIGRATION]]]).catch(() => undefined)
  }
}

const newEpoch = (): string => randomBytes(8).toString('hex')

/** Continues from the state of the data until it has the schema that this or an interrupted migration leads to. */
async function step(redis: Redis, lock: MigrationLock, { log, copy }: RedisMigrationDeps): Promise<void> {
  const [schema = null, migrating = null, moving = null] = await redis.hmget(META, 'schema', 'migrating', 'moving')
  const from = Number(migrating ?? schema)
  if (moving === null) {
    log.info({ event: 'store_migrating', from, to: SCHEMA, migrations: migrationNames(from) })
    await lock.run([['HSET', [META], 'schema', String(SCHEMA), 'migrating', String(from), 'epoch', newEpoch()]])
    const leftOver = await scannedKeys(redis, PREPARED_PATTERN)
    await lock.runAll(leftOver.map((key) => [['UNLINK', [key]]]))
    const { version, rows } = await loadAll(redis)
    const path = await copy(from, version, rows).catch((cause: unknown) => {
      throw new Error(`its data cannot be copied before its migration: ${messageOf(cause)}`, { cause })
    })
    log.info({ event: 'store_copied', schema: from, copy: path })
    const { removed, added } = migrateRows(rows.values(), from, version + 1)
    await lock.runAll(removed.map(({ name }) => [['HSET', [preparedKey(name)], 'd', '1']]))
    await lock.runAll(added.map((row) => prepared(row)))
    await lock.run([
      ['HSET', [META], 'moving', '1'],
      ['HINCRBY', [META], 'version', '1'],
      ['DEL', [CHANGES]],
    ])
  }

  const keys = await scannedKeys(redis, PREPARED_PATTERN)
  for (let first = 0; first < keys.length; first += BATCH) {
    const some = keys.slice(first, first + BATCH)
    const reads = redis.pipeline()
    for (const key of some) reads.hexists(key, 'd')
    const isRemoved = ((await reads.exec()) ?? []).map(([error, found]) => {
      if (error) throw error
      return found === 1
    })
    await lock.run(some.flatMap((key, index) => moved(key, isRemoved[index]!)))
  }
  await lock.run([
    ['HSET', [META], 'epoch', newEpoch()],
    ['HDEL', [META], 'migrating', 'moving'],
  ])
  log.info({ event: 'store_migrated', from, to: Number(schema), records: keys.length })
}

/** A record that is replaced has been prepared for its removal before. */
function prepared({ name, version, json }: Row): Command[] {
  const key = preparedKey(name)
  return [
    ['DEL', [key]],
    ['HSET', [key], 'v', String(version), 'j', json],
  ]
}

function moved(key: string, isRemoved: boolean): Command[] {
  const row = rowKey(preparedName(key))
  return isRemoved
    ? [
        ['DEL', [row]],
        ['DEL', [key]],
      ]
    : [['RENAME', [key, row]]]
}
