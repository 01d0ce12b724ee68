import { Counter, Gauge, type Aggregator, type MetricValue } from 'prom-client'
import type { Metrics } from './metrics.js'

/** Adds one value of a metric under its labels. */
export type AddSample<Label extends string> = (labels: Record<Label, string>, value: number) => void
type Samples<Label extends string> = (add: AddSample<Label>) => void

/**
 * Metrics whose values are read from plain numbers when the registry is read, so that counting costs nothing on hot paths.
 */
export interface CollectedMetrics {
  readonly counter: (name: string, help: string, read: () => number) => void
  readonly gauge: (name: string, help: string, read: () => number) => void
  /** A counter with labels; `samples` adds each value. */
  readonly counters: WithLabels
  /** A gauge with labels; `samples` adds each value. */
  readonly gauges: WithLabels
}
type WithLabels = <Label extends string>(
  name: string,
  help: string,
  labels: readonly Label[],
  samples: Samples<Label>,
  combine?: Combine,
) => void

/** How values with the same labels become one, of one process and of several. */
type Combine = 'sum' | 'min'

export function collectedMetrics(metrics: Metrics): CollectedMetrics {
  const registers = [metrics]
  const single =
    (Kind: typeof Counter | typeof Gauge): CollectedMetrics['counter'] =>
    (name, help, read) => {
      void new Kind({
        name,
        help,
        registers,
        collect(this: Counter | Gauge) {
          this.reset()
          this.inc(read())
        },
      })
    }
  const labelled =
    (type: 'counter' | 'gauge'): WithLabels =>
    (name, help, labelNames, samples, combine = 'sum') =>
      // The registry reads the members of this object alone. A metric of the library would hash the labels of each value,
      // which takes most of the time with one for each of thousands of zones.
      metrics.registerMetric({
        name,
        help,
        type,
        aggregator: combine satisfies Aggregator,
        get: async () =>
          await Promise.resolve({
            name,
            help,
            type,
            aggregator: combine,
            values: valuesOf(labelNames, samples, combine),
          }),
        reset: () => undefined,
      } as never)
  return { counter: single(Counter), gauge: single(Gauge), counters: labelled('counter'), gauges: labelled('gauge') }
}

/** Returns the values, one for each combination of labels. */
function valuesOf<Label extends string>(
  labelNames: readonly Label[],
  samples: Samples<Label>,
  combine: Combine,
): MetricValue<Label>[] {
  const found = new Map<string, MetricValue<Label>>()
  samples((labels, value) => {
    let key = ''
    for (const name of labelNames) key += `${labels[name]}\n`
    const known = found.get(key)
    if (known) known.value = combine === 'min' ? Math.min(known.value, value) : known.value + value
    else found.set(key, { labels, value })
  })
  return [...found.values()]
}

/** Adds the values of a map whose keys are values of one label. */
export const byLabel =
  <Label extends string>(label: Label, values: ReadonlyMap<string, number>): Samples<Label> =>
  (add) => {
    for (const [value, count] of values) add({ [label]: value } as Record<Label, string>, count)
  }
