import { request } from 'undici'
import t from 'tap'
import { startProxy } from '../helpers/proxy.js'
import { ruledZone, type TestRule, type TestRuleset } from '../helpers/rules.js'
import { WorkerError, type WorkerSites } from '../../src/edge/exchange/worker-sites.js'
import { one, origin, PAGE, site } from './site-helper.js'

t.test('serve_error replaces errors only', async (t) => {
  const { ask } = await site(
    t,
    one('http_custom_errors', 'serve_error', { content: '{"e":1}', content_type: 'application/json' }),
  )
  t.match(await ask(), { status: 200, text: PAGE })
  const error = await ask({ path: '/status/503' })
  t.match(error, {
    status: 503,
    text: '{"e":1}',
    headers: { 'content-type': 'application/json', 'content-length': '7' },
  })
  t.match(error.headers, { 'x-asked': /503/ }, 'other headers stay')
  t.notHas(error.headers, 'etag')
  t.match(await ask({ path: '/status/404', method: 'HEAD' }), {
    status: 404,
    text: '',
    headers: { 'content-length': '7' },
  })
  t.match(await ask({ path: '/broken' }), { status: 502, text: '{"e":1}' }, 'also if the origin sent no response')
})

t.test('serve_error sends the stored page of its name, with the tokens in it replaced', async (t) => {
  const text = '<p>::CLIENT_IP:: ::RAY_ID:: ::GEO:: ::OTHER::</p>'
  const page = { content: Buffer.from(text).toString('base64'), size_bytes: text.length, type: 'text/html' as const }
  const asked: unknown[] = []
  const parts = {
    errorAsset: (scope: object, name: string) => {
      asked.push(scope, name)
      return name === 'sorry' ? page : undefined
    },
  }
  const rules = (params: object, level: 'zone' | 'account' = 'zone'): TestRuleset[] => [
    { phase: 'http_custom_errors', level, rules: [{ action: 'serve_error', action_parameters: { ...params } }] },
  ]
  const { ask } = await site(t, rules({ asset_name: 'sorry', status_code: 404 }), { parts })
  const { status, headers, text: body } = await ask({ path: '/status/500' })
  t.match(
    { status, headers, body },
    {
      status: 404,
      headers: { 'content-type': 'text/html; charset=utf-8', 'x-asked': /500/ },
      body: /^<p>127\.0\.0\.1 [0-9a-f]{16}  ::OTHER::<\/p>$/,
    },
  )
  t.equal(headers['content-length'], String(body.length))
  t.match(await ask({ path: '/status/500', method: 'HEAD' }), { status: 404, text: '' })
  t.match(await ask({ path: '/broken' }), { status: 404, text: /127/ })
  t.strictSame(asked.slice(0, 2), [{ type: 'zone', id: '9f1839b6152d298aca64c4e906b6d074' }, 'sorry'])

  const typed = await site(t, rules({ asset_name: 'sorry', content_type: 'text/plain' }, 'account'), { parts })
  asked.length = 0
  t.match(await typed.ask({ path: '/status/404' }), {
    status: 404,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
  })
  t.strictSame(asked, [{ type: 'account', id: 'account' }, 'sorry'])

  // The origin's page was replaced by one of the proxy.
  const missing = await site(t, rules({ asset_name: 'other', status_code: 404 }), { parts })
  const plain = await site(t, one('http_custom_errors', 'serve_error', { content: 'x' }, { enabled: false }))
  for (const path of ['/status/500', '/status/404', '/broken']) {
    const untouched = await plain.ask({ path })
    t.match(await missing.ask({ path }), {
      status: untouched.status,
      headers: { 'x-asked': untouched.headers['x-asked'] },
    })
    if (path !== '/broken') t.equal((await missing.ask({ path })).text, untouched.text)
  }
  const next = [...rules({ asset_name: 'other' })[0]!.rules, ...rules({ asset_name: 'sorry' })[0]!.rules]
  const both = await site(t, [{ phase: 'http_custom_errors', rules: next }], { parts })
  t.match(await both.ask({ path: '/status/500' }), { text: /127/ }, 'the next rule acts')
})

t.test('a large stored page reaches a slow client complete, and requests share its bytes', async (t) => {
  const text = '0123456789'.repeat(120_000) + '::RAY_ID::'
  const page = { content: Buffer.from(text).toString('base64'), size_bytes: text.length, type: 'text/html' as const }
  const parts = { errorAsset: () => page }
  const { ask } = await site(t, one('http_custom_errors', 'serve_error', { asset_name: 'sorry' }), { parts })
  const { bytes } = await ask({ path: '/status/500' })
  t.equal(bytes.length, 1_200_016)
})

t.test('pages of the owner replace those of the proxy, whatever the client accepts', async (t) => {
  const stored = (text: string) => ({
    content: Buffer.from(text).toString('base64'),
    size_bytes: 0,
    type: 'text/html' as const,
  })
  const kept: Record<string, ReturnType<typeof stored>> = {
    waf_block: stored('blocked ::RAY_ID::'),
    '500_errors': stored('<p>down</p>::CLOUDFLARE_ERROR_500S_BOX::'),
  }
  const { url } = await origin(t)
  const rules: TestRuleset[] = [
    {
      phase: 'http_request_firewall_custom',
      rules: [{ action: 'block', expression: 'http.request.uri.path eq "/blocked"' }],
    },
  ]
  const proxy = await startProxy(t, [ruledZone(url, rules)], { customPages: (_zone, id) => kept[id] })
  const ask = async (path: string, method: 'GET' | 'HEAD' = 'GET') => {
    const sent = { host: 'example.test', accept: 'application/json' }
    const { statusCode: status, headers, body } = await request(`${proxy.url}${path}`, { method, headers: sent })
    return { status, headers, text: await body.text() }
  }
  t.match(await ask('/blocked'), {
    status: 403,
    text: /^blocked [0-9a-f]{16}$/,
    headers: { 'cache-control': 'no-store' },
  })
  t.match(await ask('/blocked', 'HEAD'), { status: 403, text: '', headers: { 'content-length': '24' } })
  t.match(await ask('/broken'), { status: 502, text: /^<p>down<\/p><div class="cf-error-details"><h1>502 Bad Gateway/ })
  t.match(await ask('/status/503'), { status: 503, text: PAGE }, 'the response of an origin stays')
})

t.test('serve_error replaces the pages of block and rate limit rules, not the response of a rule', async (t) => {
  const custom = (expression: string): TestRuleset => ({
    phase: 'http_custom_errors',
    rules: [
      { action: 'serve_error', expression, action_parameters: { content: 'own page', content_type: 'text/plain' } },
    ],
  })
  const block = (more: Partial<TestRule> = {}): TestRuleset => ({
    phase: 'http_request_firewall_custom',
    rules: [{ action: 'block', ...more }],
  })
  const waf = 'cf.response.1xxx_code eq 1020 and cf.response.error_type eq "waf" and http.response.code eq 403'
  const blocked = await site(t, [block(), custom(waf)])
  t.match(await blocked.ask(), { status: 403, text: 'own page', headers: { 'content-type': 'text/plain' } })
  t.equal(blocked.seen.length, 0)

  const limited = await site(t, [
    { phase: 'http_ratelimit', rules: [{ action: 'block' }] },
    custom('cf.response.1xxx_code eq 1015 and cf.response.error_type eq "ratelimit" and http.response.code eq 429'),
  ])
  t.match(await limited.ask(), { status: 429, text: 'own page' })

  const response = { status_code: 418, content_type: 'text/plain', content: 'tea' }
  const own = await site(t, [block({ action_parameters: { response } }), custom('true')])
  t.match(await own.ask(), { status: 418, text: 'tea' })

  const challenged = await site(t, [block({ action: 'managed_challenge' }), custom('true')])
  t.match(await challenged.ask(), { status: 403, headers: { 'cf-mitigated': 'challenge' } })
  t.notMatch(await challenged.ask(), { text: 'own page' }, 'challenges stay')
})

t.test('a custom error reads the code of a failed Worker', async (t) => {
  const error = new WorkerError('worker_exception', 'the Worker threw')
  const workers: WorkerSites = { find: () => ({ serve: (_exchange, sink) => (sink.fail(error), () => undefined) }) }
  const rule = {
    action: 'serve_error',
    expression: 'cf.response.1xxx_code eq 1101 and cf.response.error_type eq "1xxx" and http.response.code eq 500',
    action_parameters: { content: 'own page', content_type: 'text/plain', status_code: 503 },
  }
  const { url } = await origin(t)
  const proxy = await startProxy(t, [ruledZone(url, [{ phase: 'http_custom_errors', rules: [rule] }])], { workers })
  const response = await request(`${proxy.url}/`, { headers: { host: 'example.test' } })
  t.match({ status: response.statusCode, text: await response.body.text() }, { status: 503, text: 'own page' })
})
