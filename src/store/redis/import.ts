import { randomBytes } from 'node:crypto'
import type { Backup } from '../backup/read.js'
import { openLink } from './connection.js'
import { SCHEMA } from '../migrations/index.js'
import { AUDIT, META, RESTORING, rowKey } from './script.js'
import { silentLog } from '../../core/log.js'

const BATCH = 256

/** Writes a backup into an empty Redis. Until it is complete, no daemon starts with it. */
export async function importRedis(url: string, backup: Backup, first: () => Promise<void>): Promise<void> {
  const { redis, follower, where } = await openLink(url, silentLog)
  try {
    let cursor = '0'
    do {
      const [next, keys] = await redis.scan(cursor, 'MATCH', `${redis.options.keyPrefix ?? ''}edged:*`, 'COUNT', 1000)
      // A daemon that waits for its records may have made the first key.
      if (keys.some((key) => !key.endsWith(META)))
        throw new Error(
          `${where} has data of edged already; restore into an empty database, or delete its keys edged:*`,
        )
      cursor = next
    } while (cursor !== '0')
    await redis.hset(META, 'schema', RESTORING, 'epoch', randomBytes(8).toString('hex'))
    await first()

    let pipeline = redis.pipeline()
    const flush = async (): Promise<void> => {
      for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error
      pipeline = redis.pipeline()
    }
    for await (const { name, version, json } of backup.rows()) {
      pipeline.hset(rowKey(name), 'v', version, 'j', json)
      if (pipeline.length >= BATCH) await flush()
    }
    // Ids begin with the time of an entry, by which entries that are too old are found.
    let id: [ms: number, sequence: number] = [0, 0]
    for await (const { entry } of backup.audit()) {
      const ms = Math.max(Date.parse(entry.at) || 0, id[0])
      id = [ms, ms === id[0] ? id[1] + 1 : 0]
      pipeline.xadd(AUDIT, id.join('-'), 'e', JSON.stringify(entry))
      if (pipeline.length >= BATCH) await flush()
    }
    await flush()
    await redis.hset(META, 'schema', SCHEMA, 'version', backup.manifest.version)
  } finally {
    redis.disconnect()
    follower.disconnect()
  }
}
