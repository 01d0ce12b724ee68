import { InvalidInput } from '../../core/errors.js'
import type { AuditEntry, AuditOrder, AuditRetention, FoundEntry } from '../../core/store.js'

/** Default retention. An entry has about 1 KB, and at most 9 KB. */
export const RETENTION: AuditRetention = { entries: 1_000_000 }

/** Cursors of the stores that number their entries. */
export const NUMBERS = /^\d{1,15}$/

/** Returns a cursor from a client after it is validated. */
export function checkedCursor(cursor: string, form: RegExp): string {
  if (form.test(cursor)) return cursor
  throw new InvalidInput([{ pointer: '/cursor', message: 'is not a cursor of the audit record' }])
}

/** Returns the time before which entries may be deleted, in ms since 1970, or -Infinity if age does not count. */
export const keptFrom = ({ days }: AuditRetention, now: number): number =>
  days === undefined ? -Infinity : Math.floor(now - days * 86_400_000)

/** The audit record in memory. */
export class MemoryTrail {
  readonly #retention: AuditRetention
  #entries: AuditEntry[] = []
  #dropped = 0

  constructor(retention: AuditRetention) {
    this.#retention = retention
  }

  append(entries: readonly AuditEntry[], now: number): void {
    for (const entry of entries) this.#entries.push(structuredClone(entry))
    const from = keptFrom(this.#retention, now)
    let gone = Math.max(0, this.#entries.length - this.#retention.entries)
    while (gone < this.#entries.length && Date.parse(this.#entries[gone]!.at) < from) gone += 1
    this.#entries.splice(0, gone)
    this.#dropped += gone
  }

  async *read(cursor: string | undefined, limit: number, order: AuditOrder): AsyncGenerator<FoundEntry> {
    if (order === 'newest_first') return yield* this.#backward(cursor, limit)
    let number = Number(cursor ?? 0)
    for (let left = limit; left > 0; left -= 1) {
      // Found again each time, because entries may be added and dropped between two reads.
      number = Math.max(number, this.#dropped)
      const entry = this.#entries[number - this.#dropped]
      if (!entry) return
      number += 1
      yield { cursor: String(number), entry }
    }
  }

  *#backward(cursor: string | undefined, limit: number): Generator<FoundEntry> {
    const end = this.#dropped + this.#entries.length + 1
    let number = Math.min(end, Number(cursor ?? end))
    for (let left = limit; left > 0; left -= 1) {
      number -= 1
      const entry = this.#entries[number - 1 - this.#dropped]
      if (!entry) return
      yield { cursor: String(number), entry }
    }
  }
}
