import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../core/clock.js'
import { StoreUnavailable, type Store, type Write } from '../core/store.js'

/**
 * Batches unconditional writes: those requested while a batch is in progress form the next one, which has the last value
 * of each record. While the store is unavailable, they wait.
 */
export class GroupedWrites {
  readonly #store: Store
  readonly #clock: Clock
  readonly #closing: AbortSignal
  #gathered = new Map<string, Write>()
  #next: Promise<void> | undefined
  #last: Promise<void> = Promise.resolve()

  /** `closing`: after it aborts, writes to an unavailable store reject. */
  constructor(store: Store, clock: Clock, closing: AbortSignal) {
    this.#store = store
    this.#clock = clock
    this.#closing = closing
  }

  /** Resolves when the writes are durable. Rejects together with all writes of the same batch. */
  async write(writes: readonly Write[]): Promise<void> {
    for (const write of writes) this.#gathered.set(`${write.kind.name}/${write.scope.id}/${write.id}`, write)
    await (this.#next ??= this.#gather())
  }

  async #gather(): Promise<void> {
    await Promise.all([this.#last.catch(() => undefined), setImmediate()])
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
        if (!(error instanceof StoreUnavailable) || this.#closing.aborted) throw error
        await this.#clock.sleep(1000, this.#closing).catch(() => undefined)
      }
    }
  }
}
