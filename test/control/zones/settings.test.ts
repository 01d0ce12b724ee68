import t from 'tap'
import { SETTING } from '../../../src/core/model/setting.js'
import { zone } from '../../../src/core/scope.js'
import { client, CONFIG, FREE_ZONE, ZONE } from '../client.js'
import { audited } from '../areas-helper.js'
import { refusesAll, type RefusedRow } from '../refused-rows.js'

const SETTINGS = `/zones/${ZONE}/settings`

const ACTING = [
  'always_online',
  'always_use_https',
  'browser_cache_ttl',
  'cache_level',
  'content_converter',
  'development_mode',
  'edged_custom_hostnames',
  'http2',
  'min_tls_version',
  'security_header',
  'sort_query_string_for_cache',
  'ssl',
  'websockets',
]

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
  t.strictSame((await call('GET', SETTINGS)).body.result[0], set)
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

t.test('development mode shows how long it lasts, and is off after three hours', async (t) => {
  const { call, clock } = await client(t)
  const path = `${SETTINGS}/development_mode`
  t.match((await call('GET', path)).body.result, { value: 'off', time_remaining: 0 })
  t.match((await call('PATCH', path, { value: 'on' })).body.result, { value: 'on', time_remaining: 10_800 })
  clock.advance(10_000_000)
  t.match((await call('GET', path)).body.result, { value: 'on', time_remaining: 800 })
  clock.advance(800_000)
  t.match((await call('GET', path)).body.result, { value: 'off', time_remaining: 0 })
})

t.test('the configured value applies until the API sets another', async (t) => {
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
      { id: 'nothing', value: 'on' },
    ],
  })
  t.match(refused, { status: 400, body: { errors: [{ code: 1003, source: { pointer: '/items/1/id' } }] } })
  t.match(store.get(SETTING, zone(ZONE), 'content_converter')?.value, { value: 'on' })
})

t.test('settings without effect are stored, and the write says so', async (t) => {
  const { call } = await client(t)
  const message = (pointer: string) => ({ code: 10900, message: 'stored, without effect here', source: { pointer } })
  for (const { id, value } of (await call('GET', SETTINGS)).body.result as { id: string; value: unknown }[]) {
    const { status, body } = await call('PATCH', `${SETTINGS}/${id}`, { value })
    t.match([status, body.result], [200, { id, value }], id)
    const acts = ACTING.includes(id)
    t.strictSame(body.messages, acts ? [] : [message('/value')], id)
  }
  for (const value of ['off', 'essentially_off', 'high'])
    t.strictSame(
      (await call('PATCH', `${SETTINGS}/security_level`, { value })).body.messages,
      value === 'high' ? [message('/value')] : [],
    )
  const items = [
    { id: 'websockets', value: 'on' },
    { id: 'mirage', value: 'on' },
  ]
  t.strictSame((await call('PATCH', SETTINGS, { items })).body.messages, [message('/items/1/value')])
})

t.test('a setting that is named twice is rejected', async (t) => {
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

t.test('concurrent changes of one setting all succeed, and their audit entries form a chain', async (t) => {
  const { call, store } = await client(t)
  const values = ['on', 'off', 'on', 'off']
  const responses = await Promise.all(values.map((value) => call('PATCH', `${SETTINGS}/content_converter`, { value })))
  for (const { status } of responses) t.equal(status, 200)
  const entries = await audited(store)
  t.equal(entries.length, values.length)
  for (const [index, entry] of entries.entries()) t.equal(entry.before, entries[index - 1]?.after ?? null)
})

const BAD_SETTINGS: RefusedRow[] = [
  ['another text', 'PATCH', `${SETTINGS}/content_converter`, { value: 'enabled' }, 400, 1007, '/value'],
  ['capitals', 'PATCH', `${SETTINGS}/content_converter`, { value: 'ON' }, 400, 1007, '/value'],
  ['a boolean', 'PATCH', `${SETTINGS}/content_converter`, { value: true }, 400, 1007, '/value'],
  ['null', 'PATCH', `${SETTINGS}/content_converter`, { value: null }, 400, 1007, '/value'],
  ['no value', 'PATCH', `${SETTINGS}/content_converter`, {}, 400, 1007, '/value'],
  ['another member', 'PATCH', `${SETTINGS}/content_converter`, { value: 'on', id: 'x' }, 400, 1007, '/id'],
  ['an unknown setting', 'PATCH', `${SETTINGS}/nothing`, { value: 'on' }, 400, 1003, undefined],
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

t.test('a free zone chooses which custom hostnames are converted once it has one; its own setting stays', async (t) => {
  const { call } = await client(t)
  const path = `/zones/${FREE_ZONE}/settings`
  const all = async () => await call('PATCH', `${path}/edged_custom_hostnames`, { value: 'all' })
  t.match(await all(), { status: 400, body: { errors: [{ code: 1015, message: /without custom hostnames/ }] } })
  t.match((await call('GET', `${path}/edged_custom_hostnames`)).body.result, { editable: false })
  await call('POST', `/zones/${FREE_ZONE}/custom_hostnames`, { hostname: 'app.shop.com' })
  t.match(await all(), { status: 200, body: { result: { value: 'all', editable: true } } })
  t.match(await call('PATCH', `${path}/content_converter`, { value: 'on' }), { status: 400 })
})

t.test('an invalid setting is rejected with a pointer, and nothing is stored', async (t) => {
  await refusesAll(t, await client(t), BAD_SETTINGS)
})
