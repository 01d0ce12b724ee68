import type { Redis } from 'ioredis'
import { named, Row, type RowChange } from '../records/record.js'
import type { Kind, Stored } from '../../core/store.js'
import { CHANGES, META, ROW_PATTERN, rowKey, rowName } from './script.js'

const PAGE = 256

/** An entry of the change stream. */
export interface Followed {
  readonly version: number
  readonly changes: readonly RowChange[]
}

/** Reads all records of Redis, as they were after the batch `version`. */
export async function loadAll(redis: Redis): Promise<{ version: number; rows: Map<string, Row> }> {
  for (;;) {
    const before = Number(await redis.hget(META, 'version'))
    const rows = await scanned(redis)
    // Batches that arrive during the read are in the stream. If the stream was cut beyond them, the read starts over.
    const since = await redis.xrange(CHANGES, `${before + 1}-0`, '+')
    const version = Number(await redis.hget(META, 'version'))
    const meanwhile = since.map(followed)
    if (meanwhile[0] ? meanwhile[0].version !== before + 1 : version !== before) continue
    for (const { version, changes } of meanwhile) replay(rows, version, changes)
    return { version: meanwhile.at(-1)?.version ?? before, rows }
  }
}

/** Version of an entry of the change stream. */
export const versionOf = ([id]: readonly [id: string, ...unknown[]]): number => Number(id.split('-', 1)[0])

/** Parses an entry of the change stream. */
export function followed([id, [, json = '[]']]: [id: string, fields: string[]]): Followed {
  const version = versionOf([id])
  const changes = (JSON.parse(json) as [name: unknown, value?: unknown][]).map((change): RowChange => {
    const name = JSON.stringify(change[0])
    const at = named(name)
    return { name, at, row: change.length === 1 ? undefined : new Row(at, version, JSON.stringify(change[1])) }
  })
  return { version, changes }
}

async function scanned(redis: Redis): Promise<Map<string, Row>> {
  const rows = new Map<string, Row>()
  for await (const keys of scannedPages(redis, ROW_PATTERN))
    for (let from = 0; from < keys.length; from += PAGE)
      for (const row of await read(redis, keys.slice(from, from + PAGE))) rows.set(row.name, row)
  return rows
}

/** Reads the records of one kind. */
export async function loadKind<T>(redis: Redis, { name }: Kind<T>): Promise<Stored<T>[]> {
  const keys = await scannedKeys(redis, `${rowKey(`[${JSON.stringify(name)},`).replace('[', '\\[')}*`)
  const rows = await Promise.all(keys.map(async (key) => await read(redis, [key])))
  return rows.flat().map(({ stored }) => stored as Stored<T>)
}

/** Returns all keys that match, each once. */
export async function scannedKeys(redis: Redis, pattern: string): Promise<string[]> {
  const all = new Set<string>()
  for await (const keys of scannedPages(redis, pattern)) for (const key of keys) all.add(key)
  return [...all]
}

async function* scannedPages(redis: Redis, pattern: string): AsyncGenerator<string[]> {
  // A scan neither adds the prefix of the connection nor removes it.
  const prefix = redis.options.keyPrefix ?? ''
  let cursor = '0'
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', prefix + pattern, 'COUNT', 1000)
    yield found.map((key) => key.slice(prefix.length))
    cursor = next
  } while (cursor !== '0')
}

async function read(redis: Redis, keys: readonly string[]): Promise<Row[]> {
  const asked = redis.pipeline()
  for (const key of keys) asked.hmgetBuffer(key, 'v', 'j')
  const replies = (await asked.exec()) ?? []
  return replies.flatMap(([error, response], index) => {
    if (error) throw error
    const [version, json] = response as [Buffer | null, Buffer | null]
    // Removed after the scan listed it.
    return version && json ? [new Row(named(rowName(keys[index]!)), Number(version.toString()), json)] : []
  })
}

function replay(rows: Map<string, Row>, version: number, changes: readonly RowChange[]): void {
  for (const { name, row } of changes) {
    if ((rows.get(name)?.version ?? 0) >= version) continue
    if (row) rows.set(name, row)
    else rows.delete(name)
  }
}
