import { messageOf } from '../../../src/core/errors.js'
import { KeyedMutex } from '../../../src/core/keyed-mutex.js'
import { SpoolFull, SpoolLimitReached, type WriterOptions } from './types.js'

/** Bytes that wait for the disk, over all spools; more are refused. */
const MAX_WAITING = 64 * 2 ** 20

/** What the ledger asks of a spool. */
export interface QuotaUser {
  /** When its oldest segment was written last; undefined while it has no records. */
  readonly oldestAt: number | undefined
  /** Deletes what all cursors have passed, as far as that is worth it. */
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

  /** Bytes that came to be on the disk, or have gone from it. */
  changed(bytes: number): void {
    this.#stored += bytes
  }

  /** Takes room for bytes that will be written: given back by `release`. Rejects with SpoolFull. */
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

  /** Drops what was written before a moment, ms since 1970. */
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
        throw new SpoolFull(`the disk makes no room for log records: ${messageOf(error)}`, { cause: error })
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
