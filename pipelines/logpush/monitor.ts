import { Counter, Gauge } from 'prom-client'
import type { Metrics } from '../../src/core/metrics/metrics.js'
import type { Scope } from '../../src/core/scope.js'
import type { AttemptLog } from './attempt-log.js'
import type { JobSettings } from './settings/compiled-job.js'
import type { ParquetStats } from './parquet/parquet-stats.js'
import type { Tap } from './tap.js'
import type { TransformStats } from './transform/transform-stats.js'

/** Counts of a pipeline or job since it started. */
export interface Counts {
  /** Records that were read, invalid ones included. */
  read: number
  invalid: number
  /** How often records of its source may have been lost before they were read. Jobs read spools, which count that. */
  losses?: number
  /** Records known to be among them. */
  lost?: number
  /** Records that passed filter and sampling. */
  kept: number
  /** Records that passed the filter and were left out by sampling. */
  sampledOut: number
  /** Records that passed the filter and were left out because they repeat one before them. */
  repeated: number
  delivered: number
  /** Records that were not delivered and never will be. */
  dropped: number
  /** Attempts that failed. */
  retried: number
  /** Bytes of delivered batches, before compression. */
  bytes: number
}

/** Use of parts that not every output has. */
export interface UseCounts {
  readonly transform?: TransformStats | undefined
  readonly parquet?: ParquetStats | undefined
}

/** Lag of a pipeline or job. */
export interface Progress {
  /** Records that were accepted and are neither delivered nor passed over. */
  readonly lagRecords: number
  /** Age of the oldest record that was read and not delivered. */
  readonly lagSeconds: number
  readonly inFlight: number
}

/** A pipeline or job that runs. */
export interface Watched {
  readonly kind: 'pipeline' | 'job'
  /** Name of the pipeline, or id of the job. */
  readonly name: string
  /** Route of the pipeline. Undefined if it has no routes. Each route is shown separately. */
  readonly route?: string | undefined
  readonly dataset: string
  /** Type of the source. For jobs it is their scope. */
  readonly source: string
  /** Without secrets. */
  readonly destination: string
  /** Scope of its records. Undefined if they come from outside. */
  readonly scope: Scope | undefined
  /** Settings for its records. */
  readonly settings: JobSettings
  /** Shows its records. Undefined if they are in a spool of the daemon. */
  readonly tap?: Tap | undefined
  readonly counts: Readonly<Counts> & UseCounts
  progress(): Progress
  state(): PipelineState
  /** Returns the reason of a failure. Null if it works. */
  error(): string | null
  /** Returns when it began to fail, by RFC 3339. Null if it works. */
  failingSince?(): string | null
  /** Its last attempts to deliver. */
  readonly attempts?: AttemptLog
}

/**
 * `ended` means that the input has ended and everything is delivered. `waiting` means that it starts again after a
 * failure.
 */
export type PipelineState = 'running' | 'failing' | 'waiting' | 'ended'

export const newCounts = (): Counts => ({
  read: 0,
  invalid: 0,
  kept: 0,
  sampledOut: 0,
  repeated: 0,
  delivered: 0,
  dropped: 0,
  retried: 0,
  bytes: 0,
})

const COUNTERS: readonly (readonly [name: string, help: string, count: keyof Counts])[] = [
  ['records_read', 'Records read, invalid ones included.', 'read'],
  ['records_invalid', 'Records left out because they are invalid.', 'invalid'],
  ['losses', 'Times that records may have been lost before they were read.', 'losses'],
  ['records_lost', 'Records known to be lost before they were read.', 'lost'],
  ['records_kept', 'Records that passed filter and sampling.', 'kept'],
  ['records_sampled_out', 'Records that passed the filter and were left out by sampling.', 'sampledOut'],
  ['records_repeated', 'Records left out by dedupe.', 'repeated'],
  ['records_delivered', 'Records delivered.', 'delivered'],
  ['records_dropped', 'Records that were not delivered and never will be.', 'dropped'],
  ['upload_failures', 'Attempts to deliver a batch that failed.', 'retried'],
  ['delivered_bytes', 'Bytes delivered, before compression.', 'bytes'],
]

/** Counters of outputs with a transform. */
const TRANSFORM_COUNTERS: readonly (readonly [name: string, help: string, count: keyof TransformUseCounts])[] = [
  ['transform_records_in', 'Records that the transform got.', 'given'],
  ['transform_records_out', 'Records that the transform returned.', 'returned'],
  ['transform_records_invalid', 'Records that the transform made invalid, which records_invalid has too.', 'invalid'],
  ['transform_restarts', 'Starts of the runtime of the transform after it had exceeded a limit.', 'restarts'],
  ['transform_seconds', 'Duration of all calls of the transform, in seconds.', 'seconds'],
]
type TransformUseCounts = Omit<TransformStats, 'add'>

/** Counters of outputs whose batches are Parquet files. */
const PARQUET_COUNTERS: readonly (readonly [name: string, help: string, count: keyof Omit<ParquetStats, 'add'>])[] = [
  ['parquet_files', 'Parquet files created, repeated ones included.', 'files'],
  ['parquet_row_groups', 'Row groups of Parquet files.', 'groups'],
  ['parquet_bytes', 'Bytes of Parquet files.', 'bytes'],
  ['parquet_seconds', 'Duration of writing Parquet files in their thread, in seconds.', 'seconds'],
]

const GAUGES: readonly (readonly [name: string, help: string, value: keyof Progress])[] = [
  ['lag_records', 'Records accepted that are neither delivered nor passed over.', 'lagRecords'],
  ['lag_seconds', 'Age of the oldest record that was read and not delivered, in seconds.', 'lagSeconds'],
  ['batches_in_flight', 'Batches being sent.', 'inFlight'],
]

const LABELS = ['pipeline', 'route', 'job'] as const

const labelsOf = ({ kind, name, route }: Watched) => ({ [kind]: name, ...(route !== undefined && { route }) })

/** Counts of the source, which all routes of a pipeline share. A sum over routes must not count them twice. */
const OF_SOURCE: readonly (keyof Counts)[] = ['read', 'invalid', 'losses', 'lost']

/** All pipelines and jobs of a daemon, for metrics and for the API. There are as many series as the quotas allow jobs. */
export class PipelineMonitor {
  readonly #watched = new Map<string, Watched>()

  constructor(registers: Metrics[]) {
    const all = () => this.#watched.values()
    const counter = (name: string, help: string, valueOf: (of: Watched) => number | undefined, isOfSource = false) =>
      new Counter({
        name: `edged_pipeline_${name}_total`,
        help,
        labelNames: LABELS,
        registers,
        collect() {
          this.reset()
          const counted = new Set<string>()
          for (const each of all()) {
            const value = valueOf(each)
            if (value === undefined) continue
            const isShared = isOfSource && each.route !== undefined && each.scope === undefined
            if (isShared && counted.has(each.name)) continue
            if (isShared) counted.add(each.name)
            this.inc(isShared ? { pipeline: each.name } : labelsOf(each), value)
          }
        },
      })
    for (const [name, help, count] of COUNTERS)
      void counter(name, help, ({ counts }) => counts[count], OF_SOURCE.includes(count))
    for (const [name, help, count] of TRANSFORM_COUNTERS)
      void counter(name, help, ({ counts }) => counts.transform?.[count])
    for (const [name, help, count] of PARQUET_COUNTERS)
      void counter(name, help, ({ counts }) => counts.parquet?.[count])
    for (const [name, help, value] of GAUGES)
      void new Gauge({
        name: `edged_pipeline_${name}`,
        help,
        labelNames: LABELS,
        registers,
        collect() {
          this.reset()
          for (const each of all()) this.set(labelsOf(each), each.progress()[value])
        },
      })
  }

  /** Shows a pipeline or job, and replaces an earlier one with the same name. Returns a function that removes it. */
  add(watched: Watched): () => void {
    const key = `${watched.kind} ${watched.name} ${watched.route ?? ''}`
    this.#watched.set(key, watched)
    return () => {
      if (this.#watched.get(key) === watched) this.#watched.delete(key)
    }
  }

  list(): Watched[] {
    return [...this.#watched.values()]
  }
}
