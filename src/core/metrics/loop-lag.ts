import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { Gauge, type Registry } from 'prom-client'
import { eachSecond, PERIOD_MS } from '../schedule/each-second.js'

/** Delays of timers are sampled this often while the process works. */
const BUSY_MS = 10
/** The share of a second in which an idle process works. */
const IDLE_SHARE = 0.05
/** Nanoseconds. */
const PER_SECOND = 1e9

/** Metrics of the recorded delays: the end of the name, the help text, how processes are joined, the value in nanoseconds. */
const FACTS: readonly (readonly [
  suffix: string,
  help: string,
  aggregator: 'min' | 'max' | 'average',
  read: (histogram: RecordableHistogram) => number,
])[] = [
  ['_min', 'The minimum recorded event loop delay.', 'min', ({ min }) => min],
  ['_max', 'The maximum recorded event loop delay.', 'max', ({ max }) => max],
  ['_mean', 'The mean of the recorded event loop delays.', 'average', ({ mean }) => mean],
  ['_stddev', 'The standard deviation of the recorded event loop delays.', 'average', ({ stddev }) => stddev],
  ['_p50', 'The 50th percentile of the recorded event loop delays.', 'average', (all) => all.percentile(50)],
  ['_p90', 'The 90th percentile of the recorded event loop delays.', 'average', (all) => all.percentile(90)],
  ['_p99', 'The 99th percentile of the recorded event loop delays.', 'average', (all) => all.percentile(99)],
]

const nameOf = (suffix: string): string => `nodejs_eventloop_lag${suffix}_seconds`

/**
 * Measures by how much timers are late, with the metrics of prom-client, for as long as the process lives. The measurement of
 * prom-client wakes an idle process 100 times a second. This one samples as often only while the process works.
 */
export function measureLoopLag(registry: Registry): void {
  const histogram = createHistogram()
  sampleDelays(histogram)
  const gauges: { readonly gauge: Gauge; readonly read: (histogram: RecordableHistogram) => number }[] = []
  const lag = new Gauge({
    name: nameOf(''),
    help: 'Lag of event loop in seconds.',
    registers: [registry],
    aggregator: 'average',
    collect() {
      const began = performance.now()
      setImmediate(() => this.set((performance.now() - began) / 1000))
      // Without a delay nothing is recorded.
      for (const { gauge, read } of gauges) gauge.set(histogram.count === 0 ? 0 : read(histogram) / PER_SECOND)
      histogram.reset()
    },
  })
  lag.set(0)
  // After the first one, which sets them.
  for (const [suffix, help, aggregator, read] of FACTS)
    gauges.push({ gauge: new Gauge({ name: nameOf(suffix), help, registers: [registry], aggregator }), read })
}

/** Records by how much timers are late: each {@link BUSY_MS} while the process works, and once a second otherwise. */
function sampleDelays(histogram: RecordableHistogram): void {
  const record = (ms: number): void => histogram.record(Math.max(1, Math.round(ms * 1e6)))
  let utilization = performance.eventLoopUtilization()
  let sampling: NodeJS.Timeout | undefined
  let last = 0
  const sample = (): void => {
    const now = performance.now()
    record(now - last - BUSY_MS)
    last = now
  }
  eachSecond((ms) => {
    const current = performance.eventLoopUtilization()
    const isBusy = performance.eventLoopUtilization(current, utilization).utilization > IDLE_SHARE
    utilization = current
    if (sampling === undefined) record(ms - PERIOD_MS)
    if (!isBusy) {
      clearInterval(sampling)
      sampling = undefined
    } else if (sampling === undefined) {
      last = performance.now()
      sampling = setInterval(sample, BUSY_MS).unref()
    }
  })
}
