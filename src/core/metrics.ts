import { collectDefaultMetrics, Registry } from 'prom-client'

export type Metrics = Registry

/** Creates a separate registry for each daemon, so that several can run in one process. */
export function openMetrics({ process: ofProcess = true } = {}): Metrics {
  const registry = new Registry()
  if (ofProcess) collectDefaultMetrics({ register: registry })
  return registry
}
