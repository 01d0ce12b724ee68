import { recordName, Row } from '../records/record.js'
import { cursorBatches } from './002-cursor-batches.js'
import { unsentDeliveries } from './003-unsent-deliveries.js'
import type { MigratedRecord, Migration } from './migration.js'

/** All migrations in order. The first one leads to schema 2. */
const MIGRATIONS: readonly Migration[] = [cursorBatches, unsentDeliveries]

/** Version of the form of the records, of every type of store. Data of a newer one is rejected. */
export const SCHEMA = 1 + MIGRATIONS.length

const stepsFrom = (schema: number): readonly Migration[] => MIGRATIONS.slice(schema - 1)

/** Names of the migrations that data of a schema needs, for the log. */
export const migrationNames = (schema: number): string[] => stepsFrom(schema).map(({ name }) => name)

/** Text for data that this version cannot read. */
export const tooNew = (schema: number | string): string =>
  `was written by a newer edged (schema ${schema}, not ${SCHEMA}); start that version, or restore a backup of this one`

/** Returns the rows that take the place of a row of `schema`. Returns the same object if nothing changes. */
export function migrated(row: Row, schema: number, version = row.version): readonly Row[] {
  const steps = stepsFrom(schema)
  if (!steps.some(({ kinds }) => kinds.includes(row.kind))) return [row]
  const { kind, scope, id } = row
  const before: MigratedRecord = { kind, scope, id, value: row.stored.value }
  const after = steps.reduce<readonly MigratedRecord[]>(
    (records, { kinds, convert }) =>
      records.flatMap((record) => (kinds.includes(record.kind) ? convert(record) : [record])),
    [before],
  )
  const json = JSON.stringify(before.value)
  return after.map((record) => {
    const text = JSON.stringify(record.value)
    return text === json && recordName(record.kind, record.scope, record.id) === row.name
      ? row
      : new Row(record, version, text)
  })
}

/** Changes of a store by a migration. */
export interface MigratedRows {
  readonly removed: readonly Row[]
  readonly added: readonly Row[]
}

/** Returns the changes that bring all rows of a store from `schema` to the current one. */
export function migrateRows(rows: Iterable<Row>, schema: number, version: number): MigratedRows {
  const removed: Row[] = []
  const added: Row[] = []
  for (const row of rows) {
    const after = migrated(row, schema, version)
    if (after.length === 1 && after[0] === row) continue
    if (!after.includes(row)) removed.push(row)
    added.push(...after.filter((other) => other !== row))
  }
  return { removed, added }
}
