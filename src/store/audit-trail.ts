import { InvalidInput } from '../core/errors.js'
import type { AuditEntry, AuditRetention } from '../core/store.js'

/** Kept unless told otherwise: at some 500 bytes an entry, half a gigabyte at most. */
export const RETENTION: AuditRetention = { entries: 1_000_000 }

/** Cursors of the stores that number their entries. */
export const NUMBERS = /^\d{1,15}$/

/** A cursor that came back from a client, after a check that it is one. */
export function checkedCursor(cursor: string, form: RegExp): string {
  if (form.test(cursor)) return cursor
  throw new InvalidInput([{ pointer: '/cursor', message: 'is not a cursor of the audit record' }])
}

/** Entries from before this moment may go: milliseconds since 1970, or -Infinity when age does not count. */
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

  async *read(after: string | undefined, limit: number): AsyncGenerator<{ cursor: string; entry: AuditEntry }> {
    let number = Number(after ?? 0)
    for (let left = limit; left > 0; left -= 1) {
      // Looked up anew each time: entries may come and go while the reader takes its time.
      number = Math.max(number, this.#dropped)
      const entry = this.#entries[number - this.#dropped]
      if (!entry) return
      number += 1
      yield { cursor: String(number), entry }
    }
  }
}
