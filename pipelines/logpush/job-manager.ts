import type { Clock } from '../../src/core/clock.js'
import { messageOf } from '../../src/core/errors.js'
import { newUuid } from '../../src/core/ids.js'
import { KeyedMutex } from '../../src/core/keyed-mutex.js'
import type { Log } from '../../src/core/log.js'
import type { OpenTransform } from '../../src/core/extension/record-transform.js'
import type { OutgoingTraces } from '../../src/core/outgoing-traces.js'
import type { Metrics } from '../../src/core/metrics/metrics.js'
import { LOGPUSH_JOBS, LOGPUSH_STATUS, type LogpushJob } from '../../src/core/model/logpush-job.js'
import type { Scope } from '../../src/core/scope.js'
import type { Sink } from '../../src/core/sink.js'
import type { Store } from '../../src/core/store.js'
import { secretOf, type Vault } from '../../src/core/vault.js'
import { EventLoopYield } from '../../src/core/schedule/event-loop-yield.js'
import { AttemptLog } from './attempt-log.js'
import { compileJob, type CompiledJob, type JobSettings } from './settings/compiled-job.js'
import type { DeadLetterIndex } from './dead-letter-index.js'
import { deadLetter, type DeadLetter } from './dead-letter.js'
import { destinationOf } from './destination.js'
import { LIVE, liveLines } from './live.js'
import { logpushMetrics, type JobMetrics, type Lag } from './metrics.js'
import { newCounts, type Counts, type PipelineMonitor, type UseCounts } from './monitor.js'
import { ParquetStats } from './parquet/parquet-stats.js'
import { TransformStats } from './transform/transform-stats.js'
import { SharedFormatting } from './batches/shared-formatting.js'
import { SharedFilters } from './batches/shared-filters.js'
import { SharedRows } from './batches/shared-rows.js'
import type { Cursor, Spool, Spools } from './spool/types.js'
import { BatchBuffer } from './batches/batch-buffer.js'
import { JobSupervisor, type LogpushOptions, type TaskDeps } from './job-supervisor.js'
import { Uploads } from './uploads.js'
import { pause } from './backoff.js'

export interface LogpushDeps {
  readonly store: Store
  readonly vault: Vault
  readonly spools: Spools
  /** Opens a destination without connecting to it yet. Throws InvalidInput. */
  readonly open: (destination: string) => Sink
  /** Returns the key that destinations share if they share slots for uploads. */
  readonly destinationKey: (destination: string) => string
  /** Returns the current settings. The limit of uploads and the dead letter destination are only read at the start. */
  readonly options: () => LogpushOptions
  readonly standing?: readonly ConfiguredJob[]
  /** Starts the transforms of configured jobs. */
  readonly openTransform?: OpenTransform
  /** Shows the jobs. */
  readonly monitor?: PipelineMonitor
  /** Returns a destination without its secrets. */
  readonly redact?: (destination: string) => string
  /** Called with the targets that jobs and live streams read from now on. Their cursors exist already. */
  readonly want?: (wanted: readonly JobTarget[]) => Promise<void>
  /** Lists the dead letters of each job. */
  readonly deadLetters?: DeadLetterIndex
  /** Records attempts to deliver as spans. */
  readonly traces?: OutgoingTraces
  /** Folder for batches in progress, for the runner alone. */
  readonly folder: string
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** From 0 to 1. */
  readonly random?: () => number
}

/** A dataset of a scope that somebody takes. */
export interface JobTarget {
  readonly dataset: string
  readonly scope: Scope
}

/** A job of the configuration. It runs as long as the daemon does, and the API does not list it. */
export interface ConfiguredJob {
  readonly name: string
  /** Route of the pipeline, if it has routes. Each route is a job. */
  readonly route?: string | undefined
  readonly scope: Scope
  readonly settings: JobSettings
  readonly destination: string
  /**
   * Destination for single records that are too large for the destination of the job. If undefined, the common one of
   * all jobs is used.
   */
  readonly deadLetter: string | undefined
  /** Opens its destinations without connecting to them yet. */
  readonly open: (destination: string) => Sink
}

/** Runs the jobs of the store. */
export interface Logpush {
  /** Compiles the settings of a job. Throws InvalidInput with pointers such as `/output_options/field_names/3`. */
  compile(settings: JobSettings, seed: string): CompiledJob
  /** Resolves after the stored state of a job is applied. The job gets every record that is accepted from then on. */
  settled(id: string): Promise<void>
  /**
   * Resolves when all enabled jobs of the store for this dataset get every record that is accepted from then on. Rejects with
   * the reason if the spool of one cannot be opened.
   */
  settledFor(scope: Scope, dataset: string): Promise<void>
  /** Attempts undelivered batches of a job again now. Returns false if the job does not run here. */
  retry(id: string): boolean
  /** Yields new records of one scope, formatted by the job. Ends when the signal aborts. */
  live(scope: Scope, job: CompiledJob, signal: AbortSignal): AsyncIterable<Uint8Array>
  /** Ends all jobs. Undelivered records stay in the spools. */
  close(): Promise<void>
}

/** Starts all enabled jobs, and from then on follows the store. */
export async function startLogpush(deps: LogpushDeps): Promise<Logpush> {
  const batchBuffer = await BatchBuffer.open(deps.folder)
  const runner = new JobManager(deps, batchBuffer)
  await runner.start()
  return runner
}

/** Prefix of the cursor of a job, before the id. */
const JOB = 'job-'
/** Prefix of the id of a configured job, before the name. Other ids are numbers. */
const STANDING = 'pipeline-'
/** Returns the id of one. No name of a route contains a dot. */
const standingId = ({ name, route }: ConfiguredJob): string =>
  STANDING + (route === undefined ? name : `${name}..${route}`)

/** Counts of a job, with those of parts that it has used. */
type JobCounts = Counts & { -readonly [name in keyof UseCounts]: UseCounts[name] }

/** A job whose position in the spool is stored. It has no task while it is disabled. */
interface Entry extends JobTarget {
  readonly spool: Spool
  readonly cursor: Cursor
  readonly metrics: JobMetrics
  readonly counts: Counts & UseCounts
  readonly attempts: AttemptLog
  /** Removes the job from the monitor. */
  hide?: (() => void) | undefined
  task?: JobSupervisor | undefined
}

/** Delay before another attempt if the spool of a job cannot be opened. */
const AGAIN_MS = 30_000

class JobManager implements Logpush {
  readonly #deps: LogpushDeps
  readonly #shared: TaskDeps
  readonly #deadLetter: DeadLetter
  /** Dead letter destinations of configured jobs. */
  readonly #deadLetters: DeadLetter[] = []
  readonly #entries = new Map<string, Entry>()
  readonly #live = new Set<JobTarget>()
  readonly #turns = new KeyedMutex()
  readonly #underWay = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  readonly #metricsOf: (job: string) => JobMetrics
  #unwatch = () => {}

  constructor(deps: LogpushDeps, batchBuffer: BatchBuffer) {
    const { open, random = Math.random } = deps
    const options = deps.options()
    const { in_flight: atOnce, in_flight_per_destination: perDestination, timeout: timeoutMs } = options.uploads
    const uploads = new Uploads({ atOnce, perDestination, timeoutMs }, deps)
    this.#deadLetter = deadLetter(options.dead_letter === undefined ? undefined : open(options.dead_letter), uploads)
    this.#deps = deps
    this.#shared = {
      ...deps,
      batchBuffer,
      uploads,
      compressionLevel: () => deps.options().uploads.compression_level,
      random,
      loop: new EventLoopYield(),
      sharing: new SharedFormatting(),
      sharedRows: new SharedRows(),
      sharedFilters: new SharedFilters(),
      deadLetter: this.#deadLetter,
    }
    this.#metricsOf = logpushMetrics(deps.metrics, () => this.#lags())
  }

  async start(): Promise<void> {
    const { store, spools } = this.#deps
    for (const spool of spools.all()) await this.#prune(spool)
    this.#unwatch = store.watch((changes) => {
      for (const { kind, scope, id } of changes) if (kind === LOGPUSH_JOBS.name) this.#settle(scope, id)
    })
    for (const { scope, id } of store.list(LOGPUSH_JOBS)) this.#settle(scope, id, { found: true })
    for (const standing of this.#deps.standing ?? []) this.#stand(standing, { found: true })
    await Promise.all(this.#underWay)
    await this.#want()
  }

  #stand(standing: ConfiguredJob, { found = false } = {}): void {
    this.#work(standingId(standing), found, {
      apply: async (id) => await this.#begin(id, standing),
      again: () => this.#stand(standing),
    })
  }

  async #begin(id: string, standing: ConfiguredJob): Promise<void> {
    const { scope, settings, destination, deadLetter: aside, open } = standing
    if (this.#closing.signal.aborted) return
    const { uploads } = this.#shared
    const entry = await this.#entry(id, settings.dataset, scope)
    const setAside = aside === undefined ? this.#deadLetter : deadLetter(open(aside), uploads)
    if (setAside !== this.#deadLetter) this.#deadLetters.push(setAside)
    const sealed = this.#deps.vault.seal(destination, secretOf(LOGPUSH_JOBS, scope, id))
    const job = { ...settings, destination_conf: { sealed } }
    const deps = { ...this.#shared, open, deadLetter: setAside }
    entry.task = new JobSupervisor(job, { ...entry, id }, deps, { resumed: false })
    this.#show(entry, id, standing)
  }

  compile(settings: JobSettings, seed: string): CompiledJob {
    return compileJob(settings, seed, this.#deps.options().filter)
  }

  async settled(id: string): Promise<void> {
    await this.#turns.run(id, async () => {})
  }

  retry(id: string): boolean {
    const task = this.#entries.get(id)?.task
    task?.retry()
    return task !== undefined
  }

  async settledFor(scope: Scope, dataset: string): Promise<void> {
    const jobs = this.#deps.store.list(LOGPUSH_JOBS, scope)
    const wanted = jobs.filter(({ value }) => value.enabled && value.dataset === dataset)
    await Promise.all(
      wanted.map(
        async ({ id }) =>
          await this.#turns.run(id, async () => {
            const isWanted = this.#deps.store.get(LOGPUSH_JOBS, scope, id)?.value.enabled === true
            // The job could not start and waits for its next attempt. Its records are retained from now on, or not accepted.
            if (isWanted && !this.#entries.has(id)) await this.#entry(id, dataset, scope)
          }),
      ),
    )
  }

  async *live(scope: Scope, job: CompiledJob, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    const wanted: JobTarget = { dataset: job.dataset.name, scope }
    const spool = await this.#deps.spools.open(wanted.dataset, scope)
    // The spool keeps nothing that no cursor waits for.
    const cursor = await spool.cursor(LIVE + newUuid())
    try {
      this.#live.add(wanted)
      await this.#want()
      const { clock, openTransform } = this.#deps
      yield* liveLines(spool, cursor, job, { clock, signal, openTransform })
    } finally {
      this.#live.delete(wanted)
      await cursor.remove()
      await this.#want()
    }
  }

  async close(): Promise<void> {
    this.#unwatch()
    this.#closing.abort()
    await Promise.all(this.#underWay)
    const { drain_timeout: drainMs } = this.#deps.options().uploads
    await Promise.all([...this.#entries.values()].map(async ({ task }) => await task?.end('shutdown', drainMs)))
    for (const aside of [this.#deadLetter, ...this.#deadLetters]) await aside.close()
  }

  async #want(): Promise<void> {
    await this.#deps.want?.([...this.#entries.values(), ...this.#live])
  }

  *#lags(): Generator<Lag> {
    for (const { task } of this.#entries.values()) if (task !== undefined) yield task.lag
  }

  /** Applies the stored state of a job. `found` is true at the start of the daemon. */
  #settle(scope: Scope, id: string, { found = false } = {}): void {
    this.#work(id, found, {
      apply: async () => await this.#apply(scope, id, found),
      again: () => this.#settle(scope, id),
    })
  }

  /** Runs steps of one job sequentially. A failed step is tried again later. */
  #work(
    id: string,
    found: boolean,
    { apply, again }: { apply: (id: string) => Promise<void>; again: () => void },
  ): void {
    const work = this.#turns.run(id, async () => {
      try {
        await apply(id)
        if (!found) await this.#want()
      } catch (error) {
        this.#deps.log.error({ event: 'logpush_job_not_started', job: id, error: messageOf(error) })
        void this.#later(again)
      }
    })
    this.#underWay.add(work)
    void work.finally(() => this.#underWay.delete(work))
  }

  async #later(again: () => void): Promise<void> {
    await pause(this.#deps.clock, AGAIN_MS, this.#closing.signal)
    if (!this.#closing.signal.aborted) again()
  }

  async #apply(scope: Scope, id: string, found: boolean): Promise<void> {
    if (this.#closing.signal.aborted) return
    const { store, options } = this.#deps
    const job = store.get(LOGPUSH_JOBS, scope, id)?.value
    if (job?.enabled) {
      const entry = await this.#entry(id, job.dataset, scope)
      if (entry.task !== undefined) {
        entry.task.update(job)
        return this.#show(entry, id, { settings: job, destination: destinationShown(job, scope, id, this.#deps) })
      }
      entry.task = new JobSupervisor(job, { ...entry, id }, this.#shared, { resumed: !found })
      return this.#show(entry, id, { settings: job, destination: destinationShown(job, scope, id, this.#deps) })
    }
    const task = this.#entries.get(id)?.task
    await task?.end(job === undefined ? 'deleted' : 'disabled', options().uploads.drain_timeout)
    const entry =
      job !== undefined && this.#keeps(job) ? await this.#entry(id, job.dataset, scope) : this.#entries.get(id)
    if (entry !== undefined) {
      entry.task = undefined
      entry.hide?.()
    }
    if (job === undefined || !this.#keeps(job)) await this.#forget(id)
    if (job !== undefined) return
    await this.#removeStatus(scope, id)
    await this.#deps.deadLetters?.remove(id)
  }

  /** Returns whether the position of a job is retained, independent of its state. */
  #keeps(job: LogpushJob): boolean {
    return job.enabled || this.#deps.options().retain_while_disabled
  }

  async #entry(id: string, dataset: string, scope: Scope): Promise<Entry> {
    const known = this.#entries.get(id)
    if (known !== undefined) return known
    const spool = await this.#deps.spools.open(dataset, scope)
    const cursor = await spool.cursor(JOB + id)
    const counts: JobCounts = newCounts()
    const metrics = this.#counted(id, counts)
    const entry: Entry = { dataset, scope, spool, cursor, metrics, counts, attempts: new AttemptLog() }
    this.#entries.set(id, entry)
    return entry
  }

  #counted(id: string, counts: JobCounts): JobMetrics {
    const { log } = this.#deps
    return {
      ...counted(this.#metricsOf(id), counts),
      parquet(use, bytes) {
        counts.parquet ??= new ParquetStats()
        counts.parquet.add(use, bytes)
      },
      transformed(use) {
        counts.transform ??= new TransformStats()
        counts.transform.add(use)
        counts.invalid += use.invalid.length
        for (const { place, message } of use.invalid)
          log.debug({ event: 'pipeline_invalid_record', name: id, place, message })
      },
    }
  }

  #show(
    entry: Entry,
    id: string,
    shown: Pick<ConfiguredJob, 'settings' | 'destination'> & Partial<ConfiguredJob>,
  ): void {
    const { monitor, redact = () => '' } = this.#deps
    const { dataset, scope, counts } = entry
    entry.hide = monitor?.add({
      kind: shown.name === undefined ? 'job' : 'pipeline',
      name: shown.name ?? id,
      route: shown.route,
      dataset,
      source: scope.type,
      destination: redact(shown.destination),
      scope,
      settings: shown.settings,
      counts,
      progress: () => entry.task?.progress ?? { lagRecords: 0, lagSeconds: 0, inFlight: 0 },
      state: () => (entry.task?.status.failing ? 'failing' : 'running'),
      error: () => entry.task?.status.current.error_message ?? null,
      failingSince: () => entry.task?.status.current.failing_since ?? null,
      attempts: entry.attempts,
    })
  }

  async #forget(id: string): Promise<void> {
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    const { spool, cursor, metrics } = entry
    entry.hide?.()
    const left = spool.behind(cursor.state.next)
    if (left > 0) this.#deps.log.warn({ event: 'logpush_dropped', job: id, records: left }, 'the job is off now')
    this.#entries.delete(id)
    await cursor.remove()
    metrics.remove()
  }

  async #removeStatus(scope: Scope, id: string): Promise<void> {
    const { store } = this.#deps
    if (store.get(LOGPUSH_STATUS, scope, id) === undefined) return
    await store.batch([{ kind: LOGPUSH_STATUS, scope, id, value: undefined }])
  }

  #stands(id: string, { dataset, scope }: JobTarget): boolean {
    return (this.#deps.standing ?? []).some(
      (job) =>
        standingId(job) === id &&
        job.settings.dataset === dataset &&
        job.scope.type === scope.type &&
        job.scope.id === scope.id,
    )
  }

  /** Removes the cursors of jobs and streams that were there when the daemon ran last and are not now. */
  async #prune(spool: Spool): Promise<void> {
    for (const name of spool.cursors.slice()) {
      const id = name.startsWith(JOB) ? name.slice(JOB.length) : undefined
      if (id === undefined && !name.startsWith(LIVE)) continue
      if (id !== undefined && this.#stands(id, spool)) continue
      const job = id === undefined ? undefined : this.#deps.store.get(LOGPUSH_JOBS, spool.scope, id)?.value
      if (job !== undefined && job.dataset === spool.dataset && this.#keeps(job)) continue
      const cursor = await spool.cursor(name)
      if (!cursor.isTakenElsewhere) await cursor.remove()
    }
  }
}

/**
 * Returns the destination of a stored job. Empty if none of the keys decrypts it. The status of the job then reports
 * that.
 */
function destinationShown(job: LogpushJob, scope: Scope, id: string, { vault }: LogpushDeps): string {
  try {
    return destinationOf(job, scope, id, vault)
  } catch {
    return ''
  }
}

/** Returns metrics that also count for the monitor. */
const counted = (metrics: JobMetrics, counts: Counts): Omit<JobMetrics, 'transformed'> => ({
  read(records) {
    counts.read += records
    metrics.read(records)
  },
  kept(records, sampledOut, repeated) {
    counts.kept += records
    counts.repeated += repeated
    counts.sampledOut += sampledOut
    metrics.kept(records, sampledOut, repeated)
  },
  delivered(batch) {
    counts.delivered += batch.records
    counts.bytes += batch.size
    metrics.delivered(batch)
  },
  dropped(records, reason) {
    counts.dropped += records
    metrics.dropped(records, reason)
  },
  attempt(outcome) {
    if (outcome !== 'delivered') counts.retried++
    metrics.attempt(outcome)
  },
  remove: () => metrics.remove(),
})
