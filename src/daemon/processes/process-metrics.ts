import { AggregatorRegistry, type Registry } from 'prom-client'
import type { Metrics } from '../../core/metrics.js'
import { ORIGIN_IN_FLIGHT, ORIGIN_UP } from '../../edge/origins/metrics.js'
import { originKey, type SeenOrigin } from '../status.js'
import type { MetricSnapshot } from './protocol.js'

/** Types of metrics that only grow. Those of ended processes still count, so that no sum decreases. */
const GROWING: ReadonlySet<string> = new Set(['counter', 'histogram'])

/** Sums the metrics of the daemon, of its processes and of processes that have ended. */
export class ProcessMetrics {
  /** Last metrics of each process, by process id. */
  readonly #last = new Map<number, MetricSnapshot>()
  #ended: Promise<MetricSnapshot> = Promise.resolve([])

  /** Stores the current metrics of a process. */
  update(pid: number, metrics: MetricSnapshot): void {
    this.#last.set(pid, metrics)
  }

  /** Adds the last known counters of an ended process to those of the others. */
  end(pid: number): void {
    const last = this.#last.get(pid)?.filter(({ type, name }) => GROWING.has(String(type)) && !isOfRuntime(name))
    this.#last.delete(pid)
    if (last) this.#ended = this.#ended.then(async (ended) => await sum([ended, last]).getMetricsAsJSON())
  }

  /** Returns the origins as the processes knew them last, by {@link originKey}: down if one process says so. */
  origins(): Map<string, SeenOrigin> {
    const seen = new Map<string, SeenOrigin>()
    for (const metrics of this.#last.values())
      for (const { name, values } of metrics) {
        if (name !== ORIGIN_UP && name !== ORIGIN_IN_FLIGHT) continue
        for (const { labels, value } of values) {
          const key = originKey(String(labels['zone']), String(labels['origin']))
          const { up, requests_in_flight: count } = seen.get(key) ?? { up: true, requests_in_flight: 0 }
          seen.set(
            key,
            name === ORIGIN_UP
              ? { up: up && value === 1, requests_in_flight: count }
              : { up, requests_in_flight: count + value },
          )
        }
      }
    return seen
  }

  /** Returns the metrics whose name begins with `prefix`, summed. */
  async all(own: Metrics, prefix = ''): Promise<Registry> {
    const daemon = (await own.getMetricsAsJSON()).map((metric) =>
      // The start of the daemon, and not a sum of times.
      metric.aggregator === 'omit' ? { ...metric, aggregator: 'first' as const } : metric,
    )
    const wanted = (snapshot: MetricSnapshot) => snapshot.filter(({ name }) => name.startsWith(prefix))
    return sum([daemon, ...this.#last.values(), await this.#ended].map(wanted))
  }
}

const isOfRuntime = (name: string): boolean => /^(process|nodejs)_/.test(name)

const sum = (snapshots: readonly MetricSnapshot[]): Registry =>
  // The types of the function describe metrics, and not the snapshots that it takes.
  AggregatorRegistry.aggregate(snapshots as never)
