import { KeyedMutex } from '../../src/core/keyed-mutex.js'
import type { AuditEntry, Store } from '../../src/core/store.js'

/** Newest changes that are retained in memory, of all accounts together. */
export const MAX_ENTRIES = 20_000

/** An audit entry with its id, which is unique within the store. */
export interface NumberedEntry extends AuditEntry {
  readonly number: string
}

/** The newest audit entries, which the store lists oldest first: read once, then followed. */
class NewestEntries {
  readonly #store: Pick<Store, 'audit'>
  readonly #turns = new KeyedMutex()
  #entries: NumberedEntry[] = []
  #cursor: string | undefined

  constructor(store: Pick<Store, 'audit'>) {
    this.#store = store
  }

  /** Returns the entries, newest first. */
  async read(): Promise<readonly NumberedEntry[]> {
    return await this.#turns.run('read', async () => {
      for await (const { cursor, entry } of this.#store.audit(this.#cursor)) {
        this.#cursor = cursor
        this.#entries.push({ ...entry, number: cursor })
        if (this.#entries.length >= 2 * MAX_ENTRIES) this.#entries = this.#entries.slice(-MAX_ENTRIES)
      }
      this.#entries = this.#entries.slice(-MAX_ENTRIES)
      return this.#entries.toReversed()
    })
  }
}

const known = new WeakMap<object, NewestEntries>()

/** Returns the newest audit entries of a store, which all endpoints share. */
export function newestEntries(store: Pick<Store, 'audit'>): NewestEntries {
  const entries = known.get(store) ?? new NewestEntries(store)
  known.set(store, entries)
  return entries
}
