import { Counter, Gauge } from 'prom-client'
import type { Metrics } from '../../../src/core/metrics/metrics.js'

/** Counters that all spools of a daemon share. */
export interface SpoolMetrics {
  readonly lost: Counter
  readonly failures: Counter
  /** Adds a source of the metric of stored bytes. */
  stored(bytes: () => number): void
}

const known = new WeakMap<Metrics, SpoolMetrics>()

/** Returns the metrics of spools. They are created once per registry. */
export function spoolMetrics(metrics: Metrics): SpoolMetrics {
  let found = known.get(metrics)
  if (found === undefined) known.set(metrics, (found = create(metrics)))
  return found
}

function create(metrics: Metrics): SpoolMetrics {
  const registers = [metrics]
  const sources: (() => number)[] = []
  void new Gauge({
    name: 'edged_logpush_spool_bytes',
    help: 'Bytes of all log spools on the disk.',
    registers,
    collect() {
      this.set(sources.reduce((sum, bytes) => sum + bytes(), 0))
    },
  })
  return {
    lost: new Counter({
      name: 'edged_logpush_records_lost_total',
      help: 'Accepted log records that do not reach every reader, by cause.',
      labelNames: ['dataset', 'scope', 'reason'],
      registers,
    }),
    failures: new Counter({
      name: 'edged_logpush_spool_append_failures_total',
      help: 'Failed appends to log spools.',
      registers,
    }),
    stored: (bytes) => void sources.push(bytes),
  }
}
