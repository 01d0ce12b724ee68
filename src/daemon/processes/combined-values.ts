import type { Aggregator, MetricValue } from 'prom-client'
import type { Pause } from '../../core/schedule/event-loop-yield.js'

export type Value = MetricValue<string> & { readonly metricName?: string }

interface Combined {
  labels: Value['labels']
  metricName?: string
  value: number
  count: number
}

/** How one more value changes the result. */
const STEPS: Readonly<Record<Exclude<Aggregator, 'omit'>, (result: number, value: number) => number>> = {
  sum: (result, value) => result + value,
  average: (result, value) => result + value,
  first: (result) => result,
  min: Math.min,
  max: Math.max,
}

/** Returns one value for each combination of labels, with a pause after each chunk. */
export async function combined(
  aggregator: Exclude<Aggregator, 'omit'>,
  chunks: readonly (readonly Value[])[],
  pause: Pause,
): Promise<Value[]> {
  const found = new Map<string, Combined>()
  const step = STEPS[aggregator]
  for (const chunk of chunks) {
    for (const { labels, value, metricName } of chunk) {
      const key = keyOf(metricName, labels)
      const known = found.get(key)
      if (!known) found.set(key, { labels, value, count: 1, ...(metricName !== undefined && { metricName }) })
      else {
        known.value = step(known.value, value)
        known.count++
      }
    }
    await pause()
  }
  const all = [...found.values()]
  if (aggregator === 'average') for (const one of all) one.value /= one.count
  return all
}

function keyOf(metricName: string | undefined, labels: Value['labels']): string {
  let key = `${metricName}\n`
  // Values of one metric have their labels in one order.
  for (const name in labels) key += `${name}=${labels[name]}\n`
  return key
}
