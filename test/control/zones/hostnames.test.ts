import t from 'tap'
import { hostName } from '../../../control/zones/hostname-match.js'
import { HOSTNAME, HOSTNAME_OWNER } from '../../../src/core/model/hostname.js'
import { zone } from '../../../src/core/scope.js'
import { client, CONFIG, FREE_ZONE, OTHER_ZONE, ZONE } from '../client.js'
import { audited, names } from '../areas-helper.js'
import { refusesAll, refusesQueries, type RefusedRow } from '../refused-rows.js'

const HOSTNAMES = `/zones/${ZONE}/custom_hostnames`

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

t.test('a custom hostname is created, found, changed and deleted', async (t) => {
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

t.test('a custom hostname belongs to one zone, even with concurrent requests', async (t) => {
  const { call, store } = await client(t)
  const zones = [ZONE, OTHER_ZONE, FREE_ZONE, ZONE]
  const responses = await Promise.all(
    zones.map((id) => call('POST', `/zones/${id}/custom_hostnames`, { hostname: 'www.shop.com' })),
  )
  t.same(
    responses.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 409, 409, 409],
  )
  for (const { status, body } of responses)
    if (status === 409) t.match(body.errors, [{ code: 1406, source: { pointer: '/hostname' } }])
  t.equal(store.count(HOSTNAME), 1)
})

t.test('a zone has at most its quota of custom hostnames', async (t) => {
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

t.test('a quota applies to concurrent requests', async (t) => {
  const config = { control: { ...CONFIG.control, quotas: { ...CONFIG.control.quotas, custom_hostnames_per_zone: 3 } } }
  const { call, store } = await client(t, { config })
  const made = await Promise.all(
    Array.from({ length: 8 }, (_, n) => call('POST', HOSTNAMES, { hostname: `shop-${n}.com` })),
  )
  t.equal(made.filter(({ status }) => status === 200).length, 3)
  t.equal(store.count(HOSTNAME), 3)
})

t.test('a custom hostname deleted by concurrent requests is deleted once', async (t) => {
  const { call, store } = await client(t)
  const { body } = await call('POST', HOSTNAMES, { hostname: 'app.shop.com' })
  const path = `${HOSTNAMES}/${body.result.id}`
  const responses = await Promise.all([call('DELETE', path), call('DELETE', path), call('PATCH', path, { ssl: {} })])
  t.ok(responses.some(({ status }) => status === 200))
  t.equal((await call('GET', path)).status, 404)
  t.equal(store.count(HOSTNAME_OWNER), 0)
  t.equal((await audited(store)).filter(({ action }) => action === 'delete').length, 1)
})

t.test('the response to a write names the members that are stored without effect', async (t) => {
  const { call } = await client(t)
  const inert = (pointers: string[]) =>
    pointers.map((pointer) => ({ code: 10900, message: 'stored, without effect here', source: { pointer } }))
  const body = { hostname: 'app.shop.com', custom_origin_server: 'o.example.com', ssl: { method: 'http' } }
  const made = await call('POST', HOSTNAMES, body)
  t.same(made.body.messages, inert(['/ssl']))
  const at = `${HOSTNAMES}/${made.body.result.id}`
  t.same((await call('PATCH', at, { custom_origin_sni: 'o.example.com', ssl: null })).body.messages, [])
  t.same((await call('PATCH', at, { custom_metadata: { a: 'b' } })).body.messages, [])
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
  ]
  for (const [query, found] of LISTS) t.equal(await list(query), found, query)
  t.match(await call('GET', `${HOSTNAMES}?hostname.contains=shop`), {
    status: 200,
    body: { messages: [{ code: 10904, source: { pointer: '/hostname.contains' } }] },
  })
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
]
t.test('invalid queries are rejected with the name of the parameter', async (t) => {
  await refusesQueries(t, await client(t), BAD_QUERIES)
})

const long = 'a'.repeat(64)
const BAD_HOSTNAMES: RefusedRow[] = [
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

t.test('an invalid custom hostname is rejected with a pointer, and nothing is stored', async (t) => {
  await refusesAll(t, await client(t), BAD_HOSTNAMES)
})
