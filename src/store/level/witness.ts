import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { messageOf } from '../../core/errors.js'
import { writeDurably, type Disk } from '../../disk/durable-write.js'
import { readAt, writeAt } from '../../disk/positioned-io.js'
import type { Meta } from './format.js'
import type { StoreOptions } from '../records/options.js'

/**
 * The confirmed state of the embedded store, in a file that the database does not use:
 *
 *     ba51ab1e {"generation":9,"version":812,"records":3,"sum":2748,"audit":42,"tables":790,"at":"..."}
 *
 * LevelDB drops damaged writes at the end of its log without an error. The remaining log is consistent, so only a
 * record outside the log can show that something is missing.
 *
 * First the database syncs a write, then the witness gets the write, then the write is confirmed, and then the witness
 * is synced. The witness thus never names a write that the disk does not have. After a power failure it can be behind
 * the store, which is not a loss. After `kill -9` the witness is not behind, because the kernel has it.
 *
 * The file has three slots, each in a separate page. One was synced last, one is being synced, and the third gets the
 * writes in the meantime. A power failure thus leaves at least one slot intact. The highest generation counts.
 */
export interface Witnessed extends Pick<Meta, 'version' | 'records' | 'sum' | 'audit'> {
  /** Version at the last start. All data up to this version is in tables of the database and no longer in its log. */
  readonly tables: number
  /** Time of the last write. */
  readonly at: string
}

const FILE = 'witness'
const SLOTS = 3
const SLOT_BYTES = 512
const PAGE_BYTES = 4096
/** Pause between two syncs, so that the database has the disk under load. */
const SYNC_PAUSE_MS = 50

/** Reads the confirmed state. Undefined if there is no file, as in stores of an older edged. */
export async function readWitness(folder: string, disk: Disk = fs): Promise<Witnessed | 'damaged' | undefined> {
  let bytes: Buffer
  try {
    const file = await disk.open(join(folder, FILE))
    try {
      bytes = await readAt(file, 0, SLOTS * PAGE_BYTES)
    } finally {
      await file.close()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  let newest: (Witnessed & { generation: number }) | undefined
  for (let slot = 0; slot < SLOTS; slot += 1) {
    const found = decode(bytes.subarray(slot * PAGE_BYTES, slot * PAGE_BYTES + SLOT_BYTES))
    if (found && found.generation > (newest?.generation ?? 0)) newest = found
  }
  return newest ?? 'damaged'
}

/** Writes the file anew, atomically and durably. */
export async function createWitness(disk: Disk, folder: string, witnessed: Witnessed): Promise<void> {
  const bytes = Buffer.alloc(SLOTS * PAGE_BYTES)
  encode(bytes, witnessed, 1)
  await writeDurably(disk, join(folder, FILE), bytes, { temporary: `${FILE}.tmp` }).catch(notCreated(folder))
}

const notCreated =
  (folder: string) =>
  (cause: unknown): never => {
    throw new Error(`the file ${FILE} of the store in ${folder} cannot be created: ${messageOf(cause)}`, { cause })
  }

/** The witness of an open store. */
export class Witness {
  readonly #file: fs.FileHandle
  readonly #options: Pick<StoreOptions, 'log' | 'clock'>
  readonly #tables: number
  readonly #bytes = Buffer.alloc(SLOT_BYTES)
  readonly #closing = new AbortController()
  #generation = 1
  /** Slot of the last sync, and the one that the next write uses. */
  #synced = 0
  #slot = 1
  #writing: Promise<void> | undefined
  #isDirty = false
  #syncing: Promise<void> | undefined

  private constructor(file: fs.FileHandle, tables: number, options: Pick<StoreOptions, 'log' | 'clock'>) {
    this.#file = file
    this.#tables = tables
    this.#options = options
  }

  /** Creates the witness of a store that was just opened and has this content. */
  static async open(
    folder: string,
    meta: Meta,
    options: Pick<StoreOptions, 'log' | 'clock' | 'disk'>,
  ): Promise<Witness> {
    const { clock, disk = fs } = options
    await createWitness(disk, folder, witnessedOf(meta, meta.version, clock.now()))
    const file = await disk.open(join(folder, FILE), 'r+').catch(notCreated(folder))
    return new Witness(file, meta.version, options)
  }

  /**
   * Records the state that the database has synced. Resolves when the record survives the end of this process. The sync
   * follows.
   */
  async write(meta: Meta): Promise<void> {
    this.#generation += 1
    encode(this.#bytes, witnessedOf(meta, this.#tables, this.#options.clock.now()), this.#generation)
    this.#writing = writeAt(this.#file, [this.#bytes], this.#slot * PAGE_BYTES).finally(
      () => (this.#writing = undefined),
    )
    await this.#writing
    this.#isDirty = true
    this.#syncing ??= this.#sync()
  }

  /** Syncs the last write, then releases the file. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#syncing
    await this.#file.close()
  }

  async #sync(): Promise<void> {
    const { log, clock } = this.#options
    while (this.#isDirty) {
      // The failure of a write is the writer's.
      while (this.#writing) await this.#writing.catch(() => undefined)
      const slot = this.#slot
      this.#slot = SLOTS - slot - this.#synced
      this.#isDirty = false
      try {
        await this.#file.datasync()
        this.#synced = slot
      } catch (error) {
        // The next write uses another slot. Until its sync the disk has an older state, which is not taken for a loss.
        log.error({ event: 'store_witness_not_synced', error: messageOf(error) })
      }
      await clock.sleep(SYNC_PAUSE_MS, this.#closing.signal).catch(() => undefined)
    }
    this.#syncing = undefined
  }
}

/** Returns the state in the witness of a store with this content. */
export const witnessedOf = ({ version, records, sum, audit }: Meta, tables: number, now: number): Witnessed => ({
  version,
  records,
  sum,
  audit,
  tables,
  at: new Date(now).toISOString(),
})

function encode(slot: Buffer, witnessed: Witnessed, generation: number): void {
  const json = JSON.stringify({ generation, ...witnessed })
  slot.fill(' ', 0, SLOT_BYTES)
  slot.write(`${crc32(json).toString(16).padStart(8, '0')} ${json}`)
  slot.write('\n', SLOT_BYTES - 1)
}

function decode(slot: Buffer): (Witnessed & { generation: number }) | undefined {
  const text = slot.toString('utf8').trimEnd()
  const json = text.slice(9)
  if (text.slice(0, 8) !== crc32(json).toString(16).padStart(8, '0') || json === '') return undefined
  return JSON.parse(json) as Witnessed & { generation: number }
}
