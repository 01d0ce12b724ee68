import { InvalidInput, messageOf } from '../../src/core/errors.js'
import { LOGPUSH_JOBS } from '../../src/core/model/logpush-job.js'
import type { Scope } from '../../src/core/scope.js'
import type { CompressionLevel, Sink } from '../../src/core/sink.js'
import type { Store } from '../../src/core/store.js'
import type { Sealed, Vault } from '../../src/core/vault.js'
import type { FilterLimits } from '../records/index.js'
import { compileJob, type JobSettings } from './settings/compiled-job.js'
import type { AttemptLog } from './attempt-log.js'
import { JobSignal, type EndReason } from './job-signal.js'
import { destinationOf } from './destination.js'
import { disable } from './disable.js'
import type { JobMetrics, Lag } from './metrics.js'
import type { Progress } from './monitor.js'
import { JobLoop } from './job-loop.js'
import type { SessionDeps } from './session.js'
import type { SharedFormatting } from './batches/shared-formatting.js'
import type { SharedFilters } from './batches/shared-filters.js'
import type { SharedRows } from './batches/shared-rows.js'
import { START } from './spool/position.js'
import { CursorLost, SpoolUnavailable, type Cursor, type Spool } from './spool/types.js'
import { NoRoom } from './batches/batch-buffer.js'
import { JobStatus } from './status.js'
import { pause } from './backoff.js'

/** Pause after a failure of the machine (a full disk, an unreadable spool), and after an error in the settings. */
const FAULT_PAUSE_MS = 30_000
/** While the servers of the spool are away. */
const UNAVAILABLE_PAUSE_MS = 1000

/** Options of log push that its jobs read. Times are in ms. */
export interface LogpushOptions {
  readonly uploads: {
    readonly in_flight: number
    readonly in_flight_per_destination: number
    readonly compression_level: CompressionLevel
    readonly timeout: number
    readonly drain_timeout: number
    /** 0 means never. */
    readonly disable_after: number
  }
  readonly filter: FilterLimits
  readonly dead_letter?: string
  readonly retain_while_disabled: boolean
}

export interface TaskDeps extends SessionDeps {
  readonly store: Store
  readonly vault: Vault
  readonly sharing: SharedFormatting
  readonly sharedRows: SharedRows
  readonly sharedFilters: SharedFilters
  /** Opens a destination. Throws InvalidInput. */
  readonly open: (destination: string) => Sink
  /** Returns the key that destinations share if they share slots for uploads. */
  readonly destinationKey: (destination: string) => string
  /** The settings as they are now. */
  readonly options: () => LogpushOptions
}

export interface TaskOf {
  readonly scope: Scope
  readonly id: string
  readonly spool: Spool
  readonly cursor: Cursor
  readonly metrics: JobMetrics
  readonly attempts: AttemptLog
}

/** Members of a job that a task uses. */
export interface TaskJob extends JobSettings {
  readonly destination_conf: Sealed
}

/** Runs one enabled job with its current settings, after any failure, until it is ended. */
export class JobSupervisor {
  readonly status: JobStatus
  readonly #deps: TaskDeps
  readonly #of: TaskOf
  readonly #control = new JobSignal()
  readonly #done: Promise<void>
  readonly #counted = { place: START }
  #job: TaskJob
  #session: JobLoop | undefined

  /** `resumed` means that the job was just enabled or changed, rather than found at the start of the daemon. */
  constructor(job: TaskJob, of: TaskOf, deps: TaskDeps, { resumed }: { resumed: boolean }) {
    this.#job = job
    this.#of = of
    this.#deps = deps
    this.status = new JobStatus(of.scope, of.id, deps)
    if (resumed) this.status.resume()
    this.#done = this.#run()
  }

  /**
   * Applies changed settings at the next boundary between batches, and to all records that are accepted from now on. A
   * batch that fails is created again.
   */
  update(job: TaskJob): void {
    this.#job = job
    this.status.resume()
    this.#control.change(this.#of.spool.end)
  }

  /** Attempts what failed again now. */
  retry(): void {
    this.#control.change(this.#of.spool.end)
  }

  /**
   * Resolves after all work of the job has ended. An upload in progress may finish within `drainMs`. If the job is
   * disabled, uploads of records accepted until now may finish too.
   */
  async end(ending: EndReason, drainMs: number): Promise<void> {
    const control = this.#control
    control.end(ending, ending === 'disabled' ? this.#of.spool.end : undefined)
    const over = new AbortController()
    const drained = pause(this.#deps.clock, ending === 'deleted' ? 0 : drainMs, over.signal)
    await Promise.race([this.#done, drained])
    over.abort()
    control.endAttempts()
    await this.#done
    await this.status.close({ write: ending !== 'deleted' })
  }

  /** Lag of the job. */
  get lag(): Lag {
    const { spool, cursor, id } = this.#of
    const oldest = this.#session?.oldest
    return {
      job: id,
      records: spool.behind(cursor.state.next),
      seconds: oldest === undefined ? 0 : Math.max(0, this.#deps.clock.now() - oldest) / 1000,
    }
  }

  /** Current progress, with the batches that are being sent. */
  get progress(): Progress {
    const { records, seconds } = this.lag
    return { lagRecords: records, lagSeconds: seconds, inFlight: this.#session?.inFlight ?? 0 }
  }

  async #run(): Promise<void> {
    const control = this.#control
    while (control.ending === undefined) {
      control.settled()
      try {
        if (await this.#mayRun()) await this.#turn(this.#job)
      } catch (error) {
        if (error instanceof CursorLost) {
          this.#counted.place = START
          continue
        }
        if (error instanceof SpoolUnavailable) {
          await pause(this.#deps.clock, UNAVAILABLE_PAUSE_MS, control.wake)
          continue
        }
        this.status.failed(this.#described(error))
        await this.#failed()
        await pause(this.#deps.clock, FAULT_PAUSE_MS, control.wake)
      }
    }
  }

  /** Waits until no other machine runs the job. False if the job ends or changes meanwhile. */
  async #mayRun(): Promise<boolean> {
    const control = this.#control
    const { cursor } = this.#of
    try {
      await cursor.take?.(() => control.change(), control.wake)
      return true
    } catch (error) {
      if (control.wake.aborted) return false
      throw error
    }
  }

  async #turn(job: TaskJob): Promise<void> {
    const { open, destinationKey, options, sharing, sharedRows, sharedFilters, vault } = this.#deps
    const compiled = compileJob(job, this.#of.id, options().filter)
    const text = destinationOf(job, this.#of.scope, this.#of.id, vault)
    const sink = open(text)
    const failed = async () => await this.#failed()
    const { status } = this
    const { recipe } = compiled
    const { type, id } = this.#of.scope
    const shared = recipe === undefined ? undefined : sharing.join(`${type}/${id}`, recipe)
    const rows = sharedRows.join(`${type}/${id}`, compiled)
    const filter = sharedFilters.join(`${type}/${id}`, compiled)
    const of = {
      ...this.#of,
      job: compiled,
      shared,
      rows,
      filter,
      sink,
      destination: destinationKey(text),
      control: this.#control,
      counted: this.#counted,
      status,
      failed,
    }
    this.#session = new JobLoop(of, this.#deps)
    try {
      await this.#session.run()
    } finally {
      this.#session = undefined
      shared?.leave()
      rows?.leave()
      filter?.leave()
      await sink.close()
    }
  }

  /** Returns the message about a failure for the owner of the job. */
  #described(error: unknown): string {
    if (error instanceof InvalidInput || error instanceof NoRoom) return messageOf(error)
    this.#deps.log.error({ event: 'logpush_job_stopped', job: this.#of.id, error: messageOf(error) })
    return 'the job could not go on; the log of the daemon says why'
  }

  async #failed(): Promise<void> {
    const { store, clock, log, options } = this.#deps
    const { scope, id } = this.#of
    const { disable_after: max } = options().uploads
    // A job of the configuration is not in the store and continues.
    if (store.get(LOGPUSH_JOBS, scope, id) === undefined) return
    if (max === 0 || this.status.failingMs < max || this.#control.ending !== undefined) return
    try {
      await disable(store, clock, scope, id)
      log.warn({ event: 'logpush_job_disabled', job: id, error: this.status.current.error_message })
    } catch (error) {
      log.warn({ event: 'logpush_job_not_disabled', job: id, error: messageOf(error) })
    }
  }
}
