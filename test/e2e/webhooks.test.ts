import Cloudflare from 'cloudflare'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { issuesOf } from '../../src/core/schema.js'
import { TestPayload, WebhookPayload } from '../../src/webhooks/payload-schema.js'
import { finding, instance, ndjson, TYPE } from '../control/webhooks/helper.js'
import { testFolder } from '../helpers/folder.js'
import { Receiver, type Received } from '../helpers/receiver.js'
import { CA_FILE } from '../helpers/tls.js'
import { until } from '../helpers/web.js'
import { all } from '../helpers/all.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, type Daemon } from './daemon.js'

const options = { skip: unbuilt, timeout: 600_000 }
const params = { account_id: ACCOUNT }

async function receiver(t: Test): Promise<Receiver> {
  const made = await Receiver.start()
  t.teardown(async () => await made.close())
  return made
}

/** A daemon that may reach the receiver, and the official client for its API. */
async function running(t: Test, to: Receiver, folder?: string): Promise<{ daemon: Daemon; cf: Cloudflare }> {
  const more = {
    egress: {
      allow_cidrs: [`127.0.0.1/32:${to.port}`],
      ca_file: CA_FILE,
      resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
    },
    webhooks: { retry_schedule: ['20ms', '20ms'] },
  }
  const daemon = await startDaemon(t, configuration('http://127.0.0.1:9', more), folder)
  return { daemon, cf: new Cloudflare({ apiToken: TOKEN, baseURL: daemon.control, maxRetries: 0 }) }
}

async function ingest({ control }: Daemon, ...findings: object[]): Promise<unknown> {
  const response = await fetch(`${control}/accounts/${ACCOUNT}/edged/findings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/x-ndjson' },
    body: ndjson(...findings),
  })
  return ((await response.json()) as { result: unknown }).result
}

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

type Type = 'None' | 'Basic Auth' | 'Bearer Auth' | 'Static Headers' | 'HMAC-Signing'
const TYPES: [type: Type, credentials: object, check: (t: Test, got: Received) => void][] = [
  ['None', {}, (t, { headers }) => t.notOk(headers['authorization'])],
  [
    'Basic Auth',
    { headers: [{ key: 'Authorization', value: 'Basic YTpi' }] },
    (t, { headers }) => t.equal(headers['authorization'], 'Basic YTpi'),
  ],
  [
    'Bearer Auth',
    { headers: [{ key: 'Authorization', value: 'Bearer abc' }] },
    (t, { headers }) => t.equal(headers['authorization'], 'Bearer abc'),
  ],
  ['Static Headers', { headers: [{ key: 'X-Key', value: 'k' }] }, (t, { headers }) => t.equal(headers['x-key'], 'k')],
  [
    'HMAC-Signing',
    { signing_secret: SECRET },
    (t, { headers, body }) => t.ok(new Webhook(SECRET).verify(body, headers as Record<string, string>)),
  ],
]

t.test(
  'the official client creates, tests, changes and deletes webhooks, and sends findings to them',
  options,
  async (t) => {
    const to = await receiver(t)
    const { daemon, cf } = await running(t, to)
    const { webhooks } = cf.zeroTrust.casb.posture
    t.same(await ingest(daemon, finding('f1', [instance('i1'), instance('i2')])), { accepted: 2, rejected: [] })

    for (const [authentication_type, credentials, check] of TYPES) {
      const given = {
        ...params,
        authentication_type,
        destination_url: to.url(`/${authentication_type[0]}`),
        ...credentials,
      }
      t.match(await webhooks.evaluate(given), { success: true, status_code: 204 }, authentication_type)
      const made = await webhooks.create({ ...given, label: authentication_type })
      t.match(made, { authentication_type, status: 'enabled', version: 1 })
      t.match(await webhooks.get(made.id, params), { id: made.id })
      t.match(await webhooks.evaluateExisting(made.id, params), { success: true, status_code: 204 })
      const { created, failed } = await webhooks.jobs.create({
        ...params,
        finding_instance_ids: ['i1', 'i2', 'none'],
        webhook_ids: [made.id],
      })
      t.match([created.length, failed.length], [2, 1])
      await until(() => to.received.length === 4)
      const [first, second, ...live] = to.received.splice(0)
      for (const got of [first, second]) t.same(issuesOf(TestPayload)(JSON.parse(got?.body ?? '')), [])
      for (const got of live) {
        const payload = JSON.parse(got.body)
        t.same(issuesOf(WebhookPayload)(payload), [])
        t.equal(got.headers['webhook-id'], payload.id)
      }
      t.same(new Set(live.map(({ headers }) => headers['webhook-id'])), new Set(created.map(({ id }) => id)))
      for (const got of [first, second, ...live]) if (got) check(t, got)
    }

    const list = await all(webhooks.list(params))
    t.same(list.map(({ label }) => label).toSorted(), TYPES.map(([type]) => type).toSorted())
    const bearer = list.find(({ label }) => label === 'Bearer Auth')
    const changed = await webhooks.update(bearer?.id ?? '', {
      ...params,
      label: 'Kept',
      destination_url: to.url('/kept'),
      authentication_type: 'Bearer Auth',
      status: 'disabled',
      headers: [{ key: 'authorization' }],
    })
    t.match(changed, { label: 'Kept', status: 'disabled', version: 2, headers: [{ key: 'authorization' }] })
    t.match(await webhooks.evaluateExisting(changed.id, params), { success: true })
    t.match(to.received.pop(), { path: '/kept', headers: { authorization: 'Bearer abc' } })
    t.match(await webhooks.jobs.create({ ...params, finding_instance_ids: ['i1'], webhook_ids: [changed.id] }), {
      created: [],
      failed: [{ webhook_id: changed.id }],
    })
    t.match(await webhooks.delete(changed.id, params), { success: true, errors: [], messages: [] })
    await t.rejects(webhooks.get(changed.id, params), { status: 404, errors: [{ code: 10602 }] })

    const refused = { ...params, authentication_type: 'None' as const }
    for (const destination_url of [
      'https://127.0.0.1:1/',
      'https://localhost/',
      'http://receiver.test/',
      to.url().replace('receiver.test', '127.0.0.2'),
    ])
      await t.rejects(webhooks.create({ ...refused, label: 'x', destination_url }), {
        status: 400,
        errors: [{ source: { pointer: '/destination_url' } }],
      })
    to.response = (_got, response) => void response.writeHead(500).end()
    t.match(await webhooks.evaluate({ ...refused, destination_url: to.url() }), { success: false, status_code: 500 })
    for (const line of daemon.lines) t.notMatch(line, /Bearer abc|MfKQ9r8G|YTpi/)
  },
)

t.test('the official client reads findings and runs policies', options, async (t) => {
  const to = await receiver(t)
  const { daemon, cf } = await running(t, to)
  const { findings, policies, webhooks } = cf.zeroTrust.casb.posture
  const hook = await webhooks.create({
    ...params,
    label: 'Channel',
    destination_url: to.url(),
    authentication_type: 'None',
  })
  const body = {
    ...params,
    display_name: 'Tell the channel',
    enabled: true,
    finding_type_id: TYPE,
    applies_to_all_integrations: false,
    integration_ids: ['int-1'],
    actions: { webhook_configs: [{ webhook_config_id: hook.id }] },
  }
  const policy = await policies.create(body)
  await ingest(daemon, finding('Zi8x/+==', [instance('i1'), instance('i2')]))
  await until(() => to.received.length === 2)
  t.match((await all(policies.list(params)))[0], { id: policy.id, last_triggered_at: String })
  t.match(await policies.get(policy.id, params), { actions: { webhook_configs: [{ display_name: 'Channel' }] } })
  t.match(await policies.update(policy.id, { ...body, enabled: false }), { enabled: false })
  await ingest(daemon, finding('Zi8x/+==', [instance('i3')]))

  t.match(await all(findings.list({ ...params, severity: 'High' })), [{ id: 'Zi8x/+==', active_count: 3 }])
  t.match(await findings.get('Zi8x/+==', params), { finding: { id: TYPE } })
  t.equal((await all(findings.instances.list('Zi8x/+==', { ...params, per_page: 2 }))).length, 3)
  t.match(await findings.instances.get('i1', { ...params, finding_id: 'Zi8x/+==' }), {
    webhooks: [{ webhook_id: hook.id, latest_job: { status: 'completed' } }],
  })
  t.match(await findings.instances.archive('Zi8x/+==', { ...params, check_instances: ['i1'] }), { is_archived: true })
  t.match(await findings.instances.unarchive('Zi8x/+==', { ...params, check_instances: ['i1'] }), {
    is_archived: false,
  })
  t.match(await findings.ignore({ ...params, checks: ['Zi8x/+=='] }), { ignored: true })
  t.match(await findings.unignore({ ...params, checks: ['Zi8x/+=='] }), { ignored: false })
  t.same(await policies.delete(policy.id, params), { id: policy.id })
  t.equal(to.received.length, 2)
})

t.test(
  'a policy sends each instance once, however often the daemon is killed while they come in',
  options,
  async (t) => {
    const to = await receiver(t)
    const folder = testFolder(t)
    const first = await running(t, to, folder)
    const { policies, webhooks } = first.cf.zeroTrust.casb.posture
    const hooks: string[] = []
    for (const label of ['one', 'two']) {
      const given = { ...params, label, destination_url: to.url(`/${label}`), authentication_type: 'None' as const }
      hooks.push((await webhooks.create(given)).id)
    }
    await policies.create({
      ...params,
      display_name: 'Both',
      enabled: true,
      finding_type_id: TYPE,
      applies_to_all_integrations: true,
      actions: { webhook_configs: hooks.map((webhook_config_id) => ({ webhook_config_id })) },
    })

    const some = Array.from({ length: 2000 }, (_, at) => finding(`f${at % 5}`, [instance(`i${at}`)]))
    let { daemon } = first
    for (let killed = 0; killed < 3; killed += 1) {
      const sending = ingest(daemon, ...some).catch(() => undefined)
      const seen = to.received.length
      await until(() => to.received.length > seen + 5)
      daemon.signal('SIGKILL')
      await Promise.all([daemon.ended, sending])
      ;({ daemon } = await running(t, to, folder))
    }
    t.same(await ingest(daemon, ...some), { accepted: 2000, rejected: [] })
    t.same(await ingest(daemon, ...some), { accepted: 2000, rejected: [] })

    const ids = new Map<string, Set<string>>()
    await until(() => {
      for (const { path, body } of to.received.splice(0)) {
        const { id, data } = JSON.parse(body)
        const pair = `${data.instance.id} ${path}`
        ids.set(pair, (ids.get(pair) ?? new Set()).add(id))
      }
      return ids.size === 4000
    })
    t.same(
      [...ids.values()].filter(({ size }) => size !== 1),
      [],
      'each pair came under one id',
    )
  },
)
