import t, { type Test } from 'tap'
import { basicEndpoints } from '../../../control/index.js'
import type { LogpushServices } from '../../../control/logpush/services.js'
import { permissionId } from '../../../control/http/permissions.js'
import { overview } from '../../../control/overview/index.js'
import type { AttentionItem, OverviewServices, RuleCount, TrafficPoint } from '../../../control/overview/services.js'
import { newCounts, type Watched } from '../../../pipelines/logpush/monitor.js'
import { account, DAEMON, zone, type Scope } from '../../../src/core/scope.js'
import { MANAGED_CERTIFICATES, type ManagedCertificate } from '../../../src/tls/acme/records.js'
import { tlsFile } from '../../helpers/tls.js'
import { originServer } from '../../helpers/web.js'
import { audited } from '../areas-helper.js'
import { ACCOUNT, client, CONFIG, FREE_ZONE, OTHER_ACCOUNT, OTHER_ZONE, ZONE, type Client } from '../client.js'

const START = Date.parse('2026-11-21T11:00:00Z')
const totals = (requests: number) => ({
  requests,
  clientErrors: 3,
  serverErrors: 2,
  markdown: 5,
  cacheHits: 4,
  bytes: requests * 10,
})
const point = (at: number, requests: number): TrafficPoint => ({
  at,
  zones: new Map(['example.test', 'free.test', 'other.test'].map((name) => [name, totals(requests)])),
})

const watched = (name: string, scope: Scope | undefined, more: Partial<Watched> = {}): Watched => ({
  kind: 'pipeline',
  name,
  dataset: 'http_requests',
  source: scope?.type ?? 'file',
  destination: `file:///logs/${name}`,
  scope,
  settings: { dataset: 'http_requests' },
  counts: { ...newCounts(), read: 9, delivered: 7 },
  progress: () => ({ lagRecords: 2, lagSeconds: 0.5, inFlight: 1 }),
  state: () => 'running',
  error: () => null,
  ...more,
})
const RUNNING = [
  watched('of-a-file', undefined),
  watched('of-the-zone', zone(ZONE), { kind: 'job', state: () => 'failing', error: () => 'responded with 503' }),
  watched('of-the-account', account(ACCOUNT), { route: 'errors' }),
  watched('of-another-account', account(OTHER_ACCOUNT)),
]

const token = (name: string) => `${name}-token-0123456789-abcdefghijklmnop`
/** Tokens by name: what they may do, and where. */
const TOKENS = {
  account: { permissions: ['*'], accounts: [ACCOUNT], zones: ['*'] },
  one_zone: { permissions: ['*'], accounts: [ACCOUNT], zones: [ZONE] },
  auditor: { permissions: ['Account Settings Read'], accounts: [ACCOUNT], zones: ['*'] },
  nothing: { permissions: ['Workers Scripts Read'], accounts: [ACCOUNT], zones: ['*'] },
  other: { permissions: ['*'], accounts: [OTHER_ACCOUNT], zones: ['*'] },
}

const ORIGIN = {
  url: 'http://127.0.0.1:9000',
  state: 'down' as const,
  up: false,
  since: '2026-11-21T11:59:00.000Z',
  last_error: 'connect ECONNREFUSED 127.0.0.1:9000',
  checked_at: '2026-11-21T11:59:30.000Z',
  backup: false,
  weight: 1,
  requests_in_flight: 2,
}

const attended = (kind: AttentionItem['kind'], zone_id: string | null, account_id: string | null): AttentionItem => ({
  kind,
  severity: 'error',
  since: null,
  text: kind,
  zone_id,
  account_id,
  object: { type: 'zone', id: '1', name: 'one' },
})
const ATTENTION = [
  attended('origin_down', ZONE, ACCOUNT),
  attended('origin_missing', OTHER_ZONE, OTHER_ACCOUNT),
  attended('breaker_open', null, ACCOUNT),
  attended('spool_nearly_full', null, null),
]

/** The API with fixed numbers; `proxy` is where trial requests go. */
async function observed(t: Test, proxy = 'http://127.0.0.1:1', counts: RuleCount[] = []): Promise<Client> {
  const services: OverviewServices = {
    traffic: { points: [point(START, 10)], now: async () => point(START + 15_000, 25), rules: async () => counts },
    zones: () => [
      {
        id: ZONE,
        origins: [ORIGIN],
      },
    ],
    attention: async () => ATTENTION,
    missingCertificates: () => [
      { zone_id: '4'.repeat(32), name: 'www.example.com', why: 'no file names it', write: 'a certificate' },
      { zone_id: '5'.repeat(32), name: 'other.example.com', why: 'no file names it', write: 'a certificate' },
    ],
    startedAt: START,
    version: '1.2.3',
    proxy: () => proxy,
    history: {
      isEnabled: false,
      machines: 'this',
      read: () => Promise.reject(new Error('unasked')),
      coverage: () => [],
    },
  }
  return await client(t, {
    config: {
      zones: [...CONFIG.zones, { ...CONFIG.zones[0]!, id: '4'.repeat(32), name: 'receiver.test' }],
      tokens: [
        ...CONFIG.tokens,
        ...Object.entries(TOKENS).map(([name, access]) => ({ name, token: token(name), ...access })),
      ],
    },
    areas: (deps) => {
      const logpush = () => ({ running: () => RUNNING, live: {} }) as unknown as LogpushServices
      const all = {
        ...deps,
        logpush,
        overview: () => services,
        tls: () => ({ files: [tlsFile('cert.pem'), '/nowhere/cert.pem'], acme: true, ordered: () => [] }),
      }
      return [...basicEndpoints(all), ...overview(all)]
    },
  })
}

t.test('reads of the dashboard need their permission, know their queries and stay in their account', async (t) => {
  const api = await observed(t)
  const reads: readonly [method: string, path: string, body?: object][] = [
    ['GET', `/accounts/${ACCOUNT}/edged/overview`],
    ['GET', `/zones/${ZONE}/edged/overview`],
    ['GET', `/accounts/${ACCOUNT}/edged/audit`],
    ['GET', `/zones/${ZONE}/edged/certificates`],
    ['GET', `/zones/${ZONE}/edged/rules/counts`],
    ['GET', `/accounts/${ACCOUNT}/edged/pipelines`],
    ['GET', `/zones/${ZONE}/edged/pipelines`],
    ['GET', `/accounts/${ACCOUNT}/edged/expressions/names`],
    ['POST', `/accounts/${ACCOUNT}/edged/expressions/check`, { expression: 'true' }],
    ['POST', `/accounts/${ACCOUNT}/edged/convert`, { html: '<p>a' }],
    ['POST', `/zones/${ZONE}/edged/try`, {}],
  ]
  for (const [method, path, body] of reads) {
    const what = `${method} ${path}`
    const isTrial = path.endsWith('/try')
    if (!isTrial) t.equal((await api.as(token('account'))(method, path, body)).status, 200, what)
    t.equal((await api.as(token('nothing'))(method, path, body)).status, 403, `${what} without permission`)
    t.match((await api.as(token('other'))(method, path, body)).status, /^40[34]$/, `${what} from another account`)
    t.equal((await api.as('unknown-token-0123456789')(method, path, body)).status, 403, `${what} without token`)
    t.match(
      await api.call(method, `${path}?nosuch=1`, body),
      { status: 400, body: { errors: [{ source: { pointer: '/nosuch' } }] } },
      `${what} with an unknown query`,
    )
  }
})

t.test('the overview has totals, points and origins of the visible zones', async (t) => {
  const api = await observed(t)
  const whole = (await api.call('GET', `/accounts/${ACCOUNT}/edged/overview`)).body.result
  t.match(whole, { version: '1.2.3', started_at: '2026-11-21T11:00:00.000Z' })
  t.same(
    whole.zones.map(({ name }: { name: string }) => name),
    ['example.test', 'free.test', 'receiver.test'],
  )
  t.strictSame(whole.zones[0], {
    id: ZONE,
    name: 'example.test',
    requests: 25,
    client_errors: 3,
    server_errors: 2,
    markdown: 5,
    cache_hits: 4,
    bytes: 250,
    origins: [ORIGIN],
  })
  t.match(whole.zones[2], { requests: 0, origins: [] }, 'a zone without requests')
  t.match(whole.points, [
    { at: '2026-11-21T11:00:00.000Z', requests: 20 },
    { at: '2026-11-21T11:00:15.000Z', requests: 50, client_errors: 6 },
  ])
  const one = (await api.call('GET', `/zones/${FREE_ZONE}/edged/overview`)).body.result
  t.match(one, { zones: [{ id: FREE_ZONE, requests: 25 }], points: [{ requests: 10 }, { requests: 25 }] })
  t.equal(one.zones.length, 1)
  const part = (await api.as(token('one_zone'))('GET', `/accounts/${ACCOUNT}/edged/overview`)).body.result
  t.match(part, { zones: [{ id: ZONE }], points: [{ requests: 10 }, { requests: 25 }] })
  t.equal(part.zones.length, 1, 'zones that the token does not cover are left out')
})

t.test('the audit list has the newest changes of the account and its visible zones first', async (t) => {
  const api = await observed(t)
  const set = async (id: string, value: string) =>
    await api.call('PATCH', `/zones/${id}/settings/content_converter`, { value })
  await set(ZONE, 'on')
  await set(OTHER_ZONE, 'on')
  await api.call('POST', `/accounts/${ACCOUNT}/rules/lists`, { name: 'ips', kind: 'ip' })
  const path = `/accounts/${ACCOUNT}/edged/audit`
  const { result } = (await api.call('GET', path)).body
  t.match(result, [
    {
      action: 'create',
      actor: { type: 'token', name: 'admin' },
      resource: { kind: 'list', zone_id: null },
      object: { type: 'list', name: 'ips', zone: null },
    },
    {
      action: 'update',
      resource: { kind: 'setting', zone_id: ZONE },
      object: { type: 'setting', id: 'content_converter', name: 'content_converter', zone: 'example.test' },
      request_id: /./,
    },
  ])
  t.equal(result.length, 2, 'nothing of another account')
  t.equal((await api.call('GET', `${path}?limit=1`)).body.result.length, 1)
  t.same((await api.call('GET', path)).body.result, result, 'the same when it is read again')
  await api.call('PATCH', `/zones/${FREE_ZONE}/settings/always_use_https`, { value: 'on' })
  t.match((await api.call('GET', path)).body.result[0], { resource: { zone_id: FREE_ZONE } })
  t.same((await api.as(token('one_zone'))('GET', path)).body.result, result, 'without zones that it does not cover')
  for (const limit of ['0', '2001', 'x'])
    t.match(await api.call('GET', `${path}?limit=${limit}`), {
      status: 400,
      body: { errors: [{ source: { pointer: '/limit' } }] },
    })
})

t.test('audit entries have the record before and after, without secrets, for callers that may read it', async (t) => {
  const api = await observed(t)
  const path = `/accounts/${ACCOUNT}/edged/audit`
  const newest = async (call: typeof api.call) => (await call('GET', `${path}?limit=1`)).body.result[0]
  for (const value of ['on', 'off']) await api.call('PATCH', `/zones/${ZONE}/settings/content_converter`, { value })
  t.match(await newest(api.call), {
    extent: 'whole',
    before: { value: 'on' },
    after: { value: 'off', modified_on: /^\d{4}-/ },
  })
  t.match(await newest(api.as(token('auditor'))), { extent: 'hidden', before: null, after: null })
  const policies = [
    {
      effect: 'allow',
      resources: { [`com.cloudflare.api.account.${ACCOUNT}`]: '*' },
      permission_groups: [{ id: permissionId('Logs Read') }],
    },
  ]
  const { status } = await api.call('POST', `/accounts/${ACCOUNT}/tokens`, { name: 'ci', policies })
  t.equal(status, 200)
  const made = await newest(api.call)
  t.match(made, { action: 'create', extent: 'whole', before: null, after: { name: 'ci', hash: '***' } })
  const entries = await audited(api.store)
  t.notMatch(JSON.stringify(entries), /"hash":"[0-9a-f]/)
  const { values: _values, ...old } = entries.at(-1)!
  await api.store.batch([], [{ ...old, requestId: 'earlier' }])
  t.match(await newest(api.call), { request_id: 'earlier', extent: 'none', before: null, after: null })
})

t.test('certificates of a zone come from files and from ACME', async (t) => {
  const api = await observed(t)
  const stored = (id: string, value: ManagedCertificate) => ({ kind: MANAGED_CERTIFICATES, scope: DAEMON, id, value })
  await api.store.batch([
    stored('www.receiver.test', {
      orders: [],
      failures: 2,
      last_error: 'the authority responded with 403',
      next_order: '2026-11-22T00:00:00Z',
      key: 'sealed',
    }),
    stored('www.other.test', { orders: [], failures: 0 }),
  ])
  const found = (await api.call('GET', `/zones/${'4'.repeat(32)}/edged/certificates`)).body.result
  t.match(found, [
    { source: 'file', names: ['receiver.test', '*.receiver.test', 'localhost'], not_after: /^\d{4}-/, error: null },
    { source: 'acme', names: ['www.receiver.test'], not_after: null, failures: 2, error: /403/ },
  ])
  t.same(found[2], {
    names: ['www.example.com'],
    source: 'missing',
    not_before: null,
    not_after: null,
    failures: 0,
    error: null,
    next_order: null,
    why: 'no file names it',
    write: 'a certificate',
  })
  t.equal(found.length, 3)
  t.notMatch(JSON.stringify(found), /sealed/)
  t.same((await api.call('GET', `/zones/${ZONE}/edged/certificates`)).body.result, [])
})

t.test(
  'pipelines are listed for their owner; those of the operator for callers with access to all accounts',
  async (t) => {
    const api = await observed(t)
    const names = async (call: Client['call'], path: string): Promise<string[]> =>
      (await call('GET', `${path}/edged/pipelines`)).body.result.map(({ name }: { name: string }) => name)
    t.same(await names(api.call, `/accounts/${ACCOUNT}`), ['of-a-file', 'of-the-account'])
    t.same(await names(api.as(token('account')), `/accounts/${ACCOUNT}`), ['of-the-account'])
    t.same(await names(api.call, `/accounts/${OTHER_ACCOUNT}`), ['of-a-file', 'of-another-account'])
    const [job] = (await api.call('GET', `/zones/${ZONE}/edged/pipelines`)).body.result
    t.match(job, {
      kind: 'job',
      name: 'of-the-zone',
      destination_conf: 'file:///logs/of-the-zone',
      state: 'failing',
      error_message: 'responded with 503',
      records_read: 9,
      records_delivered: 7,
      lag_records: 2,
      lag_seconds: 0.5,
      batches_in_flight: 1,
    })
    t.same(await names(api.call, `/zones/${OTHER_ZONE}`), [])
    t.match(await api.as(token('account'))('POST', `/accounts/${ACCOUNT}/edged/tail`, { pipeline: 'of-a-file' }), {
      status: 400,
      body: { errors: [{ source: { pointer: '/pipeline' } }] },
    })
  },
)

t.test('rules are listed with their counts in the scope of their ruleset only', async (t) => {
  const counts: RuleCount[] = []
  const api = await observed(t, undefined, counts)
  const path = `/zones/${ZONE}/rulesets/phases/http_request_firewall_custom/entrypoint`
  const made = await api.call('PUT', path, { rules: [{ action: 'block', expression: 'true' }] })
  const { id, rules } = made.body.result
  counts.push({ ruleset: id, rule: rules[0].id, matches: 7, failures: 1 })
  counts.push({ ruleset: 'a'.repeat(32), rule: 'b'.repeat(32), matches: 2, failures: 0 })
  t.same((await api.call('GET', `/zones/${ZONE}/edged/rules/counts`)).body.result, [
    { ruleset_id: id, rule_id: rules[0].id, matches: 7, failures: 1 },
  ])
  t.same((await api.call('GET', `/zones/${OTHER_ZONE}/edged/rules/counts`)).body.result, [])
  t.same((await api.call('GET', `/accounts/${ACCOUNT}/edged/rules/counts`)).body.result, [])
})

t.test('expressions are checked with the place of the error, and their names are listed', async (t) => {
  const api = await observed(t)
  const path = `/accounts/${ACCOUNT}/edged/expressions`
  const { result: names } = (await api.call('GET', `${path}/names`)).body
  t.match(
    names.find(({ name }: { name: string }) => name === 'http.host'),
    { kind: 'field', type: 'Bytes', description: /./ },
  )
  t.ok(names.some(({ name, kind }: { name: string; kind: string }) => name === 'lower' && kind === 'function'))
  const check = async (body: object) => await api.call('POST', `${path}/check`, body)
  t.match((await check({ expression: 'http.host eq "a"' })).body.result, { valid: true, error: null, hints: [] })
  t.match((await check({ expression: '\nhttp.hos eq "a"' })).body.result, {
    valid: false,
    error: { line: 2, column: 1, length: 8, reason: /unknown identifier/ },
  })
  t.match((await check({ expression: 'http.response.code eq 1', phase: 'http_request_transform' })).body.result, {
    valid: false,
  })
  t.match(await check({ expression: 'true', phase: 'nosuch' }), {
    status: 400,
    body: { errors: [{ source: { pointer: '/phase' } }] },
  })
})

t.test('a page is converted as asked', async (t) => {
  const api = await observed(t)
  const convert = async (body: object) => await api.call('POST', `/accounts/${ACCOUNT}/edged/convert`, body)
  const html = '<nav>n</nav><main><h1>T</h1><p>a <a href="/b">b</a></main>'
  t.match((await convert({ html })).body.result, {
    markdown: '# T\n\na [b](/b)\n',
    html_bytes: html.length,
    markdown_bytes: 15,
    tokens: 4,
    left_out: [{ what: '<nav>', reason: 'nav is never content', count: 1 }],
  })
  const hidden = `<script>1</script><header>H</header>${'<div class="modal" hidden>m</div>'.repeat(2)}${html}`
  t.same((await convert({ html: hidden })).body.result.left_out, [
    { what: '<script>', reason: 'scripts are not content', count: 1 },
    { what: '<header>', reason: 'header of the whole page', count: 1 },
    { what: '<div class="modal" hidden>', reason: 'hidden from readers', count: 2 },
    { what: '<nav>', reason: 'nav is never content', count: 1 },
  ])
  const text = 'a long sentence with enough words to count as the content of the page, '.repeat(20)
  const page = `<div class="comments"><p>A comment.</p></div><main><h1>T</h1><p>${text}</p></main>`
  t.match((await convert({ html: page, content: 'main' })).body.result.left_out, [
    { what: 'A comment.', reason: 'outside the main content' },
  ])
  t.equal((await convert({ html, links: false, content: 'main' })).body.result.markdown, '# T\n\na b\n')
  t.match(await convert({ html: 'é'.repeat(600_000) }), {
    status: 400,
    body: { errors: [{ source: { pointer: '/html' } }] },
  })
  t.match(await convert({ html, content: 'all' }), {
    status: 400,
    body: { errors: [{ source: { pointer: '/content' } }] },
  })
})

t.test('a trial request reaches a host of the zone only', async (t) => {
  const proxy = await originServer(t, ({ headers, url }, response) => {
    if (url === '/long') return void response.end(Buffer.alloc(1_100_000, 'a'))
    response.writeHead(
      203,
      [
        ['x-two', '1'],
        ['x-two', '2'],
      ].flat(),
    )
    response.end(JSON.stringify([headers.host, url, headers.accept]))
  })
  const api = await observed(t, proxy)
  const ask = async (body: object) => await api.call('POST', `/zones/${ZONE}/edged/try`, body)
  const { result } = (await ask({ host: 'WWW.example.test', path: '//evil.test/a?b', accept: 'text/markdown' })).body
  t.match(result, { status: 203, truncated: false, body_bytes: result.body.length })
  t.same(JSON.parse(result.body), ['www.example.test', '//evil.test/a?b', 'text/markdown'])
  t.equal(result.headers.filter(({ name }: { name: string }) => name === 'x-two').length, 2)
  t.same(JSON.parse((await ask({})).body.result.body), ['example.test', '/', 'text/html'])
  t.match((await ask({ path: '/long' })).body.result, { truncated: true, body_bytes: 1_048_576 })
  for (const [body, pointer] of [
    [{ host: 'other.test' }, '/host'],
    [{ host: 'example.test.evil.test' }, '/host'],
    [{ path: 'a' }, '/path'],
    [{ path: '/a\r\nb: c' }, '/path'],
    [{ accept: 'a\nb' }, '/accept'],
    [{ url: 'http://a' }, '/url'],
  ] as const)
    t.match(await ask(body), { status: 400, body: { errors: [{ source: { pointer } }] } }, JSON.stringify(body))
})

t.test('a trial request to a proxy that does not respond is an error', async (t) => {
  const api = await observed(t)
  t.match(await api.call('POST', `/zones/${ZONE}/edged/try`, {}), { status: 503, body: { success: false } })
})

t.test('what needs attention is shown to those who may read it', async (t) => {
  const api = await observed(t)
  const kinds = async (path: string, name: keyof typeof TOKENS) =>
    (await api.as(token(name))('GET', `${path}/edged/attention`)).body.result?.map(({ kind }: { kind: string }) => kind)
  t.strictSame(await kinds(`/accounts/${ACCOUNT}`, 'account'), ['origin_down', 'breaker_open'])
  t.strictSame(await kinds(`/zones/${ZONE}`, 'account'), ['origin_down'])
  t.strictSame(await kinds(`/accounts/${ACCOUNT}`, 'nothing'), [])
  t.strictSame(await kinds(`/accounts/${OTHER_ACCOUNT}`, 'account'), undefined)
  t.strictSame((await api.call('GET', `/accounts/${ACCOUNT}/edged/attention`)).body.result[0], {
    kind: 'origin_down',
    severity: 'error',
    since: null,
    text: 'origin_down',
    zone_id: ZONE,
    object: { type: 'zone', id: '1', name: 'one' },
  })
})
