import type { DeliveryState } from '../../../src/core/model/delivery.js'
import { Finding } from '../world.js'

/** What clients and receivers know of deliveries. Each method throws a {@link Finding} about a broken promise. */
export class DeliveryHistory {
  /** Ids of accepted deliveries. */
  readonly accepted = new Set<string>()
  /** The lives that began the attempts of each delivery. */
  readonly #started = new Map<string, string[]>()
  #isShared = false
  readonly #delivered = new Set<string>()

  /** A life begins an attempt, on a machine if there are several. `owner` has the lease of the webhook at this moment. */
  start(
    id: string,
    life: string,
    { machine, owner }: { machine: string | undefined; owner: string | undefined },
  ): void {
    if (owner !== machine) throw new Finding(`${machine ?? ''} sends ${id}, and ${owner ?? 'nobody'} has the lease`)
    this.#isShared = machine !== undefined
    this.#started.set(id, [...this.#lives(id), life])
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
      else this.#ended(id, state, attempts)
    }
    return found
  }

  #ended(id: string, { status, attempts: counted = 0 }: DeliveryState, attempts: number): void {
    const lives = this.#lives(id)
    if (status === 'completed' && !this.#delivered.has(id))
      throw new Finding(`${id} is completed, and no receiver has it`)
    if (status !== 'completed' && lives.length < attempts)
      throw new Finding(`${id} is given up after ${lives.length} attempts`)
    // An attempt is not counted if its life ends before the outcome is stored. Machines can replace the counts of other machines.
    const uncounted = lives.filter((life, index) => index > 0 && life !== lives[index - 1]).length
    if (!this.#isShared && lives.length > counted + uncounted)
      throw new Finding(`${id} had ${lives.length} attempts, and ${counted} are counted`)
  }

  #lives(id: string): readonly string[] {
    return this.#started.get(id) ?? []
  }
}
