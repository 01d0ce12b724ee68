import { crc32 } from 'node:zlib'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder, writeDurably, type Disk } from '../../../src/disk/durable-write.js'
import { readAt, writeAt } from '../../../src/disk/positioned-io.js'
import type { Engine } from '../../../src/store/level/engine.js'
import type { Database } from '../../../src/store/level/format.js'
import { StoreDamaged } from '../../../src/store/level/open.js'
import { readWitness } from '../../../src/store/level/witness.js'
import { lossOf } from '../../../src/store/level/check.js'

/** Bytes of a log after which its content becomes a table. */
const MAX_LOG_BYTES = 6000

type Entry = readonly [key: string, value: string | null]

/** What makes the simulated database worse than it promises to be, to prove that a run notices. */
export interface EngineFlaws {
  /** Confirms batches that are not synced. */
  readonly unsynced?: boolean
  /** Reads what is in a damaged batch up to the damage. */
  readonly torn?: boolean
  /** Drops the first batch after it was opened again. */
  readonly forgetful?: boolean
}

/**
 * A database with the promises of LevelDB, on a simulated disk. A batch is a line with a checksum in a log. The content of a
 * full log becomes a table. Opening makes a table of what the log has up to its first damage. After a failed sync nothing is
 * written until it is opened again. A failed write leaves a part of the batch in the log.
 */
export const simulatedEngine = (disk: Disk, flaws: EngineFlaws = {}): Engine => ({
  open: async (folder, { createIfMissing }) => {
    const db = new SimulatedLevel(disk, folder, flaws)
    await db.open(createIfMissing)
    return db as unknown as Database
  },
  check: async (folder) => {
    const witness = await readWitness(folder, disk)
    if (witness !== 'damaged') return { witnessed: witness }
    throw new StoreDamaged(folder, lossOf({ schema: 0, version: 0, records: 0, sum: 0, audit: 0 }, witness)!)
  },
})

class SimulatedLevel {
  readonly #disk: Disk
  readonly #folder: string
  readonly #flaws: EngineFlaws
  #entries = new Map<string, string>()
  #sorted: string[] | undefined
  #number = 0
  #log: FileHandle | undefined
  #end = 0
  #failure: Error | undefined
  #opened = 0

  constructor(disk: Disk, folder: string, flaws: EngineFlaws) {
    this.#disk = disk
    this.#folder = folder
    this.#flaws = flaws
  }

  async open(createIfMissing = false): Promise<void> {
    this.#entries = new Map()
    this.#failure = undefined
    this.#opened++
    const current = await this.#read('CURRENT')
    if (current === undefined && !createIfMissing) throw new Error('the database does not exist')
    this.#number = Number(current ?? 0)
    this.#replay((await this.#read(`${this.#number}.table`)) ?? '')
    this.#replay((await this.#read(`${this.#number}.log`)) ?? '')
    await this.#compact()
  }

  async close(): Promise<void> {
    await this.#log?.close()
    this.#log = undefined
  }

  // oxlint-disable-next-line typescript/require-await
  async get(key: string): Promise<string | undefined> {
    const value = this.#entries.get(key)
    return value === undefined ? undefined : Buffer.from(value, 'base64').toString()
  }

  batch() {
    const entries: Entry[] = []
    return {
      put: (key: string, value: Buffer | string) =>
        void entries.push([key, Buffer.from(value as string).toString('base64')]),
      del: (key: string) => void entries.push([key, null]),
      write: async () => await this.#write(entries),
      close: async () => {},
    }
  }

  keys(range: { gte: string; lt: string; limit: number }) {
    return { all: async () => await Promise.resolve(this.#range(range)) }
  }

  iterator(range: { gte: string; lt: string; limit?: number; reverse?: boolean }) {
    const found = () => this.#range(range).map((key) => [key, Buffer.from(this.#entries.get(key)!, 'base64')] as const)
    let rest: ReturnType<typeof found> | undefined
    return {
      all: async () => await Promise.resolve(found()),
      nextv: async (count: number) => await Promise.resolve((rest ??= found()).splice(0, count)),
      close: async () => {},
    }
  }

  #range({
    gte,
    lt,
    limit = Infinity,
    reverse = false,
  }: {
    gte: string
    lt: string
    limit?: number
    reverse?: boolean
  }) {
    this.#sorted ??= [...this.#entries.keys()].sort()
    const found = this.#sorted.filter((key) => key >= gte && key < lt)
    return (reverse ? found.toReversed() : found).slice(0, limit)
  }

  async #write(entries: readonly Entry[]): Promise<void> {
    if (this.#failure) throw this.#failure
    if (this.#flaws.forgetful && this.#opened > 1) {
      this.#opened = 1
      return
    }
    if (this.#end > MAX_LOG_BYTES) await this.#failing(async () => await this.#compact())
    const bytes = Buffer.from(line(entries))
    const at = this.#end
    // What follows a part of a batch is lost with it.
    this.#end += bytes.length
    await writeAt(this.#log!, [bytes], at)
    if (this.#flaws.unsynced !== true) await this.#failing(async () => await this.#log!.datasync())
    this.#apply(entries)
  }

  async #failing(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#failure = error as Error
      throw error
    }
  }

  /** Writes all entries as a table, and begins a log. */
  async #compact(): Promise<void> {
    const next = this.#number + 1
    const table = line([...this.#entries])
    await writeDurably(this.#disk, join(this.#folder, `${next}.table`), table)
    await this.#log?.close()
    this.#log = undefined
    this.#log = await this.#disk.open(join(this.#folder, `${next}.log`), 'w')
    await syncFolder(this.#disk, this.#folder)
    await writeDurably(this.#disk, join(this.#folder, 'CURRENT'), String(next))
    const before = this.#number
    this.#number = next
    this.#end = 0
    for (const name of [`${before}.table`, `${before}.log`])
      await this.#disk.rm(join(this.#folder, name), { force: true })
  }

  async #read(name: string): Promise<string | undefined> {
    try {
      const file = await this.#disk.open(join(this.#folder, name))
      try {
        return (await readAt(file, 0, (await this.#disk.stat(join(this.#folder, name))).size)).toString('latin1')
      } finally {
        await file.close()
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  #replay(text: string): void {
    for (const one of text.split('\n')) {
      const json = one.slice(9)
      if (json === '') return
      if (one.slice(0, 8) === sumOf(json)) this.#apply(JSON.parse(json) as Entry[])
      else {
        if (this.#flaws.torn) this.#apply(JSON.parse(json.slice(0, json.lastIndexOf('],[')) + ']]') as Entry[])
        return
      }
    }
  }

  #apply(entries: readonly Entry[]): void {
    this.#sorted = undefined
    for (const [key, value] of entries) {
      if (value === null) this.#entries.delete(key)
      else this.#entries.set(key, value)
    }
  }
}

const line = (entries: readonly Entry[]): string => {
  const json = JSON.stringify(entries)
  return `${sumOf(json)} ${json}\n`
}

const sumOf = (json: string): string => crc32(json).toString(16).padStart(8, '0')
