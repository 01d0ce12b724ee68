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
const RECORDS = `/zones/${ZONE}/edged/records/firewall_events`
/** Webhooks: each machine sends to some of them. */
const WEBHOOKS = 4
/** The minimum of `max_upload_records`: each request is a batch, because nothing else makes records of this dataset. */
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

/** Waits as long as the test may run: moving work takes seconds, more on a busy machine. */
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
    const to = await Receiver.start(({ path, body }, response) => {
      const [id] = /\bi\d+\b/.exec(body)!
      arrived.set(path, (arrived.get(path) ?? new Set()).add(id))
      response.writeHead(204).end()
    })
    t.teardown(() => to.close())
    const folder = testFolder(t, { redis: {}, nats: {}, one: {}, two: {}, logs: {} })
    const redis = await redisServer(join(folder, 'redis'))
    t.teardown(async () => await redis.kill())
    const nats = await natsServer(join(folder, 'nats'))
    t.teardown(async () => await nats.kill())
    const natsPort = Number(new URL(nats.url).port)
    const gates = [await tcpGate(t, redis.port), await tcpGate(t, natsPort)] as const
    const logs = join(folder, 'logs')
    const origin = await originServer(t, (_, response) => response.end('page'))
    const config = (redisPort: number, natsPort: number) =>
      configuration(origin, {
        store: `redis://127.0.0.1:${redisPort}/0`,
        secrets: { key: 'ab'.repeat(32) },
        egress: {
          allow_cidrs: [`127.0.0.1/32:${to.port}`],
          ca_file: CA_FILE,
          resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
        },
        logpush: { spool: `nats://127.0.0.1:${natsPort}?stream=logs`, destinations: { allow_file_under: [logs] } },
        control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
      })
    const machines = await Promise.all([
      startDaemon(t, config(redis.port, natsPort), join(folder, 'one')),
      startDaemon(t, config(gates[0].port, gates[1].port), join(folder, 'two')),
    ])
    const [one, two] = machines
    await eventually(() => machines.every(({ lines }) => lines.some((line) => line.includes('spool_available'))))

    const job = {
      dataset: 'firewall_events',
      destination_conf: `file://${logs}`,
      enabled: true,
      max_upload_records: BATCH,
    }
    const made = await call(two, 'POST', `/zones/${ZONE}/logpush/jobs`, job)
    t.equal(made.status, 200, made.text)
    for (let n = 0; n < WEBHOOKS; n++) {
      const hook = await call(two, 'POST', `${POSTURE}/webhooks`, webhook({ label: `w${n}`, destination_url: to.url(`/${n}`) })) // prettier-ignore
      const { id } = hook.result as { id: string }
      const policies = await call(two, 'POST', `${POSTURE}/policies`, policy([id]))
      t.ok(policies.status < 300, policies.text)
    }

    let next = 0
    const records: string[] = []
    const postRecords = async (to: Daemon): Promise<Response> => {
      const rays = Array.from({ length: BATCH }, () => `r${next++}`)
      const response = await call(to, 'POST', RECORDS, rays.map((RayID) => JSON.stringify({ RayID })).join('\n'))
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
    const allDelivered = async () => {
      const found = await delivered(logs)
      return records.every((ray) => found.has(ray))
    }

    t.match(await postRecords(two), { status: 202 })
    t.match(await postFinding(two), { status: 202 })
    await eventually(allSent)
    await eventually(allDelivered)

    for (const gate of gates) gate.fault = 'freeze'
    const [change, cutRecords, cutFinding, page, otherChange, otherRecords, otherFinding] = await Promise.all([
      call(two, 'PATCH', SETTING, { value: 'off' }),
      postRecords(two),
      postFinding(two),
      fetch(two.proxy).then(async (response) => [response.status, await response.text()]),
      call(one, 'PATCH', SETTING, { value: 'off' }),
      postRecords(one),
      postFinding(one),
    ])
    t.match(change, { status: 503, text: /Redis at 127\.0\.0\.1:\d+/ }, 'a change on the cut machine')
    t.match(cutRecords, { status: 503 }, 'records')
    t.match(cutFinding, { status: 503 }, 'findings')
    t.match(page, [200, 'page'], 'its proxy goes on')
    t.equal((await call(two, 'GET', SETTING)).status, 200, 'and so do reads')
    const ready = await fetch(`${two.admin}/readyz`)
    t.match([ready.status, await ready.text()], [200, /^ok\n(.*\n)*.*Redis at/])
    t.match(
      [otherChange.status, otherRecords.status, otherFinding.status],
      [200, 202, 202],
      'the other machine goes on',
    )
    await Promise.all([eventually(allSent), eventually(allDelivered)])
    t.pass('it sends to all webhooks and delivers all records, whichever machine did before')

    for (const gate of gates) gate.fault = undefined
    await eventually(async () => (await call(two, 'PATCH', SETTING, { value: 'on' })).status === 200)
    await eventually(async () => (await postRecords(two)).status === 202)
    await eventually(async () => (await postFinding(two)).status === 202)
    t.match((await call(one, 'GET', SETTING)).text, /"value":"on"/, 'the other machine has the change')
    await Promise.all([eventually(allSent), eventually(allDelivered)])
    t.pass('everything that either machine accepted is delivered')
  },
)
