import { Registry, type MetricObjectWithValues, type MetricValue } from 'prom-client'
import type { Pause } from '../schedule/event-loop-yield.js'
import type { Metrics } from './metrics.js'

/** Values that are formatted between two pauses. */
const SLICE_VALUES = 500

type Collected = MetricObjectWithValues<MetricValue<string>>

/** A metric of the registry. Histograms have a form that is faster to format. */
interface Readable {
  get(): Promise<Collected>
  getForPromString?(): Promise<Collected>
}

/**
 * Returns all metrics as Prometheus text, as `registry.metrics()` does. Some have a value for each zone and origin, so
 * `pause` is called between slices of the values.
 */
export async function metricsText(registry: Metrics, pause: Pause): Promise<string> {
  const texts: string[] = []
  for (const { name } of registry.getMetricsAsArray()) {
    await pause()
    const metric = registry.getSingleMetric(name) as Readable | undefined
    // Removed during a pause.
    if (metric) texts.push(await metricText(await (metric.getForPromString?.() ?? metric.get()), pause))
  }
  return `${texts.join('\n\n')}\n`
}

async function metricText(metric: Collected, pause: Pause): Promise<string> {
  const { name, values } = metric
  const parts: string[] = []
  for (let from = 0; from === 0 || from < values.length; from += SLICE_VALUES) {
    if (from > 0) await pause()
    const registry = new Registry()
    const slice = { ...metric, values: values.slice(from, from + SLICE_VALUES) }
    registry.registerMetric({ name, get: () => slice } as never)
    const text = await registry.getSingleMetricAsString(name)
    // Only the first slice needs the two lines of the head.
    parts.push(from === 0 ? text : text.slice(text.indexOf('\n', text.indexOf('\n') + 1) + 1))
  }
  return parts.join('\n')
}
