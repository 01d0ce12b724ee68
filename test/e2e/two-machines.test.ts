import { join } from 'node:path'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { finding, instance, ndjson, policy, webhook } from '../control/webhooks/helper.js'
import { testFolder } from '../helpers/folder.js'
import { Receiver } from '../helpers/receiver.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { CA_FILE } from '../helpers/tls.js'
import { until } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

const DATASETS = ['http_requests', 'firewall_events', 'dns_logs', 'nel_reports']
/** The minimum of `max_upload_records`, so that each request is a batch. */
const RECORDS = 1000
const ROUNDS = 10

interface Response {
  readonly status: number
  readonly body: { readonly result: never; readonly messages: readonly unknown[]; readonly errors: readonly unknown[] }
}

async function call(daemon: Daemon, method: string, path: string, body?: unknown, token = TOKEN): Promise<Response> {
  const response = await fetch(`${daemon.control}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && {
        'content-type': typeof body === 'string' ? 'application/x-ndjson' : 'application/json',
      }),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Response['body'] }
}

t.test(
  'what one daemon confirmed applies to the next request to the other daemon',
  { skip: unbuilt || NO_REDIS, timeout: 300_000 },
  async (t) => {
    const arrived = new Set<string>()
    const to = await Receiver.start((got, response) => {
      arrived.add(String(got.headers['webhook-id']))
      response.writeHead(204).end()
    })
    t.teardown(() => to.close())
    const folder = testFolder(t, { redis: {}, one: {}, two: {}, three: {}, logs: {} })
    const redis = await redisServer(join(folder, 'redis'))
    t.teardown(async () => await redis.kill())
    const logs = join(folder, 'logs')
    const config = configuration('http://127.0.0.1:9', {
      store: redis.url,
      secrets: { key: 'ab'.repeat(32) },
      egress: {
        allow_cidrs: [`127.0.0.1/32:${to.port}`],
        ca_file: CA_FILE,
        resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
      },
      logpush: { destinations: { allow_file_under: [logs] } },
      control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
    })
    const [one, two] = await Promise.all([
      startDaemon(t, config, join(folder, 'one')),
      startDaemon(t, config, join(folder, 'two')),
    ])

    await t.test('a job gets records that are posted to the other daemon', async (t) => {
      const lines = '{}\n'.repeat(RECORDS)
      for (const dataset of DATASETS) {
        const job = {
          dataset,
          destination_conf: `file://${join(logs, dataset)}`,
          enabled: true,
          max_upload_records: RECORDS,
        }
        const made = await call(one, 'POST', `/zones/${ZONE}/logpush/jobs`, job)
        t.equal(made.status, 200, JSON.stringify(made.body.errors))
        const posted = await call(two, 'POST', `/zones/${ZONE}/edged/records/${dataset}`, lines)
        t.match(posted, { status: 202, body: { result: { accepted: RECORDS }, messages: [] } })
      }
      await until(async () => {
        const counts = await Promise.all(DATASETS.map(async (dataset) => await linesUnder(join(logs, dataset))))
        return counts.every((count) => count === RECORDS)
      })
      t.pass('every accepted record is delivered')
    })

    await t.test('a policy sends findings that are posted to the other daemon', async (t) => {
      const posture = `/accounts/${ACCOUNT}/data-security/posture`
      for (let n = 1; n <= ROUNDS; n++) {
        const hook = await call(
          one,
          'POST',
          `${posture}/webhooks`,
          webhook({ label: `w${n}`, destination_url: to.url() }),
        )
        const { id } = hook.body.result as { id: string }
        const made = await call(one, 'POST', `${posture}/policies`, policy([id]))
        t.ok(made.status < 300, JSON.stringify(made.body.errors))
        const posted = await call(
          two,
          'POST',
          `/accounts/${ACCOUNT}/edged/findings`,
          ndjson(finding(`f${n}`, [instance(`i${n}`)])),
        )
        t.match(posted, { status: 202, body: { result: { accepted: 1 } } })
      }
      // The policy of round k sends the instances of that round and of all later ones.
      await until(() => arrived.size === (ROUNDS * (ROUNDS + 1)) / 2)
    })

    await t.test('namespaces, tokens and rulesets exist on the other daemon', async (t) => {
      for (let n = 0; n < ROUNDS; n++) {
        const space = await call(one, 'POST', `/accounts/${ACCOUNT}/storage/kv/namespaces`, { title: `n${n}` })
        const { id } = space.body.result as { id: string }
        const put = await call(two, 'PUT', `/accounts/${ACCOUNT}/storage/kv/namespaces/${id}/values/a`, 'text')
        t.equal(put.status, 200, JSON.stringify(put.body.errors))

        const policies = [
          {
            effect: 'allow',
            permission_groups: [{ name: 'Logs Write' }],
            resources: { [`com.cloudflare.api.account.${ACCOUNT}`]: '*' },
          },
        ]
        const token = await call(one, 'POST', '/user/tokens', { name: `t${n}`, policies })
        const made = token.body.result as { id: string; value: string }
        t.equal((await call(two, 'GET', '/user/tokens/verify', undefined, made.value)).status, 200)
        await call(one, 'DELETE', `/user/tokens/${made.id}`)
        t.equal((await call(two, 'GET', '/user/tokens/verify', undefined, made.value)).status, 401)
      }
    })

    await t.test('without Redis, nothing is accepted that may be lost, and reads go on', async (t) => {
      await redis.kill()
      const posted = await call(two, 'POST', `/zones/${ZONE}/edged/records/http_requests`, '{}\n')
      t.match(posted, { status: 503, body: { errors: [{ message: /Redis at 127\.0\.0\.1:\d+/ }] } })
      t.equal((await call(two, 'GET', `/zones/${ZONE}/logpush/jobs`)).status, 200)
      const ready = await fetch(`${two.admin}/readyz`)
      t.match([ready.status, await ready.text()], [200, /^ok\n.*Redis at/], 'a load balancer leaves the proxy in use')
      const starting = startDaemon(t, config, join(folder, 'three'))
      await wait(100)
      await redis.start()
      const three = await starting
      t.equal((await call(three, 'GET', `/zones/${ZONE}/logpush/jobs`)).status, 200, 'a start waits for Redis')
      await until(
        async () => (await call(two, 'POST', `/zones/${ZONE}/edged/records/http_requests`, '{}\n')).status === 202,
      )
    })
  },
)

async function linesUnder(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  let count = 0
  for (const file of files.filter((file) => file.isFile() && file.name.endsWith('.log'))) {
    const text = await readFile(join(file.parentPath, file.name), 'utf8')
    count += text.split('\n').filter((line) => line.startsWith('{')).length
  }
  return count
}
