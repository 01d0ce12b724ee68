import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { SETTING } from '../../../src/core/model/setting.js'
import { zone as zoneScope } from '../../../src/core/scope.js'
import { audited } from '../areas-helper.js'
import { ADMIN, client, CONFIG, ZONE } from '../client.js'

const INERT = [{ code: 10900, message: 'stored, without effect here', source: { pointer: '/value' } }]
const zone = { zone_id: ZONE }

async function official(t: Test) {
  const { url, ...rest } = await client(t)
  return { ...rest, cf: new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: url }) }
}

t.test('the official client reads and changes tiered caching, Cache Reserve and variants', async (t) => {
  const { cf } = await official(t)
  const at = '2026-11-21T12:00:00.000Z'
  const off = { editable: true, value: 'off', modified_on: null }
  const on = { editable: true, value: 'on', modified_on: at }
  const ROWS = [
    ['smart_routing', cf.argo.smartRouting],
    ['tiered_caching', cf.argo.tieredCaching],
    ['tiered_cache_smart_topology_enable', cf.cache.smartTieredCache],
    ['tc_regional', cf.cache.regionalTieredCache],
    ['cache_reserve', cf.cache.cacheReserve],
  ] as const
  for (const [id, resource] of ROWS) {
    t.strictSame(await resource.get(zone), { id, ...off })
    t.strictSame(await resource.edit({ ...zone, value: 'on' }), { id, ...on })
    t.strictSame(await resource.get(zone), { id, ...on })
  }
  t.match(await cf.cache.smartTieredCache.delete(zone), { id: 'tiered_cache_smart_topology_enable', editable: true })
  t.match(await cf.cache.smartTieredCache.get(zone), { value: 'off', modified_on: null })
  t.match(await cf.cache.smartTieredCache.create({ ...zone, value: 'on' }), on)
  const value = { avif: ['image/webp', 'image/jpeg'], jpeg: ['image/avif'] }
  t.strictSame(await cf.cache.variants.get(zone), { id: 'variants', ...off, value: {} })
  t.strictSame(await cf.cache.variants.edit({ ...zone, value }), { id: 'variants', ...on, value })
  t.match(await cf.cache.variants.delete(zone), { id: 'variants', editable: true })
  t.match(await cf.cache.variants.get(zone), { value: {} })
  const quantum = cf.originPostQuantumEncryption
  t.strictSame(await quantum.get(zone), { id: 'origin_pqe', ...off })
  const preferred = { id: 'origin_pqe', ...on, value: 'preferred' }
  t.strictSame(await quantum.update({ ...zone, value: 'preferred' }), preferred)
  t.strictSame(await quantum.get(zone), preferred)
})

t.test('a write says that it has no effect, and is in the audit log', async (t) => {
  const { call, store } = await client(t)
  const path = `/zones/${ZONE}/cache/cache_reserve`
  const { status, body } = await call('PATCH', path, { value: 'on' })
  t.equal(status, 200)
  t.strictSame(body.messages, INERT)
  t.match(store.get(SETTING, zoneScope(ZONE), 'cache_reserve')?.value, { value: 'on' })
  t.match(await audited(store), [{ action: 'update', resource: { kind: 'setting', id: 'cache_reserve' } }])
})

t.test('Cache Reserve is cleared only while it is off', async (t) => {
  const { cf, call } = await official(t)
  const path = `/zones/${ZONE}/cache/cache_reserve_clear`
  t.match(await call('GET', path), { status: 404, body: { errors: [{ code: 1142 }] } })
  await cf.cache.cacheReserve.edit({ ...zone, value: 'on' })
  t.match(await call('POST', path), { status: 400, body: { errors: [{ code: 1143 }] } })
  await cf.cache.cacheReserve.edit({ ...zone, value: 'off' })
  const cleared = { id: 'cache_reserve_clear', state: 'Completed', start_ts: '2026-11-21T12:00:00.000Z' }
  t.match(await cf.cache.cacheReserve.clear(zone), cleared)
  t.match(await cf.cache.cacheReserve.status(zone), cleared)
})

t.test('bad values are rejected with a pointer', async (t) => {
  const { call } = await client(t)
  const ROWS: readonly (readonly [path: string, body: unknown, pointer: string])[] = [
    ['cache/cache_reserve', { value: 'maybe' }, '/value'],
    ['cache/cache_reserve', {}, '/value'],
    ['argo/tiered_caching', { value: 'on', more: 1 }, '/more'],
    ['cache/variants', { value: { svg: [] } }, '/value/svg'],
    ['cache/variants', { value: { png: ['text/html'] } }, '/value/png/0'],
  ]
  for (const [path, body, pointer] of ROWS)
    t.match(
      await call('PATCH', `/zones/${ZONE}/${path}`, body),
      { status: 400, body: { errors: [{ code: 1007, source: { pointer } }] } },
      `${path} ${JSON.stringify(body)}`,
    )
})

t.test('a token without the permission cannot change them', async (t) => {
  const token = 'reader-token-0123456789-abcdefghijklmnop'
  const reader = { name: 'reader', token, permissions: ['Zone Settings Read'], accounts: ['*'], zones: ['*'] }
  const { url } = await client(t, { config: { tokens: [...CONFIG.tokens, reader] } })
  const cf = new Cloudflare({ apiToken: token, maxRetries: 0, baseURL: url })
  t.match(await cf.argo.tieredCaching.get(zone), { value: 'off' })
  await t.rejects(cf.argo.tieredCaching.edit({ ...zone, value: 'on' }), { status: 403, errors: [{ code: 10000 }] })
})

t.test('the recommender has `enabled` in place of a value', async (t) => {
  const { cf, call } = await official(t)
  t.match(await cf.zones.settings.get('ssl_recommender', zone), { id: 'ssl_recommender', enabled: false })
  t.match(await cf.zones.settings.edit('ssl_recommender', { ...zone, enabled: true }), { enabled: true })
  t.match(await cf.zones.settings.get('ssl_recommender', zone), { enabled: true })
  const items = [{ id: 'ssl_recommender', enabled: false }]
  t.match((await call('PATCH', `/zones/${ZONE}/settings`, { items })).body, {
    result: [{ id: 'ssl_recommender', enabled: false }],
    messages: [{ code: 10900, source: { pointer: '/items/0/enabled' } }],
  })
  t.match(await call('PATCH', `/zones/${ZONE}/settings/websockets`, { enabled: true }), {
    status: 400,
    body: { errors: [{ code: 1007, source: { pointer: '/enabled' } }] },
  })
})

t.test('the networks of the daemon are public', async (t) => {
  const { url } = await client(t, {
    config: { control: { ...CONFIG.control, networks: ['203.0.113.0/24', '192.0.2.7', '2001:db8::/32'] } },
  })
  const first = await fetch(`${url}/ips`)
  t.equal(first.status, 200)
  const networks = { ipv4_cidrs: ['203.0.113.0/24', '192.0.2.7/32'], ipv6_cidrs: ['2001:db8::/32'] }
  const { result } = (await first.json()) as { result: Record<string, unknown> }
  t.match(result, { ...networks, etag: /^[0-9a-f]{32}$/ })
  t.notOk('jdcloud_cidrs' in result)
  const cf = new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: url })
  t.match(await cf.ips.list({ networks: 'jdcloud' }), { ...networks, jdcloud_cidrs: [], etag: result['etag'] })
})

t.test('without configured networks the addresses of the machine are listed', async (t) => {
  const { cf } = await official(t)
  const { ipv4_cidrs = [], ipv6_cidrs = [] } = await cf.ips.list()
  t.ok(ipv4_cidrs.length + ipv6_cidrs.length > 0)
  for (const cidr of ipv4_cidrs) t.match(cidr, /^[\d.]+\/32$/)
  for (const cidr of ipv6_cidrs) t.match(cidr, /^[\da-f:]+\/128$/)
})
