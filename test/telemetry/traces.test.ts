import { once } from 'node:events'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Uploads } from '../../pipelines/logpush/uploads.js'
import { readConfig } from '../../src/config/load.js'
import { systemClock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import { SinkError, type Batch, type Sink } from '../../src/core/sink.js'
import { startDaemon } from '../../src/daemon/index.js'
import { readSamples } from '../../src/telemetry/samples.js'
import { readTraceparent } from '../../src/telemetry/trace-context.js'
import { Tracer } from '../../src/telemetry/tracer.js'
import { httpReceiver } from '../helpers/http-receiver.js'
import { startOrigin } from '../helpers/proxy.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const SAMPLED = `00-${TRACE}-${PARENT}-01`
const TOKEN = 'a-token-with-every-permission'

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: { stringValue?: string; intValue?: string } }[]
}

/** A collector; `span` waits for the span for which `wanted` is true. */
async function collector(t: Test) {
  const spans: Span[] = []
  const receiver = await httpReceiver(t, {
    tls: false,
    response: ({ text }) => {
      const { resourceSpans } = JSON.parse(text) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)))
      receiver.server.emit('spans')
      return { status: 200 }
    },
  })
  const span = async (wanted: (span: Span) => boolean): Promise<Span> => {
    for (;;) {
      const found = spans.find(wanted)
      if (found) return found
      await once(receiver.server, 'spans')
    }
  }
  return { receiver, spans, span, url: `http://127.0.0.1:${receiver.port}` }
}

const attribute = ({ attributes }: Span, name: string) =>
  attributes.flatMap(({ key, value }) => (key === name ? (value.stringValue ?? value.intValue) : []))[0]

t.test('a traceparent is read as the W3C says', async (t) => {
  t.same(readTraceparent(SAMPLED), { traceId: TRACE, spanId: PARENT, sampled: true })
  t.same(readTraceparent(`00-${TRACE}-${PARENT}-00`)?.sampled, false)
  t.ok(readTraceparent(`01-${TRACE}-${PARENT}-01-more`), 'a later version may have more members')
  for (const wrong of [
    undefined,
    '',
    `00-${TRACE}-${PARENT}-01-more`,
    `ff-${TRACE}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}`,
  ])
    t.equal(readTraceparent(wrong), undefined, String(wrong))
})

t.test('a sampled request and an API call reach the collector, and the origin continues the trace', async (t) => {
  const { url, span, spans, receiver } = await collector(t)
  const seen: (string | undefined)[] = []
  const origin = await startOrigin(t, ({ headers }, response) => {
    seen.push(headers['traceparent'] as string | undefined)
    response.end('hello')
  })
  const config = readConfig(
    `data: ${t.testdir()}
telemetry: { otlp: '${url}', sample: 0 }
proxy: { listen: '127.0.0.1:0' }
control: { listen: '127.0.0.1:0' }
admin: { listen: '127.0.0.1:0' }
accounts: [{ id: 023e105f4ecef8ad9ca31a8372d0c353, name: Test }]
zones: [{ id: 9f1839b6152d298aca64c4e906b6d074, account: 023e105f4ecef8ad9ca31a8372d0c353, name: example.test, hostnames: ['*'], origin: '${origin.url}' }]
tokens: [{ name: test, token: ${TOKEN}, permissions: ['*'] }]`,
    'test.yaml',
    {},
  )
  const lines: string[] = []
  const log = pino({ base: null }, { write: (line: string) => void lines.push(line) })
  const daemon = await startDaemon(config, { log })
  t.teardown(() => daemon.close())

  await (await fetch(`${daemon.proxy}/plain?secret=1`)).text()
  await (await fetch(`${daemon.proxy}/page?secret=1`, { headers: { traceparent: SAMPLED } })).text()
  const server = await span(({ kind, traceId }) => kind === 2 && traceId === TRACE)
  const client = await span(({ kind, traceId }) => kind === 3 && traceId === TRACE)
  t.equal(server.parentSpanId, PARENT)
  t.equal(client.parentSpanId, server.spanId)
  t.equal(server.name, 'GET')
  t.equal(attribute(server, 'url.path'), '/page', 'queries are not part of a trace')
  t.equal(attribute(server, 'http.response.status_code'), '200')
  t.equal(attribute(server, 'edged.zone'), 'example.test')
  t.ok(BigInt(server.endTimeUnixNano) >= BigInt(server.startTimeUnixNano))
  t.same(seen, [undefined, `00-${TRACE}-${client.spanId}-01`])
  t.equal(receiver.accepted[0]?.target, '/v1/traces')
  t.equal(receiver.accepted[0]?.headers['content-type'], 'application/json')

  await fetch(`${daemon.control}/zones`, { headers: { authorization: `Bearer ${TOKEN}` } })
  const call = await span(({ name }) => name === 'GET /zones')
  t.equal(attribute(call, 'http.route'), '/zones')
  const line = lines.find((each) => each.includes('"event":"api"'))
  t.match(JSON.parse(line ?? '{}'), { id: attribute(call, 'edged.ray'), trace_id: call.traceId })
  t.notOk(
    spans.some((span) => attribute(span, 'url.path') === '/plain'),
    'a request that is not sampled has no span',
  )

  const text = await (await fetch(`${daemon.admin}/metrics`)).text()
  const samples = readSamples(text, 'edged_')
  t.match(
    samples.find(({ name }) => name === 'edged_build_info'),
    { value: 1, labels: { version: String, node: process.version } },
  )
  t.match(
    samples.find(({ name, labels }) => name === 'edged_zone_requests_total' && labels['class'] === '2xx'),
    { value: 2, labels: { zone: 'example.test' } },
  )
})

t.test('uploads of log push are spans with their outcome', async (t) => {
  const { url, span } = await collector(t)
  const deps = { clock: systemClock, log: silentLog }
  const tracer = new Tracer({ otlp: url, sample: 0 }, {}, { ...deps, metrics: openMetrics({ process: false }) })
  t.teardown(() => tracer.close())
  const uploads = new Uploads({ atOnce: 2, perDestination: 2, timeoutMs: 10_000 }, { ...deps, traces: tracer })
  const upload = async (name: string, write: () => Promise<void>) =>
    await uploads.attempt(
      {
        sink: { write } as unknown as Sink,
        batch: { name, records: 3, size: 99 } as Batch,
        destination: 'logs.test',
        failing: false,
      },
      new AbortController().signal,
    )
  await upload('good', async () => {})
  await t.rejects(upload('bad', async () => Promise.reject(new SinkError('transient', 'responded with 503'))))
  const good = await span((each) => attribute(each, 'edged.batch') === 'good')
  const bad = await span((each) => attribute(each, 'edged.batch') === 'bad')
  t.match(good, { name: 'log push upload', kind: 3, status: {} })
  t.equal(attribute(good, 'server.address'), 'logs.test')
  t.equal(attribute(good, 'edged.records'), '3')
  t.equal(attribute(bad, 'error.type'), 'transient')
  t.match(bad, { status: { code: 2 } })
  t.not(good.traceId, bad.traceId)
})

t.test('spans beyond the limits are dropped and counted, and a failing collector delays nobody', async (t) => {
  const { url, receiver } = await collector(t)
  receiver.fault = { status: 503 }
  const metrics = openMetrics({ process: false })
  const clock = { ...systemClock, sleep: async () => undefined }
  const tracer = new Tracer({ otlp: url, sample: 1 }, {}, { clock, log: silentLog, metrics })
  const trace = tracer.sample(undefined, () => false)!
  const span = { ...trace, name: 'a', kind: 2 as const, startedAt: 1, endedAt: 2, attributes: {}, failed: false }
  for (let i = 0; i < 5000; i++) tracer.add(span)
  const dropped = async () =>
    readSamples(await metrics.metrics()).find(({ labels }) => labels['outcome'] === 'dropped')?.value
  t.equal(await dropped(), 5000 - 4096 - 512, 'one batch is on its way')
  await tracer.close()
  t.equal(await dropped(), 5000)
})

t.test('a client can have only some of its requests traced', async (t) => {
  const metrics = openMetrics({ process: false })
  const tracer = new Tracer(
    { otlp: 'http://127.0.0.1:1', sample: 0 },
    {},
    { clock: { ...systemClock, monotonic: () => 5 }, log: silentLog, metrics },
  )
  const asked = Array.from({ length: 60 }, () => tracer.sample(SAMPLED, () => false)).filter((trace) => trace)
  t.equal(asked.length, 50)
  t.ok(
    tracer.sample(SAMPLED, () => true),
    'trusted proxies decide themselves',
  )
  t.notOk(tracer.sample(`00-${TRACE}-${PARENT}-00`, () => true))
  t.notOk(tracer.sample(undefined, () => true))
  await tracer.close()
})
