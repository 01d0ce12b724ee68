import { once } from 'node:events'
import { request, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { systemClock as clock } from '../../../src/core/clock.js'
import { silentLog as log } from '../../../src/core/log.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { account } from '../../../src/core/scope.js'
import { outboundServer } from '../../../src/daemon/workers/outbound.js'
import { Tracer } from '../../../src/telemetry/tracer.js'
import { httpReceiver } from '../../helpers/http-receiver.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'

t.test(
  'a sub-request of a Worker that passes on a sampled trace is a span, and its destination continues the trace',
  async (t) => {
    const bodies: string[] = []
    const collector = await httpReceiver(t, {
      tls: false,
      response: ({ text }) => {
        bodies.push(text)
        collector.server.emit('spans')
        return { status: 200 }
      },
    })
    const seen: unknown[] = []
    const destination = createServer((got, response) => {
      seen.push(got.headers['traceparent'])
      response.statusCode = 503
      response.end('busy')
    })
    await new Promise<void>((resolve) => void destination.listen(0, '127.0.0.1', resolve))
    t.teardown(() => destination.close())
    const to = `127.0.0.1:${(destination.address() as AddressInfo).port}`

    const config = { otlp: `http://127.0.0.1:${collector.port}`, sample: 0 }
    const traces = new Tracer(config, {}, { clock, log, metrics: openMetrics({ process: false }) })
    // Without guard: the destination is local.
    const egress = { agents: () => ({ destroy: () => undefined }) }
    const deps = { zones: { current: { find: () => undefined } }, workers: {}, egress, traces, log }
    const { server, close } = outboundServer(deps as never, account('a'))
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    t.teardown(close)
    const { port } = server.address() as AddressInfo
    const send = async (traceparent: string | undefined) => {
      const headers = { host: to, 'x-edged-script': 'app', ...(traceparent !== undefined && { traceparent }) }
      const sent = request({ host: '127.0.0.1', port, path: '/in?secret=1', headers })
      sent.end()
      const [response] = await once(sent, 'response')
      response.resume()
      await once(response, 'end')
      return response.statusCode as number
    }
    for (const field of [undefined, 'nonsense', `00-${TRACE}-${PARENT}-00`]) t.equal(await send(field), 503)
    t.equal(await send(`00-${TRACE}-${PARENT}-01`), 503)
    const sent = traces.close()
    if (bodies.length === 0) await once(collector.server, 'spans')
    await sent
    const spans = JSON.parse(bodies[0]!).resourceSpans[0].scopeSpans[0].spans
    t.equal(spans.length, 1, 'traces that are not sampled have no spans')
    t.match(spans[0], { traceId: TRACE, parentSpanId: PARENT, name: 'GET', kind: 3, status: { code: 2 } })
    const attributes = Object.fromEntries(
      spans[0].attributes.map(({ key, value }: { key: string; value: object }) => [key, Object.values(value)[0]]),
    )
    t.match(attributes, {
      'url.path': '/in',
      'server.address': to,
      'edged.worker': 'app',
      'http.response.status_code': '503',
    })
    t.same(seen, [undefined, 'nonsense', `00-${TRACE}-${PARENT}-00`, `00-${TRACE}-${spans[0].spanId}-01`])
  },
)
