import { pino } from 'pino'
import t from 'tap'
import { MemoryBudget } from '../../src/core/memory/memory-budget.js'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import { markdownStage } from '../../src/edge/markdown/stage.js'
import { requestIds } from '../../src/edge/exchange/request-ids.js'
import { sendRaw, startProxy, startRawOrigin, testZone } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'

const HTML = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n'
/** What the origin sends for a path. */
const RESPONSES: Readonly<Record<string, string>> = {
  '/no-http': 'SSH-2.0-OpenSSH\r\n\r\n',
  '/two-lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok',
  '/nothing': '',
  '/cut': 'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\npart',
  '/cut-chunks': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n',
  '/page': `${HTML}Transfer-Encoding: chunked\r\n\r\nb\r\n<p>boom</p>\r\n0\r\n\r\n`,
  '/page-with-length': `${HTML}Content-Length: 11\r\n\r\n<p>boom</p>`,
}

/** The proxy fails before it knows the zone. */
const BUG = 'GET / HTTP/1.1\r\nHost: bug.test\r\nConnection: close\r\n\r\n'

t.test('every log line about a request has its ray id', async (t) => {
  const lines: Record<string, unknown>[] = []
  const write = (line: string) => {
    const facts = JSON.parse(line) as Record<string, unknown>
    // These are about an origin, whichever request noticed it.
    if (!String(facts['event']).startsWith('origin_')) lines.push(facts)
  }
  const log = pino({ base: null }, { write })
  const origin = await startRawOrigin(t, (socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (head) => socket.end(RESPONSES[String(head).split(' ')[1]!] ?? ''))
  })
  const converter = () => {
    throw new Error('boom')
  }
  const stage = markdownStage({
    memory: new MemoryBudget(10_000_000),
    metrics: openMetrics({ process: false }),
    log,
    converter: () => ({ write: converter, end: converter }),
  })
  const zone = testZone(origin, 'settings: { content_converter: on }')
  const proxy = await startProxy(t, [zone], { log, stages: [stage] })
  const { current } = proxy.zones
  const find: typeof current.find = (name) => {
    if (name === 'bug.test') throw new Error('boom')
    return current.find(name)
  }
  proxy.zones.current = Object.assign(Object.create(current) as typeof current, { find })
  const host = 'Host: example.test\r\n'
  const failing = [
    ...Object.keys(RESPONSES).map(
      (path) => `GET ${path} HTTP/1.1\r\n${host}Accept: text/markdown\r\nConnection: close\r\n\r\n`,
    ),
    'GET / HTTP/1.1\r\nHost: unknown.invalid\r\nConnection: close\r\n\r\n',
    `GET / HTTP/1.1\r\n${host}${host}\r\n`,
    'TRACE / HTTP/1.1\r\nHost: example.test\r\n\r\n',
    'nonsense\r\n\r\n',
    BUG,
  ]
  for (const request of failing) {
    const known = lines.length
    const { text } = await sendRaw(proxy.port, request)
    await until(() => lines.length > known)
    for (const line of lines.slice(known)) {
      const what = `${String(line['event'])} of ${request.split('\r\n')[0]}`
      t.match(line, { ray: /^[0-9a-f]{16}$/ }, what)
      if (/^cf-ray: /m.test(text)) t.match(text, `cf-ray: ${String(line['ray'])}`, what)
    }
  }
  const events = new Set(lines.map(({ event }) => event))
  for (const event of ['request_failed', 'request_refused', 'conversion_failed', 'internal_error'])
    t.ok(events.has(event), event)
})

t.test('log lines of a traced request have the id of its trace', async (t) => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const trace = { traceId, spanId: '1'.repeat(16), originSpanId: '2'.repeat(16), parentId: undefined }
  t.strictSame(requestIds({ rayId: 'a', trace }), { ray: 'a', trace_id: traceId })
  t.strictSame(requestIds({ rayId: 'a', trace: undefined }), { ray: 'a' })
})
