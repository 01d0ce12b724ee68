import { Counter, Gauge, type Aggregator, type MetricValue } from 'prom-client'
import { EventLoopYield, type Pause } from '../schedule/event-loop-yield.js'
import type { Metrics } from './metrics.js'

/** One value of a metric under its labels. */
export type LabelledValue<Label extends string> = readonly [labels: Record<Label, string>, value: number]
/** Returns the values of a metric when it is read. */
type Samples<Label extends string> = () => Iterable<LabelledValue<Label>>

/** Values that are read between two pauses. */
const SLICE_VALUES = 500

/**
 * Metrics whose values are read from plain numbers when the registry is read, so that counting costs nothing on hot paths.
 */
export interface CollectedMetrics {
  readonly counter: (name: string, help: string, read: () => number) => void
  readonly gauge: (name: string, help: string, read: () => number) => void
  /** A counter with labels. */
  readonly counters: WithLabels
  /** A gauge with labels. */
  readonly gauges: WithLabels
}
type WithLabels = <Label extends string>(
  name: string,
  help: string,
  labels: readonly Label[],
  samples: Samples<Label>,
  combine?: Combine,
) => void

/** Way to combine values with the same labels, of one process and of several. */
type Combine = 'sum' | 'min' | 'max'

const COMBINED: Readonly<Record<Combine, (result: number, value: number) => number>> = {
  sum: (result, value) => result + value,
  min: Math.min,
  max: Math.max,
}

const slices = new EventLoopYield()

/** Some metrics have a value for each zone and origin, so `pause` is called between slices of the values. */
export function collectedMetrics(metrics: Metrics, pause: Pause = () => slices.yieldToEventLoop()): CollectedMetrics {
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
        get: async () => ({
          name,
          help,
          type,
          aggregator: combine,
          values: await valuesOf(labelNames, samples, { combine, pause }),
        }),
        reset: () => undefined,
      } as never)
  return { counter: single(Counter), gauge: single(Gauge), counters: labelled('counter'), gauges: labelled('gauge') }
}

/** Returns the values, one for each combination of labels. */
async function valuesOf<Label extends string>(
  labelNames: readonly Label[],
  samples: Samples<Label>,
  { combine, pause }: { combine: Combine; pause: Pause },
): Promise<MetricValue<Label>[]> {
  const found = new Map<string, MetricValue<Label>>()
  const combined = COMBINED[combine]
  let left = SLICE_VALUES
  for (const [labels, value] of samples()) {
    let key = ''
    for (const name of labelNames) key += `${labels[name]}\n`
    const known = found.get(key)
    if (known) known.value = combined(known.value, value)
    else found.set(key, { labels, value })
    if (--left > 0) continue
    left = SLICE_VALUES
    await pause()
  }
  return [...found.values()]
}

/** Returns counts by the values of one label as samples. */
export const byLabel = <Label extends string>(
  label: Label,
  values: Iterable<readonly [value: string, count: number]>,
): Samples<Label> =>
  function* () {
    for (const [value, count] of values) yield [{ [label]: value } as Record<Label, string>, count]
  }
