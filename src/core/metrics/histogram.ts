import type { Metric } from 'prom-client'
import type { Metrics } from './metrics.js'

type Labels = Readonly<Record<string, string>>

interface HistogramOptions {
  readonly name: string
  readonly help: string
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[]
}

/** The observed values of one set of labels. */
export class Observations {
  readonly #labels: Labels
  readonly #bounds: readonly number[]
  readonly #counts: Float64Array
  #sum = 0

  constructor(bounds: readonly number[], labels: Labels = {}) {
    this.#labels = labels
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
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

  /** Returns the samples of a histogram with this name. */
  samples(name: string): object[] {
    const labels = this.#labels
    let count = 0
    const values: { metricName: string; labels: object; value: number }[] = [...this.#bounds, '+Inf'].map((le, i) => {
      count += this.#counts[i]!
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count }
    })
    values.push({ metricName: `${name}_sum`, labels, value: this.#sum })
    values.push({ metricName: `${name}_count`, labels, value: count })
    return values
  }
}

/** A histogram that is observed with every request. The histogram of prom-client builds a key of labels each time. */
abstract class FastHistogram {
  readonly name: string
  readonly help: string

  constructor(metrics: Metrics, { name, help }: HistogramOptions) {
    this.name = name
    this.help = help
    // A registry accepts any object with these members, but its types only allow metrics of prom-client.
    metrics.registerMetric(this as unknown as Metric)
  }

  protected abstract all(): Iterable<Observations>

  reset(): void {
    for (const one of this.all()) one.reset()
  }

  /** Returns the text for the registry. */
  async get(): Promise<object> {
    const { name, help } = this
    return {
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: [...this.all()].flatMap((one) => one.samples(name)),
    }
  }
}

/** A histogram without labels. */
export class PlainHistogram extends FastHistogram {
  readonly #observations: Observations

  constructor(metrics: Metrics, options: HistogramOptions) {
    super(metrics, options)
    this.#observations = new Observations(options.buckets)
  }

  observe(value: number): void {
    this.#observations.observe(value)
  }

  protected all(): Observations[] {
    return [this.#observations]
  }
}

/** A histogram with labels. */
export class LabelledHistogram extends FastHistogram {
  readonly #buckets: readonly number[]
  readonly #series: Observations[] = []

  constructor(metrics: Metrics, options: HistogramOptions) {
    super(metrics, options)
    this.#buckets = options.buckets
  }

  /** Adds the series of a set of labels. Must be called once for each. */
  series(labels: Labels): Observations {
    const added = new Observations(this.#buckets, labels)
    this.#series.push(added)
    return added
  }

  protected all(): Observations[] {
    return this.#series
  }
}
