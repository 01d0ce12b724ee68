import { Counter, Gauge, Histogram } from 'prom-client'
import t from 'tap'
import { collectedMetrics } from '../../src/core/metrics/collected-metrics.js'
import { metricsText } from '../../src/core/metrics/metrics-text.js'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import { MetricChanges, type MetricRequest } from '../../src/daemon/processes/metric-changes.js'
import { ProcessMetrics } from '../../src/daemon/processes/process-metrics.js'
import { originKey } from '../../src/daemon/state/status.js'
import {
  ORIGIN_ASKED,
  ORIGIN_CHECKED,
  ORIGIN_DOWN,
  ORIGIN_ERROR,
  ORIGIN_IN_FLIGHT,
  ORIGIN_SINCE,
} from '../../src/edge/origins/metrics.js'
import { registrySamples } from '../../src/telemetry/samples.js'

const noPause = async () => undefined

/** A process with counters of 3,000 zones and some other metrics. */
function processOf(pid: number, own: number) {
  const metrics = openMetrics({ process: false })
  const registers = [metrics]
  const counts = new Map(Array.from({ length: 3000 }, (_, n) => [`z${n}`, own]))
  const { counters, gauges } = collectedMetrics(metrics, noPause)
  counters('zone_total', 'By zone.', ['zone'], function* () {
    for (const [zone, count] of counts) yield [{ zone }, count]
  })
  gauges('up', 'Up.', ['zone'], () => [[{ zone: 'z0' }, own - 1]], 'min')
  const seconds = new Histogram({ name: 'seconds', help: 'How long.', buckets: [1, 5], registers })
  seconds.observe(own)
  new Gauge({ name: 'lag', help: 'Lag.', aggregator: 'average', registers }).set(own)
  new Gauge({ name: 'start', help: 'Start.', aggregator: 'omit', registers }).set(own)
  const plain = new Counter({ name: 'plain_total', help: 'Plain.', registers })
  plain.inc(own)
  const changes = new MetricChanges(metrics, noPause)
  let values = 0
  let parts = 0
  const read = async (request: MetricRequest) => {
    const part = structuredClone(await changes.read(request))
    parts++
    const sizes = part.chunks.map((chunk) => chunk.values.length)
    t.ok(sizes.reduce((sum, size) => sum + size, 0) <= 1000, 'a part is small')
    for (const size of sizes) values += size
    return part
  }
  const sent = () => {
    const seen = { values, parts }
    values = parts = 0
    return seen
  }
  return { pid, counts, plain, read, sent }
}

t.test('the metrics of processes are sent as changes, in parts, and added', async (t) => {
  const daemon = openMetrics({ process: false })
  new Gauge({ name: 'lag', help: 'Lag.', aggregator: 'average', registers: [daemon] }).set(6)
  new Gauge({ name: 'start', help: 'Start.', aggregator: 'omit', registers: [daemon] }).set(100)
  let pauses = 0
  const all = new ProcessMetrics(async () => void pauses++)
  const one = processOf(1, 1)
  const two = processOf(2, 2)
  for (const { pid, read } of [one, two]) await all.update(pid, read)
  t.ok(one.sent().parts > 3)
  const value = async (name: string, zone?: string) =>
    (await registrySamples(await all.all(daemon), name)).find(({ labels }) => labels['zone'] === zone)?.value
  t.equal(await value('zone_total', 'z2999'), 3)
  t.equal(await value('up', 'z0'), 0, 'the least')
  t.equal(await value('lag'), 3, 'the mean')
  t.equal(await value('start'), 100, 'of the daemon')
  const text = await metricsText(await all.all(daemon), noPause)
  for (const line of ['seconds_bucket{le="1"} 1', 'seconds_bucket{le="5"} 2', 'seconds_sum 3', 'plain_total 3'])
    t.match(text, `\n${line}\n`)

  one.counts.set('z7', 11)
  one.plain.inc(4)
  await all.update(1, one.read)
  t.ok(one.sent().values <= 501, 'only what has changed')
  t.equal(await value('zone_total', 'z7'), 13)
  t.equal(await value('zone_total', 'z2999'), 3)
  t.equal(await value('plain_total'), 7)
  one.counts.delete('z2999')
  await all.update(1, one.read)
  t.equal(await value('zone_total', 'z2999'), 2)

  pauses = 0
  await value('plain_total')
  t.ok(pauses < 10, 'reads the metrics with the prefix, and no others')
  await value('zone_total')
  t.ok(pauses > 10)
})

t.test('the latest result about an origin counts, and it is forgotten with its zone', async (t) => {
  interface Seen {
    readonly down: number
    readonly since?: number
    readonly checked?: number
    readonly error?: string
    readonly active: number
  }
  const all = new ProcessMetrics(noPause)
  const origins = [1, 2].map((pid) => {
    const metrics = openMetrics({ process: false })
    const seen = new Map(Array.from({ length: 600 }, (_, n): [string, Seen] => [`z${n}`, { down: 0, active: pid }]))
    const { gauges } = collectedMetrics(metrics, noPause)
    const add = (name: string, value: (of: Seen) => number | undefined) =>
      gauges(name, 'Help.', ['zone', 'origin'], function* () {
        for (const [zone, of] of seen) {
          const found = value(of)
          if (found !== undefined) yield [{ zone, origin: 'o' }, found]
        }
      })
    add(ORIGIN_ASKED, ({ checked }) => (checked === undefined ? 0 : 1))
    add(ORIGIN_DOWN, ({ down }) => down)
    add(ORIGIN_SINCE, ({ since }) => since)
    add(ORIGIN_CHECKED, ({ checked }) => checked)
    add(ORIGIN_IN_FLIGHT, ({ active }) => active)
    gauges(ORIGIN_ERROR, 'Help.', ['zone', 'origin', 'error'], function* () {
      for (const [zone, { error }] of seen) if (error !== undefined) yield [{ zone, origin: 'o', error }, 1]
    })
    const changes = new MetricChanges(metrics, noPause)
    return { seen, update: async () => await all.update(pid, async (request) => await changes.read(request)) }
  })
  const origin = (zone: string) => all.origin(originKey(zone, 'o'))
  const none = { state: 'unknown', since: undefined, checkedAt: undefined, lastError: undefined }
  t.equal(origin('z1'), undefined)
  for (const { update } of origins) await update()
  t.strictSame(origin('z599'), { ...none, requests_in_flight: 3 })
  const refused = { down: 1, since: 10, checked: 20, error: 'refused', active: 0 }
  origins[1]!.seen.set('z599', refused)
  origins[0]!.seen.delete('z0')
  for (const { update } of origins) await update()
  const down = { state: 'down', since: 10_000, checkedAt: 20_000, lastError: 'refused' }
  t.strictSame(origin('z599'), { ...down, requests_in_flight: 1 })
  t.strictSame(origin('z500'), { ...none, requests_in_flight: 3 }, 'in another part')
  t.strictSame(origin('z0'), { ...none, requests_in_flight: 2 })
  origins[0]!.seen.set('z599', { down: 0, since: 25, checked: 30, active: 0 })
  origins[1]!.seen.delete('z0')
  for (const { update } of origins) await update()
  const up = { state: 'up', since: 25_000, checkedAt: 30_000, lastError: undefined }
  t.strictSame(origin('z599'), { ...up, requests_in_flight: 0 })
  t.equal(origin('z0'), undefined)
  origins[1]!.seen.set('z599', { ...refused, checked: 31, error: 'reset' })
  await origins[1]!.update()
  t.match(origin('z599'), { state: 'down', lastError: 'reset' })
})

t.test('a lost part is sent again, and the counters of an ended process remain', async (t) => {
  const daemon = openMetrics({ process: false })
  const all = new ProcessMetrics(noPause)
  const one = processOf(1, 1)
  await all.update(1, one.read)
  one.counts.set('z7', 11)
  const lost = async (request: MetricRequest) => {
    await one.read(request)
    throw new Error('too late')
  }
  await t.rejects(all.update(1, lost))
  await all.update(1, one.read)
  const value = async (name: string, zone?: string) =>
    (await registrySamples(await all.all(daemon), name)).find(({ labels }) => labels['zone'] === zone)?.value
  t.equal(await value('zone_total', 'z7'), 11)

  all.end(1)
  t.equal(await value('zone_total', 'z7'), 11)
  t.equal(await value('plain_total'), 1)
  t.equal(await value('lag'), undefined, 'gauges end with their process')
  const next = processOf(2, 5)
  await all.update(2, next.read)
  all.end(2)
  t.equal(await value('zone_total', 'z7'), 16)
})
