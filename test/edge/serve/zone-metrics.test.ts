import t from 'tap'
import { SentResponse, type Exchange } from '../../../src/edge/exchange/exchange.js'
import { ZoneMetrics } from '../../../src/edge/serve/zone-metrics.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'

const exchange = (status: number, type: string) =>
  ({
    zone: { name: 'a.test' },
    sent: Object.assign(new SentResponse(), { status, bodyBytes: 1, headers: ['content-type', type] }),
    caching: {},
  }) as unknown as Exchange

t.test('error pages in Markdown do not count as responses in Markdown', async (t) => {
  const metrics = openMetrics({ process: false })
  const zones = new ZoneMetrics(metrics)
  for (const status of [200, 206, 400, 404, 499, 502, 503])
    zones.finished(exchange(status, 'text/markdown; charset=utf-8'))
  zones.finished(exchange(200, 'text/html'))
  const text = await metrics.metrics()
  t.match(text, 'edged_zone_markdown_responses_total{zone="a.test"} 2\n')
  t.match(text, 'edged_zone_requests_total{zone="a.test",class="5xx"} 2\n')
})
