import { readdir, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { messageOf } from '../core/errors.js'
import type { Log } from '../core/log.js'
import { EventLoopYield } from '../core/schedule/event-loop-yield.js'
import { DIMENSIONS } from './layout.js'

/** Lengths of the periods that counts are kept for, the shortest first. Each is a part of the next one. */
export const RESOLUTIONS = [
  { name: 's', ms: 10_000 },
  { name: 'm', ms: 60_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'd', ms: 86_400_000 },
] as const

export type Resolution = (typeof RESOLUTIONS)[number]

/** The counts of one zone or account by one dimension in one period. */
export interface StoredSection {
  readonly resolution: Resolution
  readonly scope: string
  /** Number of the dimension. */
  readonly place: number
  /** Beginning of the period. */
  readonly time: number
}

/** Sections of a batch. */
const BATCH = 1000
/** Neighbours in a block share keys, which the compression of LevelDB finds. */
const BLOCK_BYTES = 64 * 1024
const FIRST = '0'
const END = '~'

/**
 * Counts on disk: a LevelDB with a key `RESOLUTION SCOPE/DIMENSION/TIME` for each section, so that a query reads the
 * periods of one dimension in one piece. Not synced: a process that is killed loses nothing that was written, a power
 * failure some seconds.
 */
export class CellStore {
  readonly #folder: string
  readonly #db: ClassicLevel<string, Buffer>
  readonly #slices = new EventLoopYield()

  private constructor(folder: string, db: ClassicLevel<string, Buffer>) {
    this.#folder = folder
    this.#db = db
  }

  /** Opens the folder. One that cannot be read is repaired, and moved away if that fails. */
  static async open(folder: string, log: Log): Promise<CellStore> {
    try {
      return await CellStore.#try(folder)
    } catch (error) {
      if (isLocked(error)) throw error
      log.error({ event: 'history_damaged', folder, error: messageOf(error) }, 'the history is repaired')
    }
    try {
      await ClassicLevel.repair(folder)
      return await CellStore.#try(folder)
    } catch (error) {
      const moved = `${folder}.damaged-${Date.now()}`
      await rename(folder, moved)
      log.error({ event: 'history_lost', folder: moved, error: messageOf(error) }, 'the history begins again')
      return await CellStore.#try(folder)
    }
  }

  static async #try(folder: string): Promise<CellStore> {
    const db = new ClassicLevel<string, Buffer>(folder, {
      keyEncoding: 'utf8',
      valueEncoding: 'buffer',
      blockSize: BLOCK_BYTES,
    })
    await db.open()
    return new CellStore(folder, db)
  }

  async close(): Promise<void> {
    await this.#db.close()
  }

  /** Stores sections, in batches with pauses between them. */
  async put(sections: Iterable<readonly [StoredSection, Buffer]>): Promise<void> {
    let batch = this.#db.batch()
    try {
      for (const [section, bytes] of sections) {
        batch.put(keyOf(section), bytes)
        if (batch.length >= BATCH) {
          await batch.write()
          batch = this.#db.batch()
        }
        await this.#slices.yieldToEventLoop()
      }
      await batch.write()
    } finally {
      await batch.close()
    }
  }

  async getMany(sections: readonly StoredSection[]): Promise<(Buffer | undefined)[]> {
    return await this.#db.getMany(sections.map(keyOf))
  }

  /** Yields the sections of a scope and dimension with `from <= time < to`, in order, some at a time. */
  async *read(
    { resolution, scope, place }: Omit<StoredSection, 'time'>,
    from: number,
    to: number,
  ): AsyncGenerator<(readonly [time: number, bytes: Buffer])[]> {
    const entries = this.#db.iterator({
      gte: keyOf({ resolution, scope, place, time: from }),
      lt: keyOf({ resolution, scope, place, time: to }),
      highWaterMarkBytes: 256 * 1024,
    })
    try {
      for (let some = await entries.nextv(500); some.length > 0; some = await entries.nextv(500))
        yield some.map(([key, bytes]) => [timeOf(key), bytes])
    } finally {
      await entries.close()
    }
  }

  /** Returns the scopes with sections of a resolution. */
  async scopes({ name }: Resolution): Promise<string[]> {
    const found: string[] = []
    for (let after = name + FIRST; ;) {
      const [key] = await this.#db.keys({ gt: after, lt: name + END, limit: 1 }).all()
      if (key === undefined) return found
      const scope = key.slice(1, key.indexOf('/'))
      found.push(scope)
      after = `${name}${scope}/${END}`
    }
  }

  /** Deletes the sections of a resolution that begin before a time. */
  async deleteBefore(resolution: Resolution, time: number, scopes: Iterable<string>): Promise<void> {
    for (const scope of scopes)
      for (let place = 0; place <= DIMENSIONS.length; place++) {
        const part = { resolution, scope, place }
        await this.#db.clear({ gte: keyOf({ ...part, time: 0 }), lt: keyOf({ ...part, time }) })
      }
  }

  /** Returns the beginning of the oldest section of a resolution. Undefined without one. */
  async oldest(resolution: Resolution, scopes: Iterable<string>): Promise<number | undefined> {
    let oldest: number | undefined
    for (const scope of scopes) {
      const range = { gte: `${resolution.name}${scope}/`, lt: `${resolution.name}${scope}/${END}`, limit: 1 }
      const [key] = await this.#db.keys(range).all()
      if (key !== undefined) oldest = Math.min(oldest ?? Infinity, timeOf(key))
    }
    return oldest
  }

  /** Frees the space of deleted sections. */
  async compact(): Promise<void> {
    await this.#db.compactRange(FIRST, END)
  }

  /** Returns the bytes of the files. */
  async bytes(): Promise<number> {
    let sum = 0
    for (const name of await readdir(this.#folder))
      sum += await stat(join(this.#folder, name)).then(
        ({ size }) => size,
        // It was deleted meanwhile.
        () => 0,
      )
    return sum
  }

  /** Returns a text that was stored under a name. */
  async text(name: string): Promise<string | undefined> {
    return (await this.#db.get(META + name))?.toString()
  }

  async putText(name: string, value: string): Promise<void> {
    await this.#db.put(META + name, Buffer.from(value))
  }

  /** Returns a number that was stored under a name. */
  async number(name: string): Promise<number | undefined> {
    const text = await this.text(name)
    return text === undefined ? undefined : Number(text)
  }

  async putNumber(name: string, value: number): Promise<void> {
    await this.putText(name, String(value))
  }

  /** Returns the numbers whose names begin with `prefix`, in the order of their names. */
  async numbers(prefix: string): Promise<(readonly [name: string, value: number])[]> {
    const found = await this.#db.iterator({ gte: META + prefix, lt: META + prefix + END }).all()
    return found.map(([key, bytes]) => [key.slice(META.length + prefix.length), Number(bytes.toString())])
  }

  async deleteNumber(name: string): Promise<void> {
    await this.#db.del(META + name)
  }
}

const META = '!'

/** Digits of a time in seconds, base 36: until the year 4453. */
const TIME_DIGITS = 7

const keyOf = ({ resolution: { name }, scope, place, time }: StoredSection): string =>
  `${name}${scope}/${place.toString(36)}/${Math.floor(Math.max(0, time) / 1000)
    .toString(36)
    .padStart(TIME_DIGITS, '0')}`

const timeOf = (key: string): number => parseInt(key.slice(key.lastIndexOf('/') + 1), 36) * 1000

function isLocked(error: unknown): boolean {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return (cause as { code?: string } | undefined)?.code === 'LEVEL_LOCKED'
}
