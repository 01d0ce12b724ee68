import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import { hasData } from './emptied.js'
import type { Row } from '../records/record.js'
import { RedisUnreachable } from './connection.js'
import { loadAll } from './load.js'
import { CHANGES, META, REFILL, rowKey } from './script.js'

/** Other machines wait this long for a machine that stopped while holding the lock. */
const LOCK_MS = 60_000

/**
 * Writes the records that this machine has in memory into a Redis that lost all records, in one transaction with
 * another epoch, so that machines see either no record or all records. One machine does it, and the others reject with
 * {@link RedisUnreachable} and find the records later. `version` is the version of the last batch in memory. Returns
 * false if the records are there already.
 */
export async function refillRedis(redis: Redis, rows: Iterable<Row>, version: number): Promise<boolean> {
  if ((await redis.set(REFILL, 'busy', 'PX', LOCK_MS, 'NX')) === null)
    throw new RedisUnreachable('another machine writes its records into it again; this machine waits')
  try {
    // Another machine may have finished between the two.
    if (hasData((await loadAll(redis)).rows.values())) return false
    const transaction = redis.multi()
    for (const row of rows) transaction.hset(rowKey(row.name), 'v', row.version, 'j', row.json)
    transaction.hset(META, 'epoch', randomBytes(8).toString('hex'), 'version', version)
    transaction.del(CHANGES)
    for (const [error] of (await transaction.exec()) ?? []) if (error) throw error
    return true
  } finally {
    await redis.del(REFILL).catch(() => undefined)
  }
}
