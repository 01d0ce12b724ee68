import type { Clock } from '../../core/clock.js'

const MAX_CLIENTS = 10_000

/** Limits the work that each client may cause in a period. */
export class ClientRate {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #periodMs: number
  readonly #perClient: number
  readonly #counts = new Map<string, number>()
  #from = -Infinity

  constructor(clock: Pick<Clock, 'monotonic'>, { periodMs, perClient }: { periodMs: number; perClient: number }) {
    this.#clock = clock
    this.#periodMs = periodMs
    this.#perClient = perClient
  }

  /** Counts one more. Returns false if it exceeds the limit of the client, or if too many clients are counted. */
  take(client: string): boolean {
    const now = this.#clock.monotonic()
    if (now - this.#from >= this.#periodMs) {
      this.#counts.clear()
      this.#from = now
    }
    const count = this.#counts.get(client)
    if (count === undefined && this.#counts.size >= MAX_CLIENTS) return false
    if ((count ?? 0) >= this.#perClient) return false
    this.#counts.set(client, (count ?? 0) + 1)
    return true
  }
}
