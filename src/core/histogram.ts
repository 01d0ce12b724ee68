import type { Metric } from 'prom-client'
import type { Metrics } from './metrics.js'

/** A histogram without labels, observed with every request: prom-client's own builds a key of labels each time. */
export class PlainHistogram {
  readonly name: string
  readonly help: string
  readonly #bounds: readonly number[]
  readonly #counts: Float64Array
  #sum = 0

  /** `buckets`: upper bounds, ascending. */
  constructor(metrics: Metrics, { name, help, buckets }: { name: string; help: string; buckets: readonly number[] }) {
    this.name = name
    this.help = help
    this.#bounds = buckets
    this.#counts = new Float64Array(buckets.length + 1)
    // A registry accepts any object with these members; its types only allow those of prom-client.
    metrics.registerMetric(this as unknown as Metric)
  }

  observe(value: number): void {
    const bounds = this.#bounds
    let i = 0
    while (i < bounds.length && value > bounds[i]!) i++
    this.#counts[i]!++
    this.#sum += value
  }

  reset(): void {
    this.#counts.fill(0)
    this.#sum = 0
  }

  /** Returns the text for the registry. */
  async get(): Promise<object> {
    const { name, help } = this
    let count = 0
    const values: { metricName: string; labels: object; value: number }[] = [...this.#bounds, '+Inf'].map((le, i) => {
      count += this.#counts[i]!
      return { metricName: `${name}_bucket`, labels: { le }, value: count }
    })
    values.push({ metricName: `${name}_sum`, labels: {}, value: this.#sum })
    values.push({ metricName: `${name}_count`, labels: {}, value: count })
    return { name, help, type: 'histogram', aggregator: 'sum', values }
  }
}
