import { messageOf } from '../../../src/core/errors.js'
import { KeyedMutex } from '../../../src/core/keyed-mutex.js'
import { SpoolFull, SpoolLimitReached, type WriterOptions } from './types.js'

/** Maximum bytes that wait for the disk, over all spools. Further bytes are rejected. */
const MAX_WAITING = 64 * 2 ** 20

/** Members of a spool that the quota uses. */
export interface QuotaUser {
  /** Time at which its oldest segment was last written. Undefined while it has no records. */
  readonly oldestAt: number | undefined
  /** Deletes records that all cursors have passed, if there are enough. */
  reclaim(): Promise<void>
  /** Drops the oldest segment. */
  dropOldest(reason: 'limit' | 'age'): Promise<void>
}

/** Keeps count of the bytes of all spools, and makes room. */
export class DiskQuota {
  readonly #limit: number
  readonly #holders = new Set<QuotaUser>()
  readonly #turns = new KeyedMutex()
  #stored = 0
  #waiting = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Bytes on the disk. */
  get stored(): number {
    return this.#stored
  }

  join(holder: QuotaUser): void {
    this.#holders.add(holder)
  }

  /** Adds a change in bytes on the disk, negative for deleted bytes. */
  changed(bytes: number): void {
    this.#stored += bytes
  }

  /** Reserves space for bytes to be written, until `release`. Rejects with SpoolFull. */
  async reserve(bytes: number, whenFull: WriterOptions['whenFull']): Promise<void> {
    if (this.#waiting + bytes > MAX_WAITING) throw new SpoolFull(`more than ${MAX_WAITING} bytes wait for the disk`)
    this.#waiting += bytes
    if (this.#fits()) return
    try {
      await this.#turns.run('room', () => this.#makeRoom(whenFull))
    } catch (error) {
      this.#waiting -= bytes
      throw error
    }
  }

  release(bytes: number): void {
    this.#waiting -= bytes
  }

  /** Deletes records written before a moment, in ms since 1970. */
  async dropBefore(moment: number): Promise<void> {
    for (const holder of this.#holders) {
      while (holder.oldestAt !== undefined && holder.oldestAt < moment) await holder.dropOldest('age')
    }
  }

  #fits(): boolean {
    return this.#stored + this.#waiting <= this.#limit
  }

  async #makeRoom(whenFull: WriterOptions['whenFull']): Promise<void> {
    if (this.#fits()) return
    for (const holder of this.#holders) await holder.reclaim()
    while (!this.#fits()) {
      if (whenFull !== 'drop_oldest')
        throw new SpoolLimitReached(`the log spool has reached its limit of ${this.#limit} bytes`)
      const oldest = this.#oldest()
      if (oldest === undefined)
        throw new SpoolLimitReached(`the log spool has reached its limit of ${this.#limit} bytes`)
      try {
        await oldest.dropOldest('limit')
      } catch (error) {
        throw new SpoolFull(`cannot free disk space for log records: ${messageOf(error)}`, { cause: error })
      }
    }
  }

  #oldest(): QuotaUser | undefined {
    let oldest: QuotaUser | undefined
    for (const holder of this.#holders) {
      if (holder.oldestAt !== undefined && holder.oldestAt < (oldest?.oldestAt ?? Infinity)) oldest = holder
    }
    return oldest
  }
}
