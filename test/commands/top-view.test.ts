import t from 'tap'
import { topOf, topText } from '../../src/commands/top-view.js'
import type { DaemonStatus } from '../../src/daemon/state/status.js'

const METRICS = `
edged_pipeline_records_read_total{pipeline="web"} 10
edged_pipeline_records_dropped_total{pipeline="web",route="a"} 2
edged_pipeline_losses_total{pipeline="web"} 3
edged_pipeline_records_lost_total{pipeline="web"} 40
edged_pipeline_records_read_total{job="7"} 5
edged_logpush_records_lost_total{dataset="http_requests",scope="zone/a",reason="limit"} 6
edged_logpush_records_lost_total{dataset="http_requests",scope="zone/b",reason="limit"} 1
edged_logpush_records_lost_total{dataset="http_requests",scope="zone/b",reason="damage"} 2
`
const status = { version: '1', uptime_seconds: 1, ready: true, memory_bytes: 1, zones: [] } as unknown as DaemonStatus

t.test('records that were lost are shown for pipelines and for the spool', async (t) => {
  const top = topOf(status, METRICS, 0)
  t.match(top.pipelines, [
    { name: 'pipeline web', read: 10, dropped: 2, losses: 3, lost: 40 },
    { name: 'job 7', read: 5, losses: 0, lost: 0 },
  ])
  t.strictSame(top.spool_lost, { limit: 7, damage: 2 })
  const text = topText(top)
  t.match(text, /^JOB OR PIPELINE +READ +DELIVERED +DROPPED +LOSSES +LOST +LAG +SECONDS$/m)
  t.match(text, /^pipeline web +10 +0 +2 +3 +40 +0 +0$/m)
  t.match(text, /^log spool: 9 records lost \(limit 7, damage 2\)$/m)
})

t.test('an origin that nobody asked is unknown, and a zone without one has none', async (t) => {
  const lines = [
    'edged_origin_up{zone="a",origin="http://a"} 1',
    'edged_origin_asked{zone="a",origin="http://a"} 1',
    'edged_origin_up{zone="b",origin="http://b"} 1',
    'edged_origin_asked{zone="b",origin="http://b"} 0',
    'edged_origin_up{zone="c",origin="http://c"} 1',
    'edged_origin_asked{zone="c",origin="http://c"} 1',
    'edged_origin_down{zone="c",origin="http://c"} 1',
    'edged_origin_asked{zone="d",origin=""} 0',
  ]
  const top = topOf(status, lines.join('\n'), 0)
  t.match(top.origins, [
    { zone: 'a', state: 'up', up: true },
    { zone: 'b', state: 'unknown', up: null },
    { zone: 'c', state: 'down', up: false },
    { zone: 'd', state: 'missing', up: null },
  ])
  t.match(topText(top), /^http:\/\/b +unknown \(not asked yet\) +0 +b$/m)
  t.match(topText(top), /^- +no origin +0 +d$/m)
})

t.test('a zone shows the 95th percentile of its durations, and none without requests', (t) => {
  const zones = [
    { name: 'a.test', p95_ms: 182.4 },
    { name: 'b.test', p95_ms: null },
  ]
  const top = topOf({ ...status, zones } as unknown as DaemonStatus, '', 0)
  t.match(topText(top), /^ZONE +REQUESTS +5XX +P95 +MARKDOWN/m)
  t.match(topText(top), /^a\.test +0 +0 +182 ms/m)
  t.match(topText(top), /^b\.test +0 +0 +- /m)
  t.end()
})

t.test('a spool without losses is not mentioned', async (t) => {
  t.notMatch(topText(topOf(status, '', 0)), 'spool')
})
