import type { Backup } from '../backup/read.js'
import { NUMBERS } from '../records/audit-trail.js'
import { auditKey, encodeRow, putMeta, rowKey, write, type Database, type Operation } from './format.js'
import { SCHEMA } from '../migrations/index.js'
import { createLevel } from './level.js'
import type { StoreOptions } from '../records/options.js'

const BATCH = 256

/** Creates the embedded store from a backup. It exists only when it is complete. */
export async function importLevel(options: Pick<StoreOptions, 'folder' | 'disk'>, backup: Backup): Promise<void> {
  await createLevel(options, async (db) => await fill(db, backup))
}

async function fill(db: Database, backup: Backup): Promise<void> {
  let operations: Operation[] = []
  const flush = async (): Promise<void> => {
    await db.batch<string, Buffer | string>(operations, {})
    operations = []
  }
  const put = async (key: string, value: Buffer | string): Promise<void> => {
    operations.push({ type: 'put', key, value })
    if (operations.length >= BATCH) await flush()
  }
  let records = 0
  let sum = 0
  for await (const row of backup.rows()) {
    const { name } = row
    await put(rowKey(name), encodeRow(row, name))
    records++
    sum ^= row.sum
  }
  let audit = 0
  for await (const { cursor, entry } of backup.audit()) {
    // Cursors of clients stay valid if the backup is of an embedded store too.
    audit = NUMBERS.test(cursor) ? Number(cursor) : audit + 1
    await put(auditKey(audit), JSON.stringify(entry))
  }
  await flush()
  await write(db, [putMeta({ schema: SCHEMA, version: backup.manifest.version, records, sum, audit })])
}
