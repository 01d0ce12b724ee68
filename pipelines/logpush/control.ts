/** Why a job ends. */
export type Ending = 'shutdown' | 'disabled' | 'deleted'

/** What tells a running job that its settings changed or that it ends. */
export class Control {
  /** Set once. */
  ending: Ending | undefined
  #changed = false
  #wake = new AbortController()
  readonly #abort = new AbortController()

  /** It must come to a boundary between batches now. */
  get interrupted(): boolean {
    return this.#changed || this.ending !== undefined
  }

  /** What is not under way to the destination is left. */
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

  change(): void {
    this.#changed = true
    this.#wake.abort()
  }

  end(ending: Ending): void {
    this.ending ??= ending
    this.#wake.abort()
  }

  endAttempts(): void {
    this.#abort.abort()
  }

  /** The change is taken up. */
  settled(): void {
    if (!this.#changed) return
    this.#changed = false
    if (this.ending === undefined) this.#wake = new AbortController()
  }
}
