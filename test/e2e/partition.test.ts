import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { finding, instance, ndjson, policy, webhook } from '../control/webhooks/helper.js'
import { testFolder } from '../helpers/folder.js'
import { natsServer, NO_NATS } from '../helpers/nats.js'
import { Receiver } from '../helpers/receiver.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { tcpGate } from '../helpers/tcp-gate.js'
import { CA_FILE } from '../helpers/tls.js'
import { originServer } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

const POSTURE = `/accounts/${ACCOUNT}/data-security/posture`
const SETTING = `/zones/${ZONE}/settings/content_converter`
const RECORDS = `/zones/${ZONE}/edged/records/http_requests`
/** Webhooks and their policies: each machine sends to some of them. */
const WEBHOOKS = 4
const BATCH = 1000

interface Response {
  readonly status: number
  readonly text: string
  readonly result: never
}

async function call(daemon: Daemon, method: string, path: string, body?: unknown): Promise<Response> {
  const type = typeof body === 'string' ? 'application/x-ndjson' : 'application/json'
  const response = await fetch(`${daemon.control}${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, ...(body !== undefined && { 'content-type': type }) },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, text, result: (JSON.parse(text) as { result: never }).result }
}

/** Like `until`, for conditions that take seconds: the machines need the processor. */
async function eventually(what: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await what())) await wait(100)
}

async function delivered(folder: string): Promise<Set<string>> {
  const rays = new Set<string>()
  for (const name of await readdir(folder, { recursive: true }).catch(() => [])) {
    const text = name.endsWith('.log') ? await readFile(join(folder, name), 'utf8') : ''
    for (const [, ray] of text.matchAll(/"RayID":"(r\d+)"/g)) rays.add(ray!)
  }
  return rays
}

t.test(
  'a machine that is cut off from Redis and NATS refuses changes, the other one takes its work, and both go on after it',
  { skip: unbuilt || NO_REDIS || NO_NATS, timeout: 300_000 },
  async (t) => {
    /** Instances that arrived, by path of the webhook. */
    const arrived = new Map<string, Set<string>>()
    let accepting = false
    const to = await Receiver.start(({ path, body }, response) => {
      const [id] = /\bi\d+\b/.exec(body)!
      if (accepting) arrived.set(path, (arrived.get(path) ?? new Set()).add(id))
      response.writeHead(accepting ? 204 : 503).end()
    })
    t.teardown(() => to.close())
    const folder = testFolder(t, { redis: {}, nats: {}, one: {}, two: {}, logs: {} })
    const redis = await redisServer(join(folder, 'redis'))
    t.teardown(async () => await redis.kill())
    const nats = await natsServer(join(folder, 'nats'))
    t.teardown(async () => await nats.kill())
    const gates = [await tcpGate(t, redis.port), await tcpGate(t, Number(new URL(nats.url).port))] as const
    const logs = join(folder, 'logs')
    const origin = await originServer(t, (_, response) => response.end('page'))
    const config = (redisPort: number | string, natsPort: number | string) =>
      configuration(origin, {
        store: `redis://127.0.0.1:${redisPort}/0`,
        secrets: { key: 'ab'.repeat(32) },
        egress: {
          allow_cidrs: [`127.0.0.1/32:${to.port}`],
          ca_file: CA_FILE,
          resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
        },
        logpush: {
          spool: `nats://127.0.0.1:${natsPort}?stream=logs`,
          destinations: { allow_file_under: [logs] },
        },
        control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
      })
    const machines = await Promise.all([
      startDaemon(t, config(redis.port, new URL(nats.url).port), join(folder, 'one')),
      startDaemon(t, config(gates[0].port, gates[1].port), join(folder, 'two')),
    ])
    const [one, two] = machines
    await eventually(() => machines.every(({ lines }) => lines.some((line) => line.includes('spool_available'))))

    const job = {
      dataset: 'http_requests',
      destination_conf: `file://${logs}`,
      enabled: true,
      max_upload_records: BATCH,
    }
    const made = await call(two, 'POST', `/zones/${ZONE}/logpush/jobs`, job)
    t.equal(made.status, 200, made.text)
    for (let n = 0; n < WEBHOOKS; n++) {
      const body = webhook({ label: `w${n}`, destination_url: to.url(`/${n}`) })
      const hook = await call(two, 'POST', `${POSTURE}/webhooks`, body)
      const { id } = hook.result as { id: string }
      const policies = await call(two, 'POST', `${POSTURE}/policies`, policy([id]))
      t.ok(policies.status < 300, policies.text)
    }

    let next = 0
    const records: string[] = []
    const postRecords = async (to: Daemon, count: number): Promise<Response> => {
      const rays = Array.from({ length: count }, () => `r${next++}`)
      const lines = rays.map((RayID) => JSON.stringify({ RayID })).join('\n')
      const response = await call(to, 'POST', RECORDS, lines)
      if (response.status === 202) records.push(...rays)
      return response
    }
    const findings: string[] = []
    const postFinding = async (to: Daemon): Promise<Response> => {
      const id = `i${next++}`
      const lines = ndjson(finding(`f${next}`, [instance(id)]))
      const response = await call(to, 'POST', `/accounts/${ACCOUNT}/edged/findings`, lines)
      if (response.status === 202) findings.push(id)
      return response
    }

    const allSent = () =>
      arrived.size === WEBHOOKS && [...arrived.values()].every((ids) => findings.every((id) => ids.has(id)))

    t.match(await postRecords(two, BATCH / 2), { status: 202 })
    t.match(await postFinding(two), { status: 202 })
    await eventually(() => to.received.length >= WEBHOOKS)

    for (const gate of gates) gate.fault = 'freeze'
    const change = await call(two, 'PATCH', SETTING, { value: 'off' })
    t.match(change, { status: 503, text: /Redis at 127\.0\.0\.1:\d+/ }, 'a change on the cut machine')
    t.match(await postRecords(two, 1), { status: 503 }, 'records')
    t.match(await postFinding(two), { status: 503 }, 'findings')
    t.equal((await call(two, 'GET', SETTING)).status, 200, 'reads go on')
    const page = await fetch(two.proxy)
    t.match([page.status, await page.text()], [200, 'page'], 'and so does the proxy')
    const ready = await fetch(`${two.admin}/readyz`)
    t.match([ready.status, await ready.text()], [200, /^ok\n(.*\n)*.*Redis at/])

    accepting = true
    t.match(await call(one, 'PATCH', SETTING, { value: 'off' }), { status: 200 }, 'the other machine takes changes')
    t.match(await postRecords(one, BATCH / 2), { status: 202 })
    t.match(await postFinding(one), { status: 202 })
    await eventually(allSent)
    t.pass('the other machine sends what the cut machine had accepted for webhooks')
    await eventually(async () => (await delivered(logs)).size >= records.length)
    t.pass('and its log records')

    for (const gate of gates) gate.fault = undefined
    await eventually(async () => (await call(two, 'PATCH', SETTING, { value: 'on' })).status === 200)
    await eventually(async () => (await postRecords(two, BATCH)).status === 202)
    await eventually(async () => (await postFinding(two)).status === 202)
    t.match((await call(one, 'GET', SETTING)).text, /"value":"on"/, 'the other machine has the change')
    await eventually(allSent)
    await eventually(async () => {
      const found = await delivered(logs)
      return records.every((ray) => found.has(ray))
    })
    t.pass('everything that either machine accepted is delivered')
  },
)
