import t, { type Test } from 'tap'
import { ask, originServer } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

const options = { skip: unbuilt, timeout: 600_000 }
const ZONE_PATH = `/zones/${ZONE}`
const ACCOUNT_PATH = `/accounts/${ACCOUNT}`
const PAGE = `<title>Page</title><h1>Heading</h1><p>${'Text. '.repeat(50)}</p>`

interface Site {
  readonly daemon: Daemon
  readonly port: number
  /** One call of the API; fails unless it succeeds. Gives the result. */
  api(method: 'POST' | 'PUT' | 'PATCH', path: string, body: object): Promise<{ id: string }>
  /** Replaces the entry point of a phase. */
  put(phase: string, rules: readonly object[], scope?: string): Promise<unknown>
}

async function site(t: Test): Promise<Site> {
  const origin = await originServer(t, (request, response) => {
    const status = request.url === '/missing' ? 404 : 200
    response.writeHead(status, {
      'content-type': 'text/html',
      etag: '"1"',
      'x-asked': `${request.headers.host} ${request.url} ${String(request.headers['x-rule'])}`,
    })
    response.end(PAGE)
  })
  const base = configuration(origin) as { zones: object[] }
  const zone = { ...base.zones[0], plan: 'enterprise', hostnames: ['example.test', 'docs.example.test'] }
  const daemon = await startDaemon(t, { ...base, zones: [{ ...zone, settings: { content_converter: 'off' } }] })
  const api: Site['api'] = async (method, path, body) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const call = { method, headers, body: JSON.stringify(body) }
    const result = await fetch(`${daemon.control}${path}`, call)
    const envelope = (await result.json()) as { success: boolean; result: { id: string } }
    t.match(envelope, { success: true }, `${method} ${path}`)
    return envelope.result
  }
  return {
    daemon,
    port: Number(new URL(daemon.proxy).port),
    api,
    put: async (phase, rules, scope = ZONE_PATH) =>
      await api('PUT', `${scope}/rulesets/phases/${phase}/entrypoint`, { rules }),
  }
}

const host = { host: 'example.test' }
const accept = 'text/markdown'

t.test('conversion is switched on for a path, and for a subdomain', options, async (t) => {
  const { port, put } = await site(t)
  const convert = (expression: string) => ({
    expression,
    action: 'set_config',
    action_parameters: { content_converter: true },
    description: 'Markdown',
  })
  const typeAt = async (path: string, host: string) =>
    (await ask(port, path, { headers: { host, accept } })).headers['content-type']

  t.equal(await typeAt('/docs/a', 'example.test'), 'text/html')
  await put('http_config_settings', [convert('starts_with(http.request.uri.path, "/docs")')])
  t.equal(await typeAt('/docs/a', 'example.test'), 'text/markdown; charset=utf-8')
  t.equal(await typeAt('/blog', 'example.test'), 'text/html')
  await put('http_config_settings', [convert('http.host eq "docs.example.test"')])
  t.equal(await typeAt('/docs/a', 'example.test'), 'text/html', 'the old rule is gone with the next request')
  t.equal(await typeAt('/', 'docs.example.test'), 'text/markdown; charset=utf-8')
  await put('http_config_settings', [])
  t.equal(await typeAt('/', 'docs.example.test'), 'text/html')
})

t.test('a custom hostname opts in by its metadata', options, async (t) => {
  const { port, put, api } = await site(t)
  const hostnames = `${ZONE_PATH}/custom_hostnames`
  const ssl = { method: 'http', type: 'dv' }
  const { id } = await api('POST', hostnames, { hostname: 'docs.customer.test', ssl })
  await api('POST', hostnames, { hostname: 'www.other.test', ssl })
  await put('http_config_settings', [
    {
      expression: 'lookup_json_string(cf.hostname.metadata, "content_converter") eq "enabled"',
      action: 'set_config',
      action_parameters: { content_converter: true },
    },
  ])
  const typeAt = async (host: string) => (await ask(port, '/', { headers: { host, accept } })).headers['content-type']
  t.equal(await typeAt('docs.customer.test'), 'text/html')
  await api('PATCH', `${hostnames}/${id}`, { custom_metadata: { content_converter: 'enabled' } })
  t.equal(await typeAt('docs.customer.test'), 'text/markdown; charset=utf-8')
  t.equal(await typeAt('www.other.test'), 'text/html')
  t.equal(await typeAt('example.test'), 'text/html')
})

t.test('each action acts on the next request', options, async (t) => {
  const { port, put, daemon } = await site(t)
  const headers = (name: string) => ({ headers: { [name]: { operation: 'set', value: 'yes' } } })
  const CASES: [phase: string, action: string, params: object | undefined, path: string, expected: object][] = [
    ['http_request_firewall_custom', 'block', undefined, '/', { status: 403 }],
    ['http_request_firewall_custom', 'managed_challenge', undefined, '/', { status: 403 }],
    ['http_request_firewall_custom', 'log', undefined, '/', { status: 200 }],
    ['http_request_firewall_custom', 'skip', { phases: ['http_ratelimit'] }, '/', { status: 200 }],
    [
      'http_request_dynamic_redirect',
      'redirect',
      { from_value: { target_url: { value: 'https://new.test/' }, status_code: 302 } },
      '/',
      { status: 302, headers: { location: 'https://new.test/' } },
    ],
    [
      'http_request_transform',
      'rewrite',
      { uri: { path: { value: '/new' } } },
      '/old?a',
      { headers: { 'x-asked': 'example.test /new?a undefined' } },
    ],
    [
      'http_request_late_transform',
      'rewrite',
      headers('x-rule'),
      '/',
      { headers: { 'x-asked': 'example.test / yes' } },
    ],
    ['http_response_headers_transform', 'rewrite', headers('x-out'), '/', { headers: { 'x-out': 'yes' } }],
    [
      'http_request_origin',
      'route',
      { host_header: 'inner.test' },
      '/',
      { headers: { 'x-asked': 'inner.test / undefined' } },
    ],
    ['http_custom_errors', 'serve_error', { content: 'sorry' }, '/missing', { status: 404, body: /^sorry$/ }],
    [
      'http_response_compression',
      'compress_response',
      { algorithms: [{ name: 'gzip' }] },
      '/',
      { headers: { 'content-encoding': 'gzip', etag: 'W/"1"' } },
    ],
    [
      'http_response_cache_settings',
      'set_cache_control',
      { 'max-age': { operation: 'set', value: 60 } },
      '/',
      { headers: { 'cache-control': 'max-age=60' } },
    ],
    [
      'http_response_cache_settings',
      'set_cache_tags',
      { operation: 'set', values: ['a'] },
      '/',
      { headers: { 'cache-tag': 'a' } },
    ],
    ['http_request_cache_settings', 'set_cache_settings', { strip_etags: true }, '/', { headers: { etag: undefined } }],
    ['http_log_custom_fields', 'log_custom_field', { request_fields: [{ name: 'accept' }] }, '/', { status: 200 }],
  ]
  for (const [phase, action, action_parameters, path, expected] of CASES) {
    await put(phase, [{ expression: 'true', action, ...(action_parameters && { action_parameters }) }])
    const response = await ask(port, path, { headers: { ...host, 'accept-encoding': 'gzip' } })
    t.match({ ...response, body: String(response.body) }, expected, `${phase}: ${action}`)
    await put(phase, [])
  }
  t.match(await ask(port, '/', { headers: host }), { status: 200 }, 'and no longer once it is gone')
  const text = await (await fetch(`${daemon.admin}/metrics`)).text()
  t.notMatch(text, /edged_rule_matches_total\{/, 'rules that are gone are not counted')
})

const CHALLENGED = { status: 403, headers: { 'cf-mitigated': 'challenge' } }

t.test('each firewall action in a ruleset of its own', options, async (t) => {
  const { port, put } = await site(t)
  const phase = 'http_request_firewall_custom'
  const asked = async (rules: readonly object[]) => {
    await put(phase, rules)
    return await ask(port, '/', { headers: host })
  }
  for (const action of ['challenge', 'js_challenge', 'managed_challenge'])
    t.match(await asked([{ expression: 'true', action }]), CHALLENGED, action)
  const maze = { expression: 'true', action: 'transform_response_html', action_parameters: { link_maze: {} } }
  const score = { expression: 'true', action: 'score', action_parameters: { increment: 7 } }
  const block = (above: number) => ({ expression: `cf.waf.score gt ${above}`, action: 'block' })
  t.equal((await asked([score, score])).status, 200, 'a score alone stops nobody')
  const later = 'http_request_firewall_managed'
  await put(later, [block(13)])
  t.equal((await asked([score, score])).status, 403, 'a later phase reads the sum')
  await put(later, [block(14)])
  t.equal((await asked([score, score])).status, 200)
  await put(later, [])
  t.match(await asked([maze]), { status: 200, complete: true })
  await put(phase, [{ expression: 'true', action: 'force_connection_close' }])
  await t.rejects(ask(port, '/', { headers: host }), 'the connection is closed without an answer')
})

t.test('rules of the account run a ruleset of it with overrides, before those of the zone', options, async (t) => {
  const { port, put, api } = await site(t)
  const phase = 'http_request_firewall_custom'
  const { id } = await api('POST', `${ACCOUNT_PATH}/rulesets`, {
    name: 'shared',
    kind: 'custom',
    phase,
    rules: [{ action: 'block', expression: 'http.request.uri.path eq "/private"' }],
  })
  const run = (overrides?: object) => [
    {
      action: 'execute',
      expression: 'cf.zone.name eq "example.test"',
      action_parameters: { id, ...(overrides && { overrides }) },
    },
  ]
  const statusOf = async (path: string) => (await ask(port, path, { headers: host })).status
  await put(phase, run(), ACCOUNT_PATH)
  t.equal(await statusOf('/private'), 403)
  t.equal(await statusOf('/'), 200)
  await put(phase, run({ action: 'log' }), ACCOUNT_PATH)
  t.equal(await statusOf('/private'), 200)
})
