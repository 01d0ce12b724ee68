import t from 'tap'
import { hostName } from '../../control/host-name.js'
import { HOSTNAME, HOSTNAME_OWNER } from '../../src/core/model/hostname.js'
import { SETTING } from '../../src/core/model/setting.js'
import { TOKEN } from '../../src/core/model/token.js'
import { zone } from '../../src/core/scope.js'
import type { AuditEntry, Kind, Store } from '../../src/core/store.js'
import { ACCOUNT, client, CONFIG, FREE_ZONE, OTHER_ACCOUNT, OTHER_ZONE, ZONE, type Client } from './client.js'

const SETTINGS = `/zones/${ZONE}/settings`
const HOSTNAMES = `/zones/${ZONE}/custom_hostnames`

async function audited(store: Store): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  for await (const { entry } of store.audit()) entries.push(entry)
  return entries
}

t.test('content_converter: off until set, then what was set', async (t) => {
  const { call, clock, store } = await client(t)
  const path = `${SETTINGS}/content_converter`
  const unset = { id: 'content_converter', value: 'off', editable: true, modified_on: null }
  t.strictSame((await call('GET', path)).body.result, unset)
  const set = { ...unset, value: 'on', modified_on: '2026-11-21T12:00:00.000Z' }
  t.strictSame((await call('PATCH', path, { value: 'on' })).body, {
    success: true,
    errors: [],
    messages: [],
    result: set,
  })
  t.strictSame((await call('GET', path)).body.result, set)
  t.strictSame((await call('GET', SETTINGS)).body.result, [set])
  t.match(store.get(SETTING, zone(ZONE), 'content_converter')?.value, { value: 'on' })
  clock.advance(1000)
  t.match((await call('PATCH', path, { value: 'off' })).body.result, {
    value: 'off',
    modified_on: '2026-11-21T12:00:01.000Z',
  })
  const [first, second] = await audited(store)
  t.match(first, { action: 'update', actor: { type: 'token', name: 'admin' }, before: null, after: /^[0-9a-f]{64}$/ })
  t.equal(second?.before, first?.after)
})

t.test("the configuration's value is in force until the API sets another", async (t) => {
  const zones = CONFIG.zones.map((zone) => ({ ...zone, settings: { content_converter: 'on' as const } }))
  const { call } = await client(t, { config: { zones } })
  t.match((await call('GET', `${SETTINGS}/content_converter`)).body.result, { value: 'on', modified_on: null })
  await call('PATCH', `${SETTINGS}/content_converter`, { value: 'off' })
  t.match((await call('GET', `${SETTINGS}/content_converter`)).body.result, { value: 'off' })
})

t.test('several settings are changed at once, all or none', async (t) => {
  const { call, store } = await client(t)
  const good = { id: 'content_converter', value: 'on' }
  t.match(await call('PATCH', SETTINGS, { items: [good] }), {
    status: 200,
    body: { result: [{ ...good, editable: true }] },
  })
  const refused = await call('PATCH', SETTINGS, {
    items: [
      { id: 'content_converter', value: 'off' },
      { id: 'polish', value: 'on' },
    ],
  })
  t.match(refused, { status: 400, body: { errors: [{ code: 1003, source: { pointer: '/items/1/id' } }] } })
  t.match(store.get(SETTING, zone(ZONE), 'content_converter')?.value, { value: 'on' })
})

t.test('one setting named twice is refused', async (t) => {
  const { call } = await client(t)
  const items = [
    { id: 'content_converter', value: 'on' },
    { id: 'content_converter', value: 'off' },
  ]
  t.match(await call('PATCH', SETTINGS, { items }), {
    status: 400,
    body: { errors: [{ code: 1007, source: { pointer: '/items/1/id' } }] },
  })
})

type Bad = [
  what: string,
  method: string,
  path: string,
  body: unknown,
  status: number,
  code: number,
  pointer: string | undefined,
]
const BAD_SETTINGS: Bad[] = [
  ['another text', 'PATCH', `${SETTINGS}/content_converter`, { value: 'enabled' }, 400, 1007, '/value'],
  ['capitals', 'PATCH', `${SETTINGS}/content_converter`, { value: 'ON' }, 400, 1007, '/value'],
  ['a boolean', 'PATCH', `${SETTINGS}/content_converter`, { value: true }, 400, 1007, '/value'],
  ['null', 'PATCH', `${SETTINGS}/content_converter`, { value: null }, 400, 1007, '/value'],
  ['no value', 'PATCH', `${SETTINGS}/content_converter`, {}, 400, 1007, '/value'],
  ['another member', 'PATCH', `${SETTINGS}/content_converter`, { value: 'on', id: 'x' }, 400, 1007, '/id'],
  ['an unknown setting', 'PATCH', `${SETTINGS}/polish`, { value: 'on' }, 400, 1003, undefined],
  ['a setting named as a prototype is', 'PATCH', `${SETTINGS}/constructor`, { value: 'on' }, 400, 1003, undefined],
  ['a free zone', 'PATCH', `/zones/${FREE_ZONE}/settings/content_converter`, { value: 'on' }, 400, 1015, '/value'],
  [
    'a free zone, several',
    'PATCH',
    `/zones/${FREE_ZONE}/settings`,
    { items: [{ id: 'content_converter', value: 'on' }] },
    400,
    1015,
    '/items/0/value',
  ],
  ['no items', 'PATCH', SETTINGS, { items: [] }, 400, 1007, '/items'],
  ['items of another kind', 'PATCH', SETTINGS, { items: {} }, 400, 1007, '/items'],
  [
    'a bad value among several',
    'PATCH',
    SETTINGS,
    { items: [{ id: 'content_converter', value: 1 }] },
    400,
    1007,
    '/items/0/value',
  ],
]

const long = 'a'.repeat(64)
const BAD_HOSTNAMES: Bad[] = [
  ['no hostname', 'POST', HOSTNAMES, {}, 400, 1407, '/hostname'],
  ['an empty hostname', 'POST', HOSTNAMES, { hostname: '' }, 400, 1407, '/hostname'],
  ['one label', 'POST', HOSTNAMES, { hostname: 'localhost' }, 400, 1407, '/hostname'],
  ['an address', 'POST', HOSTNAMES, { hostname: '192.0.2.1' }, 400, 1407, '/hostname'],
  ['an address in another writing', 'POST', HOSTNAMES, { hostname: '192.0.2.0x1' }, 400, 1407, '/hostname'],
  ['an IPv6 address', 'POST', HOSTNAMES, { hostname: '2001:db8::1' }, 400, 1407, '/hostname'],
  ['a wildcard', 'POST', HOSTNAMES, { hostname: '*.shop.com' }, 400, 1407, '/hostname'],
  ['a port', 'POST', HOSTNAMES, { hostname: 'shop.com:80' }, 400, 1407, '/hostname'],
  ['a URL', 'POST', HOSTNAMES, { hostname: 'https://shop.com/' }, 400, 1407, '/hostname'],
  ['a dot at the end', 'POST', HOSTNAMES, { hostname: 'shop.com.' }, 400, 1407, '/hostname'],
  ['two dots', 'POST', HOSTNAMES, { hostname: 'a..com' }, 400, 1407, '/hostname'],
  ['a hyphen at the end of a label', 'POST', HOSTNAMES, { hostname: 'a-.com' }, 400, 1407, '/hostname'],
  ['a long label', 'POST', HOSTNAMES, { hostname: `${long}.com` }, 400, 1407, '/hostname'],
  ['a long name', 'POST', HOSTNAMES, { hostname: `${'a.'.repeat(126)}com` }, 400, 1407, '/hostname'],
  ['the name of a zone', 'POST', HOSTNAMES, { hostname: 'example.test' }, 409, 1406, '/hostname'],
  ['a name below another zone', 'POST', HOSTNAMES, { hostname: 'www.other.test' }, 409, 1406, '/hostname'],
  [
    'metadata that is no text',
    'POST',
    HOSTNAMES,
    { hostname: 'a.shop.com', custom_metadata: { a: 1 } },
    400,
    1407,
    '/custom_metadata/a',
  ],
  [
    'metadata that is no text, under a name with a line break',
    'POST',
    HOSTNAMES,
    { hostname: 'a.shop.com', custom_metadata: { 'a\nb': 1 } },
    400,
    1407,
    '/custom_metadata/a\nb',
  ],
  [
    'metadata below metadata',
    'POST',
    HOSTNAMES,
    { hostname: 'a.shop.com', custom_metadata: { a: { b: 'c' } } },
    400,
    1407,
    '/custom_metadata/a',
  ],
  [
    'much metadata',
    'POST',
    HOSTNAMES,
    {
      hostname: 'a.shop.com',
      custom_metadata: { a: 'x'.repeat(1024), b: 'x'.repeat(1024), c: 'x'.repeat(1024), d: 'x'.repeat(1024) },
    },
    400,
    1407,
    '/custom_metadata',
  ],
  [
    'a list as metadata',
    'POST',
    HOSTNAMES,
    { hostname: 'a.shop.com', custom_metadata: [] },
    400,
    1407,
    '/custom_metadata',
  ],
  [
    'an origin that is a URL',
    'POST',
    HOSTNAMES,
    { hostname: 'a.shop.com', custom_origin_server: 'http://a' },
    400,
    1407,
    '/custom_origin_server',
  ],
  [
    'an origin that is an address',
    'POST',
    HOSTNAMES,
    { hostname: 'a.shop.com', custom_origin_server: '127.0.0.1' },
    400,
    1407,
    '/custom_origin_server',
  ],
  [
    'a server name that is none',
    'POST',
    HOSTNAMES,
    { hostname: 'a.shop.com', custom_origin_sni: ':other:' },
    400,
    1407,
    '/custom_origin_sni',
  ],
  [
    'an unknown ssl method',
    'POST',
    HOSTNAMES,
    { hostname: 'a.shop.com', ssl: { method: 'post' } },
    400,
    1407,
    '/ssl/method',
  ],
  [
    'an unknown ssl setting',
    'POST',
    HOSTNAMES,
    { hostname: 'a.shop.com', ssl: { settings: { tls: 'on' } } },
    400,
    1407,
    '/ssl/settings/tls',
  ],
  [
    'a private key',
    'POST',
    HOSTNAMES,
    { hostname: 'a.shop.com', ssl: { custom_key: 'x' } },
    400,
    1407,
    '/ssl/custom_key',
  ],
  ['an unknown member', 'POST', HOSTNAMES, { hostname: 'a.shop.com', id: 'x' }, 400, 1407, '/id'],
  [
    'a change of an unknown hostname',
    'PATCH',
    `${HOSTNAMES}/0d89c70d-ad9f-4843-b99f-6cc0252067e9`,
    {},
    404,
    1436,
    undefined,
  ],
  ['a removal of an unknown hostname', 'DELETE', `${HOSTNAMES}/x`, undefined, 404, 1436, undefined],
]

const POLICY = {
  effect: 'allow',
  permission_groups: [{ name: 'Logs Write' }],
  resources: { [`com.cloudflare.api.account.${ACCOUNT}`]: '*' },
}
const TOKEN_INPUT = { name: 'n', policies: [POLICY] }
const BAD_TOKENS: Bad[] = [
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

t.test('what is wrong is refused with its place, and nothing is stored', async (t) => {
  const { call, store } = await client(t)
  for (const [what, method, path, body, status, code, pointer] of [...BAD_SETTINGS, ...BAD_HOSTNAMES, ...BAD_TOKENS]) {
    const answer = await call(method, path, body)
    t.match(answer, { status, body: { success: false, result: null } }, what)
    t.equal(answer.body.errors.length, 1, what)
    t.equal(answer.body.errors[0].code, code, what)
    t.equal(answer.body.errors[0].source?.pointer, pointer, what)
  }
  const kinds: Kind<unknown>[] = [SETTING, HOSTNAME, HOSTNAME_OWNER, TOKEN]
  for (const kind of kinds) t.equal(store.count(kind), 0)
  t.same(await audited(store), [])
})

t.test('host names', async (t) => {
  const NAMES: [text: string, name: string | undefined][] = [
    ['App.Example.COM', 'app.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['_dmarc.example.com', '_dmarc.example.com'],
    ['1.example.com', '1.example.com'],
    ['example', undefined],
    ['1.2.3.4', undefined],
    ['a b.com', undefined],
    ['a.com/', undefined],
    ['%61.com', undefined],
    ['xn--a.example', undefined],
  ]
  for (const [text, name] of NAMES) t.equal(hostName(text), name, text)
})

t.test('a custom hostname lives: made, found, changed, removed', async (t) => {
  const { call, store } = await client(t)
  const made = await call('POST', HOSTNAMES, {
    hostname: 'App.Shop.com',
    custom_metadata: { tier: 'gold' },
    ssl: { method: 'txt', type: 'dv' },
  })
  t.equal(made.status, 200)
  const { id } = made.body.result
  t.match(made.body.result, {
    id: /^[0-9a-f-]{36}$/,
    hostname: 'app.shop.com',
    status: 'active',
    created_at: '2026-11-21T12:00:00.000Z',
    custom_metadata: { tier: 'gold' },
    ssl: { method: 'txt', type: 'dv', status: 'active', hosts: ['app.shop.com'], wildcard: false },
  })
  const path = `${HOSTNAMES}/${id}`
  t.strictSame((await call('GET', path)).body.result, made.body.result)

  const marked = await call('PATCH', path, { custom_metadata: { content_converter: 'enabled' } })
  t.strictSame(marked.body.result.custom_metadata, { content_converter: 'enabled' }, 'replaced as a whole')
  t.strictSame(marked.body.result.ssl, made.body.result.ssl)
  t.match(store.get(HOSTNAME, zone(ZONE), id)?.value, { custom_metadata: { content_converter: 'enabled' } })

  const merged = await call('PATCH', path, {
    ssl: { settings: { http2: 'on' }, wildcard: true },
    custom_origin_server: 'Origin.Shop.com',
  })
  t.match(merged.body.result, {
    ssl: { method: 'txt', settings: { http2: 'on' }, hosts: ['app.shop.com', '*.app.shop.com'] },
    custom_origin_server: 'origin.shop.com',
  })
  const cleared = await call('PATCH', path, { custom_metadata: null, custom_origin_server: null, ssl: null })
  t.strictSame(Object.keys(cleared.body.result).toSorted(), [
    'created_at',
    'hostname',
    'id',
    'status',
    'verification_errors',
  ])

  const removed = await call('DELETE', path)
  t.strictSame(removed.body, { success: true, errors: [], messages: [], result: { id }, id })
  t.equal((await call('GET', path)).status, 404)
  t.equal(store.count(HOSTNAME_OWNER), 0)
  t.same(
    (await audited(store)).map(({ action }) => action),
    ['create', 'update', 'update', 'update', 'delete'],
  )
  t.equal((await call('POST', HOSTNAMES, { hostname: 'app.shop.com' })).status, 200, 'the name is free again')
})

t.test('a custom hostname belongs to one zone, however many ask at once', async (t) => {
  const { call, store } = await client(t)
  const zones = [ZONE, OTHER_ZONE, FREE_ZONE, ZONE]
  const answers = await Promise.all(
    zones.map((id) => call('POST', `/zones/${id}/custom_hostnames`, { hostname: 'www.shop.com' })),
  )
  t.same(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 409, 409, 409],
  )
  for (const { status, body } of answers)
    if (status === 409) t.match(body.errors, [{ code: 1406, source: { pointer: '/hostname' } }])
  t.equal(store.count(HOSTNAME), 1)
})

t.test('a zone keeps to its quota of custom hostnames', async (t) => {
  const config = { control: { ...CONFIG.control, quotas: { ...CONFIG.control.quotas, custom_hostnames_per_zone: 2 } } }
  const { call } = await client(t, { config })
  for (const name of ['a', 'b']) t.equal((await call('POST', HOSTNAMES, { hostname: `${name}.shop.com` })).status, 200)
  t.match(await call('POST', HOSTNAMES, { hostname: 'c.shop.com' }), {
    status: 403,
    body: { errors: [{ code: 1405 }] },
  })
  t.strictSame((await call('GET', `${HOSTNAMES}/quota`)).body.result, {
    allocated: 2,
    used: 2,
    hard_cap: 2,
    exceeded: true,
  })
})

const names = ({ body }: Awaited<ReturnType<Client['call']>>): string[] =>
  body.result.map(({ hostname, name }: { hostname?: string; name?: string }) => hostname ?? name)

t.test('a quota holds among requests that come at once', async (t) => {
  const config = { control: { ...CONFIG.control, quotas: { ...CONFIG.control.quotas, custom_hostnames_per_zone: 3 } } }
  const { call, store } = await client(t, { config })
  const made = await Promise.all(
    Array.from({ length: 8 }, (_, n) => call('POST', HOSTNAMES, { hostname: `shop-${n}.com` })),
  )
  t.equal(made.filter(({ status }) => status === 200).length, 3)
  t.equal(store.count(HOSTNAME), 3)
})

t.test('changes of one setting that come at once all succeed, and the record of them is a chain', async (t) => {
  const { call, store } = await client(t)
  const values = ['on', 'off', 'on', 'off']
  const answers = await Promise.all(values.map((value) => call('PATCH', `${SETTINGS}/content_converter`, { value })))
  for (const { status } of answers) t.equal(status, 200)
  const entries = await audited(store)
  t.equal(entries.length, values.length)
  for (const [index, entry] of entries.entries()) t.equal(entry.before, entries[index - 1]?.after ?? null)
})

t.test('a custom hostname removed by several at once is removed once', async (t) => {
  const { call, store } = await client(t)
  const { body } = await call('POST', HOSTNAMES, { hostname: 'app.shop.com' })
  const path = `${HOSTNAMES}/${body.result.id}`
  const answers = await Promise.all([call('DELETE', path), call('DELETE', path), call('PATCH', path, { ssl: {} })])
  t.ok(answers.some(({ status }) => status === 200))
  t.equal((await call('GET', path)).status, 404)
  t.equal(store.count(HOSTNAME_OWNER), 0)
  t.equal((await audited(store)).filter(({ action }) => action === 'delete').length, 1)
})

t.test('custom hostnames are listed by page, filter and order', async (t) => {
  const { call } = await client(t)
  const ids = new Map<string, string>()
  for (const name of ['d', 'b', 'a', 'c', 'e', 'f', 'g']) {
    const ssl = name < 'c' ? { ssl: { wildcard: name === 'a' } } : {}
    const { body } = await call('POST', HOSTNAMES, { hostname: `${name}.shop.com`, ...ssl })
    ids.set(name, body.result.id)
  }
  const list = async (query: string) =>
    names(await call('GET', `${HOSTNAMES}?${query}`))
      .map((name) => name[0])
      .join('')
  const LISTS: [query: string, found: string][] = [
    ['', 'cdefgab'],
    ['direction=desc', 'bagfedc'],
    ['order=ssl_status', 'cdefgab'],
    ['per_page=5', 'cdefg'],
    ['per_page=5&page=2', 'ab'],
    ['per_page=5&page=3', ''],
    ['hostname=A.shop.com', 'a'],
    ['hostname=shop.com', ''],
    ['hostname.exact=b.shop.com', 'b'],
    ['hostname.contain=SHOP', 'cdefgab'],
    ['hostname.startsWith=e.', 'e'],
    [`id=${ids.get('f')}`, 'f'],
    ['ssl=1', 'ab'],
    ['ssl=0', 'cdefg'],
    ['wildcard=true', 'a'],
    ['ssl_status=active', 'ab'],
    ['hostname_status=pending', ''],
    ['custom_origin_server=x.com', ''],
    ['something=else', 'cdefgab'],
  ]
  for (const [query, found] of LISTS) t.equal(await list(query), found, query)
  t.strictSame((await call('GET', `${HOSTNAMES}?per_page=5&page=2`)).body.result_info, {
    page: 2,
    per_page: 5,
    count: 2,
    total_count: 7,
    total_pages: 2,
  })
  t.match((await call('GET', `/zones/${OTHER_ZONE}/custom_hostnames`)).body, {
    result: [],
    result_info: { total_count: 0, total_pages: 0 },
  })
})

const BAD_QUERIES: [path: string, query: string, pointer: string][] = [
  [HOSTNAMES, 'page=0', '/page'],
  [HOSTNAMES, 'page=-1', '/page'],
  [HOSTNAMES, 'page=x', '/page'],
  [HOSTNAMES, 'page=1.5', '/page'],
  [HOSTNAMES, 'page=99999999999999999999', '/page'],
  [HOSTNAMES, 'per_page=4', '/per_page'],
  [HOSTNAMES, 'per_page=51', '/per_page'],
  [HOSTNAMES, 'order=name', '/order'],
  [HOSTNAMES, 'direction=up', '/direction'],
  [HOSTNAMES, 'ssl=2', '/ssl'],
  [HOSTNAMES, 'id=x', '/id'],
  [HOSTNAMES, 'wildcard=1', '/wildcard'],
  ['/zones', 'per_page=0', '/per_page'],
  ['/zones', 'per_page=51', '/per_page'],
  ['/zones', 'status=gone', '/status'],
  ['/zones', 'type=full,other', '/type/1'],
  ['/zones', 'name=like:x', '/name'],
  ['/zones', 'account.name=like:x', '/account.name'],
  ['/accounts', 'page=', '/page'],
  ['/user/tokens', 'include_expired=maybe', '/include_expired'],
]
t.test('bad queries are refused with the name of the parameter', async (t) => {
  const { call } = await client(t)
  for (const [path, query, pointer] of BAD_QUERIES)
    t.match(
      await call('GET', `${path}?${query}`),
      { status: 400, body: { errors: [{ code: 10002, source: { pointer } }] } },
      query,
    )
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

t.test('a token lives: made, told once, changed, rolled, removed', async (t) => {
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
    ['create', 'update', 'update', 'delete'],
  )
  for (const secret of [value, rolled]) t.notOk(JSON.stringify(entries).includes(secret))
})

t.test('a token gives no more than it has', async (t) => {
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
  const strong = await make(call, [{ effect: 'allow', permission_groups: [{ name: '*' }], resources: everywhere }])
  t.equal(
    (await by('PUT', `/user/tokens/${strong.body.result.id}/value`, {})).status,
    403,
    'nor does it roll a stronger one',
  )
})
