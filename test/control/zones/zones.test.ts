import Cloudflare from 'cloudflare'
import t from 'tap'
import { DAEMON, zone as zoneScope } from '../../../src/core/scope.js'
import { ZONE_NAMES } from '../../../src/core/model/zone.js'
import { audited, names } from '../areas-helper.js'
import { ACCOUNT, ADMIN, client, OTHER_ACCOUNT, OTHER_ZONE, ZONE, type Client } from '../client.js'

const account = { id: ACCOUNT }
const ORIGIN = 'https://origin.example.net'

const make = async (call: Client['call'], name: string, more: object = {}) =>
  await call('POST', '/zones', { name, account, ...more })

t.test('the official client creates, changes, lists and deletes a zone', async (t) => {
  const { url } = await client(t)
  const cf = new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: url })
  const zone = await cf.zones.create({ account, name: 'New.Example.org', type: 'full' })
  t.match(zone, { name: 'new.example.org', status: 'pending', paused: false, type: 'full', account })
  const { id: zone_id } = zone
  t.match(await cf.zones.get({ zone_id }), { id: zone_id, name: 'new.example.org' })
  t.match(await cf.zones.edit({ zone_id, paused: true }), { paused: true })
  t.match(await cf.zones.edit({ zone_id, type: 'partial' }), { paused: true, type: 'partial' })
  t.match(await cf.zones.edit({ zone_id, vanity_name_servers: ['ns1.example.org'] }), {
    vanity_name_servers: ['ns1.example.org'],
  })
  const found = []
  for await (const each of cf.zones.list({ name: 'ends_with:.example.org' })) found.push(each.id)
  t.same(found, [zone_id])
  t.match(await cf.zones.settings.edit('content_converter', { zone_id, value: 'on' }), { value: 'on' })
  t.match(await cf.zones.delete({ zone_id }), { id: zone_id })
  await t.rejects(cf.zones.get({ zone_id }), { message: /^404/ })
  t.match(await cf.zones.edit({ zone_id: ZONE, paused: true }), { id: ZONE, paused: true }, 'a zone of the file')
})

t.test('a zone has an origin, a plan and messages about what is missing or has no effect', async (t) => {
  const { call } = await client(t)
  const made = await make(call, 'shop.test', { type: 'partial', edged: { plan: 'free' } })
  t.match(made.body, {
    result: { status: 'pending', activated_on: null, plan: { id: 'free' }, edged: { source: 'api', origin: null } },
    messages: [
      { code: 10900, source: { pointer: '/type' } },
      { code: 10902, source: { pointer: '/edged/origin' } },
    ],
  })
  const path = `/zones/${made.body.result.id}`
  const set = await call('PATCH', path, { edged: { origin: `${ORIGIN}/`, plan: 'pro' } })
  t.match(set.body, { result: { status: 'active', plan: { id: 'pro' }, edged: { origin: ORIGIN } } })
  t.same(set.body.messages, [])
  t.match((await call('PATCH', path, { edged: { origin: null } })).body.result, { status: 'pending' })
  t.match((await call('GET', `/zones/${ZONE}`)).body.result.edged, { source: 'file' })
})

t.test('an origin whose name does not resolve is stored, with a message', async (t) => {
  const originIssue = async () => await Promise.resolve({ message: 'the name does not resolve', isLasting: false })
  const { call } = await client(t, { originIssue })
  const made = await make(call, 'shop.test', { edged: { origin: ORIGIN } })
  const messages = [{ code: 10909, message: /does not resolve/, source: { pointer: '/edged/origin' } }]
  t.match(made, { status: 200, body: { result: { edged: { origin: ORIGIN } }, messages } })
  const path = `/zones/${made.body.result.id}`
  t.match((await call('PATCH', path, { edged: { origin: ORIGIN } })).body, { messages })
})

t.test('zones of the configuration file keep their origin and are not deleted', async (t) => {
  const { call } = await client(t)
  const refused = { status: 400, body: { errors: [{ code: 20502 }] } }
  t.match(await call('DELETE', `/zones/${ZONE}`), refused)
  t.match(await call('PATCH', `/zones/${ZONE}`, { edged: { origin: ORIGIN } }), refused)
  t.equal((await call('GET', `/zones/${ZONE}`)).status, 200)
})

t.test('a name that another zone or custom hostname has is not available', async (t) => {
  const { call } = await client(t)
  const other = { account: { id: OTHER_ACCOUNT } }
  const zone = { ssl: { wildcard: true }, hostname: 'wild.customer.com' }
  await call('POST', `/zones/${OTHER_ZONE}/custom_hostnames`, { hostname: 'www.customer.com' })
  await call('POST', `/zones/${OTHER_ZONE}/custom_hostnames`, zone)
  const NAMES: [name: string, status: number, more?: object][] = [
    ['example.test', 400],
    ['EXAMPLE.test', 400],
    ['sub.example.test', 400, other],
    ['sub.example.test', 200],
    ['www.customer.com', 400],
    ['www.customer.com', 400, other],
    ['a.wild.customer.com', 400],
    ['a.wild.customer.com', 200, other],
    ['a.www.customer.com', 200],
    ['customer.com', 200],
  ]
  for (const [name, status, more] of NAMES) {
    const response = await make(call, name, more)
    t.equal(response.status, status, `${name} ${JSON.stringify(more)}`)
    if (status === 400) t.match(response.body.errors, [{ code: 1061, source: { pointer: '/name' } }])
  }
  const both = await Promise.all([make(call, 'race.test'), make(call, 'race.test')])
  t.same(
    both.map(({ status }) => status).sort((a, b) => a - b),
    [200, 400],
  )
})

t.test('zones are created with the permission Zone Write, and up to the quota', async (t) => {
  const { call, as } = await client(t)
  const token = async (resources: object, name = 'Zone Write') => {
    const policies = [{ effect: 'allow', permission_groups: [{ name }], resources }]
    return as((await call('POST', '/user/tokens', { name: 'n', policies })).body.result.value)
  }
  const all = { [`com.cloudflare.api.account.${ACCOUNT}`]: { 'com.cloudflare.api.account.zone.*': '*' } }
  const HOLDERS: [what: string, status: number, holder: Client['call']][] = [
    ['of the account', 200, await token({ [`com.cloudflare.api.account.${ACCOUNT}`]: '*' })],
    ['of all zones of the account', 200, await token(all)],
    ['of one zone', 403, await token({ [`com.cloudflare.api.account.zone.${ZONE}`]: '*' })],
    ['of another account', 403, await token({ [`com.cloudflare.api.account.${OTHER_ACCOUNT}`]: '*' })],
    ['with another permission', 403, await token(all, 'Zone Settings Write')],
  ]
  for (const [index, [what, status, holder]] of HOLDERS.entries())
    t.equal((await make(holder, `z${index}.test`)).status, status, what)
  const created: string = (await make(call, 'last.test')).body.result.id
  const reader = await token(all, 'Zone Settings Write')
  t.equal((await reader('GET', `/zones/${created}`)).status, 200)
  t.equal((await reader('DELETE', `/zones/${created}`)).status, 403)
  for (let i = 0; i < 100; i++) await make(call, `more${i}.test`)
  t.match(await make(call, 'toomany.test'), { status: 403, body: { errors: [{ code: 20503 }] } })
})

t.test('a deleted zone leaves nothing behind, and its name is available again', async (t) => {
  const { call, store } = await client(t)
  const { id } = (await make(call, 'gone.test', { edged: { origin: ORIGIN } })).body.result
  const path = `/zones/${id}`
  await call('PATCH', path, { paused: true })
  await call('PATCH', `${path}/settings/content_converter`, { value: 'on' })
  await call('POST', `${path}/custom_hostnames`, { hostname: 'customer.example.org' })
  await call('PUT', `${path}/custom_hostnames/fallback_origin`, { origin: 'origin.example.org' })
  await call('PATCH', `${path}/managed_headers`, {
    managed_response_headers: [{ id: 'add_security_headers', enabled: true }],
  })
  await call('PUT', `${path}/url_normalization`, { scope: 'both', type: 'rfc3986' })
  await call('POST', `/accounts/${ACCOUNT}/rules/lists`, { name: 'office', kind: 'ip' })
  const shared = await call('POST', `/accounts/${ACCOUNT}/rulesets`, {
    name: 'shared',
    kind: 'custom',
    phase: 'http_request_firewall_custom',
    rules: [],
  })
  const rules = [
    { expression: 'ip.src in $office', action: 'block' },
    { expression: 'true', action: 'execute', action_parameters: { id: shared.body.result.id } },
  ]
  const entry = `${path}/rulesets/phases/http_request_firewall_custom/entrypoint`
  for (const part of [rules, rules.slice(0, 1), rules]) t.equal((await call('PUT', entry, { rules: part })).status, 200)
  const lists = `/accounts/${ACCOUNT}/rules/lists`
  const list = (await call('GET', lists)).body.result.find(({ name }: { name: string }) => name === 'office')
  t.equal((await call('DELETE', `${lists}/${list.id}`)).status, 400, 'the list is in use')

  t.match(await call('DELETE', path), { status: 200, body: { result: { id } } })
  t.same(
    [...store.records()].filter(({ scope }) => scope.id === id).map(({ kind }) => kind),
    [],
  )
  t.same(store.list(ZONE_NAMES, DAEMON), [])
  t.equal(store.list({ name: 'hostname_owner' }).length, 0)
  t.same(names(await call('GET', '/zones?name=gone.test')), [])
  t.equal((await call('DELETE', `${lists}/${list.id}`)).status, 200, 'the list is not in use')
  t.equal((await call('DELETE', `/accounts/${ACCOUNT}/rulesets/${shared.body.result.id}`)).status, 204)
  t.equal((await make(call, 'gone.test')).status, 200)
  const entries = (await audited(store)).filter(({ resource }) => resource.kind === 'zone')
  t.same(
    entries.map(({ action, resource }) => [action, resource.scope.id]),
    [
      ['create', ACCOUNT],
      ['delete', ACCOUNT],
      ['create', ACCOUNT],
    ],
  )
  t.not(zoneScope(id).id, ACCOUNT)
})

const BAD: [what: string, pointer: string, more: object][] = [
  ['no name', '/name', { name: undefined }],
  ['a name without a dot', '/name', { name: 'localhost' }],
  ['an address', '/name', { name: '10.0.0.1' }],
  ['no account', '/account', { account: undefined }],
  ['an origin with a path', '/edged/origin', { edged: { origin: 'http://a.test/b' } }],
  ['an origin with credentials', '/edged/origin', { edged: { origin: 'http://a:b@c.test' } }],
  ['a unix socket', '/edged/origin', { edged: { origin: 'unix:/run/app.sock' } }],
  ['the sample site', '/edged/origin', { edged: { origin: 'demo' } }],
  ['an origin that is not a URL', '/edged/origin', { edged: { origin: 'http://[::1' } }],
  ['an unknown plan', '/edged/plan', { edged: { plan: 'gold' } }],
  ['an unknown member', '/zone', { zone: 1 }],
]

t.test('a zone that does not fit is rejected with pointers', async (t) => {
  const { call } = await client(t)
  for (const [what, pointer, more] of BAD) {
    const { status, body } = await make(call, 'bad.test', more)
    t.equal(status, 400, what)
    t.ok(
      body.errors.some(({ source }: { source?: { pointer: string } }) => source?.pointer === pointer),
      `${what}: ${JSON.stringify(body.errors)}`,
    )
  }
  t.same(names(await call('GET', '/zones?name=bad.test')), [])
})

t.test('managed transforms are listed, switched and reset', async (t) => {
  const { url, call } = await client(t)
  const cf = new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: url })
  const zone_id = ZONE
  t.match(await cf.managedTransforms.list({ zone_id }), {
    managed_request_headers: [{ id: 'add_bot_protection_headers', enabled: false, has_conflict: false }],
    managed_response_headers: [{ id: 'remove_x-powered-by_header', enabled: false }, { id: 'add_security_headers' }],
  })
  const on = (id: string) => ({ id, enabled: true })
  await cf.managedTransforms.edit({ zone_id, managed_request_headers: [on('add_true_client_ip_headers')] })
  const both = await cf.managedTransforms.edit({ zone_id, managed_response_headers: [on('add_security_headers')] })
  const enabled = [...both.managed_request_headers, ...both.managed_response_headers].filter(({ enabled }) => enabled)
  t.same(
    enabled.map(({ id }) => id),
    ['add_true_client_ip_headers', 'add_security_headers'],
  )
  t.match(
    both.managed_request_headers.find(({ id }) => id === 'remove_visitor_ip_headers'),
    {
      has_conflict: true,
      conflicts_with: ['add_true_client_ip_headers'],
    },
  )
  const path = `/zones/${ZONE}/managed_headers`
  const WRONG: [body: object, pointer: string][] = [
    [{ managed_request_headers: [on('remove_visitor_ip_headers')] }, '/managed_request_headers/0/id'],
    [{ managed_request_headers: [on('add_security_headers')] }, '/managed_request_headers/0/id'],
    [{ managed_response_headers: [on('x'), on('y')] }, '/managed_response_headers/1/id'],
    [{ managed_response_headers: [{ id: 'add_security_headers' }] }, '/managed_response_headers/0/enabled'],
  ]
  for (const [body, pointer] of WRONG) {
    const response = await call('PATCH', path, body)
    t.equal(response.status, 400)
    t.ok(
      response.body.errors.some(({ source }: { source?: { pointer: string } }) => source?.pointer === pointer),
      JSON.stringify(response.body.errors),
    )
  }
  const inert = await call('PATCH', path, { managed_request_headers: [on('add_client_certificate_headers')] })
  t.match(inert.body.messages, [{ code: 10900, source: { pointer: '/managed_request_headers/0' } }])
  await cf.managedTransforms.delete({ zone_id })
  const reset = await cf.managedTransforms.list({ zone_id })
  t.notOk([...reset.managed_request_headers, ...reset.managed_response_headers].some(({ enabled }) => enabled))
})

t.test('the normalization of URLs is read, set and reset', async (t) => {
  const { url, call } = await client(t)
  const cf = new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: url })
  const zone_id = ZONE
  const byDefault = { scope: 'incoming', type: 'cloudflare' } as const
  t.match(await cf.urlNormalization.get({ zone_id }), byDefault)
  const both = { scope: 'both', type: 'rfc3986' } as const
  t.match(await cf.urlNormalization.update({ zone_id, ...both }), both)
  t.match(await cf.urlNormalization.get({ zone_id }), both)
  await cf.urlNormalization.delete({ zone_id })
  t.match(await cf.urlNormalization.get({ zone_id }), byDefault)
  t.match(await call('PUT', `/zones/${ZONE}/url_normalization`, { scope: 'all', type: 'rfc3986' }), {
    status: 400,
    body: { errors: [{ source: { pointer: '/scope' } }] },
  })
})
