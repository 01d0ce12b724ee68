import { join } from 'node:path'
import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'
import { testFolder } from '../helpers/folder.js'
import { natsServer, NO_NATS } from '../helpers/nats.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { until } from '../helpers/web.js'
import { configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

interface Answer {
  readonly status: number
  readonly body: { readonly result: { readonly id: number }; readonly errors: readonly { readonly message: string }[] }
}

async function call(daemon: Daemon, method: string, path: string, body?: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  const response = await fetch(`${daemon.control}/zones/${ZONE}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body }),
  })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

/** Ids of delivered records, by how often they were delivered. */
async function delivered(folder: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const name of await readdir(folder, { recursive: true }).catch(() => [])) {
    const text = name.endsWith('.log') ? await readFile(join(folder, name), 'utf8') : ''
    for (const [, ray] of text.matchAll(/"RayID":"(\w+)"/g)) counts.set(ray!, (counts.get(ray!) ?? 0) + 1)
  }
  return counts
}

t.test(
  'a job of two daemons with one spool delivers the records of both, and waits while NATS is away',
  { skip: unbuilt || NO_REDIS || NO_NATS, timeout: 300_000 },
  async (t) => {
    const folder = testFolder(t, { redis: {}, nats: {}, one: {}, two: {}, logs: {} })
    const redis = await redisServer(join(folder, 'redis'))
    t.teardown(async () => await redis.kill())
    const nats = await natsServer(join(folder, 'nats'))
    t.teardown(async () => await nats.kill())
    const logs = join(folder, 'logs')
    const config = configuration('http://127.0.0.1:9', {
      store: redis.url,
      secrets: { key: 'ab'.repeat(32) },
      logpush: { spool: `${nats.url}?stream=logs`, destinations: { allow_file_under: [logs] } },
      control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
    })
    const start = async (name: string) => await startDaemon(t, config, join(folder, name))
    const machines = await Promise.all([start('one'), start('two')])
    const [one, two] = machines
    await until(() => machines.every(({ lines }) => lines.some((line) => line.includes('spool_available'))))

    const made = await call(
      one,
      'POST',
      '/logpush/jobs',
      JSON.stringify({
        dataset: 'http_requests',
        destination_conf: `file://${logs}`,
        enabled: true,
        max_upload_records: 1000,
      }),
    )
    t.equal(made.status, 200, JSON.stringify(made.body))
    const accepted: string[] = []
    const post = async (daemon: Daemon): Promise<Answer> => {
      const rays = Array.from({ length: 1000 }, (_, n) => `r${accepted.length + n}`)
      const lines = rays.map((RayID) => JSON.stringify({ RayID })).join('\n')
      const answer = await call(daemon, 'POST', '/edged/records/http_requests', lines)
      if (answer.status === 202) accepted.push(...rays)
      return answer
    }
    const allDelivered = async () => {
      await until(async () => (await delivered(logs)).size >= accepted.length)
      const counts = await delivered(logs)
      t.ok(
        accepted.every((ray) => counts.has(ray)),
        `all of ${accepted.length} accepted records are delivered`,
      )
      return [...counts.values()].filter((count) => count > 1).length
    }

    await t.test('records that are posted to either machine are delivered once', async (t) => {
      for (const machine of [one, two, one, two]) t.match(await post(machine), { status: 202 })
      t.equal(await allDelivered(), 0)
    })

    await t.test('without NATS records get 503 with the reason, and with it all goes on', async (t) => {
      await nats.kill()
      await until(() => machines.every(({ lines }) => lines.some((line) => line.includes('spool_unavailable'))))
      const answer = await post(two)
      t.match(answer, { status: 503, body: { errors: [{ code: 20308, message: /log spool on NATS at .*send/ }] } })
      const ready = await fetch(`${two.admin}/readyz`)
      t.equal(ready.status, 200, 'the proxy goes on')
      t.match(await ready.text(), /^ok\nthe log spool on NATS at /)
      await nats.start()
      await until(async () => (await post(one)).status === 202 && (await post(two)).status === 202)
      await allDelivered()
    })
  },
)
