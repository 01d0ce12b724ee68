import { isDeepStrictEqual } from 'node:util'
import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { LIST_ITEMS, LISTS } from '../../../src/core/model/list.js'
import { parseIp } from '../../../src/expr/index.js'
import { ListRegistry } from '../../../src/daemon/zones/list-registry.js'
import { all } from '../../helpers/all.js'
import { ACCOUNT, ADMIN, client, CONFIG, NOWHERE, OTHER_ACCOUNT, ZONE, type Client } from '../client.js'
import { AT } from '../rulesets/helper.js'

const PATH = `/accounts/${ACCOUNT}/rules/lists`

async function listOf({ call }: Client, kind: string, name = `my_${kind}`): Promise<string> {
  const { status, body } = await call('POST', PATH, { name, kind })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.result.id as string
}

const ITEMS = {
  ip: [{ ip: '192.0.2.1' }, { ip: '198.51.100.0/24', comment: 'all' }, { ip: '2001:db8::/32' }],
  hostname: [
    { hostname: { url_hostname: 'www.example.com' } },
    { hostname: { url_hostname: '*.example.org', exclude_exact_hostname: false } },
  ],
  asn: [{ asn: 64496 }, { asn: 4_294_967_295, comment: 'c' }],
  redirect: [
    { redirect: { source_url: 'example.com/a', target_url: 'https://example.org/', status_code: 308 as const } },
  ],
}

async function official(t: Test, options: Parameters<typeof client>[1] = {}) {
  const api = await client(t, options)
  return { api, lists: new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: api.url }).rules.lists }
}

const inAccount = { account_id: ACCOUNT }

t.test('the official client makes lists of every kind, fills, reads and removes them', async (t) => {
  const { lists, api } = await official(t)
  for (const kind of ['ip', 'hostname', 'asn', 'redirect'] as const) {
    const made = await lists.create({ ...inAccount, kind, name: `my_${kind}`, description: 'mine' })
    t.match(made, { kind, name: `my_${kind}`, description: 'mine', num_items: 0, num_referencing_filters: 0 })
    t.match(made, { id: /^[0-9a-f]{32}$/, created_on: '2026-11-21T12:00:00.000Z' })
    const body = ITEMS[kind]
    const { operation_id } = await lists.items.create(made.id, { ...inAccount, body })
    t.match(await lists.bulkOperations.get(operation_id, inAccount), {
      id: operation_id,
      status: 'completed',
      completed: /^2026/,
    })
    const items = await all(lists.items.list(made.id, { ...inAccount, per_page: 1 }))
    t.equal(items.length, body.length, 'page by page')
    for (const item of body)
      t.ok(
        items.some((one) => isDeepStrictEqual({ ...one, ...item }, one)),
        JSON.stringify(item),
      )
    const [first] = items
    t.same(await lists.items.get(first!.id, { ...inAccount, list_id: made.id }), first)
    t.equal((await lists.get(made.id, inAccount)).num_items, body.length)

    await lists.items.delete(made.id, { ...inAccount, items: [{ id: first!.id }] })
    t.equal((await all(lists.items.list(made.id, inAccount))).length, body.length - 1)
    await lists.items.update(made.id, { ...inAccount, body: body.slice(0, 1) })
    t.equal((await lists.get(made.id, inAccount)).num_items, 1)
    t.match(await lists.update(made.id, { ...inAccount, description: 'other' }), { description: 'other', num_items: 1 })
    t.same(await lists.delete(made.id, inAccount), { id: made.id })
  }
  t.same(
    (await all(lists.list(inAccount))).map(({ name }) => name),
    ['moved'],
    'the list of the configuration stays',
  )
  t.same([api.store.list(LISTS), api.store.list(LIST_ITEMS)], [[], []])
})

const BAD_LISTS: [what: string, body: unknown, ...pointers: string[]][] = [
  ['nothing', {}, '/name', '/kind'],
  ['an unknown kind', { name: 'a', kind: 'country' }, '/kind'],
  ['a name with a hyphen', { name: 'a-b', kind: 'ip' }, '/name'],
  ['an empty name', { name: '', kind: 'ip' }, '/name'],
  ['a name of 51 characters', { name: 'a'.repeat(51), kind: 'ip' }, '/name'],
  ['a name in capitals', { name: 'Office', kind: 'ip' }, '/name'],
  ['a long description', { name: 'a', kind: 'ip', description: 'd'.repeat(501) }, '/description'],
  ['an unknown member', { name: 'a', kind: 'ip', items: [] }, '/items'],
  ['a list of lists', [], ''],
]

t.test('bad lists are refused', async (t) => {
  const { call, store } = await client(t)
  for (const [what, body, ...pointers] of BAD_LISTS) {
    const response = await call('POST', PATH, body)
    t.equal(response.status, 400, what)
    t.same(
      response.body.errors.map(({ source }: { source?: { pointer: string } }) => source?.pointer ?? '').sort(),
      pointers.sort(),
      what,
    )
    t.equal(response.body.errors[0].code, 20201, what)
  }
  t.equal(store.count(LISTS), 0)
})

const name = (url_hostname: unknown, more: object = {}) => ({ hostname: { url_hostname, ...more } })
const BAD_ITEMS: [kind: keyof typeof ITEMS, what: string, body: unknown, ...pointers: string[]][] = [
  ['ip', 'no array', { ip: '192.0.2.1' }, ''],
  ['ip', 'no address', [{}], '/0/ip'],
  ['ip', 'a text', ['192.0.2.1'], '/0'],
  ['ip', 'a number', [{ ip: 1 }], '/0/ip'],
  ['ip', 'a host name', [{ ip: 'example.com' }], '/0/ip'],
  ['ip', 'a range', [{ ip: '192.0.2.1..192.0.2.9' }], '/0/ip'],
  ['ip', 'bits behind the network', [{ ip: '192.0.2.1/24' }], '/0/ip'],
  ['ip', 'a network too wide', [{ ip: '0.0.0.0/0' }], '/0/ip'],
  ['ip', 'an IPv6 network too wide', [{ ip: '::/3' }], '/0/ip'],
  ['ip', 'a prefix too long', [{ ip: '192.0.2.0/33' }], '/0/ip'],
  ['ip', 'a zone', [{ ip: 'fe80::1%eth0' }], '/0/ip'],
  ['ip', 'a leading zero', [{ ip: '192.0.02.1' }], '/0/ip'],
  ['ip', 'a long comment', [{ ip: '192.0.2.1', comment: 'c'.repeat(501) }], '/0/comment'],
  ['ip', 'an item of another kind', [{ asn: 1 }], '/0/asn', '/0/ip'],
  ['ip', 'an id', [{ ip: '192.0.2.1', id: NOWHERE }], '/0/id'],
  ['ip', 'the same twice', [{ ip: '192.0.2.1' }, { ip: '192.0.2.1/32' }], '/1'],
  ['ip', 'the same in another spelling', [{ ip: '2001:db8::1' }, { ip: '2001:DB8:0::1' }], '/1'],
  ['ip', 'several faults', [{ ip: 'x' }, { ip: '192.0.2.1' }, { ip: 'y' }], '/0/ip', '/2/ip'],
  ['hostname', 'no name', [{ hostname: {} }], '/0/hostname/url_hostname'],
  ['hostname', 'a URL', [name('https://example.com/')], '/0/hostname/url_hostname'],
  ['hostname', 'a wildcard in the middle', [name('a.*.example.com')], '/0/hostname/url_hostname'],
  ['hostname', 'nothing but a wildcard', [name('*.')], '/0/hostname/url_hostname'],
  ['hostname', 'an umlaut', [name('bücher.example')], '/0/hostname/url_hostname'],
  ['hostname', 'a long label', [name(`${'a'.repeat(64)}.example`)], '/0/hostname/url_hostname'],
  [
    'hostname',
    'exclude_exact_hostname without a wildcard',
    [name('example.com', { exclude_exact_hostname: true })],
    '/0/hostname/exclude_exact_hostname',
  ],
  ['hostname', 'the same in capitals', [name('example.com'), name('EXAMPLE.com')], '/1'],
  ['asn', 'a negative number', [{ asn: -1 }], '/0/asn'],
  ['asn', 'more than 32 bits', [{ asn: 2 ** 32 }], '/0/asn'],
  ['asn', 'a text', [{ asn: 'AS64496' }], '/0/asn'],
  ['asn', 'a fraction', [{ asn: 1.5 }], '/0/asn'],
  ['redirect', 'no target', [{ redirect: { source_url: 'a.test' } }], '/0/redirect/target_url'],
  [
    'redirect',
    'a query',
    [{ redirect: { source_url: 'a.test/?q', target_url: 'https://b.test' } }],
    '/0/redirect/source_url',
  ],
  [
    'redirect',
    'the same source',
    [
      { redirect: { source_url: 'a.test', target_url: 'https://b.test' } },
      { redirect: { source_url: 'A.test/', target_url: 'https://c.test' } },
    ],
    '/1',
  ],
]

t.test('bad items are refused with their place, and nothing is stored', async (t) => {
  const api = await client(t)
  const ids = new Map<string, string>()
  for (const kind of Object.keys(ITEMS)) ids.set(kind, await listOf(api, kind))
  for (const [kind, what, body, ...pointers] of BAD_ITEMS) {
    for (const method of ['POST', 'PUT']) {
      const response = await api.call(method, `${PATH}/${ids.get(kind)}/items`, body)
      t.equal(response.status, 400, what)
      t.same(
        response.body.errors.map(({ source }: { source?: { pointer: string } }) => source?.pointer ?? '').sort(),
        pointers.sort(),
        what,
      )
    }
  }
  t.equal(api.store.count(LIST_ITEMS), 0)
})

t.test('missing and unchangeable resources have different errors', async (t) => {
  const api = await client(t, { config: { lists: [{ name: 'office', kind: 'ip', items: ['192.0.2.1'] }] } })
  const id = await listOf(api, 'ip')
  const given = (await api.call('GET', PATH)).body.result[0]
  t.match(given, { name: 'office', num_items: 1 })
  const REFUSED: [method: string, path: string, body: unknown, status: number, code: number][] = [
    ['GET', `${PATH}/${NOWHERE}`, undefined, 404, 20202],
    ['PUT', `${PATH}/${NOWHERE}`, {}, 404, 20202],
    ['DELETE', `${PATH}/${NOWHERE}`, undefined, 404, 20202],
    ['GET', `${PATH}/${NOWHERE}/items`, undefined, 404, 20202],
    ['POST', `${PATH}/${NOWHERE}/items`, [], 404, 20202],
    ['GET', `${PATH}/${id}/items/${NOWHERE}`, undefined, 404, 20203],
    ['GET', `${PATH}/${id}/items/x`, undefined, 404, 20203],
    ['GET', `${PATH}/bulk_operations/${NOWHERE}`, undefined, 404, 20204],
    ['DELETE', `${PATH}/${id}/items`, { items: [{ id: NOWHERE }] }, 400, 20201],
    ['DELETE', `${PATH}/${id}/items`, { items: [] }, 400, 20201],
    ['GET', `${PATH}/${id}/items?cursor=x`, undefined, 400, 10002],
    ['GET', `${PATH}/${id}/items?per_page=501`, undefined, 400, 10002],
    ['POST', PATH, { name: 'my_ip', kind: 'ip' }, 400, 20205],
    ['POST', PATH, { name: 'office', kind: 'ip' }, 400, 20205],
    ['PUT', `${PATH}/${given.id}`, { description: 'x' }, 400, 20206],
    ['DELETE', `${PATH}/${given.id}`, undefined, 400, 20206],
    ['POST', `${PATH}/${given.id}/items`, [{ ip: '192.0.2.2' }], 400, 20206],
    ['GET', `/accounts/${OTHER_ACCOUNT}/rules/lists/${id}`, undefined, 404, 20202],
  ]
  for (const [method, path, body, status, code] of REFUSED)
    t.match(await api.call(method, path, body), { status, body: { errors: [{ code }] } }, `${method} ${path}`)
  t.match((await api.call('GET', `${PATH}/${given.id}/items`)).body.result, [{ ip: '192.0.2.1', id: /^[0-9a-f]{32}$/ }])
})

t.test('quotas of lists and of items hold', async (t) => {
  const quotas = { ...CONFIG.control.quotas, lists_per_account: 1, items_per_list: 2 }
  const api = await client(t, { config: { control: { ...CONFIG.control, quotas } } })
  const items = `${PATH}/${await listOf(api, 'asn')}/items`
  t.match(await api.call('POST', PATH, { name: 'b', kind: 'ip' }), { status: 403, body: { errors: [{ code: 20207 }] } })
  const full = { status: 400, body: { errors: [{ code: 20208 }] } }
  t.match(await api.call('POST', items, [{ asn: 1 }, { asn: 2 }, { asn: 3 }]), full)
  t.equal((await api.call('POST', items, [{ asn: 1 }, { asn: 2 }])).status, 200)
  t.match(await api.call('POST', items, [{ asn: 3 }]), full)
  t.equal((await api.call('POST', items, [{ asn: 2, comment: 'again' }])).status, 200, 'not a further item')
  t.equal((await api.call('PUT', items, [{ asn: 3 }])).status, 200)
})

t.test('an item that is added again keeps its time of creation and gets its new comment', async (t) => {
  const api = await client(t)
  const items = `${PATH}/${await listOf(api, 'ip')}/items`
  await api.call('POST', items, [{ ip: '192.0.2.1', comment: 'a' }])
  api.clock.advance(1000)
  await api.call('POST', items, [{ ip: '192.0.2.1', comment: 'b' }])
  t.match((await api.call('GET', items)).body.result, [
    { comment: 'b', created_on: '2026-11-21T12:00:00.000Z', modified_on: '2026-11-21T12:00:01.000Z' },
  ])
})

t.test('items are searched by the rules of their kind', async (t) => {
  const api = await client(t)
  const SEARCHES: [kind: keyof typeof ITEMS, search: string, found: number][] = [
    ['ip', '192.0', 1],
    ['ip', '0.2', 0],
    ['ip', '2001:DB8', 1],
    ['hostname', 'EXAMPLE', 2],
    ['hostname', 'www', 1],
    ['asn', '64496', 1],
    ['asn', '6449', 0],
    ['redirect', 'example.org', 1],
    ['redirect', 'nowhere', 0],
  ]
  const paths = new Map<string, string>()
  for (const [kind, items] of Object.entries(ITEMS)) {
    const path = `${PATH}/${await listOf(api, kind)}/items`
    paths.set(kind, path)
    await api.call('POST', path, items)
  }
  for (const [kind, search, found] of SEARCHES) {
    const { body } = await api.call('GET', `${paths.get(kind)}?search=${search}`)
    t.equal(body.result.length, found, `${search} in ${kind}`)
  }
})

t.test('a list counts the rules that use it, and cannot be deleted while there are any', async (t) => {
  const api = await client(t)
  const { call } = api
  const id = await listOf(api, 'ip', 'office')
  const uses = async () => (await call('GET', `${PATH}/${id}`)).body.result.num_referencing_filters as number
  const rule = { action: 'log', expression: 'ip.src in $office or ip.src in $office' }
  const rules = [rule, { action: 'log', expression: 'http.host eq "$office"' }, rule]
  const phase = 'http_request_firewall_custom'
  const made = await call('POST', AT, { name: 'n', kind: 'custom', phase, rules })
  t.equal(made.status, 200)
  t.equal(await uses(), 2)
  const accountPath = `/accounts/${ACCOUNT}/rulesets/phases/${phase}/entrypoint`
  await call('PUT', accountPath, { rules: [{ ...rule, description: 'No entry' }] })
  const { body: users } = await call('GET', `${PATH}/${id}/edged/rules`)
  t.match(users.result, [
    { kind: 'root', phase, name: 'No entry', zone: null },
    { kind: 'custom', phase, name: '', zone: { id: ZONE, name: 'example.test' } },
    { kind: 'custom', phase, name: '', zone: { id: ZONE } },
  ])
  await call('PUT', accountPath, { rules: [] })
  const refused = await call('DELETE', `${PATH}/${id}`)
  t.match(refused, {
    status: 400,
    body: { errors: [{ code: 10031, message: /office is used by rule [0-9a-f]{32} of/ }] },
  })
  await call('DELETE', `${AT}/${made.body.result.id}/rules/${made.body.result.rules[0].id}`)
  t.equal(await uses(), 1)
  await call('PUT', `/accounts/${ACCOUNT}/rulesets/phases/${phase}/entrypoint`, { rules: [rule] })
  t.equal(await uses(), 2)
  await call('PUT', `/accounts/${ACCOUNT}/rulesets/phases/${phase}/entrypoint`, { rules: [] })
  await call('DELETE', `${AT}/${made.body.result.id}`)
  t.equal(await uses(), 0)
  t.equal((await call('DELETE', `${PATH}/${id}`)).status, 200)
  t.match(await call('POST', AT, { name: 'n', kind: 'custom', phase, rules }), {
    status: 400,
    body: { errors: [{ source: { pointer: '/rules/0/expression' } }, {}] },
  })
})

t.test('a list cannot go while a rule comes to use it', async (t) => {
  const api = await client(t)
  const id = await listOf(api, 'ip', 'office')
  const rules = [{ action: 'log', expression: 'ip.src in $office' }]
  const entry = `/zones/${ZONE}/rulesets/phases/http_request_firewall_custom/entrypoint`
  const [put, removed] = await Promise.all([api.call('PUT', entry, { rules }), api.call('DELETE', `${PATH}/${id}`)])
  t.same(
    [put.status, removed.status].toSorted((a, b) => a - b),
    [200, 400],
  )
})

t.test('changes are in force for the proxy at once, of one account and not of others', async (t) => {
  const api = await client(t)
  const served = new ListRegistry(api.store, [{ name: 'given', kind: 'ip', items: ['192.0.2.0/24'] }])
  t.teardown(() => served.close())
  const address = (text: string) => parseIp(text)!
  const lists = served.lists(ACCOUNT)
  const [own, given, names, numbers] = [
    lists.get('mine', 'Ip')!,
    lists.get('given', 'Ip')!,
    lists.get('names', 'Bytes')!,
    lists.get('numbers', 'Int')!,
  ]
  t.equal(given.has(address('192.0.2.77')), true)
  t.equal(own.has(address('10.0.0.1')), false, 'a list that is not there yet')

  const items = `${PATH}/${await listOf(api, 'ip', 'mine')}/items`
  await api.call('POST', items, [{ ip: '10.0.0.0/8' }, { ip: '192.0.2.1' }, { ip: '2001:db8::/33' }])
  for (const [text, expected] of [
    ['10.255.0.1', true],
    ['11.0.0.1', false],
    ['192.0.2.1', true],
    ['2001:db8:7fff::1', true],
    ['2001:db8:8000::1', false],
    ['::ffff:10.0.0.1', false],
  ] as const)
    t.equal(own.has(address(text)), expected, text)
  t.equal(served.lists(OTHER_ACCOUNT).get('mine', 'Ip')?.has(address('10.0.0.1')), false)
  t.equal(lists.get('mine', 'Bytes')?.has('10.0.0.1'), false, 'asked for as another kind')
  await api.call('PUT', items, [{ ip: '11.0.0.0/8' }])
  t.same([own.has(address('10.0.0.1')), own.has(address('11.0.0.1'))], [false, true])

  await api.call('POST', `${PATH}/${await listOf(api, 'hostname', 'names')}/items`, ITEMS.hostname)
  await api.call('POST', `${PATH}/${await listOf(api, 'asn', 'numbers')}/items`, ITEMS.asn)
  await api.call('POST', `${PATH}/${await listOf(api, 'redirect', 'old')}/items`, ITEMS.redirect)
  t.same(
    ['WWW.example.com', 'a.b.example.org', 'example.org', 'example.com', 'aexample.org'].map((name) => names.has(name)),
    [true, true, true, false, false],
  )
  t.same([numbers.has(64496), numbers.has(64497)], [true, false])
  t.same(served.redirect(ACCOUNT, 'old', 'http://example.com/a'), { location: 'https://example.org/', status: 308 })
  t.equal(served.redirect(OTHER_ACCOUNT, 'old', 'http://example.com/a'), undefined)

  const again = new ListRegistry(api.store, [])
  t.equal(again.lists(ACCOUNT).get('mine', 'Ip')?.has(address('11.0.0.1')), true, 'after a start')
  again.close()
  const [mine] = (await api.call('GET', PATH)).body.result.filter(({ name }: { name: string }) => name === 'mine')
  await api.call('DELETE', `${PATH}/${mine.id}`)
  t.equal(own.has(address('11.0.0.1')), false)
  const use = await served.prepare([{ name: 'given', kind: 'ip', items: [] }])
  t.equal(given.has(address('192.0.2.77')), true, 'until it is in force')
  use()
  t.equal(given.has(address('192.0.2.77')), false)
})

t.test('a redirect list holds the URLs that it has a redirect for', async (t) => {
  const api = await client(t)
  const redirect = { source_url: 'example.com/old', target_url: 'https://example.com/new' }
  const served = new ListRegistry(api.store, [{ name: 'moved', kind: 'redirect', items: [{ redirect }] }])
  t.teardown(() => served.close())
  const moved = served.lists(ACCOUNT).get('moved', 'Bytes')!
  t.equal(moved.has('http://example.com/old'), true)
  t.equal(moved.has('http://example.com/older'), false)
  t.equal(served.lists(ACCOUNT).get('moved', 'Ip')!.has(parseIp('192.0.2.1')!), false)
})

t.test('a list of a hundred thousand addresses is stored, changed and asked', async (t) => {
  const api = await client(t)
  const served = new ListRegistry(api.store, [])
  t.teardown(() => served.close())
  const items = `${PATH}/${await listOf(api, 'ip', 'many')}/items`
  const ip = (at: number) => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`
  const { batch } = api.store
  let serialized = 0
  Object.assign(api.store, {
    batch: async (...[writes, entries]: Parameters<typeof batch>) => {
      for (const { kind, value, json } of writes)
        if (kind === LIST_ITEMS && json === JSON.stringify(value) && Object.isFrozen(value)) serialized++
      return await batch.call(api.store, writes, entries)
    },
  })
  const started = performance.now()
  const put = await api.call(
    'PUT',
    items,
    Array.from({ length: 100_000 }, (_, at) => ({ ip: ip(at) })),
  )
  const replaced = performance.now()
  t.equal(put.status, 200)
  t.equal(serialized, 256, 'the store does not serialize them in one turn')
  for (let at = 0; at < 20; at++) await api.call('POST', items, [{ ip: `192.0.2.${at}` }])
  const added = performance.now()
  await served.applied
  const list = served.lists(ACCOUNT).get('many', 'Ip')!
  t.ok(Array.from({ length: 100_000 }, (_, at) => parseIp(ip(at))!).every((one) => list.has(one)))
  t.comment(`${Math.round(replaced - started)} ms to put all, ${((added - replaced) / 20).toFixed(1)} ms to add one`)
  t.equal(api.store.count(LIST_ITEMS), 256)
  t.equal((await api.call('GET', `${items}?per_page=500`)).body.result.length, 500)
})
