import { AgeClock } from '../../core/age-clock.js'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import {
  StoreUnavailable,
  type AuditEntry,
  type AuditOrder,
  type AuditRetention,
  type FoundEntry,
} from '../../core/store.js'
import { keptFrom } from '../records/audit-trail.js'
import { AUDIT, auditKey, auditNumber, type Database, type Operation } from './format.js'

const PAGE = 256
// Maximum number of entries that one group of batches drops, so that no writer waits long for it.
const MAX_DROPPED = 512
const AGE_CHECK_MS = 60_000

type Page = readonly (readonly [key: string, entry: AuditEntry])[]

/** The audit record in the embedded database. Its entries have numbers without gaps, so their count is known. */
export class LevelTrail {
  readonly #db: Database
  readonly #retention: AuditRetention
  readonly #ages: AgeClock
  #first = 1
  #ageCheckedAt = -Infinity

  constructor(db: Database, { retention, clock }: { retention: AuditRetention; clock: Clock }) {
    this.#db = db
    this.#retention = retention
    this.#ages = new AgeClock(clock)
  }

  /** Finds the first entry. Must run each time the database was opened. */
  async find(last: number): Promise<void> {
    const [first] = await this.#db.keys({ ...AUDIT, limit: 1 }).all()
    this.#first = first === undefined ? last + 1 : auditNumber(first)
  }

  /** Returns operations that append these entries and drop the oldest ones beyond the retention. */
  async append(entries: readonly AuditEntry[], last: number): Promise<Operation[]> {
    if (entries.length === 0) return []
    const drops = Array.from({ length: await this.#tooMany(last + entries.length) }, (): Operation => {
      return { type: 'del', key: auditKey(this.#first++) }
    })
    const puts = entries.map((entry, index): Operation => {
      return { type: 'put', key: auditKey(last + 1 + index), value: JSON.stringify(entry) }
    })
    return [...drops, ...puts]
  }

  /**
   * Reads entries after a cursor, in blocks, so that a slow reader keeps nothing open. Rejects with StoreUnavailable.
   */
  async *read(start: string | undefined, limit: number, order: AuditOrder): AsyncGenerator<FoundEntry> {
    let cursor = start
    for (let left = limit; left > 0;) {
      const number = cursor === undefined ? undefined : Number(cursor)
      const size = Math.min(left, PAGE)
      const page =
        order === 'newest_first' ? await this.#pageBefore(number, size) : await this.#page((number ?? 0) + 1, size)
      for (const [key, entry] of page) {
        cursor = String(auditNumber(key))
        yield { cursor, entry }
      }
      if (page.length < PAGE) return
      left -= page.length
    }
  }

  async #tooMany(last: number): Promise<number> {
    const many = Math.min(Math.max(last - this.#first + 1 - this.#retention.entries, 0), MAX_DROPPED)
    const now = this.#ages.now()
    if (this.#retention.days === undefined || now - this.#ageCheckedAt < AGE_CHECK_MS) return many
    this.#ageCheckedAt = now
    const oldest = await this.#page(this.#first, MAX_DROPPED)
    const kept = oldest.findIndex(([, { at }]) => Date.parse(at) >= keptFrom(this.#retention, now))
    return Math.max(many, kept === -1 ? oldest.length : kept)
  }

  async #page(from: number, limit: number): Promise<Page> {
    return await this.#read({ gte: auditKey(from), lt: AUDIT.lt, limit })
  }

  /** Returns a page in descending order, with the entries before a number, or the newest ones. */
  async #pageBefore(number: number | undefined, limit: number): Promise<Page> {
    const lt = number === undefined ? AUDIT.lt : auditKey(number)
    return await this.#read({ gte: AUDIT.gte, lt, limit, reverse: true })
  }

  async #read(range: { gte: string; lt: string; limit: number; reverse?: boolean }): Promise<Page> {
    try {
      const found = await this.#db.iterator(range).all()
      return found.map(([key, value]) => [key, JSON.parse(value.toString()) as AuditEntry])
    } catch (error) {
      throw new StoreUnavailable(`the audit record cannot be read: ${messageOf(error)}`, { cause: error })
    }
  }
}
