import { setMaxListeners } from 'node:events'
import type { Position } from './spool/types.js'

/** Why a job ends. `finished`: there is nothing more to come, so what there is is delivered, however many tries that takes. */
export type EndReason = 'shutdown' | 'disabled' | 'deleted' | 'finished'

/** What tells a running job that its settings changed or that it ends. */
export class JobSignal {
  /** Set once; only what is finished can still be ended otherwise. */
  ending: EndReason | undefined
  #changed = false
  #limit: Position | undefined
  #wake = new AbortController()
  readonly #abort = new AbortController()

  constructor() {
    // Each attempt in flight listens.
    setMaxListeners(0, this.#abort.signal)
  }

  /** It must come to a boundary between batches now. */
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

  /** What is there is all there is. */
  get finished(): boolean {
    return this.ending === 'finished'
  }

  /** What is not in progress to the destination is left. */
  get leaving(): boolean {
    return this.ending === 'shutdown' || this.ending === 'deleted'
  }

  /** Aborts when the job is interrupted: ends waits. */
  get wake(): AbortSignal {
    return this.#wake.signal
  }

  /** Aborts when attempts must not go on. */
  get abort(): AbortSignal {
    return this.#abort.signal
  }

  /** `end`: the end of the spool, if the settings have changed. */
  change(end?: Position): void {
    this.#changed = true
    this.#limit ??= end
    this.#wake.abort()
  }

  /** `end`: the end of the spool, if the job is disabled. */
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
