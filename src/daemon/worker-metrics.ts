import { Counter, Histogram } from 'prom-client'
import type { Clock } from '../core/clock.js'
import type { Metrics } from '../core/metrics.js'
import type { WorkerOutcome } from '../edge/worker-run.js'

/** Scripts with a label of their own; the others are counted together as `other`. */
const MAX_SCRIPTS = 200
const OTHER = 'other'
const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30]

/** Counts requests of Workers by script. */
export class WorkerMetrics {
  readonly #clock: Clock
  readonly #scripts = new Set<string>()
  readonly #requests: Counter
  readonly #seconds: Histogram
  readonly #lost: Counter

  constructor(metrics: Metrics, clock: Clock) {
    this.#clock = clock
    const registers = [metrics]
    this.#requests = new Counter({
      name: 'edged_worker_requests_total',
      help: `Requests that Workers received, by script and outcome. After ${MAX_SCRIPTS} scripts: ${OTHER}.`,
      labelNames: ['script', 'outcome'],
      registers,
    })
    this.#seconds = new Histogram({
      name: 'edged_worker_duration_seconds',
      help: 'Duration from the client request to the end of the response of a Worker in seconds, by script.',
      labelNames: ['script'],
      buckets: BUCKETS,
      registers,
    })
    this.#lost = new Counter({
      name: 'edged_worker_traces_lost_total',
      help: 'Trace events of Workers that were dropped because a process had too many of them.',
      registers,
    })
  }

  tracesLost(count: number): void {
    this.#lost.inc(count)
  }

  /** Counts a request that arrived at `startedMonotonic`, in milliseconds on the clock's `monotonic` scale. */
  ended(script: string, outcome: WorkerOutcome, startedMonotonic: number): void {
    if (this.#scripts.size < MAX_SCRIPTS) this.#scripts.add(script)
    const label = this.#scripts.has(script) ? script : OTHER
    this.#requests.inc({ script: label, outcome })
    this.#seconds.observe({ script: label }, (this.#clock.monotonic() - startedMonotonic) / 1000)
  }
}
