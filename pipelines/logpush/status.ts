import type { Clock } from '../../src/core/clock.js'
import { messageOf } from '../../src/core/errors.js'
import type { Log } from '../../src/core/log.js'
import { LOGPUSH_JOBS, LOGPUSH_STATUS, type LogpushStatus } from '../../src/core/model/logpush-job.js'
import type { Scope } from '../../src/core/scope.js'
import type { Store } from '../../src/core/store.js'

/** Minimum interval between writes of a job's record. Deliveries follow each other quickly while a job catches up. */
const PAUSE_MS = 1000
/** Delay before another attempt if the store accepts no writes. */
const AGAIN_MS = 5000

const NEW: LogpushStatus = { last_complete: null, last_error: null, error_message: null, failing_since: null }

/** How one job fares, in memory at once and in the store soon after. */
export class JobStatus {
  current: LogpushStatus
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: Log
  readonly #scope: Scope
  readonly #id: string
  readonly #closing = new AbortController()
  #written: LogpushStatus
  /**
   * Monotonic time since which the job fails. If it failed before the start, the time is derived from the wall clock.
   */
  #failingSince: number | undefined
  #writing: Promise<void> | undefined

  constructor(scope: Scope, id: string, { store, clock, log }: { store: Store; clock: Clock; log: Log }) {
    this.#scope = scope
    this.#id = id
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.current = this.#written = store.get(LOGPUSH_STATUS, scope, id)?.value ?? NEW
    const { failing_since } = this.current
    if (failing_since !== null)
      this.#failingSince = clock.monotonic() - Math.max(0, clock.now() - Date.parse(failing_since))
  }

  get failing(): boolean {
    return this.current.error_message !== null
  }

  /** For how long nothing has been delivered because of failures. */
  get failingMs(): number {
    return this.#failingSince === undefined ? 0 : this.#clock.monotonic() - this.#failingSince
  }

  /** Everything that was accepted up to this time is delivered. A failing job leaves that state with the same write. */
  delivered(to: Date): void {
    this.#failingSince = undefined
    this.#is({ last_complete: to.toISOString(), last_error: null, error_message: null, failing_since: null })
  }

  failed(message: string): void {
    const at = new Date(this.#clock.now()).toISOString()
    const { last_complete, failing_since } = this.current
    this.#failingSince ??= this.#clock.monotonic()
    this.#is({ last_complete, last_error: at, error_message: message, failing_since: failing_since ?? at })
  }

  /** Restarts the time that a job may fail, because somebody has changed the job. */
  resume(): void {
    this.#failingSince = undefined
    if (this.current.failing_since !== null) this.#is({ ...this.current, failing_since: null })
  }

  /** Writes unwritten changes. Without `write` they are dropped. */
  async close({ write }: { write: boolean }): Promise<void> {
    if (!write) this.current = this.#written
    this.#closing.abort()
    await this.#writing
  }

  #is(status: LogpushStatus): void {
    this.current = status
    this.#writing ??= this.#write()
  }

  async #write(): Promise<void> {
    while (this.current !== this.#written) {
      const status = this.current
      const done = await this.#put(status)
      if (done) this.#written = status
      else if (this.#closing.signal.aborted) break
      await this.#clock.sleep(done ? PAUSE_MS : AGAIN_MS, this.#closing.signal).catch(() => {})
    }
    this.#writing = undefined
  }

  async #put(value: LogpushStatus): Promise<boolean> {
    const [scope, id] = [this.#scope, this.#id]
    if (this.#store.get(LOGPUSH_JOBS, scope, id) === undefined) return true
    try {
      await this.#store.batch([{ kind: LOGPUSH_STATUS, scope, id, value }])
      return true
    } catch (error) {
      this.#log.warn({ event: 'logpush_status_unwritten', job: id, error: messageOf(error) })
      return false
    }
  }
}
