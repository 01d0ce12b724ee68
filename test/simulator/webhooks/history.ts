import type { DeliveryState } from '../../../src/core/model/delivery.js'
import { Finding } from '../world.js'

/** What clients and receivers know of deliveries. Each method throws a {@link Finding} about a broken promise. */
export class DeliveryHistory {
  /** Ids of accepted deliveries. */
  readonly accepted = new Set<string>()
  readonly #started = new Map<string, number>()
  readonly #delivered = new Set<string>()

  /** An attempt begins, on a machine if there are several. `owner` has the lease of the webhook at this moment. */
  start(id: string, machine: string | undefined, owner: string | undefined): void {
    if (owner !== machine) throw new Finding(`${machine ?? ''} sends ${id}, and ${owner ?? 'nobody'} has the lease`)
    this.#started.set(id, (this.#started.get(id) ?? 0) + 1)
  }

  /** The receiver has taken a delivery. */
  take(id: string): void {
    this.#delivered.add(id)
  }

  /** Each accepted delivery is delivered, or given up after all attempts. */
  unfinished(stateOf: (id: string) => DeliveryState | undefined, attempts: number): string[] {
    const found: string[] = []
    for (const id of this.accepted) {
      const state = stateOf(id)
      if (state === undefined || state.status === 'pending' || state.status === 'processing') found.push(id)
      else if (state.status === 'completed' && !this.#delivered.has(id))
        throw new Finding(`${id} is completed, and no receiver has it`)
      else if (state.status !== 'completed' && (this.#started.get(id) ?? 0) < attempts)
        throw new Finding(`${id} is given up after ${this.#started.get(id) ?? 0} attempts`)
    }
    return found
  }
}
