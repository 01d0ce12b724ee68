import { collectDefaultMetrics, Registry } from 'prom-client'

export type Metrics = Registry

/** Gauges that have the suffix of counters, which promtool rejects. The gauges by type, without the suffix, have the same numbers. */
const SUMS = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total']

/** Creates a separate registry for each daemon, so that several can run in one process. */
export function openMetrics({ process: ofProcess = true } = {}): Metrics {
  const registry = new Registry()
  if (ofProcess) collectDefaultMetrics({ register: registry })
  for (const name of SUMS) registry.removeSingleMetric(name)
  return registry
}
