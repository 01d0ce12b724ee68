import { Counter, Gauge } from 'prom-client'
import { collectedMetrics } from '../../src/core/metrics/collected-metrics.js'
import type { Metrics } from '../../src/core/metrics/metrics.js'
import type { ParquetUse } from './parquet/parquet-stats.js'
import type { TransformUse } from './transform/transform-stats.js'

/** Counters of a job. The only label is the job id, so the number of series is limited by the quota of jobs. */
export interface JobMetrics {
  read(records: number): void
  kept(records: number, sampledOut: number, repeated: number): void
  /** A batch has arrived. */
  delivered(batch: { readonly records: number; readonly size: number; readonly atMs: number }): void
  dropped(records: number, reason: DropReason): void
  /** Records were changed by the module of the job. */
  transformed?(counts: TransformUse): void
  /** A Parquet file was created. */
  parquet?(use: ParquetUse, bytes: number): void
  attempt(outcome: AttemptOutcome): void
  /** Ends its series. */
  remove(): void
}

/**
 * - `too_large` means that the destination rejects even the single record.
 * - `refused` means that the destination rejects the content of the record and accepts other records.
 * - `missing` means that the record was deleted or damaged before the job read it.
 */
export type DropReason = 'too_large' | 'refused' | 'missing'
export type AttemptOutcome = 'delivered' | 'transient' | 'refused' | 'too_large'

/** Current lag of a job. */
export interface Lag {
  readonly job: string
  readonly records: number
  readonly seconds: number
}

const DROPS: readonly DropReason[] = ['too_large', 'refused', 'missing']
const OUTCOMES: readonly AttemptOutcome[] = ['delivered', 'transient', 'refused', 'too_large']

/** Makes the metrics of all jobs; `lags` is asked with each scrape. */
export function logpushMetrics(registry: Metrics, lags: () => Iterable<Lag>): (job: string) => JobMetrics {
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name: `edged_logpush_${name}_total`, help, labelNames: ['job', ...labelNames], registers })

  const read = counter('records_read', 'Records that jobs looked at.')
  const kept = counter('records_selected', 'Records that passed filter and sampling.')
  const delivered = counter('records_delivered', 'Records that arrived.')
  const dropped = counter('records_dropped', 'Records that were not delivered and never will be.', 'reason')
  const bytes = counter('delivered_bytes', 'Text that arrived, before compression.')
  const batches = counter('upload_attempts', 'Attempts to deliver a batch.', 'outcome')
  const success = new Gauge({
    name: 'edged_logpush_last_success_timestamp_seconds',
    help: 'Unix time of the last successful upload.',
    labelNames: ['job'],
    registers,
  })
  const lag = (unit: 'records' | 'seconds', help: string) =>
    collectedMetrics(registry).gauges(`edged_logpush_lag_${unit}`, help, ['job'], function* () {
      for (const each of lags()) yield [{ job: each.job }, each[unit]]
    })
  lag('records', 'Records that a job has not delivered or passed over.')
  lag('seconds', 'Age of the oldest record that a job has read and not delivered.')

  return (job) => ({
    read: (records) => read.inc({ job }, records),
    kept: (records) => kept.inc({ job }, records),
    delivered(batch) {
      delivered.inc({ job }, batch.records)
      bytes.inc({ job }, batch.size)
      success.set({ job }, batch.atMs / 1000)
    },
    dropped: (records, reason) => dropped.inc({ job, reason }, records),
    attempt: (outcome) => batches.inc({ job, outcome }),
    remove() {
      for (const metric of [read, kept, delivered, bytes, success]) metric.remove({ job })
      for (const reason of DROPS) dropped.remove({ job, reason })
      for (const outcome of OUTCOMES) batches.remove({ job, outcome })
    },
  })
}
