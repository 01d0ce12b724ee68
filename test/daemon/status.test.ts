import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Watched } from '../../pipelines/logpush/monitor.js'
import { readConfig } from '../../src/config/load.js'
import { silentLog } from '../../src/core/log.js'
import { WEBHOOKS } from '../../src/core/model/webhook.js'
import { WORKER_SCRIPTS } from '../../src/core/model/worker.js'
import { account } from '../../src/core/scope.js'
import { startDaemon } from '../../src/daemon/index.js'
import { runningWork } from '../../src/daemon/state/troubles.js'
import type { DaemonStatus } from '../../src/daemon/state/status.js'
import { openStore } from '../../src/store/index.js'
import { newScript } from '../../src/workers/script-repository.js'
import { testFolder } from '../helpers/folder.js'
import { freePort } from '../helpers/free-port.js'
import { sendRaw } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const TOKEN = 'admin-token-0123456789-abcdefghijklmnop'

t.test('failing jobs and pipelines, open circuit breakers and Workers are listed', async (t) => {
  const store = await openStore('memory', { folder: '', log: silentLog })
  const scope = account(ACCOUNT)
  await store.batch([
    { kind: WORKER_SCRIPTS, scope, id: 'app', value: newScript('app', '') },
    { kind: WEBHOOKS, scope, id: 'w1', value: { label: 'Ticket system' } },
  ])
  const watched = (kind: 'job' | 'pipeline', name: string, state: string, error: string | null) =>
    ({ kind, name, destination: 'https://a.test/?key=***', state: () => state, error: () => error }) as Watched
  const found = runningWork({
    store,
    running: [
      watched('job', '7', 'failing', 'responded with 403'),
      watched('pipeline', 'web', 'waiting', null),
      watched('pipeline', 'well', 'running', null),
    ],
    breakers: [
      { scope, webhookId: 'w1' },
      { scope, webhookId: 'gone' },
    ],
  })
  const destination = 'https://a.test/?key=***'
  t.strictSame(found, {
    failing_jobs: [
      { kind: 'job', name: '7', destination, error: 'responded with 403' },
      { kind: 'pipeline', name: 'web', destination, error: null },
    ],
    open_circuit_breakers: [
      { webhook_id: 'w1', name: 'Ticket system', account_id: ACCOUNT },
      { webhook_id: 'gone', name: '', account_id: ACCOUNT },
    ],
    workers: { [ACCOUNT]: ['app'] },
  })
})

for (const processes of [1, 2])
  t.test(
    `an origin that refuses is down, and what the daemon runs is in its status, ${processes} process(es)`,
    async (t) => {
      const folder = testFolder(t)
      const port = await freePort()
      writeFileSync(join(folder, 'in.ndjson'), '{"a":1}\n')
      const zones = (rules: object) => [
        { id: ZONE, account: ACCOUNT, name: 'refused.test', origin: `http://127.0.0.1:${port}`, rules },
        { id: '2'.repeat(32), account: ACCOUNT, name: 'idle.test', origin: `http://127.0.0.1:${port}` },
      ]
      const configOf = (rules: object) =>
        readConfig(
          JSON.stringify({
            data: './data',
            log: { level: 'error' },
            processes,
            proxy: { listen: '127.0.0.1:0' },
            control: { listen: '127.0.0.1:0' },
            admin: { listen: '127.0.0.1:0' },
            accounts: [{ id: ACCOUNT, name: 'Example' }],
            zones: zones(rules),
            tokens: [{ name: 'admin', token: TOKEN, permissions: ['*'], accounts: ['*'], zones: ['*'] }],
            pipelines: [
              {
                name: 'to-nowhere',
                source: { file: { paths: [join(folder, '*.ndjson')], follow: true } },
                dataset: 'any',
                destination_conf: `http://127.0.0.1:${port}/in`,
                max_upload_interval_seconds: 1,
              },
            ],
          }),
          join(folder, 'edged.yaml'),
          {},
        )
      const daemon = await startDaemon(configOf({}), { log: silentLog })
      t.teardown(() => daemon.close())
      const status = async () => (await (await fetch(`${daemon.admin}/status`)).json()) as DaemonStatus
      const originOf = async (name: string) => (await status()).zones.find((zone) => zone.name === name)?.origins[0]
      const api = async (method: string, path: string, body?: object) => {
        const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
        const response = await fetch(`${daemon.control}${path}`, {
          method,
          headers,
          ...(body && { body: JSON.stringify(body) }),
        })
        return (await response.json()) as { result: { zones: { name: string; origins: object[] }[] } }
      }

      const unknown = { state: 'unknown', up: null, since: null, last_error: null, checked_at: null }
      t.match(await originOf('refused.test'), unknown)
      const request = 'GET / HTTP/1.1\r\nHost: refused.test\r\nConnection: close\r\n\r\n'
      t.equal((await sendRaw(Number(new URL(daemon.proxy).port), request)).status, 502)
      await until(async () => (await originOf('refused.test'))?.state === 'down')
      const down = { state: 'down', up: false, since: /^20.*Z$/, last_error: /ECONNREFUSED/, checked_at: /^20.*Z$/ }
      t.match(await originOf('refused.test'), down, 'after one failure, because it has never responded')
      const { zones: shown } = await status()
      t.ok(shown.find(({ name }) => name === 'refused.test')!.p95_ms! > 0)
      t.equal(shown.find(({ name }) => name === 'idle.test')!.p95_ms, null)
      t.match(await originOf('idle.test'), unknown)
      const { zones: seen } = (await api('GET', `/accounts/${ACCOUNT}/edged/overview`)).result
      t.match(seen.find(({ name }) => name === 'refused.test')?.origins, [down], 'in the overview too')

      await until(async () => (await status()).failing_jobs.length > 0)
      t.match(await status(), {
        pipelines: ['to-nowhere'],
        failing_jobs: [{ kind: 'pipeline', name: 'to-nowhere', destination: `http://127.0.0.1:${port}/in` }],
        open_circuit_breakers: [],
        certificates: [],
        missing_certificates: [],
        kept_rules: [],
        workers: {},
      })

      const phase = 'http_request_firewall_custom'
      const rules = [{ expression: 'http.request.uri.path eq "/private"', action: 'block' }]
      await api('PUT', `/zones/${ZONE}/rulesets/phases/${phase}/entrypoint`, { rules })
      await daemon.reload(configOf({ [phase]: [] }))
      t.match((await status()).kept_rules, [{ scope: { type: 'zone', id: ZONE }, phase, rules: 1 }])
      await daemon.reload(configOf({}))
      t.strictSame((await status()).kept_rules, [])
    },
  )
