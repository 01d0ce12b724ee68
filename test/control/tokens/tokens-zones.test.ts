import t from 'tap'
import { ACCOUNT, client, FREE_ZONE, OTHER_ACCOUNT, ZONE, type Client } from '../client.js'
import { audited, names } from '../areas-helper.js'
import { refusesAll, refusesQueries, type RefusedRow } from '../refused-rows.js'

const POLICY = {
  effect: 'allow',
  permission_groups: [{ name: 'Logs Write' }],
  resources: { [`com.cloudflare.api.account.${ACCOUNT}`]: '*' },
}

const TOKEN_INPUT = { name: 'n', policies: [POLICY] }

t.test('a token is created, its secret returned once, changed, rolled and deleted', async (t) => {
  const { call, as, store } = await client(t)
  const made = await call('POST', '/user/tokens', TOKEN_INPUT)
  const { id, value, ...shown } = made.body.result
  t.match(shown, {
    name: 'n',
    status: 'active',
    policies: [{ ...POLICY, permission_groups: [{ id: /^[0-9a-f]{32}$/, name: 'Logs Write' }] }],
  })
  const path = `/user/tokens/${id}`
  t.strictSame((await call('GET', path)).body.result, { id, ...shown }, 'without its value')
  t.strictSame((await call('GET', '/user/tokens')).body.result, [{ id, ...shown }])
  t.equal((await as(value)('GET', `/accounts/${ACCOUNT}`)).status, 200)
  t.equal((await as(value)('GET', `/accounts/${OTHER_ACCOUNT}`)).status, 403)

  const other = { ...POLICY, resources: { [`com.cloudflare.api.account.${OTHER_ACCOUNT}`]: '*' } }
  t.match((await call('PUT', path, { name: 'm', policies: [other] })).body.result, { id, name: 'm', status: 'active' })
  const { policies } = (await call('GET', path)).body.result
  const again = (await call('PUT', path, { name: 'm', policies: [POLICY, other] })).body.result.policies
  t.equal(again[1].id, policies[0].id, 'an equal policy keeps its id')
  t.not(again[0].id, policies[0].id)
  await call('PUT', path, { name: 'm', policies: [other] })
  t.equal((await as(value)('GET', `/accounts/${ACCOUNT}`)).status, 403)

  const rolled: string = (await call('PUT', `${path}/value`, {})).body.result
  t.not(rolled, value)
  t.equal((await as(value)('GET', '/user')).status, 403)
  t.equal((await as(rolled)('GET', '/user')).status, 200)

  t.strictSame((await call('DELETE', path)).body.result, { id })
  t.equal((await as(rolled)('GET', '/user')).status, 403)
  const entries = await audited(store)
  t.same(
    entries.map(({ action }) => action),
    ['create', 'update', 'update', 'update', 'update', 'delete'],
  )
  for (const secret of [value, rolled]) t.notOk(JSON.stringify(entries).includes(secret))
})

t.test('a token works only from the addresses of its condition', async (t) => {
  const { call, as } = await client(t)
  const rows: [condition: object, status: number][] = [
    [{ request_ip: { in: ['127.0.0.0/8'] } }, 200],
    [{ request_ip: { in: ['127.0.0.1', '::1'] } }, 200],
    [{ request_ip: { in: ['192.0.2.0/24', '2001:db8::/32'] } }, 403],
    [{ request_ip: { not_in: ['127.0.0.1/32'] } }, 403],
    [{ request_ip: { in: ['127.0.0.0/8'], not_in: ['127.0.0.1'] } }, 403],
    [{ request_ip: { not_in: ['192.0.2.1'] } }, 200],
    [{}, 200],
  ]
  for (const [condition, status] of rows) {
    const made = await call('POST', '/user/tokens', { ...TOKEN_INPUT, condition })
    const { id, value } = made.body.result
    t.same(made.body.result.condition, condition)
    const response = await as(value)('GET', '/user')
    t.equal(response.status, status, JSON.stringify(condition))
    t.equal((await as(value)('GET', '/user/tokens/verify')).status, status)
    if (status !== 200) t.match(response.body.errors, [{ code: 9109, message: /from location: .*127\.0\.0\.1/ }])
    // A change without a condition removes it.
    await call('PUT', `/user/tokens/${id}`, TOKEN_INPUT)
    t.equal((await as(value)('GET', '/user')).status, 200)
  }
  const bad = { request_ip: { in: ['127.0.0.1', '127.0.0.1/33'], not_in: ['host'] } }
  const pointers = (await call('POST', '/user/tokens', { ...TOKEN_INPUT, condition: bad })).body.errors
  t.match(pointers, [
    { source: { pointer: '/condition/request_ip/in/1' } },
    { source: { pointer: '/condition/request_ip/not_in/0' } },
  ])
})

t.test('a token cannot grant more than it has', async (t) => {
  const { call, as } = await client(t)
  const groups = [{ name: 'API Tokens Write' }, { name: 'Logs Write' }]
  const everywhere = { 'com.cloudflare.api.account.*': '*' }
  const make = async (by: Client['call'], policies: object[]) =>
    await by('POST', '/user/tokens', { name: 'n', policies })
  const maker = await make(call, [{ effect: 'allow', permission_groups: groups, resources: everywhere }])
  const by = as(maker.body.result.value)
  const GIVEN: [what: string, status: number, policy: object][] = [
    ['what it has', 200, { ...POLICY, resources: everywhere }],
    ['a part of what it has', 200, POLICY],
    ['another permission', 403, { ...POLICY, permission_groups: [{ name: 'Zero Trust Write' }] }],
    ['all permissions', 403, { ...POLICY, permission_groups: [{ name: '*' }] }],
    ['zones, of which it has none', 403, { ...POLICY, resources: { 'com.cloudflare.api.account.zone.*': '*' } }],
    ['a zone', 403, { ...POLICY, resources: { [`com.cloudflare.api.account.zone.${ZONE}`]: '*' } }],
    [
      'the zones of an account',
      403,
      {
        ...POLICY,
        resources: { [`com.cloudflare.api.account.${ACCOUNT}`]: { 'com.cloudflare.api.account.zone.*': '*' } },
      },
    ],
  ]
  for (const [what, status, policy] of GIVEN) t.equal((await make(by, [policy])).status, status, what)

  const denied = await make(call, [
    { effect: 'allow', permission_groups: [{ name: '*' }], resources: everywhere },
    { effect: 'deny', permission_groups: [{ name: 'Logs Write' }], resources: everywhere },
  ])
  t.match(await make(as(denied.body.result.value), [POLICY]), { status: 403, body: { errors: [{ code: 10042 }] } })
  const all: object[] = [{ effect: 'allow', permission_groups: [{ name: '*' }], resources: everywhere }]
  t.match(
    await make(as(denied.body.result.value), all),
    { status: 403, body: { errors: [{ code: 10042 }] } },
    'a token that is denied something does not create one that is denied nothing',
  )
  const strong = await make(call, [{ effect: 'allow', permission_groups: [{ name: '*' }], resources: everywhere }])
  t.equal(
    (await by('PUT', `/user/tokens/${strong.body.result.id}/value`, {})).status,
    403,
    'nor does it roll a stronger one',
  )
})

const BAD_TOKENS: RefusedRow[] = [
  ['no name', 'POST', '/user/tokens', { policies: [POLICY] }, 400, 10001, '/name'],
  ['no policy', 'POST', '/user/tokens', { name: 'n', policies: [] }, 400, 10001, '/policies'],
  [
    'an unknown effect',
    'POST',
    '/user/tokens',
    { name: 'n', policies: [{ ...POLICY, effect: 'maybe' }] },
    400,
    10001,
    '/policies/0/effect',
  ],
  [
    'an unknown permission',
    'POST',
    '/user/tokens',
    { name: 'n', policies: [{ ...POLICY, permission_groups: [{ name: 'All' }] }] },
    400,
    10001,
    '/policies/0/permission_groups/0',
  ],
  [
    'an unknown permission id',
    'POST',
    '/user/tokens',
    { name: 'n', policies: [{ ...POLICY, permission_groups: [{ id: 'x' }] }] },
    400,
    10001,
    '/policies/0/permission_groups/0',
  ],
  [
    'an unknown resource',
    'POST',
    '/user/tokens',
    { name: 'n', policies: [{ ...POLICY, resources: { 'a/b': '*' } }] },
    400,
    10001,
    '/policies/0/resources/a~1b',
  ],
  [
    'an unknown resource below',
    'POST',
    '/user/tokens',
    { name: 'n', policies: [{ ...POLICY, resources: { 'com.cloudflare.api.account.*': { x: '*' } } }] },
    400,
    10001,
    '/policies/0/resources/com.cloudflare.api.account.*/x',
  ],
  [
    'a time gone by',
    'POST',
    '/user/tokens',
    { ...TOKEN_INPUT, expires_on: '2020-01-01T00:00:00Z' },
    400,
    10001,
    '/expires_on',
  ],
  ['a time that is none', 'POST', '/user/tokens', { ...TOKEN_INPUT, expires_on: 'soon' }, 400, 10001, '/expires_on'],
  [
    'a beginning after the end',
    'POST',
    '/user/tokens',
    { ...TOKEN_INPUT, not_before: '2031-01-01T00:00:00Z', expires_on: '2030-01-01T00:00:00Z' },
    400,
    10001,
    '/not_before',
  ],
  [
    'a leap second',
    'POST',
    '/user/tokens',
    { ...TOKEN_INPUT, not_before: '2026-12-31T23:59:60Z' },
    400,
    10001,
    '/not_before',
  ],
  ['an unknown member', 'POST', '/user/tokens', { ...TOKEN_INPUT, value: 'mine' }, 400, 10001, '/value'],
  ['an unknown token', 'PUT', '/user/tokens/x', TOKEN_INPUT, 404, 10040, undefined],
  ['an unknown token to remove', 'DELETE', '/user/tokens/x', undefined, 404, 10040, undefined],
  ['an unknown token to roll', 'PUT', '/user/tokens/x/value', {}, 404, 10040, undefined],
]

t.test('an invalid token is rejected with a pointer, and nothing is stored', async (t) => {
  await refusesAll(t, await client(t), BAD_TOKENS)
})

t.test('zones are listed by page, filter and order', async (t) => {
  const { call } = await client(t)
  const LISTS: [query: string, found: string[]][] = [
    ['', ['example.test', 'free.test', 'other.test']],
    ['name=free.test', ['free.test']],
    ['name=FREE.test', ['free.test']],
    ['name=contains:e.t', ['example.test', 'free.test']],
    ['name=starts_with:o', ['other.test']],
    ['name=not_equal:free.test', ['example.test', 'other.test']],
    [`account.id=${OTHER_ACCOUNT}`, ['other.test']],
    ['account.name=Example', ['example.test', 'free.test']],
    [`account.id=${OTHER_ACCOUNT}&name=free.test`, []],
    [`account.id=${OTHER_ACCOUNT}&name=free.test&match=any`, ['free.test', 'other.test']],
    ['status=active', ['example.test', 'free.test', 'other.test']],
    ['status=pending', []],
    ['type=full&type=partial', ['example.test', 'free.test', 'other.test']],
    ['order=name&direction=desc', ['other.test', 'free.test', 'example.test']],
    ['per_page=2&page=2', ['other.test']],
  ]
  for (const [query, found] of LISTS) t.same(names(await call('GET', `/zones?${query}`)), found, query)
  t.match((await call('GET', `/zones/${FREE_ZONE}`)).body.result, {
    id: FREE_ZONE,
    name: 'free.test',
    status: 'active',
    type: 'full',
    account: { id: ACCOUNT, name: 'Example' },
    plan: { legacy_id: 'free' },
  })
})

t.test('accounts and memberships are listed', async (t) => {
  const { call } = await client(t)
  t.same(names(await call('GET', '/accounts?direction=desc')), ['Other', 'Example'])
  t.same(names(await call('GET', '/accounts?name=Other')), ['Other'])
  t.match((await call('GET', `/accounts/${ACCOUNT}`)).body.result, { id: ACCOUNT, name: 'Example' })
  const { body } = await call('GET', '/memberships?order=account.name')
  t.match(body.result, [
    { account: { id: ACCOUNT, name: 'Example' }, status: 'accepted' },
    { account: { name: 'Other' } },
  ])
  t.same((await call('GET', '/memberships?status=pending')).body.result, [])
})

const BAD_QUERIES: [path: string, query: string, pointer: string][] = [
  ['/zones', 'per_page=0', '/per_page'],
  ['/zones', 'per_page=51', '/per_page'],
  ['/zones', 'status=gone', '/status'],
  ['/zones', 'type=full,other', '/type/1'],
  ['/zones', 'name=like:x', '/name'],
  ['/zones', 'account.name=like:x', '/account.name'],
  ['/accounts', 'page=', '/page'],
  ['/user/tokens', 'include_expired=maybe', '/include_expired'],
]
t.test('invalid queries are rejected with the name of the parameter', async (t) => {
  await refusesQueries(t, await client(t), BAD_QUERIES)
})
