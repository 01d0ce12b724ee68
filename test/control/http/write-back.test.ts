import t, { type Test } from 'tap'
import { ACCOUNT, client, ZONE, type Client } from '../client.js'
import { HTTPS, JOBS, logpushClient } from '../logpush/helper.js'
import { postureClient, WEBHOOKS } from '../webhooks/helper.js'
import { workersClient } from '../workers/helper.js'

type Call = Client['call']

/** A resource, as the method, path and read-only member of its write. */
interface Row {
  readonly make: (call: Call) => Promise<string>
  readonly method: 'PUT' | 'PATCH'
  readonly readOnly: string
}

const made = (path: string, body: object) => async (call: Call) =>
  `${path}/${String((await call('POST', path, body)).body.result.id)}`
const at = (path: string) => async () => await Promise.resolve(path)

const policies = [
  {
    effect: 'allow',
    permission_groups: [{ name: 'Zone Read' }],
    resources: { 'com.cloudflare.api.account.*': '*' },
  },
]
const BASIC: Readonly<Record<string, Row>> = {
  setting: { make: at(`/zones/${ZONE}/settings/content_converter`), method: 'PATCH', readOnly: 'editable' },
  token: { make: made('/user/tokens', { name: 'a', policies }), method: 'PUT', readOnly: 'issued_on' },
  list: {
    make: made(`/accounts/${ACCOUNT}/rules/lists`, { name: 'a', kind: 'ip' }),
    method: 'PUT',
    readOnly: 'created_on',
  },
  'custom hostname': {
    make: made(`/zones/${ZONE}/custom_hostnames`, { hostname: 'a.shop.test' }),
    method: 'PATCH',
    readOnly: 'created_at',
  },
}
const WORKERS: Readonly<Record<string, Row>> = {
  'KV namespace': {
    make: made(`/accounts/${ACCOUNT}/storage/kv/namespaces`, { title: 'a' }),
    method: 'PUT',
    readOnly: 'supports_url_encoding',
  },
}
const POSTURE: Readonly<Record<string, Row>> = {
  webhook: {
    make: made(WEBHOOKS, { label: 'a', destination_url: 'https://hooks.example.com/', authentication_type: 'None' }),
    method: 'PUT',
    readOnly: 'created_at',
  },
}
const LOGPUSH: Readonly<Record<string, Row>> = {
  job: { make: made(JOBS, { destination_conf: HTTPS }), method: 'PUT', readOnly: 'last_complete' },
}

async function check(t: Test, { call }: Client, rows: Readonly<Record<string, Row>>): Promise<void> {
  for (const [name, { make, method, readOnly }] of Object.entries(rows)) {
    const path = await make(call)
    const { result } = (await call('GET', path)).body
    const back = await call(method, path, result)
    t.match(back, { status: 200 }, `${name} as GET returned it: ${JSON.stringify(back.body.errors)}`)
    const { result: now } = (await call('GET', path)).body
    t.match(
      await call(method, path, { ...now, [readOnly]: 'other' }),
      { status: 400, body: { errors: [{ message: /read-only, leave it out/, source: { pointer: `/${readOnly}` } }] } },
      `${name} with another ${readOnly}`,
    )
    t.match(await call(method, path, { ...now, nosuch: 1 }), {
      status: 400,
      body: { errors: [{ source: { pointer: '/nosuch' } }] },
    })
  }
}

t.test('what GET returns is accepted by the write of the same path', async (t) => {
  await check(t, await client(t), BASIC)
  await check(t, await workersClient(t), WORKERS)
  await check(t, await postureClient(t), POSTURE)
  await check(t, await logpushClient(t), LOGPUSH)
})
