import { crc32 } from 'node:zlib'
import type { ClassicLevel } from 'classic-level'
import { EventLoopYield } from '../../core/schedule/event-loop-yield.js'
import { named, Row } from '../records/record.js'

/**
 * Keys and values in the embedded database:
 *
 *     meta           {"schema":3,"version":812,"records":3,"sum":2748,"audit":42,"witness":true}
 *     r["zone",...]  1c291ca3 811 {"...":"..."}       checksum of name, version and value; version; value
 *     a0000000000000042  {"at":"..."}                 audit entries, numbered without gaps
 *
 * `meta` is written with every batch and describes all records together, so that a start notices a batch that the disk
 * confirmed and lost. Each record has a checksum because the engine does not verify the bytes that it reads.
 */
export interface Meta {
  readonly schema: number
  readonly version: number
  readonly records: number
  /** All checksums of records, XORed. */
  readonly sum: number
  /** Number of the last audit entry. */
  readonly audit: number
  /** Whether the store has a witness. Absent in stores of an older edged. */
  readonly witness?: boolean
}

export type Database = ClassicLevel<string, Buffer>
export type Operation = { type: 'put'; key: string; value: Buffer | string } | { type: 'del'; key: string }

export const META = 'meta'
export const RECORDS = { gte: 'r', lt: 's' }
export const AUDIT = { gte: 'a', lt: 'b' }

export const rowKey = (name: string): string => `r${name}`
export const auditKey = (number: number): string => `a${String(number).padStart(16, '0')}`
export const auditNumber = (key: string): number => Number(key.slice(1))

/** Returns the operation that stores `meta`. The store must have a witness by then. */
export const putMeta = (meta: Meta): Operation => ({
  type: 'put',
  key: META,
  value: JSON.stringify({ ...meta, witness: true }),
})

/** Operations of a batch between two pauses. One API request can write thousands of records. */
export const SLICE_OPERATIONS = 256
const slices = new EventLoopYield()

/** Writes all operations or, on failure, none. Resolves after they are synced. */
export async function write(db: Database, operations: readonly Operation[]): Promise<void> {
  // A chain takes a third of the CPU time of a list, each of whose operations is cloned and read member by member.
  const batch = db.batch()
  try {
    for (const [index, operation] of operations.entries()) {
      if (index > 0 && index % SLICE_OPERATIONS === 0) await slices.yieldToEventLoop()
      if (operation.type === 'del') batch.del(operation.key)
      else batch.put<string, Buffer | string>(operation.key, operation.value, {})
    }
    await batch.write({ sync: true })
  } finally {
    await batch.close()
  }
}

/** Encodes a record and stores the checksum in it. `json` is the JSON of the record, if known. */
export function encodeRow(row: Row, name: string, json = row.json): Buffer {
  const head = `         ${row.version} `
  const text = Buffer.allocUnsafe(head.length + Buffer.byteLength(json))
  text.write(head, 0, 'latin1')
  text.write(json, head.length)
  const sum = checksum(name, text.subarray(9))
  text.write(sum.toString(16).padStart(8, '0'), 0, 'latin1')
  row.sum = sum | 0
  return text
}

/** Decodes a record. Returns undefined if the bytes differ from the written bytes. */
export function decodeRow(name: string, bytes: Buffer): Row | undefined {
  const sum = checksum(name, bytes.subarray(9))
  if (bytes.toString('latin1', 0, 8) !== sum.toString(16).padStart(8, '0')) return undefined
  const end = bytes.indexOf(0x20, 9)
  const row = new Row(named(name), Number(bytes.toString('latin1', 9, end)), bytes.subarray(end + 1))
  row.sum = sum | 0
  return row
}

const checksum = (name: string, rest: Buffer): number => crc32(rest, crc32(name))
