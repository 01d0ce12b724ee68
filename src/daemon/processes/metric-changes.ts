import type { MetricObjectWithValues, MetricValue } from 'prom-client'
import { EventLoopYield, type Pause } from '../../core/schedule/event-loop-yield.js'
import type { Metrics } from '../../core/metrics/metrics.js'

type Value = MetricValue<string> & { readonly metricName?: string }
export type Metric = Omit<MetricObjectWithValues<Value>, 'values'>

/** Values of a metric from one place of its list on. */
export interface MetricChunk {
  readonly metric: Metric
  readonly index: number
  readonly values: readonly Value[]
}

/** Part of what changed since the round before. */
export interface MetricPart {
  readonly round: number
  readonly chunks: readonly MetricChunk[]
  /** All metrics, and how many chunks each has. Sent with the last part. Undefined if more parts follow. */
  readonly complete: ReadonlyMap<string, number> | undefined
}

/** The next part of a round, or the first one of a new round. `known`: the last complete round; 0: none. */
export type MetricRequest = { readonly known: number } | { readonly round: number }

const CHUNK_VALUES = 500
/** Chunks of one message: to send it takes a millisecond. */
const PART_CHUNKS = 2

/**
 * Returns the metrics of a process as changes of their parts. A process with 10,000 zones has 40,000 values, which are
 * read every two seconds, and few values change in between. Sent values are copied, because the registry changes its
 * values.
 */
export class MetricChanges {
  readonly #metrics: Metrics
  readonly #pause: Pause
  /** Chunks as they were sent, by metric. */
  #sent = new Map<string, (readonly Value[])[]>()
  #round = 0
  #left: MetricChunk[] = []

  constructor(metrics: Metrics, pause?: Pause) {
    const slices = new EventLoopYield()
    this.#metrics = metrics
    this.#pause = pause ?? (() => slices.yieldToEventLoop())
  }

  async read(request: MetricRequest): Promise<MetricPart> {
    if ('known' in request) await this.#begin(request.known)
    else if (request.round !== this.#round) throw new Error('another round of metrics has begun')
    const chunks = this.#left.splice(0, PART_CHUNKS)
    const complete =
      this.#left.length > 0 ? undefined : new Map([...this.#sent].map(([name, { length }]) => [name, length]))
    return { round: this.#round, chunks, complete }
  }

  async #begin(known: number): Promise<void> {
    // The daemon did not receive the last round.
    const before = known === this.#round ? this.#sent : new Map<string, (readonly Value[])[]>()
    const round = ++this.#round
    const sent = new Map<string, (readonly Value[])[]>()
    const left: MetricChunk[] = []
    for (const { name } of this.#metrics.getMetricsAsArray()) {
      await this.#pause()
      const found = await this.#metrics.getSingleMetric(name)?.get()
      if (!found) continue
      const { values, ...metric } = found
      const old = before.get(name) ?? []
      const chunks: (readonly Value[])[] = []
      for (let at = 0; at < values.length || at === 0; at += CHUNK_VALUES) {
        const slice = values.slice(at, at + CHUNK_VALUES)
        const same = old[chunks.length]
        const chunk = same && areEqual(same, slice) ? same : slice.map((value) => ({ ...value }))
        if (chunk !== same) left.push({ metric, index: chunks.length, values: chunk })
        chunks.push(chunk)
        await this.#pause()
      }
      sent.set(name, chunks)
    }
    // A later round has replaced this one.
    if (round !== this.#round) throw new Error('another round of metrics has begun')
    this.#sent = sent
    this.#left = left
  }
}

const areEqual = (a: readonly Value[], b: readonly Value[]): boolean =>
  a.length === b.length && a.every((value, place) => isEqual(value, b[place]!))

function isEqual(a: Value, b: Value): boolean {
  if (!Object.is(a.value, b.value) || a.metricName !== b.metricName) return false
  if (a.labels === b.labels) return true
  const names = Object.keys(a.labels)
  return names.length === Object.keys(b.labels).length && names.every((name) => a.labels[name] === b.labels[name])
}
