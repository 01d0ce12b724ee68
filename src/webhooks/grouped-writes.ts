import type { Clock } from '../core/clock.js'
import { StoreUnavailable, type Store, type Write } from '../core/store.js'

/** Maximum number of writes in a group before its last call. */
const MAX_GROUP_SIZE = 1000

/** Lets writes wait for an unavailable store instead of rejecting. */
export interface Patience {
  readonly clock: Clock
  /** After it aborts, writes to an unavailable store reject. */
  readonly closing: AbortSignal
}

/**
 * Joins the writes of several callers. Writes requested while a batch is in progress form the next batch, which has the
 * last value of each record.
 */
export class GroupedWrites {
  readonly #store: Store
  readonly #patience: Patience | undefined
  #gathered = new Map<string, Write>()
  #next: Promise<void> | undefined
  #last: Promise<void> = Promise.resolve()

  /** Without `patience`, writes to an unavailable store reject. */
  constructor(store: Store, patience?: Patience) {
    this.#store = store
    this.#patience = patience
  }

  /**
   * Resolves when the writes are durable. Rejects together with all writes of the same batch. A write with a condition
   * does not replace a write of the same record. It waits for the next batch.
   */
  async write(writes: readonly Write[]): Promise<void> {
    const keyed = writes.map((write) => [`${write.kind.name}/${write.scope.id}/${write.id}`, write] as const)
    const mustWait = () =>
      this.#gathered.size >= MAX_GROUP_SIZE ||
      keyed.some(([key, { ifVersion }]) => ifVersion !== undefined && this.#gathered.has(key))
    while (mustWait()) await this.#next?.catch(() => undefined)
    for (const [key, write] of keyed) this.#gathered.set(key, write)
    await (this.#next ??= this.#gather())
  }

  async #gather(): Promise<void> {
    await Promise.all([this.#last.catch(() => undefined), new Promise(setImmediate)])
    const writes = [...this.#gathered.values()]
    this.#gathered = new Map()
    this.#next = undefined
    this.#last = this.#stored(writes)
    await this.#last
  }

  async #stored(writes: readonly Write[]): Promise<void> {
    for (;;) {
      try {
        await this.#store.batch(writes)
        return
      } catch (error) {
        const patience = this.#patience
        if (!(error instanceof StoreUnavailable) || !patience || patience.closing.aborted) throw error
        await patience.clock.sleep(1000, patience.closing).catch(() => undefined)
      }
    }
  }
}
