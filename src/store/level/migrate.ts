import { join } from 'node:path'
import { messageOf } from '../../core/errors.js'
import { encodeRow, putMeta, rowKey, write, type Database, type Meta, type Operation } from './format.js'
import type { MemoryIndex } from '../records/memory-index.js'
import { migrateRows, migrationNames, SCHEMA } from '../migrations/index.js'
import type { StoreOptions } from '../records/options.js'

const BATCH = 256

/** Creates a database named `name` below the data folder, which exists only when it is complete. */
export type CreateDatabase = (
  options: Pick<StoreOptions, 'folder' | 'disk'>,
  fill: (db: Database) => Promise<void>,
  name: string,
) => Promise<void>

/**
 * Brings the embedded store to the current schema. Copies it to `store.schema-N` beside it, and then changes all
 * records in one batch. A crash leaves either the old store, whose migration begins again, or the new one.
 */
export async function migrateLevel(
  db: Database,
  { resident, meta }: { readonly resident: MemoryIndex; readonly meta: Meta },
  create: CreateDatabase,
  options: StoreOptions,
): Promise<void> {
  const { log, folder } = options
  const from = meta.schema
  const name = `store.schema-${from}`
  log.info({ event: 'store_migrating', from, to: SCHEMA, migrations: migrationNames(from) })
  try {
    await create(options, async (copy) => await copyAll(db, copy), name)
  } catch (cause) {
    const message = `the store cannot be copied to ${join(folder, name)} before its migration: ${messageOf(cause)}`
    throw new Error(`${message}; nothing was changed, start again when that is solved`, { cause })
  }

  const version = meta.version + 1
  const { removed, added } = migrateRows(resident.rows(), from, version)
  let { records, sum } = meta
  const operations: Operation[] = []
  for (const row of removed) {
    operations.push({ type: 'del', key: rowKey(row.name) })
    records -= 1
    sum ^= row.sum
  }
  for (const row of added) {
    const before = resident.at(row)
    // Removed above, under the same name, or not there.
    if (before !== undefined && !removed.includes(before))
      throw new Error(`the migration of the store would replace ${row.name}`)
    operations.push({ type: 'put', key: rowKey(row.name), value: encodeRow(row, row.name) })
    records += 1
    sum ^= row.sum
  }
  await write(db, [...operations, putMeta({ ...meta, schema: SCHEMA, version, records, sum })])
  log.info({ event: 'store_migrated', from, to: SCHEMA, records: added.length, copy: join(folder, name) })
}

async function copyAll(db: Database, copy: Database): Promise<void> {
  const entries = db.iterator({ fillCache: false, highWaterMarkBytes: 1 << 20 })
  for (let some = await entries.nextv(BATCH); some.length > 0; some = await entries.nextv(BATCH))
    await copy.batch<string, Buffer>(
      some.map(([key, value]) => ({ type: 'put', key, value })),
      { sync: true },
    )
  await entries.close()
}
