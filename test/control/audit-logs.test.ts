import Cloudflare from 'cloudflare'
import t from 'tap'
import { all } from '../helpers/all.js'
import { ACCOUNT, ADMIN, client, OTHER_ZONE, ZONE } from './client.js'

const LOGS = `/accounts/${ACCOUNT}/audit_logs`
const V2 = `/accounts/${ACCOUNT}/logs/audit`
const DAY = { since: '2026-11-21', before: '2026-11-22' }

/** The API after some changes in two zones, one minute after the other; the first at noon. */
async function changed(t: Parameters<typeof client>[0]) {
  const api = await client(t)
  for (const [zone, setting] of [
    [ZONE, 'always_online'],
    [ZONE, 'development_mode'],
    [OTHER_ZONE, 'always_online'],
    [ZONE, 'sort_query_string_for_cache'],
  ]) {
    await api.call('PATCH', `/zones/${zone}/settings/${setting}`, { value: 'on' })
    api.clock.advance(60_000)
  }
  await api.call('POST', `/accounts/${ACCOUNT}/rules/lists`, { name: 'addresses', kind: 'ip' })
  return api
}

const ids = (body: { result: { resource: { id: string } }[] }): string[] =>
  body.result.map(({ resource }) => resource.id)

t.test('audit logs list the changes of an account and its zones, newest first', async (t) => {
  const { call } = await changed(t)
  const { status, body } = await call('GET', LOGS)
  t.equal(status, 200)
  t.match(body.result_info, { page: 1, per_page: 100, total_count: 4 })
  const [list, sort, development] = body.result
  t.match(list, {
    id: /./,
    action: { type: 'create', result: true },
    actor: { id: /^[0-9a-f]{32}$/, type: 'user', ip: '127.0.0.1' },
    interface: 'API',
    metadata: { token_name: 'admin' },
    oldValue: '',
    newValue: /^[0-9a-f]{64}$/,
    owner: { id: ACCOUNT },
    resource: { type: 'list' },
    when: /^2026-11-21T12:04/,
  })
  t.match([sort.resource.id, development.resource.id], ['sort_query_string_for_cache', 'development_mode'])
  t.match(sort.metadata, { zone_name: 'example.test' })

  const of = async (query: string) => ids((await call('GET', `${LOGS}?${query}`)).body)
  t.same((await of('direction=asc'))[0], 'always_online')
  t.same(await of('zone.name=example.test&direction=asc&per_page=2&page=2'), ['sort_query_string_for_cache'])
  t.same(await of('action.type=create'), [list.resource.id])
  t.same(await of(`id=${development.id}`), ['development_mode'])
  t.same(await of('since=2026-11-21T12:01:00Z&before=2026-11-21T12:02:00Z'), ['development_mode'])
  t.same(await of('since=2026-11-22'), [])
  t.same(await of('actor.ip=192.0.2.1'), [])
  t.same(await of('actor.email=ann@example.test'), [])
  t.same(await of('hide_user_logs=true'), [])
  const refused: [query: string, pointer: string][] = [
    ['since=yesterday', '/since'],
    ['before=2026-13-45', '/before'],
    ['action=create', '/action'],
    ['per_page=1001', '/per_page'],
  ]
  for (const [query, pointer] of refused)
    t.match(await call('GET', `${LOGS}?${query}`), { status: 400, body: { errors: [{ source: { pointer } }] } }, query)
})

t.test('audit logs with filters are listed in pages by cursor', async (t) => {
  const { call } = await changed(t)
  const day = `since=${DAY.since}&before=${DAY.before}`
  const of = async (query: string) => ids((await call('GET', `${V2}?${day}&${query}`)).body)
  t.same((await of('resource_type=setting&direction=asc')).length, 3)
  t.same((await of('resource_type.not=setting')).length, 1)
  t.same(await of('resource_id=always_online,development_mode&direction=asc'), ['always_online', 'development_mode'])
  t.same((await of('actor_type=system')).length, 0)
  const first = await call('GET', `${V2}?${day}&limit=3`)
  t.match(first.body, {
    result: [{ account: { id: ACCOUNT, name: 'Example' }, action: { type: 'create', result: 'success' } }, {}, {}],
    result_info: { count: 3, cursor: /./, cursors: { after: /./ } },
  })
  const rest = await call('GET', `${V2}?${day}&limit=3&cursor=${first.body.result_info.cursor}`)
  t.match(rest.body, { result: [{ zone: { id: ZONE, name: 'example.test' } }], result_info: { count: 1, cursors: {} } })
  t.match(await call('GET', V2), {
    status: 400,
    body: { errors: [{ source: { pointer: '/since' } }, { source: { pointer: '/before' } }] },
  })
  t.match(await call('GET', `${V2}?${day}&cursor=nothing`), { body: { errors: [{ source: { pointer: '/cursor' } }] } })
})

t.test('the official client reads both audit logs', async (t) => {
  const { url } = await changed(t)
  const cf = new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: url })
  const account_id = ACCOUNT
  const logs = await all(cf.auditLogs.list({ account_id, action: { type: 'create' }, direction: 'asc', per_page: 1 }))
  t.match(logs, [{ resource: { type: 'list' } }])
  t.equal((await all(cf.auditLogs.list({ account_id, zone: { name: 'example.test' }, per_page: 1 }))).length, 3)
  const newer = await all(
    cf.accounts.logs.audit.list({ account_id, ...DAY, limit: 2, resource_type: { not: ['list'] } }),
  )
  t.same(newer.length, 3)
})
