import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { MAX_EXAMINED } from '../../../control/resources/audit-entries.js'
import { all } from '../../helpers/all.js'
import { ACCOUNT, ADMIN, client, handClock, OTHER_ACCOUNT, OTHER_ZONE, ZONE } from '../client.js'

const DAY = { since: '2026-11-21', before: '2026-11-22' }

/** An installation with five changes, a minute apart: three of the zone, one of the account, one of another account. */
async function changed(t: Test) {
  const clock = handClock()
  const api = await client(t, { clock })
  const set = async (zone: string, setting: string) => {
    await api.call('PATCH', `/zones/${zone}/settings/${setting}`, { value: 'on' })
    clock.advance(60_000)
  }
  await set(ZONE, 'always_use_https')
  await set(OTHER_ZONE, 'always_use_https')
  const list = await api.call('POST', `/accounts/${ACCOUNT}/rules/lists`, { name: 'ips', kind: 'ip' })
  clock.advance(60_000)
  await set(ZONE, 'websockets')
  await set(ZONE, 'http2')
  const cf = new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: api.url })
  return { api, cf, clock, listId: String(list.body.result.id) }
}

t.test('the official client lists the audit logs of an account', async (t) => {
  const { api, cf } = await changed(t)
  const logs = await all(cf.auditLogs.list({ account_id: ACCOUNT, per_page: 2 }))
  t.match(logs, [
    { resource: { type: 'setting' }, when: '2026-11-21T12:04:00.000Z' },
    { when: '2026-11-21T12:03:00.000Z' },
    {
      action: { result: true, type: 'create' },
      actor: { id: /^[0-9a-f]{32}$/, ip: /127\.0\.0\.1$/, type: 'user' },
      interface: 'API',
      oldValue: '',
      newValue: /^[0-9a-f]{64}$/,
      owner: { id: ACCOUNT },
      resource: { type: 'list' },
    },
    { when: '2026-11-21T12:00:00.000Z' },
  ])
  t.equal(new Set(logs.map(({ id }) => id)).size, 4)
  const listed = async (query: object) =>
    (await all(cf.auditLogs.list({ account_id: ACCOUNT, ...query }))).map(({ when }) => when?.slice(14, 16))
  t.same(await listed({ direction: 'asc' }), ['00', '02', '03', '04'])
  t.same(await listed({ since: '2026-11-21T12:02:00Z', before: '2026-11-21T12:04:00Z' }), ['03', '02'], 'half open')
  t.same(await listed({ action: { type: 'create' } }), ['02'])
  t.same(await listed({ zone: { name: 'example.test' } }), ['04', '03', '00'])
  t.same(await listed({ id: logs[2]!.id }), ['02'])
  t.same(await listed({ actor: { ip: '192.0.2.1' } }), [])
  t.same(await listed({ since: '2026-11-22' }), [])
  const { body } = await api.call('GET', `/accounts/${ACCOUNT}/audit_logs?per_page=3&page=2`)
  t.match(body, { result: [{}], result_info: { count: 1, total_count: 4, total_pages: 2 } })
})

t.test('the official client reads the second version page by page', async (t) => {
  const { cf } = await changed(t)
  const window = { account_id: ACCOUNT, ...DAY }
  for (const direction of ['desc', 'asc'] as const) {
    const pages: number[] = []
    const times: (string | undefined)[] = []
    for await (const page of (await cf.accounts.logs.audit.list({ ...window, direction, limit: 3 })).iterPages()) {
      pages.push(page.result.length)
      times.push(...page.result.map(({ action }) => action?.time?.slice(14, 16)))
    }
    t.same(pages, [3, 1], direction)
    t.same(times, direction === 'asc' ? ['00', '02', '03', '04'] : ['04', '03', '02', '00'], direction)
  }
  const [newest] = await all(cf.accounts.logs.audit.list({ ...window, limit: 1 }))
  t.match(newest, {
    id: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
    account: { id: ACCOUNT, name: 'Example' },
    action: { description: /^update setting http2/, result: 'success', type: 'update' },
    actor: { context: 'api_token', ip_address: /127\.0\.0\.1$/, token_name: 'admin', type: 'user' },
    raw: { cf_ray_id: /./, method: 'PATCH', uri: /\/zones\/.*\/settings\/http2$/, user_agent: /./ },
    resource: { id: 'http2', scope: 'zones', type: 'setting' },
    zone: { id: ZONE, name: 'example.test' },
  })
  const listed = async (query: object) =>
    (await all(cf.accounts.logs.audit.list({ ...window, ...query }))).map(({ resource }) => resource?.type)
  t.same(await listed({ resource_type: { not: ['setting'] } }), ['list'])
  t.same(await listed({ action_type: { not: ['create', 'delete'] } }), ['setting', 'setting', 'setting'])
  t.same(await listed({ zone_name: { not: ['example.test'] } }), ['list'])
  t.same(await listed({ actor_context: { not: ['api_token'] } }), [])
})

t.test('filters of the second version can name what is wanted', async (t) => {
  const { api, listId } = await changed(t)
  const path = `/accounts/${ACCOUNT}/logs/audit?since=2026-11-21&before=2026-11-22`
  const ids = async (query: string) =>
    ((await api.call('GET', `${path}&${query}`)).body.result as { resource: { id: string } }[]).map(
      (one) => one.resource.id,
    )
  t.same(await ids(`resource_id=${listId},http2`), ['http2', listId])
  t.same(await ids(`zone_id=${ZONE}&resource_id.not=http2`), ['websockets', 'always_use_https'])
  t.same(await ids('raw_method=POST'), [listId])
})

t.test('of a long record, the newest entries are examined, and no more than allowed', async (t) => {
  const { call, store } = await client(t)
  const SIZE = MAX_EXAMINED + 500
  const start = Date.parse('2026-11-20T00:00:00Z')
  const at = (number: number): string => new Date(start + number * 1000).toISOString()
  const entry = (number: number) => ({
    at: at(number),
    actor: { type: 'token', id: 'a'.repeat(32), name: 'admin' },
    action: 'update',
    resource: { kind: 'setting', scope: { type: 'zone' as const, id: ZONE }, id: `s${number}` },
    requestId: String(number),
    before: null,
    after: null,
  })
  for (let from = 0; from < SIZE; from += 5000)
    await store.batch(
      [],
      Array.from({ length: Math.min(5000, SIZE - from) }, (_, n) => entry(from + n)),
    )
  let examined = 0
  const { audit } = store
  store.audit = (...given) => counted(audit(...given), () => examined++)
  const list = async (query: string) => {
    examined = 0
    const { status, body } = await call('GET', `/accounts/${ACCOUNT}/audit_logs?${query}`)
    t.equal(status, 200)
    t.ok(examined <= MAX_EXAMINED + 1, `${examined} entries read`)
    return body
  }
  const newest = await list('per_page=2')
  t.match(newest.result, [{ when: at(SIZE - 1) }, { when: at(SIZE - 2) }])
  t.equal(newest.result_info.total_count, MAX_EXAMINED)
  t.match((await list('per_page=1&direction=asc')).result, [{ when: at(500) }], 'older ones are beyond the limit')
  const some = await list(`since=${at(SIZE - 20)}&before=${at(SIZE - 10)}`)
  t.same(
    some.result.map(({ when }: { when: string }) => when),
    Array.from({ length: 10 }, (_, n) => at(SIZE - 11 - n)),
  )
  t.ok(examined < 5000, 'reading ends behind `since`')
  t.same((await list(`before=${at(400)}`)).result, [])
})

async function* counted<T>(items: AsyncIterable<T>, count: () => void): AsyncGenerator<T> {
  for await (const item of items) {
    count()
    yield item
  }
}

t.test('the history of a resource has all of its changes', async (t) => {
  const { api, cf, clock } = await changed(t)
  await api.call('PATCH', `/zones/${ZONE}/settings/http2`, { value: 'off' })
  clock.advance(60_000)
  await api.call('PATCH', `/zones/${ZONE}/settings/websockets`, { value: 'off' })
  const [source] = await all(cf.accounts.logs.audit.list({ account_id: ACCOUNT, ...DAY, limit: 1 }))
  const asked = { account_id: ACCOUNT, ...DAY, action_time: '2026-11-21T12:06:00Z' }
  const history = await cf.accounts.logs.audit.history(source!.id!, asked)
  t.same(
    history.map(({ resource, action }) => [resource?.id, action?.time?.slice(14, 16)]),
    [
      ['websockets', '06'],
      ['websockets', '03'],
    ],
  )
  await t.rejects(cf.accounts.logs.audit.history('none', asked), /no entry within a day/)
})

t.test('audit logs are for those who may read the account, and bad queries are named', async (t) => {
  const { api } = await changed(t)
  t.match((await api.call('GET', `/accounts/${OTHER_ACCOUNT}/audit_logs`)).body.result, [
    { resource: { type: 'setting' } },
  ])
  const v2 = `/accounts/${ACCOUNT}/logs/audit`
  const bad: [path: string, pointer: string][] = [
    [`/accounts/${ACCOUNT}/audit_logs?since=yesterday`, '/since'],
    [`/accounts/${ACCOUNT}/audit_logs?export=true`, '/export'],
    [`${v2}?before=2026-11-22`, '/since'],
    [`${v2}?since=2026-11-21`, '/before'],
    [`${v2}?since=2026-11-21&before=2026-11-22&limit=1001`, '/limit'],
    [`${v2}?since=2026-11-21&before=2026-11-22&cursor=x`, '/cursor'],
    [`${v2}?since=2026-13-41&before=2026-11-22`, '/since'],
  ]
  for (const [path, pointer] of bad)
    t.match(await api.call('GET', path), { status: 400, body: { errors: [{ source: { pointer } }] } }, path)
})
