import { Histogram } from 'prom-client'
import t from 'tap'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { PlainHistogram } from '../../../src/core/metrics/histogram.js'

t.test('a plain histogram prints what one of prom-client does', async (t) => {
  const [ours, theirs] = [openMetrics({ process: false }), openMetrics({ process: false })]
  const options = { name: 'seconds', help: 'How long.', buckets: [0.1, 1, 10] }
  const plain = new PlainHistogram(ours, options)
  const known = new Histogram({ ...options, registers: [theirs] })
  for (const value of [0, 0.1, 0.100001, 1, 5, 10, 11, 1e9]) {
    plain.observe(value)
    known.observe(value)
  }
  t.equal(await ours.metrics(), await theirs.metrics())
  t.match(await ours.metrics(), /^seconds_bucket\{le="1"\} 4$/m)
  t.equal(JSON.stringify(await ours.getMetricsAsJSON()).includes('"seconds_count"'), true)
  ours.resetMetrics()
  t.match(await ours.metrics(), /^seconds_count 0$/m)
})

t.test('the lag of the event loop has the metrics of prom-client, and no delay is the period of a timer', async (t) => {
  const metrics = openMetrics()
  const read = async () => {
    const found = [...(await metrics.metrics()).matchAll(/^(nodejs_eventloop_lag\S*) (\S+)$/gm)]
    return Object.fromEntries(found.map(([, name, value]) => [name!, Number(value)]))
  }
  await read()
  const lag = await read()
  const names = ['', '_min', '_max', '_mean', '_stddev', '_p50', '_p90', '_p99']
  t.strictSame(Object.keys(lag).sort(), names.map((name) => `nodejs_eventloop_lag${name}_seconds`).sort())
  for (const [name, seconds] of Object.entries(lag)) t.ok(seconds >= 0 && Number.isFinite(seconds), name)
})
