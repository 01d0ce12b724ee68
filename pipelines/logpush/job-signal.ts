import { setMaxListeners } from 'node:events'
import type { Position } from './spool/types.js'

/**
 * Reason for the end of a job. `finished` means that no more records arrive, so all existing ones are delivered, with
 * any number of attempts.
 */
export type EndReason = 'shutdown' | 'disabled' | 'deleted' | 'finished'

/** Signals to a running job that its settings changed or that it ends. */
export class JobSignal {
  /** Set once. Only `finished` can be replaced by another reason. */
  ending: EndReason | undefined
  #changed = false
  #limit: Position | undefined
  #wake = new AbortController()
  readonly #abort = new AbortController()

  constructor() {
    // Each attempt in flight listens.
    setMaxListeners(0, this.#abort.signal)
  }

  /** The job has to reach a boundary between batches now. */
  get interrupted(): boolean {
    return this.#changed || (this.ending !== undefined && !this.finished)
  }

  /** The settings have changed. */
  get changed(): boolean {
    return this.#changed
  }

  /** Records from this position on were accepted after the change, or after the job was disabled. */
  get limit(): Position | undefined {
    return this.#limit
  }

  /** No more records arrive. */
  get finished(): boolean {
    return this.ending === 'finished'
  }

  /** Batches that are not in flight stay undelivered. */
  get leaving(): boolean {
    return this.ending === 'shutdown' || this.ending === 'deleted'
  }

  /** Aborts when the job is interrupted, which ends waits. */
  get wake(): AbortSignal {
    return this.#wake.signal
  }

  /** Aborts when attempts must not go on. */
  get abort(): AbortSignal {
    return this.#abort.signal
  }

  /** Interrupts the job for changed settings. `end` is the end of the spool at that time. */
  change(end?: Position): void {
    this.#changed = true
    this.#limit ??= end
    this.#wake.abort()
  }

  /** Ends the job. `end` is the end of the spool if the job is disabled. */
  end(ending: EndReason, end?: Position): void {
    this.#limit ??= end
    if (this.ending === undefined || this.finished) this.ending = ending
    if (!this.finished) this.#wake.abort()
  }

  endAttempts(): void {
    this.#abort.abort()
  }

  /** The change is taken up. */
  settled(): void {
    if (!this.#changed) return
    this.#changed = false
    if (this.ending === undefined) this.#limit = undefined
    if (!this.interrupted) this.#wake = new AbortController()
  }
}
