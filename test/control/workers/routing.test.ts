import t from 'tap'
import { parseCron } from '../../../src/core/schedule/cron.js'
import { WORKER_DOMAINS, WORKER_ROUTES } from '../../../src/core/model/worker-routing.js'
import { routePattern } from '../../../src/core/route-pattern.js'
import { all } from '../../helpers/all.js'
import { ACCOUNT, CONFIG, OTHER_ACCOUNT, OTHER_ZONE, ZONE } from '../client.js'
import { refusesAll, type RefusedRow } from '../refused-rows.js'
import { workersClient } from './helper.js'

const WORKERS = `/accounts/${ACCOUNT}/workers`
const ROUTES = `/zones/${ZONE}/workers/routes`
const inAccount = { account_id: ACCOUNT }

t.test('a subdomain belongs to one account', async (t) => {
  const { cf, call } = await workersClient(t)
  const { subdomains } = cf.workers
  await t.rejects(subdomains.get(inAccount), { status: 404, errors: [{ code: 10007 }] })
  t.match(await subdomains.update({ ...inAccount, subdomain: 'example' }), { subdomain: 'example' })
  t.match(await subdomains.update({ ...inAccount, subdomain: 'example' }), { subdomain: 'example' })
  t.match(await subdomains.get(inAccount), { subdomain: 'example' })
  const other = `/accounts/${OTHER_ACCOUNT}/workers`
  t.match(await call('PUT', `${other}/subdomain`, { subdomain: 'example' }), {
    status: 409,
    body: { errors: [{ code: 10031 }] },
  })
  t.match(await call('GET', `${other}/subdomains/example`), { body: { errors: [{ code: 10031 }] } })
  t.match(await call('GET', `${other}/subdomains/free`), { body: { errors: [{ code: 10032 }] } })
  await subdomains.update({ ...inAccount, subdomain: 'renamed' })
  t.equal((await call('PUT', `${other}/subdomain`, { subdomain: 'example' })).status, 200)
  await subdomains.delete(inAccount)
  t.equal((await call('GET', `${WORKERS}/subdomain`)).status, 404)
})

t.test('a Worker is served below the subdomain when that is enabled', async (t) => {
  const { cf, script } = await workersClient(t)
  await script('app')
  const { subdomain } = cf.workers.scripts
  t.same(await subdomain.get('app', inAccount), { enabled: false, previews_enabled: false })
  t.same(await subdomain.create('app', { ...inAccount, enabled: true }), { enabled: true, previews_enabled: true })
  t.same(await subdomain.create('app', { ...inAccount, enabled: true, previews_enabled: false }), {
    enabled: true,
    previews_enabled: false,
  })
  t.same(await subdomain.get('app', inAccount), { enabled: true, previews_enabled: false })
  t.same(await subdomain.delete('app', inAccount), { enabled: false, previews_enabled: false })
  await t.rejects(subdomain.get('none', inAccount), { status: 404, errors: [{ code: 10007 }] })
})

t.test('the official client makes, changes, lists and removes routes', async (t) => {
  const { cf, script } = await workersClient(t)
  await script('app')
  const inZone = { zone_id: ZONE }
  const { routes } = cf.workers
  const made = await routes.create({ ...inZone, pattern: 'example.test/*', script: 'app' })
  t.match(made, { id: /^[0-9a-f]{32}$/, pattern: 'example.test/*', script: 'app' })
  await routes.create({ ...inZone, pattern: '*.example.test/off/*' })
  t.match(await all(routes.list(inZone)), [{}, {}])
  t.same(await routes.update(made.id, { ...inZone, pattern: 'https://*example.test/a*' }), {
    id: made.id,
    pattern: 'https://*example.test/a*',
  })
  await routes.create({ ...inZone, pattern: 'example.test/*', script: 'app' })
  t.same(await routes.get(made.id, inZone), { id: made.id, pattern: 'https://*example.test/a*' })
  t.same(await routes.delete(made.id, inZone), { id: made.id })
  await t.rejects(routes.get(made.id, inZone), { status: 404, errors: [{ code: 20406 }] })
})

t.test('all routes of a Worker are replaced at once', async (t) => {
  const { call, script, store } = await workersClient(t)
  await script('app')
  await script('other')
  const path = `${WORKERS}/scripts/app/routes`
  const put = async (body: unknown) => await call('PUT', path, body)
  const first = await put([{ pattern: 'example.test/a*', zone_name: 'example.test' }, { pattern: 'free.test/*' }])
  t.match(first, { status: 200, body: { result: [{ script: 'app' }, { script: 'app' }] } })
  const kept = first.body.result[0].id
  await call('POST', ROUTES, { pattern: 'example.test/other', script: 'other' })
  t.match((await put([{ pattern: 'example.test/a*' }, { pattern: 'example.test/b' }])).body.result, [{ id: kept }, {}])
  const listed = (await call('GET', ROUTES)).body.result.map(({ pattern }: { pattern: string }) => pattern)
  t.same(listed.toSorted(), ['example.test/a*', 'example.test/b', 'example.test/other'])
  t.match(await put([{ pattern: 'example.test/other' }]), {
    status: 409,
    body: { errors: [{ code: 10020, source: { pointer: '/0/pattern' } }] },
  })
  t.equal(store.count(WORKER_ROUTES), 3)
  t.equal((await put([])).status, 200)
  t.equal(store.count(WORKER_ROUTES), 1)
})

t.test('a domain that the zone of the file does not serve is stored with a message', async (t) => {
  const [first, ...others] = CONFIG.zones
  const zones = [{ ...first!, hostnames: ['www.example.test', '*.apps.example.test'] }, ...others]
  const { call, script } = await workersClient(t, { config: { zones } })
  await script('app')
  const attach = async (hostname: string) => await call('PUT', `${WORKERS}/domains`, { hostname, service: 'app' })
  for (const served of ['www.example.test', 'a.apps.example.test', 'free.test'])
    t.match(await attach(served), { status: 200, body: { messages: [] } }, served)
  t.match(await attach('app.example.test'), {
    status: 200,
    body: { messages: [{ code: 10900, message: /zones\[\]\.hostnames/, source: { pointer: '/hostname' } }] },
  })
})

t.test('a list of domains with one that the zone of the file does not serve is rejected', async (t) => {
  const [first, ...others] = CONFIG.zones
  const zones = [{ ...first!, hostnames: ['www.example.test'] }, ...others]
  const { call, script, store } = await workersClient(t, { config: { zones } })
  await script('app')
  const put = async (...names: string[]) =>
    await call('PUT', `${WORKERS}/scripts/app/domains/records`, { origins: names.map((hostname) => ({ hostname })) })
  t.match(await put('www.example.test', 'app.example.test'), {
    status: 400,
    body: {
      errors: [
        {
          code: 20403,
          message:
            'the zone example.test does not serve app.example.test; add it to zones[].hostnames in the configuration file',
          source: { pointer: '/origins/1/hostname' },
        },
      ],
    },
  })
  t.equal(store.count(WORKER_DOMAINS), 0, 'all or none')
  t.equal((await put('www.example.test')).status, 200)
})

t.test('the official client attaches, lists, moves and detaches domains', async (t) => {
  const { cf, call, script } = await workersClient(t)
  await script('app')
  await script('other')
  const { domains } = cf.workers
  const made = await domains.update({ ...inAccount, hostname: 'App.Example.test', service: 'app', zone_id: ZONE })
  t.same(made, {
    id: made.id,
    cert_id: '',
    enabled: true,
    environment: 'production',
    hostname: 'app.example.test',
    previews_enabled: false,
    service: 'app',
    zone_id: ZONE,
    zone_name: 'example.test',
  })
  await domains.update({ ...inAccount, hostname: 'free.test', service: 'app' })
  const { body } = await call('GET', `${WORKERS}/domains`)
  t.match(body, {
    result: [{ hostname: 'app.example.test' }, { hostname: 'free.test' }],
    result_info: { page: 1, per_page: 2, count: 2, total_count: 2, total_pages: 1 },
  })
  for (const [filter, count] of [
    ['hostname=free.test', 1],
    ['zone_name=example.test', 1],
    [`zone_id=${ZONE}&service=app`, 1],
    ['service=app', 2],
    ['service=other', 0],
    ['environment=production', 2],
    ['environment=staging', 0],
  ] as const)
    t.equal((await call('GET', `${WORKERS}/domains?${filter}`)).body.result_info.total_count, count, filter)
  const second = await call('GET', `${WORKERS}/domains?page=2&per_page=1`)
  t.match(second.body, { result: [{ hostname: 'free.test' }], result_info: { page: 2, per_page: 1, total_pages: 2 } })
  t.match(await call('GET', `${WORKERS}/domains?page=2`), { body: { result: [], result_info: { total_count: 2 } } })
  const moved = await domains.update({ ...inAccount, hostname: 'app.example.test', service: 'other' })
  t.match(moved, { id: made.id, service: 'other' })
  t.match(await domains.get(made.id, inAccount), { service: 'other' })
  t.match(await call('GET', `${WORKERS}/domains/records/${made.id}`), { body: { result: { id: made.id } } })
  t.match(await domains.delete(made.id, inAccount), { success: true })
  t.equal((await all(domains.list(inAccount))).length, 1)
})

t.test('a changeset decides what its records do', async (t) => {
  const { call, script, store } = await workersClient(t)
  await script('app')
  await script('other')
  const path = `${WORKERS}/scripts/app/domains`
  for (const [hostname, service] of [
    ['old.example.test', 'app'],
    ['theirs.example.test', 'other'],
  ])
    await call('PUT', `${WORKERS}/domains`, { hostname, service })
  await call('POST', `/zones/${ZONE}/custom_hostnames`, { hostname: 'x.shop.com' })
  const origins = [{ hostname: 'new.example.test' }, { hostname: 'theirs.example.test', enabled: false }]
  const changeset = await call('POST', `${path}/changeset?replace_state=true`, origins)
  t.match(changeset.body.result, {
    added: [{ hostname: 'new.example.test', service: 'app' }],
    removed: [{ hostname: 'old.example.test' }],
    updated: [{ hostname: 'theirs.example.test', modified: true }],
    conflicting: [],
  })
  t.equal(store.count(WORKER_DOMAINS), 2, 'nothing has changed yet')
  const records = {
    override_scope: true,
    override_existing_origin: false,
    override_existing_dns_record: false,
    origins,
  }
  t.match(await call('PUT', `${path}/records`, records), {
    status: 409,
    body: { errors: [{ code: 20404, source: { pointer: '/origins/1/hostname' } }] },
  })
  t.equal(store.count(WORKER_DOMAINS), 2, 'all or none')
  t.equal((await call('PUT', `${path}/records`, { ...records, override_existing_origin: true })).status, 200)
  t.match((await call('GET', `${WORKERS}/domains`)).body.result, [
    { hostname: 'new.example.test', service: 'app', enabled: true },
    { hostname: 'theirs.example.test', service: 'app', enabled: false },
  ])
})

t.test('schedules keep when they were made', async (t) => {
  const { cf, script, clock } = await workersClient(t)
  await script('app')
  const { schedules } = cf.workers.scripts
  t.same(await schedules.get('app', inAccount), { schedules: [] })
  await schedules.update('app', { ...inAccount, body: [{ cron: '*/5 * * * *' }] })
  clock.advance(60_000)
  t.match(await schedules.update('app', { ...inAccount, body: [{ cron: '0 0 L * *' }, { cron: '*/5 * * * *' }] }), {
    schedules: [{ created_on: '2026-11-21T12:01:00.000Z' }, { created_on: '2026-11-21T12:00:00.000Z' }],
  })
  t.match(await schedules.get('app', inAccount), { schedules: [{ cron: '0 0 L * *' }, { cron: '*/5 * * * *' }] })
})

t.test('a schedule is run now only if the Worker has it', async (t) => {
  const { call, script } = await workersClient(t)
  await script('app')
  await call('PUT', `${SCRIPT}/schedules`, [{ cron: '*/5 * * * *' }])
  const { status, body } = await call('POST', `${SCRIPT}/edged/scheduled`, { cron: '*/5 * * * *' })
  t.equal(status, 200)
  t.same(body.result, { success: false, message: 'this server does not run scripts' })
  t.match(await call('POST', `${SCRIPT}/edged/scheduled`, { cron: '* * * * *' }), {
    status: 400,
    body: { errors: [{ source: { pointer: '/cron' } }] },
  })
  t.equal((await call('POST', `${WORKERS}/scripts/none/edged/scheduled`, { cron: '* * * * *' })).status, 404)
})

t.test('settings of an account are kept', async (t) => {
  const { cf } = await workersClient(t)
  const { accountSettings } = cf.workers
  t.match(await accountSettings.get(inAccount), { default_usage_model: 'standard', green_compute: false })
  await accountSettings.update({ ...inAccount, green_compute: true })
  t.match(await accountSettings.get(inAccount), { default_usage_model: 'standard', green_compute: true })
})

const SCRIPT = `${WORKERS}/scripts/app`
const REFUSED: readonly RefusedRow[] = [
  ['no subdomain', 'PUT', `${WORKERS}/subdomain`, {}, 400, 20401, '/subdomain'],
  ['a hyphen in front', 'PUT', `${WORKERS}/subdomain`, { subdomain: '-a' }, 400, 20401, '/subdomain'],
  ['a long subdomain', 'PUT', `${WORKERS}/subdomain`, { subdomain: 'a'.repeat(64) }, 400, 20401, '/subdomain'],
  ['a switch that is none', 'POST', `${SCRIPT}/subdomain`, { enabled: 'yes' }, 400, 20401, '/enabled'],
  ['a switch of no Worker', 'POST', `${WORKERS}/scripts/none/subdomain`, { enabled: true }, 404, 10007],
  ['no pattern', 'POST', ROUTES, {}, 400, 10022, '/pattern'],
  ['a wildcard inside the host', 'POST', ROUTES, { pattern: 'a*.example.test/' }, 400, 10022, '/pattern'],
  ['a wildcard inside the path', 'POST', ROUTES, { pattern: 'example.test/a*b' }, 400, 10022, '/pattern'],
  ['a query', 'POST', ROUTES, { pattern: 'example.test/?a' }, 400, 10022, '/pattern'],
  ['a host of another zone', 'POST', ROUTES, { pattern: 'other.test/' }, 400, 10022, '/pattern'],
  ['a script that is not there', 'POST', ROUTES, { pattern: 'example.test/', script: 'none' }, 404, 10007],
  ['a pattern that is taken', 'POST', ROUTES, { pattern: 'example.test/taken' }, 409, 10020],
  ['a route that is not there', 'GET', `${ROUTES}/none`, undefined, 404, 20406],
  [
    'a zone of another account',
    'PUT',
    `${SCRIPT}/routes`,
    [{ pattern: 'other.test/', zone_id: OTHER_ZONE }],
    400,
    10022,
    '/0/zone_id',
  ],
  [
    'a zone that is none',
    'PUT',
    `${SCRIPT}/routes`,
    [{ pattern: 'a.test/', zone_name: 'a.test' }],
    400,
    10022,
    '/0/zone_name',
  ],
  [
    'one pattern twice',
    'PUT',
    `${SCRIPT}/routes`,
    [{ pattern: 'example.test/' }, { pattern: 'example.test/' }],
    400,
    10022,
    '/1/pattern',
  ],
  ['a domain without a service', 'PUT', `${WORKERS}/domains`, { hostname: 'a.example.test' }, 400, 20403, '/service'],
  ['a domain without a name', 'PUT', `${WORKERS}/domains`, { service: 'app' }, 400, 20403, '/hostname'],
  ['an address', 'PUT', `${WORKERS}/domains`, { service: 'app', hostname: '192.0.2.1' }, 400, 20403, '/hostname'],
  ['a wildcard', 'PUT', `${WORKERS}/domains`, { service: 'app', hostname: '*.example.test' }, 400, 20403, '/hostname'],
  ['a name of no zone', 'PUT', `${WORKERS}/domains`, { service: 'app', hostname: 'a.com' }, 400, 20403, '/hostname'],
  [
    'a name of another zone',
    'PUT',
    `${WORKERS}/domains`,
    { service: 'app', hostname: 'a.free.test', zone_id: ZONE },
    400,
    20403,
    '/hostname',
  ],
  [
    "another account's zone",
    'PUT',
    `${WORKERS}/domains`,
    { service: 'app', hostname: 'other.test', zone_id: OTHER_ZONE },
    400,
    20403,
    '/zone_id',
  ],
  ['a domain of no Worker', 'PUT', `${WORKERS}/domains`, { service: 'none', hostname: 'a.example.test' }, 404, 10007],
  ['a domain that is not there', 'GET', `${WORKERS}/domains/none`, undefined, 404, 20402],
  ['a domain to detach that is not there', 'DELETE', `${WORKERS}/domains/none`, undefined, 404, 20402],
  [
    'one origin twice',
    'PUT',
    `${SCRIPT}/domains/records`,
    { origins: [{ hostname: 'a.example.test' }, { hostname: 'A.example.test' }] },
    400,
    20403,
    '/origins/1/hostname',
  ],
  ['records without origins', 'PUT', `${SCRIPT}/domains/records`, {}, 400, 20403, '/origins'],
  ['a schedule that is none', 'PUT', `${SCRIPT}/schedules`, [{ cron: 'daily' }], 400, 20408, '/0/cron'],
  ['a schedule of six fields', 'PUT', `${SCRIPT}/schedules`, [{ cron: '* * * * * *' }], 400, 20408, '/0/cron'],
  [
    'a schedule twice',
    'PUT',
    `${SCRIPT}/schedules`,
    [{ cron: '* * * * *' }, { cron: '* * * * * ' }],
    400,
    20408,
    '/1/cron',
  ],
  ['schedules that are no list', 'PUT', `${SCRIPT}/schedules`, {}, 400, 20408, ''],
  ['schedules of no Worker', 'PUT', `${WORKERS}/scripts/none/schedules`, [], 404, 10007],
]
t.test('what does not fit is refused, and nothing is changed', async (t) => {
  const api = await workersClient(t)
  await api.script('app')
  await api.call('POST', ROUTES, { pattern: 'example.test/taken' })
  await refusesAll(t, api, REFUSED)
})

t.test('cron expressions', (t) => {
  const GOOD: [cron: string, due: string, not: string][] = [
    ['* * * * *', '2026-11-21T12:34:00Z', ''],
    ['*/15 * * * *', '2026-11-21T12:45:00Z', '2026-11-21T12:44:00Z'],
    ['5-10/5 3 * * *', '2026-11-21T03:10:00Z', '2026-11-21T03:06:00Z'],
    ['10/20 * * * *', '2026-11-21T03:50:00Z', '2026-11-21T03:20:00Z'],
    ['0 0 L * *', '2026-02-28T00:00:00Z', '2026-02-27T00:00:00Z'],
    ['0 0 15W * *', '2026-11-16T00:00:00Z', '2026-11-15T00:00:00Z'],
    ['0 0 LW * *', '2026-10-30T00:00:00Z', '2026-10-31T00:00:00Z'],
    ['0 0 * * 1', '2026-11-22T00:00:00Z', '2026-11-23T00:00:00Z'],
    ['0 0 * * mon-fri', '2026-11-20T00:00:00Z', '2026-11-21T00:00:00Z'],
    ['0 0 * * 6#2', '2026-11-13T00:00:00Z', '2026-11-20T00:00:00Z'],
    ['0 0 * * FRIL', '2026-11-27T00:00:00Z', '2026-11-20T00:00:00Z'],
    ['0 0 1 JAN,jul *', '2026-07-01T00:00:00Z', '2026-08-01T00:00:00Z'],
    ['0 0 1 * SUN', '2026-11-22T00:00:00Z', '2026-11-23T00:00:00Z'],
    ['0 0 1 * SUN', '2026-12-01T00:00:00Z', '2026-12-02T00:00:00Z'],
    ['0 0 * * L', '2026-11-21T00:00:00Z', '2026-11-22T00:00:00Z'],
    ['0 0 ? * 7', '2026-11-21T00:00:59Z', '2026-11-22T00:00:00Z'],
  ]
  for (const [text, due, not] of GOOD) {
    const cron = parseCron(text)
    t.equal(cron?.due(new Date(due)), true, `${text} at ${due}`)
    if (not !== '') t.equal(cron?.due(new Date(not)), false, `${text} not at ${not}`)
  }
  const BAD = ['', '* * * *', '60 * * * *', '* 24 * * *', '* * 0 * *', '* * 32 * *', '* * * 13 * ', '* * * * 0']
  const WORSE = ['* * * * 8', '*/0 * * * *', '5-1 * * * *', 'a * * * *', '1,,2 * * * *', '* * 32W * *', '* * * * 6#6']
  for (const text of [
    ...BAD,
    ...WORSE,
    '1-2-3 * * * *',
    '* * * FOO *',
    '-1 * * * *',
    '* * * * 6#',
    '@daily',
    '? * * * *',
    '* * * * 1,8',
  ])
    t.equal(parseCron(text), undefined, JSON.stringify(text))
  t.end()
})

t.test('patterns of routes', (t) => {
  t.same(routePattern('https://*.Example.com/A/*'), {
    scheme: 'https',
    host: 'example.com',
    hosts: 'below',
    path: '/A/',
    paths: 'prefix',
  })
  t.same(routePattern('*example.com'), { host: 'example.com', hosts: 'suffix', path: '/', paths: 'one' })
  t.same(routePattern('example.com/x'), { host: 'example.com', hosts: 'one', path: '/x', paths: 'one' })
  for (const bad of [
    '',
    '*',
    '/',
    '*/*',
    'example.com*',
    'ftp://a.com/',
    'a..com/',
    '.a.com/',
    'a.com./',
    'a com/',
    'a.com:80/',
  ])
    t.equal(routePattern(bad), undefined, bad)
  t.end()
})
