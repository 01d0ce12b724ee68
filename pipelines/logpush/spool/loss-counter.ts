import type { Clock } from '../../../src/core/clock.js'
import type { Log } from '../../../src/core/log.js'
import type { Counter } from 'prom-client'

/**
 * Reason why records do not reach a reader.
 *
 * - `limit` and `age` mean that whole segments were deleted, oldest first.
 * - `damage` means that the disk returned other bytes than were written.
 * - `missing` means that a cursor pointed before the oldest stored record.
 * - `queue` means that the daemon produced them faster than the disk accepted them.
 * - `unfit` means that an event of the daemon could not be written.
 */
export type Loss = 'limit' | 'age' | 'damage' | 'missing' | 'queue' | 'unfit'

/** Minimum interval between two log lines about losses of a spool. */
const QUIET_MS = 10_000

/** Counts the losses of one dataset and scope, and logs them, together if there are many. */
export class LossCounter {
  readonly #clock: Clock
  readonly #log: Log
  readonly #counter: Counter | undefined
  readonly #labels: { dataset: string; scope: string }
  readonly #untold = new Map<Loss, { records: number; quietUntil: number }>()

  constructor(labels: { dataset: string; scope: string }, deps: { clock: Clock; log: Log; counter?: Counter }) {
    this.#labels = labels
    this.#clock = deps.clock
    this.#log = deps.log
    this.#counter = deps.counter
  }

  add(reason: Loss, records: number, about: object = {}): void {
    this.#counter?.inc({ ...this.#labels, reason }, records)
    const now = this.#clock.monotonic()
    const untold = this.#untold.get(reason) ?? { records: 0, quietUntil: -Infinity }
    this.#untold.set(reason, untold)
    untold.records += records
    if (now < untold.quietUntil) return
    this.#log.warn({ event: 'log_records_lost', ...this.#labels, reason, records: untold.records, ...about })
    untold.records = 0
    untold.quietUntil = now + QUIET_MS
  }
}
