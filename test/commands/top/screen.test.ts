import t from 'tap'
import { coloursFor, PLAIN } from '../../../src/commands/common/colours.js'
import { widthOf } from '../../../src/commands/common/text-width.js'
import { frameOf, quantile, type Frame } from '../../../src/commands/top/frame.js'
import { FIRST_SCREEN, pressed, screenLines, type Screen } from '../../../src/commands/top/screen.js'
import type { DaemonStatus } from '../../../src/daemon/state/status.js'

/** Returns a status with so many zones and what else a test needs. */
const statusOf = (zones: number, more: object = {}) =>
  ({
    version: '1.2.3',
    uptime_seconds: 100,
    ready: true,
    reasons: [],
    memory_bytes: 1,
    zones: Array.from({ length: zones }, (_, at) => ({ name: `zone-${String(at).padStart(3, '0')}.test` })),
    attention: [],
    failing_jobs: [],
    job_names: {},
    open_circuit_breakers: [],
    ...more,
  }) as unknown as DaemonStatus

const METRICS = `
edged_zone_requests_total{zone="zone-001.test",class="2xx"} 100
edged_zone_requests_total{zone="zone-001.test",class="4xx"} 40
edged_zone_requests_total{zone="zone-001.test",class="5xx"} 10
edged_zone_cache_hits_total{zone="zone-001.test"} 75
edged_origin_asked{zone="zone-001.test",origin="http://a"} 1
edged_origin_asked{zone="zone-001.test",origin="http://b"} 1
edged_origin_down{zone="zone-001.test",origin="http://b"} 1
edged_proxy_request_duration_seconds_bucket{le="0.1"} 50
edged_proxy_request_duration_seconds_bucket{le="0.2"} 100
edged_proxy_request_duration_seconds_bucket{le="+Inf"} 100
edged_pipeline_records_read_total{job="7"} 5
edged_pipeline_lag_records{job="7"} 5190
`

function shown(
  now: Frame,
  { rows = 24, columns = 80, screen = FIRST_SCREEN, colours = PLAIN, before = undefined as Frame | undefined } = {},
) {
  return screenLines(screen, { rows, columns, now, before }, colours)
}

t.test('a screen never has more lines or columns than the terminal', async (t) => {
  const attention = [
    { severity: 'error', text: 'Log job 日本語 fails: '.repeat(9) },
    { severity: 'warning', text: 'x' },
  ]
  const frame = frameOf(statusOf(300, { attention, version: '1'.repeat(100) }), METRICS, 0)
  for (const showsHelp of [false, true])
    for (const table of [0, 1, 2, 3])
      for (const rows of [1, 2, 3, 5, 24, 60])
        for (const columns of [10, 40, 80, 200]) {
          const { lines } = shown(frame, { rows, columns, screen: { ...FIRST_SCREEN, table, showsHelp } })
          t.ok(lines.length === rows, `${rows} rows, ${columns} columns: ${lines.length} lines`)
          t.ok(
            lines.every((line) => widthOf(line) <= columns),
            `${columns} columns: ${lines.join('\n')}`,
          )
        }
})

t.test('zones are shown with their rates, the busiest first', async (t) => {
  const before = frameOf(statusOf(3), '', 0)
  const now = frameOf(statusOf(3), METRICS, 10_000)
  const { lines } = shown(now, { before })
  t.match(lines[0], /^edged 1\.2\.3 · up 1m 40s · 15\.0 req\/s · 6\.7 % 5xx · p95 190 ms +1\/1$/)
  t.match(lines[1], /^ZONE +REQ\/S▾ +4XX\/S +5XX\/S +HIT% +MD\/S +SENT\/S +ORIGINS$/)
  t.match(lines[2], /^zone-001\.test +15\.0 +4\.0 +1\.0 +50\.0 +0\.0 +0 bytes +1 up 1 down$/)
  t.match(lines[3], /^zone-000\.test +0\.0 +0\.0 +0\.0 +- /)
  t.equal(lines.length, 24)
  t.match(lines.at(-1), /^q quit · s sort/)
})

t.test('what needs attention is the second line, and counts of a restarted daemon begin again', async (t) => {
  const attention = [
    { severity: 'error', text: 'Log job siem-all fails: 403' },
    { severity: 'error', text: 'Webhook Ticket system is paused' },
    { severity: 'warning', text: 'shop.test has no certificate' },
  ]
  const before = frameOf(statusOf(2), METRICS.replaceAll('100', '900'), 0)
  const now = frameOf(statusOf(2, { attention }), METRICS, 10_000)
  const { lines } = shown(now, { before, columns: 120 })
  t.equal(lines[1], '▲ Log job siem-all fails: 403    ▲ Webhook Ticket system is paused   and 1 more')
  t.match(lines[3], /^zone-001\.test +15\.0/)
})

t.test('a job has its name, and its state in words', async (t) => {
  const more = {
    job_names: { 7: 'siem-all' },
    failing_jobs: [{ kind: 'job', name: '7', destination: '', error: '403' }],
  }
  const { lines } = shown(frameOf(statusOf(1, more), METRICS, 0), { screen: { ...FIRST_SCREEN, table: 1 } })
  t.match(lines[2], /^job siem-all +failing +0\.1 +0\.0 +0 +5,190 +0 s$/)
})

t.test('colours are used on a terminal only, and not with NO_COLOR', async (t) => {
  const now = frameOf(statusOf(2), METRICS, 0)
  const red = (colours: typeof PLAIN) =>
    shown(now, { colours }).lines.some((line) => line.startsWith('\u001b[31mzone-001.test'))
  t.ok(red(coloursFor({ isTTY: true }, {})))
  t.notOk(red(coloursFor({ isTTY: true }, { NO_COLOR: '1' })))
  t.notOk(red(coloursFor({ isTTY: true }, { TERM: 'dumb' })))
  t.notOk(red(coloursFor({}, {})))
})

t.test('keys choose table, order, page and filter', async (t) => {
  const now = frameOf(statusOf(60), METRICS, 0)
  const press = (keys: readonly string[], screen: Screen = FIRST_SCREEN) => {
    let state: Screen | undefined = screen
    for (const key of keys) if (state) state = pressed(state, key, shown(now, { screen: state }).pages)
    return state
  }
  const lines = (...keys: string[]) => shown(now, { screen: press(keys)! }).lines
  t.match(lines()[0], / 1\/3$/)
  t.match(lines('\u001b[C')[0], / 2\/3$/)
  t.match(lines('\u001b[C', '\u001b[C', '\u001b[C')[0], / 3\/3$/)
  t.match(lines('\u001b[C', '\u001b[D')[0], / 1\/3$/)
  t.match(lines('2')[1], /^JOB OR PIPELINE/)
  t.match(lines('4')[2], /^all webhooks +running/)
  const byName = lines('s', 's', 's', 's', 's', 's', 's')
  t.match(byName[1], /^ZONE▾/)
  t.match(byName[2], /^zone-000/)
  t.equal(lines('/', '0', '4').at(-1), '/04_')
  t.same(lines('/', '0', '4', '\r').filter((line) => line.startsWith('zone')).length, 11)
  t.match(lines('/', '0', '4', '\r')[0], 'only "04"')
  t.match(lines('/', 'q', 'q')[2], 'nothing with "qq"')
  t.match(lines('/', 'q', '\u007f', '0', '4', '\u001b')[0], / 1\/3$/)
  t.match(lines('p')[0], /· paused/)
  t.match(lines('?')[1], /^1 2 3 4 +zones/)
  t.match(lines('?', '?')[1], /^ZONE/)
  t.equal(press(['q']), undefined)
  t.equal(press(['/', '\u0003']), undefined, 'Ctrl+C quits while a filter is typed')
})

t.test('a quantile lies between the limits of its bucket', async (t) => {
  const now = frameOf(statusOf(0), METRICS, 0)
  t.equal(quantile(now, undefined, 0.25), 0.05)
  t.equal(quantile(now, now, 0.95), undefined, 'without requests there is none')
})
