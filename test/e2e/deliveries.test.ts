import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import Cloudflare from 'cloudflare'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { finding, instance, ndjson } from '../control/webhooks/helper.js'
import { filesBelow, testFolder } from '../helpers/folder.js'
import { Receiver } from '../helpers/receiver.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { CA_FILE } from '../helpers/tls.js'
import { until } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, type Daemon } from './daemon.js'

const options = { skip: unbuilt, timeout: 600_000 }
const account = { account_id: ACCOUNT }
const SECRET = 'whsec_' + Buffer.alloc(32, 7).toString('base64')
const PASSWORDS = ['Basic dXNlcjpwYXNzLW9mLXRoZS1lMmU=', 'Bearer token-of-the-e2e-tests', 'static-value-of-the-e2e']

/** A configuration from which these receivers can be reached, and nothing else inside. */
const opened = (receivers: readonly Receiver[], more: object = {}) =>
  configuration('http://127.0.0.1:9', {
    egress: {
      allow_cidrs: receivers.map(({ port }) => `127.0.0.1/32:${port}`),
      ca_file: CA_FILE,
      resolver_overrides: { 'receiver.test': ['127.0.0.1'], 'inside.test': ['10.0.0.1'] },
    },
    control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
    ...more,
  })

const client = (daemon: Daemon) => new Cloudflare({ apiToken: TOKEN, baseURL: daemon.control, maxRetries: 0 })

async function call(daemon: Daemon, method: string, path: string, body?: object | string) {
  const response = await fetch(`${daemon.control}/accounts/${ACCOUNT}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      'content-type': typeof body === 'string' ? 'application/x-ndjson' : 'application/json',
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { status: response.status, ...((await response.json()) as { result: never; errors: unknown[] }) }
}

const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

async function withFindings(daemon: Daemon, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, n) => uuid(n))
  for (let at = 0; at < count; at += 500) {
    const some = ids.slice(at, at + 500).map((id) => instance(id))
    const { status, result } = await call(daemon, 'POST', '/edged/findings', ndjson(finding(`f-${at}`, some)))
    if (status !== 202) throw new Error(JSON.stringify(result))
  }
  return ids
}

t.test('the official client, from the first webhook to a delivery that is signed', options, async (t) => {
  const to = await Receiver.start()
  t.teardown(() => to.close())
  const folder = testFolder(t)
  const daemon = await startDaemon(t, opened([to]), folder)
  const { webhooks } = client(daemon).zeroTrust.casb.posture
  const destination_url = to.url('/hook?key=secret-in-the-query')
  const [basic = '', bearer = '', fixed = ''] = PASSWORDS
  const header = (key: string, value: string) => ({ headers: [{ key, value }] })

  const shapes = [
    { authentication_type: 'None' as const },
    { authentication_type: 'Basic Auth' as const, ...header('Authorization', basic) },
    { authentication_type: 'Bearer Auth' as const, ...header('Authorization', bearer) },
    { authentication_type: 'Static Headers' as const, ...header('X-Key', fixed) },
    { authentication_type: 'HMAC-Signing' as const, signing_secret: SECRET },
  ]
  const ids: string[] = []
  for (const shape of shapes) {
    t.match(await webhooks.evaluate({ ...account, destination_url, ...shape }), { success: true, status_code: 204 })
    const made = await webhooks.create({ ...account, label: shape.authentication_type, destination_url, ...shape })
    t.match(made, { authentication_type: shape.authentication_type, status: 'enabled', version: 1 })
    t.match(await webhooks.evaluateExisting(made.id, account), { success: true })
    ids.push(made.id)
  }
  t.equal(to.received.length, 2 * shapes.length)
  for (const { body } of to.received) t.match(JSON.parse(body), { event_type: 'webhook.test', data: { test: true } })

  const listed = []
  for await (const each of webhooks.list(account)) listed.push(each)
  t.strictSame(listed.map(({ id }) => id).toSorted(), ids.toSorted())
  t.match(await webhooks.get(ids[1] ?? '', account), { headers: [{ key: 'authorization' }] })

  const instances = await withFindings(daemon, 2)
  to.received.length = 0
  const sent = await webhooks.jobs.create({ ...account, finding_instance_ids: instances, webhook_ids: ids })
  t.equal(sent.created?.length, 10)
  t.strictSame(sent.failed, [])
  await until(() => to.received.length === 10)
  const of = (name: string) => to.received.filter(({ headers }) => headers[name] !== undefined)
  t.strictSame(
    of('authorization')
      .map(({ headers }) => String(headers.authorization))
      .toSorted((a, b) => (a < b ? -1 : 1)),
    [basic, basic, bearer, bearer],
  )
  t.equal(of('x-key').filter(({ headers }) => headers['x-key'] === fixed).length, 2)
  t.equal(of('webhook-id').length, 10)
  for (const { body, headers } of of('webhook-signature')) {
    const payload = new Webhook(SECRET).verify(body, headers as Record<string, string>) as { id: string; type: string }
    t.match(payload, { id: headers['webhook-id'], type: 'posture.finding_instance' })
  }
  t.equal(of('webhook-signature').length, 2)

  const jobs = '/data-security/posture/webhooks/jobs'
  await until(async () => (await call(daemon, 'GET', `${jobs}?status=completed`)).result['length'] === 10)
  const job = sent.created?.[0]?.id ?? ''
  t.match((await call(daemon, 'GET', `${jobs}/${job}`)).result, { tries: [{ status_code: 204, error: null }] })
  t.equal((await call(daemon, 'POST', `${jobs}/${job}/retry`)).status, 200)
  await until(() => to.received.length === 11)
  t.equal(to.received[10]?.headers['webhook-id'], job, 'the same id')

  const update = {
    label: 'New',
    destination_url,
    authentication_type: 'Basic Auth' as const,
    status: 'disabled' as const,
  }
  t.match(await webhooks.update(ids[1] ?? '', { ...account, ...update, headers: [{ key: 'Authorization' }] }), {
    status: 'disabled',
    version: 2,
  })
  const refused = await webhooks.jobs.create({
    ...account,
    finding_instance_ids: instances,
    webhook_ids: [ids[1] ?? ''],
  })
  t.equal(refused.failed?.length, 2)
  await webhooks.delete(ids[0] ?? '', account)
  await t.rejects(webhooks.get(ids[0] ?? '', account), { message: /^404/ })
  for (const url of [
    'https://inside.test/',
    'https://127.0.0.1:9/',
    'https://169.254.169.254/latest',
    'https://nowhere.test/',
  ])
    await t.rejects(webhooks.create({ ...account, label: 'x', destination_url: url, authentication_type: 'None' }), {
      status: 400,
      message: /destination_url/,
    })

  const text = daemon.lines.join('\n')
  const stored = await filesBelow(join(folder, 'data'))
  for (const secret of [...PASSWORDS, SECRET]) {
    t.notOk(text.includes(secret), 'no secret in the log')
    t.notOk(
      stored.some((bytes) => bytes.includes(secret)),
      'no secret in the data folder',
    )
  }
  t.notOk(text.includes('secret-in-the-query'))
})

const KILLS = Number(process.env['EDGED_KILLS'] ?? 4)
const DELIVERIES = Number(process.env['EDGED_DELIVERIES'] ?? 2000)
const WEBHOOKS = 4

async function killLoop(t: Test, folder: string, store: string): Promise<void> {
  // Receivers fail now and then, so that retries are under way as well.
  let requests = 0
  const arrived = new Map<string, number>()
  const to = await Receiver.start((got, response) => {
    const ok = requests++ % 50 !== 0
    if (ok) arrived.set(String(got.headers['webhook-id']), (arrived.get(String(got.headers['webhook-id'])) ?? 0) + 1)
    response.writeHead(ok ? 204 : 503).end()
  })
  t.teardown(() => to.close())
  const config = opened([to], { store, webhooks: { retry_schedule: Array.from({ length: 50 }, () => '200ms') } })
  const accepted = new Set<string>()
  let hooks: string[] = []
  let instances: string[] = []
  let duplicatesAllowed = 0
  for (let kill = 0; kill < KILLS; kill++) {
    const daemon = await startDaemon(t, config, folder)
    if (hooks.length === 0) {
      const { webhooks } = client(daemon).zeroTrust.casb.posture
      const shape = { ...account, destination_url: to.url(), authentication_type: 'None' as const }
      const made = Array.from({ length: WEBHOOKS }, (_, n) => webhooks.create({ ...shape, label: `w${n}` }))
      hooks = (await Promise.all(made)).map(({ id }) => id)
      instances = await withFindings(daemon, 50)
    }
    const before = accepted.size
    const writing = Array.from({ length: 8 }, async () => {
      try {
        for (let sent = 0; sent < DELIVERIES / KILLS / 8; sent += 50) {
          const body = { finding_instance_ids: instances.slice(0, 50 / WEBHOOKS), webhook_ids: hooks }
          const { status, result } = await call(daemon, 'POST', '/data-security/posture/webhooks/jobs', body)
          if (status !== 200) continue
          for (const { id } of (result as { created: { id: string }[] }).created) accepted.add(id)
        }
      } catch {
        // The daemon is gone, as it was to be.
      }
    })
    await until(() => accepted.size > before)
    await Promise.race([Promise.all(writing), wait(Math.random() * 1500)])
    daemon.signal('SIGKILL')
    await Promise.all([...writing, daemon.ended])
    duplicatesAllowed += 4 * WEBHOOKS
  }
  const daemon = await startDaemon(t, config, folder)
  // On Redis what the killed daemon was to send is taken over when its lease has run out.
  await until(() => [...accepted].every((id) => arrived.has(id)))
  await until(async () => (await daemon.metric('edged_webhook_deliveries_pending')) === 0)
  const missing = [...accepted].filter((id) => !arrived.has(id))
  t.strictSame(missing, [], `${accepted.size} accepted deliveries arrived`)
  const twice = [...arrived.values()].reduce((sum, times) => sum + times - 1, 0)
  t.ok(twice <= duplicatesAllowed, `${twice} duplicates; ${duplicatesAllowed} may have been under way`)
}

t.test(
  'kill -9 while deliveries are made: each accepted one arrives',
  { skip: unbuilt, timeout: 900_000 },
  async (t) => {
    await killLoop(t, testFolder(t), 'embedded')
  },
)

t.test('the same on Redis', { skip: unbuilt || NO_REDIS, timeout: 900_000 }, async (t) => {
  const folder = testFolder(t, { redis: {}, edged: {} })
  const redis = await redisServer(join(folder, 'redis'))
  t.teardown(async () => await redis.kill())
  await killLoop(t, join(folder, 'edged'), redis.url)
})
