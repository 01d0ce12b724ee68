import t from 'tap'
import { readConfig } from '../../src/config/load.js'
import { silentLog } from '../../src/core/log.js'
import { LOGPUSH_JOBS } from '../../src/core/model/logpush-job.js'
import { WEBHOOKS } from '../../src/core/model/webhook.js'
import { account, zone } from '../../src/core/scope.js'
import { Attention, type AttentionDeps } from '../../src/daemon/state/attention.js'
import { newCounts } from '../../pipelines/logpush/monitor.js'
import { openStore } from '../../src/store/index.js'
import { testFolder } from '../helpers/folder.js'
import { HandClock } from '../helpers/hand-clock.js'
import { ACCOUNT, liveDaemon, until, ZONE } from '../helpers/live-daemon.js'
import { freePort } from '../helpers/free-port.js'

const CONFIG = readConfig(
  `accounts: [{ id: ${ACCOUNT}, name: Example }]
zones: [{ id: ${ZONE}, account: ${ACCOUNT}, name: example.test, origin: 'http://127.0.0.1:1' }]
logpush: { retention_bytes: 100MB }`,
  'test.yaml',
  {},
)
const origin = {
  up: null,
  since: null,
  last_error: null,
  checked_at: null,
  backup: false,
  weight: 1,
  requests_in_flight: 0,
}

t.test('each kind of trouble is one item, errors first', async (t) => {
  const clock = new HandClock()
  const store = await openStore('memory', { folder: '', log: silentLog, clock })
  t.teardown(async () => await store.close())
  const inDays = (days: number) => new Date(clock.now() + days * 86_400_000 + 1000).toISOString()
  const samples: Record<string, number> = { edged_logpush_spool_bytes: 0, exceptions: 0 }
  await store.batch([
    { kind: LOGPUSH_JOBS, scope: zone(ZONE), id: '7', value: { id: 7, name: 'siem-all' } },
    { kind: WEBHOOKS, scope: account(ACCOUNT), id: 'w', value: { id: 'w', label: 'Ticket system' } },
  ])
  const deps: AttentionDeps = {
    config: () => CONFIG,
    store,
    zones: () => [
      {
        id: ZONE,
        name: 'example.test',
        hostnames: [],
        origins: [
          {
            ...origin,
            url: 'http://10.0.0.1',
            state: 'down',
            since: '2026-11-21T11:00:00.000Z',
            last_error: 'refused',
          },
          { ...origin, url: 'http://10.0.0.2', state: 'up' },
          { ...origin, url: 'http://10.0.0.3', state: 'unknown' },
          { ...origin, url: '', state: 'missing' },
        ],
      },
    ],
    running: () => [
      {
        kind: 'job',
        name: '7',
        dataset: 'http_requests',
        source: 'zone',
        destination: '',
        scope: zone(ZONE),
        settings: { dataset: 'http_requests' },
        counts: newCounts(),
        progress: () => ({ lagRecords: 5190, lagSeconds: 1, inFlight: 0 }),
        state: () => 'failing',
        error: () => 'responded with 403',
        failingSince: () => '2026-11-21T11:40:00.000Z',
      },
    ],
    breakers: () => [{ scope: account(ACCOUNT), webhookId: 'w' }],
    failing: () => ['w', 'x'].map((webhookId) => ({ scope: account(ACCOUNT), webhookId })),
    health: (_scope, id) => ({
      state: id === 'w' ? 'paused' : 'failing',
      failing_since: '2026-11-21T11:50:00.000Z',
      failures: 10,
      next_try_at: '2026-11-21T12:04:00.000Z',
      waiting: 1,
      success: [],
    }),
    certificates: () => [
      { names: ['example.test'], source: 'file', not_after: inDays(29) },
      { names: ['www.example.test'], source: 'file', not_after: inDays(31) },
      { names: ['soon.example.test'], source: 'acme', not_after: inDays(3) },
      { names: ['b.example.test'], source: 'acme', not_after: inDays(20) },
    ],
    missing: () =>
      ['a', 'b', 'c', 'd'].map((name) => ({ zone_id: ZONE, zone: 'example.test', name, why: 'none', write: 'one' })),
    keptRules: () => [{ scope: zone(ZONE), phase: 'http_ratelimit', rules: 1 }],
    samples: async (prefix) =>
      prefix.startsWith('edged_worker')
        ? [
            {
              name: 'edged_worker_requests_total',
              labels: { script: 'api', outcome: 'exception', account: ACCOUNT },
              value: samples['exceptions']!,
            },
          ]
        : [{ name: prefix, labels: {}, value: samples[prefix]! }],
    clock,
  }
  const attention = new Attention(deps)
  t.teardown(() => attention.close())
  const shown = async () => (await attention.list()).map(({ kind, severity, text }) => [kind, severity, text])
  const calm = await shown()
  t.strictSame(calm, [
    ['job_failing', 'error', 'Log job siem-all fails: responded with 403 · 5,190 records waiting'],
    [
      'breaker_open',
      'error',
      'Webhook Ticket system is paused after 10 failures, next try at 2026-11-21T12:04:00.000Z · 1 delivery waiting',
    ],
    ['webhook_failing', 'error', 'Webhook x fails: the last attempt failed · 1 delivery waiting'],
    ['origin_down', 'error', 'Origin http://10.0.0.1 of example.test is down: refused'],
    ['certificate_expires', 'error', 'The certificate of soon.example.test ends in 3 days'],
    ['origin_missing', 'warning', 'example.test has no origin'],
    ['certificate_missing', 'warning', 'a, b, c and 1 more have no certificate'],
    ['certificate_expires', 'warning', 'The certificate of example.test ends in 29 days'],
    ['file_rules_shadow', 'warning', '1 rule of the API is not in force: the file has http_ratelimit'],
  ])
  samples['edged_logpush_spool_bytes'] = 95e6
  samples['exceptions'] = 3
  t.match(
    (await shown()).filter((item) => !calm.some(([kind]) => kind === item[0])),
    [
      ['worker_exceptions', 'error', 'Worker api has thrown 3 exceptions in the last 15 minutes'],
      ['spool_nearly_full', 'error', /^The log spool has 95 %/],
    ],
  )
  for (const item of await attention.list())
    t.match(item, { zone_id: item.kind === 'spool_nearly_full' ? null : item.zone_id, object: { id: /./, name: /./ } })
})

t.test('a daemon reports an origin that refuses, at once', async (t) => {
  const url = `http://127.0.0.1:${await freePort()}`
  const live = await liveDaemon(t, testFolder(t), { zone: { origin: url } })
  t.strictSame((await live.call('GET', `/zones/${ZONE}/edged/attention`)).body.result, [])
  const [item] = await until(async () => {
    t.equal((await live.visit('/')).status, 502)
    const { result } = (await live.call('GET', `/zones/${ZONE}/edged/attention`)).body
    return result.length > 0 ? result : undefined
  })
  t.match(item, {
    kind: 'origin_down',
    severity: 'error',
    since: /^2/,
    zone_id: ZONE,
    object: { type: 'origin', id: url },
  })
  const status = (await (await fetch(`${live.daemon.admin}/status`)).json()) as { attention: unknown[] }
  t.match(status.attention, [{ kind: 'origin_down', account_id: ACCOUNT }])
})
