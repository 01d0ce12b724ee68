import { Counter, Gauge } from 'prom-client'
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
) => void

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
    (Kind: typeof Counter | typeof Gauge): WithLabels =>
    (name, help, labelNames, samples) => {
      void new Kind({
        name,
        help,
        labelNames,
        registers,
        collect(this: Counter | Gauge) {
          this.reset()
          samples((labels, value) => this.inc(labels, value))
        },
      })
    }
  return { counter: single(Counter), gauge: single(Gauge), counters: labelled(Counter), gauges: labelled(Gauge) }
}

/** Adds the values of a map whose keys are values of one label. */
export const byLabel =
  <Label extends string>(label: Label, values: ReadonlyMap<string, number>): Samples<Label> =>
  (add) => {
    for (const [value, count] of values) add({ [label]: value } as Record<Label, string>, count)
  }
