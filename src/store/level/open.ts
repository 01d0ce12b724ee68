import { ClassicLevel } from 'classic-level'
import { decodeRow, META, RECORDS, type Database, type Meta } from './format.js'
import type { MemoryIndex } from '../records/memory-index.js'
import { SCHEMA, tooNew } from '../migrations/index.js'

const RESTORE = 'restore a backup into an empty data folder: edged restore FILE -c CONFIG'

/** The store differs from the written data. `how` describes the difference. The rest of the store can be read. */
export class StoreDamaged extends Error {
  override readonly name = 'StoreDamaged'
  readonly how: string

  constructor(folder: string, how: string, cause?: unknown) {
    const message =
      `the store in ${folder} is damaged: ${how}; ${RESTORE}; or go on with what is left: edged serve --accept-data-loss, ` +
      'which keeps a copy of the damaged store'
    super(message, { cause })
    this.how = how
  }
}

/** Opens the database in a folder. Messages name `shown`. */
export async function open(
  folder: string,
  { shown = folder, ...options }: { createIfMissing: boolean; errorIfExists?: boolean; shown?: string },
): Promise<Database> {
  const db: Database = new ClassicLevel(folder, { keyEncoding: 'utf8', valueEncoding: 'buffer', ...options })
  try {
    await db.open()
    return db
  } catch (error) {
    throw openFault(error, shown, folder)
  }
}

/** Converts an error of the database to a message for the user that starts edged. Others are returned as they are. */
function openFault(error: unknown, folder: string, opened = folder): unknown {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : (error as Error)
  const { code } = cause as { code?: string }
  const text = cause.message.replaceAll(opened, folder)
  if (code === 'LEVEL_LOCKED')
    return new Error(
      `the store in ${folder} is in use by another process; stop that one, or share one store between processes or machines ` +
        `through Redis: store: redis://host:6379/0`,
      { cause },
    )
  if (code === 'LEVEL_CORRUPTION') return unreadable(folder, text, cause)
  if (error instanceof Error && (error as { code?: string }).code?.startsWith('LEVEL_'))
    return new Error(`the store in ${folder} cannot be opened: ${text}; if it is damaged, ${RESTORE}`, { cause })
  return error
}

/** Returns the error of a store without readable data. */
const unreadable = (folder: string, how: string, cause?: unknown): Error =>
  new Error(`the store in ${folder} is damaged and cannot be read: ${how}; ${RESTORE}`, { cause })

export interface Loaded {
  readonly resident: MemoryIndex
  readonly meta: Meta
  /** Names of damaged records, which were left out. */
  readonly damaged: readonly string[]
}

/**
 * Reads all records of the database into `resident`. Rejects with {@link StoreDamaged} if they differ from the written
 * records. With `salvage`, returns only intact records, and corrects `meta`.
 */
export async function load(
  db: Database,
  folder: string,
  resident: MemoryIndex,
  { salvage = false }: { salvage?: boolean } = {},
): Promise<Loaded> {
  try {
    return await readAll(db, folder, resident, salvage)
  } catch (error) {
    throw openFault(error, folder)
  }
}

async function readAll(db: Database, folder: string, resident: MemoryIndex, salvage: boolean): Promise<Loaded> {
  const text = await db.get<string, string>(META, { valueEncoding: 'utf8' })
  if (text === undefined) throw unreadable(folder, 'its description of itself is missing')
  const meta = JSON.parse(text) as Meta
  if (meta.schema > SCHEMA) throw new Error(`the store in ${folder} ${tooNew(meta.schema)}`)

  let sum = 0
  const damaged: string[] = []
  const entries = db.iterator({ ...RECORDS, fillCache: false, highWaterMarkBytes: 1 << 20 })
  // Fewer than requested may arrive. Only an empty list means the end.
  for (let some = await entries.nextv(1000); some.length > 0; some = await entries.nextv(1000)) {
    for (const [key, bytes] of some) {
      const row = decodeRow(key.slice(1), bytes)
      if (row) {
        resident.load(row)
        sum ^= row.sum
      } else if (salvage) damaged.push(key.slice(1))
      else throw new StoreDamaged(folder, `the record ${key.slice(1)} fails its checksum`)
    }
  }
  await entries.close()
  const records = resident.size
  if (salvage) return { resident, meta: { ...meta, records, sum }, damaged }
  if (records !== meta.records || sum !== meta.sum)
    throw new StoreDamaged(folder, `it holds ${records} records, not the ${meta.records} that were last written`)
  return { resident, meta, damaged }
}
