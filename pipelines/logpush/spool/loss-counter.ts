import type { Clock } from '../../../src/core/clock.js'
import type { Log } from '../../../src/core/log.js'
import type { Counter } from 'prom-client'

/**
 * Why records do not reach a reader.
 *
 * - `limit`, `age`: dropped whole, oldest segments first
 * - `damage`: what the disk gives back is not what was written
 * - `missing`: a cursor pointed before what is kept
 * - `queue`: the daemon made them faster than the disk takes them
 * - `unfit`: an event of the daemon that cannot be written
 */
export type Loss = 'limit' | 'age' | 'damage' | 'missing' | 'queue' | 'unfit'

/** A log line for each loss of a spool, but no more than one in this time. */
const QUIET_MS = 10_000

/** Counts the losses of one dataset and scope, and tells them in the log, together if there are many. */
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
