import { Counter, Histogram } from 'prom-client'
import t from 'tap'
import { collectedMetrics, type LabelledValue } from '../../../src/core/metrics/collected-metrics.js'
import { metricsText } from '../../../src/core/metrics/metrics-text.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'

t.test('writes the text of the registry, with pauses between slices of the values', async (t) => {
  const metrics = openMetrics({ process: false })
  const registers = [metrics]
  new Counter({ name: 'plain_total', help: 'A "help"\nof two lines.', registers }).inc(2)
  void new Counter({ name: 'unused_total', help: 'No values.', labelNames: ['a'], registers })
  new Histogram({ name: 'seconds', help: 'How long.', labelNames: ['zone'], registers }).observe({ zone: 'a' }, 1)
  let pauses = 0
  const pause = async () => void pauses++
  collectedMetrics(metrics, pause).counters('many_total', 'By zone.', ['zone'], function* () {
    for (let zone = 0; zone < 10_000; zone++) yield [{ zone: `z${zone}"\\\n` }, zone]
  })
  t.equal((await metrics.getSingleMetric('many_total')!.get()).values.length, 10_000)
  t.equal(pauses, 20, 'pauses while 10,000 values are read')
  pauses = 0
  t.equal(await metricsText(metrics, pause), await metrics.metrics())
  t.ok(pauses >= 40, `${pauses} pauses for 10,000 values`)
  t.equal(await metricsText(openMetrics({ process: false }), pause), '\n')
})

t.test('values with the same labels become one', async (t) => {
  const metrics = openMetrics({ process: false })
  const { counters, gauges } = collectedMetrics(metrics)
  const twice = (): LabelledValue<'zone' | 'origin'>[] => [
    [{ zone: 'a', origin: 'b' }, 1],
    [{ zone: 'a', origin: 'c' }, 5],
    [{ zone: 'a', origin: 'b' }, 0],
  ]
  counters('sum_total', 'Sum.', ['zone', 'origin'], twice)
  gauges('least', 'Least.', ['zone', 'origin'], twice, 'min')
  t.match(await metrics.metrics(), /sum_total\{zone="a",origin="b"\} 1\nsum_total\{zone="a",origin="c"\} 5\n/)
  t.match(await metrics.metrics(), /least\{zone="a",origin="b"\} 0\nleast\{zone="a",origin="c"\} 5\n/)
  t.throws(() => gauges('least', 'Again.', [], () => []), 'already')
})
