import { Counter, Gauge } from 'prom-client'
import type { Metrics } from '../../src/core/metrics.js'
import type { Scope } from '../../src/core/scope.js'
import type { JobSettings } from './compiled-job.js'
import type { Tap } from './tap.js'

/** What a pipeline or job has done since it started. */
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

/** How far a pipeline or job is behind. */
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
  /** The route of the pipeline; undefined if it has no routes. Each route is shown by itself. */
  readonly route?: string | undefined
  readonly dataset: string
  /** Type of the source; that of jobs is their scope. */
  readonly source: string
  /** Without secrets. */
  readonly destination: string
  /** Whose records it reads; undefined if they come from outside. */
  readonly scope: Scope | undefined
  /** What it does with its records. */
  readonly settings: JobSettings
  /** Shows its records; undefined for those that the spools of the daemon have. */
  readonly tap?: Tap | undefined
  readonly counts: Readonly<Counts>
  progress(): Progress
  state(): PipelineState
  /** Why it fails; null if it does not. */
  error(): string | null
}

/** `ended`: the input is at its end, and everything is delivered. `waiting`: it starts again after a failure. */
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

const GAUGES: readonly (readonly [name: string, help: string, value: keyof Progress])[] = [
  ['lag_records', 'Records accepted that are neither delivered nor passed over.', 'lagRecords'],
  ['lag_seconds', 'Age of the oldest record that was read and not delivered, in seconds.', 'lagSeconds'],
  ['batches_in_flight', 'Batches being sent.', 'inFlight'],
]

const LABELS = ['pipeline', 'route', 'job'] as const

const labelsOf = ({ kind, name, route }: Watched) => ({ [kind]: name, ...(route !== undefined && { route }) })

/** Counts of the source, which all routes of a pipeline share: a sum over routes must not count them twice. */
const OF_SOURCE: readonly (keyof Counts)[] = ['read', 'invalid', 'losses', 'lost']

/** All pipelines and jobs of a daemon, for metrics and for the API. There are as many series as the quotas allow jobs. */
export class PipelineMonitor {
  readonly #watched = new Map<string, Watched>()

  constructor(registers: Metrics[]) {
    const all = () => this.#watched.values()
    for (const [name, help, count] of COUNTERS)
      void new Counter({
        name: `edged_pipeline_${name}_total`,
        help,
        labelNames: LABELS,
        registers,
        collect() {
          this.reset()
          const counted = new Set<string>()
          for (const each of all()) {
            const value = each.counts[count]
            if (value === undefined) continue
            const isShared = each.route !== undefined && each.scope === undefined && OF_SOURCE.includes(count)
            if (isShared && counted.has(each.name)) continue
            if (isShared) counted.add(each.name)
            this.inc(isShared ? { pipeline: each.name } : labelsOf(each), value)
          }
        },
      })
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

  /** Shows a pipeline or job, instead of an earlier one with the same name; returns what ends that. */
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
