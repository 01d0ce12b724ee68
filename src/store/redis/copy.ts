import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { DAEMON } from '../../core/scope.js'
import type { Store } from '../../core/store.js'
import { makeFolder, writeDurably } from '../../disk/durable-write.js'
import { backupOf } from '../backup/write.js'
import { keyIdOf } from '../secrets/keyring.js'
import { openRedisBlobs } from './open-blobs.js'
import type { StoreOptions } from '../records/options.js'
import { recordName, type Row } from '../records/record.js'
import { redisBlobNames } from './blobs.js'

/** Data of a Redis that no machine changes. */
export interface FrozenData {
  readonly url: string
  readonly redis: Redis
  readonly schema: number
  readonly version: number
  readonly rows: ReadonlyMap<string, Row>
  readonly audit: Store['audit']
}

/**
 * Writes all data to `store.schema-N.tar` in the data folder, a backup without the secret key that `edged restore` of a
 * version with this schema reads. Returns its path.
 */
export async function copyRedis(data: FrozenData, { folder, clock }: StoreOptions): Promise<string> {
  const { url, redis, schema, version, rows, audit } = data
  const path = join(await makeFolder(fs, folder || '.'), `store.schema-${schema}.tar`)
  const names = await redisBlobNames(redis)
  const check = rows.get(recordName('vault_check', DAEMON, 'key'))?.stored.value as { sealed?: string } | undefined
  const blobs = await openRedisBlobs(url, clock)
  try {
    const archive = backupOf({
      store: {
        audit,
        batch: async () => version,
        *records() {
          for (const row of rows.values()) yield row.stored
        },
      },
      schema,
      blobs,
      blobsOf: async () => names,
      key: { id: keyIdOf(check?.sealed ?? '') ?? '', text: undefined },
      edged: `a version with schema ${schema}`,
      clock,
    })
    await writeDurably(fs, path, archive, { temporary: `store.schema-${schema}.tar.new` })
  } finally {
    await blobs.close()
  }
  return path
}
