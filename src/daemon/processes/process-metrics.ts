import { Registry } from 'prom-client'
import { EventLoopYield, type Pause } from '../../core/schedule/event-loop-yield.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import {
  ORIGIN_ASKED,
  ORIGIN_CHECKED,
  ORIGIN_DOWN,
  ORIGIN_ERROR,
  ORIGIN_IN_FLIGHT,
  ORIGIN_SINCE,
} from '../../edge/origins/metrics.js'
import { originKey, type SeenOrigin } from '../state/status.js'
import { combined, type Value } from './combined-values.js'
import type { Metric, MetricPart, MetricRequest } from './metric-changes.js'

/** Types of metrics that only grow. Metrics of ended processes still count, so that no sum decreases. */
const GROWING: ReadonlySet<string> = new Set(['counter', 'histogram'])

interface KnownMetric {
  metric: Metric
  /** Values in chunks, as the process sends them. */
  readonly chunks: (readonly Value[])[]
}

/** The metrics of one process. */
interface Snapshot {
  /** Number of the last complete round. */
  round: number
  readonly metrics: Map<string, KnownMetric>
  /** Values of metrics about origins, by metric and {@link originKey}. */
  readonly byOrigin: ReadonlyMap<string, Map<string, Value>>
}

/** Sums the metrics of the daemon, of its processes and of processes that have ended. */
export class ProcessMetrics {
  readonly #pause: Pause
  /** Last metrics of each process, by process id. */
  readonly #last = new Map<number, Snapshot>()
  #ended = new Map<string, KnownMetric>()
  #ending: Promise<void> = Promise.resolve()

  constructor(pause?: Pause) {
    const slices = new EventLoopYield()
    this.#pause = pause ?? (() => slices.yieldToEventLoop())
  }

  /** Reads the changes of a process, part by part. */
  async update(pid: number, read: (request: MetricRequest) => Promise<MetricPart>): Promise<void> {
    const last = this.#last.get(pid) ?? newSnapshot()
    this.#last.set(pid, last)
    let part = await read({ known: last.round })
    // Until the round is complete, the next attempt gets everything again.
    last.round = 0
    for (;;) {
      for (const { metric, index, values } of part.chunks) {
        const known = last.metrics.get(metric.name) ?? { metric, chunks: [] }
        known.metric = metric
        indexOrigins(last.byOrigin.get(metric.name), values)
        known.chunks[index] = values
        last.metrics.set(metric.name, known)
      }
      if (part.complete) break
      part = await read({ round: part.round })
    }
    for (const [name, { chunks }] of last.metrics) {
      const length = part.complete.get(name)
      if (length === undefined) last.metrics.delete(name)
      else chunks.length = length
    }
    for (const [name, byOrigin] of last.byOrigin) {
      const chunks = last.metrics.get(name)?.chunks ?? []
      if (chunks.reduce((sum, { length }) => sum + length, 0) === byOrigin.size) continue
      // Origins were removed.
      byOrigin.clear()
      for (const values of chunks) indexOrigins(byOrigin, values)
    }
    last.round = part.round
  }

  /** Adds the last known counters of an ended process to the counters of the others. */
  end(pid: number): void {
    const last = this.#last.get(pid)
    this.#last.delete(pid)
    if (last) this.#ending = this.#ending.then(async () => await this.#add(last))
  }

  async #add({ metrics }: Snapshot): Promise<void> {
    const ended = new Map(this.#ended)
    for (const [name, { metric, chunks }] of metrics) {
      if (!GROWING.has(String(metric.type)) || isOfRuntime(name)) continue
      const values = await combined('sum', [...(ended.get(name)?.chunks ?? []), ...chunks], this.#pause)
      ended.set(name, { metric, chunks: [values] })
    }
    this.#ended = ended
  }

  /** Returns an origin as the processes knew it last, by {@link originKey}. The latest result counts. */
  origin(key: string): SeenOrigin | undefined {
    let seen: SeenOrigin | undefined
    let inFlight = 0
    for (const { byOrigin } of this.#last.values()) {
      const value = (name: string) => byOrigin.get(name)?.get(key)?.value
      const asked = value(ORIGIN_ASKED)
      if (asked === undefined) continue
      inFlight += value(ORIGIN_IN_FLIGHT) ?? 0
      const checkedAt = milliseconds(value(ORIGIN_CHECKED))
      if (seen && (checkedAt ?? 0) <= (seen.checkedAt ?? 0)) continue
      const error = byOrigin.get(ORIGIN_ERROR)?.get(key)?.labels['error']
      seen = {
        state: asked === 0 ? 'unknown' : value(ORIGIN_DOWN) === 1 ? 'down' : 'up',
        since: milliseconds(value(ORIGIN_SINCE)),
        checkedAt,
        lastError: error === undefined ? undefined : String(error),
        requests_in_flight: 0,
      }
    }
    return seen && { ...seen, requests_in_flight: inFlight }
  }

  /** Returns the metrics of all processes. Their values are added when the metric is read. */
  async all(own: Metrics): Promise<Registry> {
    await this.#ending
    const registry = new Registry()
    const others = () => [this.#ended, ...[...this.#last.values()].map(({ metrics }) => metrics)]
    for (const { name } of own.getMetricsAsArray()) {
      const daemon = own.getSingleMetric(name)!
      const get = async () => {
        const metric = await daemon.get()
        return await this.#whole(metric, others(), metric.values)
      }
      registry.registerMetric({ name, get } as never)
    }
    const rest = new Map(others().flatMap((metrics) => [...metrics].map(([name, { metric }]) => [name, metric])))
    for (const [name, metric] of rest) {
      if (registry.getSingleMetric(name) || metric.aggregator === 'omit') continue
      const get = async () => await this.#whole(metric, others())
      registry.registerMetric({ name, get } as never)
    }
    return registry
  }

  async #whole(metric: Metric, others: readonly ReadonlyMap<string, KnownMetric>[], own: readonly Value[] = []) {
    const { name, help, type } = metric
    // The start of the daemon, and not a sum of times.
    const aggregator = metric.aggregator === 'omit' ? 'first' : metric.aggregator
    const chunks = [own, ...others.flatMap((metrics) => metrics.get(name)?.chunks ?? [])]
    return { name, help, type, aggregator, values: await combined(aggregator, chunks, this.#pause) }
  }
}

const OF_ORIGINS = [ORIGIN_ASKED, ORIGIN_DOWN, ORIGIN_SINCE, ORIGIN_CHECKED, ORIGIN_ERROR, ORIGIN_IN_FLIGHT]

const milliseconds = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : Math.round(seconds * 1000)

const newSnapshot = (): Snapshot => ({
  round: 0,
  metrics: new Map(),
  byOrigin: new Map(OF_ORIGINS.map((name) => [name, new Map()])),
})

function indexOrigins(byOrigin: Map<string, Value> | undefined, values: readonly Value[]): void {
  for (const value of values) byOrigin?.set(keyOf(value.labels), value)
}

const keyOf = ({ zone, origin }: Value['labels']): string => originKey(String(zone), String(origin))

const isOfRuntime = (name: string): boolean => /^(process|nodejs)_/.test(name)
