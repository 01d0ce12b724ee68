import { collectDefaultMetrics, Registry } from 'prom-client'
import { measureLoopLag } from './loop-lag.js'

export type Metrics = Registry

/** Gauges that have the suffix of counters, which promtool rejects. The gauges by type, without the suffix, have the same numbers. */
const SUMS = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total']

/** Creates a separate registry for each daemon, so that several can run in one process. */
export function openMetrics({ process: ofProcess = true } = {}): Metrics {
  const registry = new Registry()
  if (!ofProcess) return registry
  // Its own measurement of the event loop never samples, and is replaced.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 2 ** 31 - 1 })
  for (const { name } of registry.getMetricsAsArray())
    if (SUMS.includes(name) || name.startsWith('nodejs_eventloop_lag')) registry.removeSingleMetric(name)
  measureLoopLag(registry)
  return registry
}
