import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import type { Zone } from '../../../src/edge/exchange/zones.js'
import { until } from '../../helpers/web.js'
import { rulesOf } from '../../helpers/rules.js'
import { MovedClock, startCachedSite } from './setup.js'

const FRESH = 'max-age=600'

t.test('input that is not in the key never reaches what others get', async (t) => {
  const site = await startCachedSite(t, (request, response) => {
    response.setHeader('cache-control', FRESH)
    // An origin that repeats everything it was told.
    response.end(JSON.stringify({ url: request.url, ...request.headers }))
  })
  const poison: Record<string, string>[] = [
    { 'x-forwarded-host': 'evil.test' },
    { 'x-forwarded-scheme': 'evil' },
    { 'x-forwarded-proto': 'evil' },
    { 'x-forwarded-server': 'evil.test' },
    { 'x-forwarded-prefix': '/evil' },
    { 'x-forwarded-port': '1666777' },
    { forwarded: 'host=evil.test' },
    { 'x-host': 'evil.test' },
    { 'x-original-url': '/evil' },
    { 'x-rewrite-url': '/evil' },
    { 'x-http-method-override': 'EVIL' },
    { x_forwarded_host: 'evil.test' },
    { 'X_Original-URL': '/evil' },
    { x_http_method_override: 'EVIL' },
    { rsc: 'evil' },
    { 'next-router-state-tree': 'evil' },
    { 'Next-Router-Prefetch': 'evil' },
    { next_router_prefetch: 'evil' },
    { 'next-url': '/evil' },
    { 'x-nextjs-data': 'evil' },
    { 'x-invoke-path': '/evil' },
    { 'x-invoke-status': 'evil' },
    { X_Invoke_Path: '/evil' },
    { 'x-middleware-subrequest': 'evil' },
    { 'x-middleware-prefetch': 'evil' },
    { 'x-matched-path': '/evil' },
    { 'x-now-route-matches': 'evil' },
    { 'x-forwarded': 'evil' },
    { 'x-scheme': 'evil' },
    { 'x-url-scheme': 'evil' },
    { x_url_scheme: 'evil' },
    { 'x-https': 'evil' },
    { 'x-original-proto': 'evil' },
    { 'front-end-https': 'evil' },
    { Front_End_Https: 'evil' },
    { 'base-url': 'http://evil.test' },
    { base_url: 'http://evil.test' },
    { 'x-proxy-url': 'http://evil.test' },
    { 'x-envoy-original-path': '/evil' },
    { 'x-proxyscheme': 'evil' },
    { 'X-ProxyContextPath': '/evil' },
    { 'cf-visitor': '{"scheme":"evil"}' },
    { 'CF-Visitor': '{"scheme":"evil"}' },
    { 'cloudfront-forwarded-proto': 'evil' },
    { 'x-arr-ssl': 'evil' },
    { 'x-script-name': '/evil' },
    { SCRIPT_NAME: '/evil' },
    { 'x-ingress-path': '/evil' },
    { 'x-rewrite-path': '/evil' },
    { 'x-next-resume': 'evil' },
    { 'x-http-destinationurl': 'http://evil.test' },
    { origin: 'https://evil.test' },
    { range: 'bytes=0-evil' },
    { 'if-none-match': '"evil"' },
  ]
  for (const [i, headers] of poison.entries()) {
    const target = `/page${i}`
    await site.get(target, headers)
    const victim = await site.get(target)
    t.notMatch(victim.body, /evil|1666777/i, Object.keys(headers)[0]!)
  }
})

t.test('different targets have different keys, however they are written', async (t) => {
  const site = await startCachedSite(t, (request, response) =>
    response.setHeader('cache-control', FRESH).end(`target ${request.url}`),
  )
  const targets = [
    '/a/b',
    '/a%2fb',
    '/a%2Fb',
    '/a//b',
    '/a/./b',
    '/a/b/',
    '/a/b?',
    '/a/b?x',
    '/a/b?x=',
    '/A/b',
    '/a/b;x',
    '/a%00b',
  ]
  for (const target of targets) await site.get(target)
  for (const target of targets) {
    const { body, status } = await site.get(target)
    if (status === 200) t.equal(body, `target ${target}`)
  }
  const hosts = await Promise.all(['one.test', 'two.test'].map(async (host) => await site.get('/h', { host })))
  t.ok(hosts.every(({ status }) => status !== 200) || hosts[1]!.cache === 'MISS')
})

t.test('a GET with a body, private responses and cookies are never shared', async (t) => {
  const site = await startCachedSite(t, (request, response) => {
    if (request.url === '/private') response.setHeader('cache-control', 'private, max-age=600')
    else response.setHeader('cache-control', FRESH)
    if (request.url === '/cookie') response.setHeader('set-cookie', 'session=secret')
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => response.end(`for ${request.headers.authorization ?? 'nobody'} ${body}`))
  })
  const fat = connect(site.port, '127.0.0.1')
  let got = ''
  fat.on('data', (chunk: Buffer) => (got += chunk.toString()))
  fat.write('GET /fat HTTP/1.1\r\nhost: example.test\r\ncontent-length: 4\r\nconnection: close\r\n\r\nevil')
  await until(() => got.includes('evil'))
  t.match(await site.get('/fat'), { cache: 'MISS', body: 'for nobody ' })
  for (const target of ['/private', '/cookie']) {
    await site.get(target)
    t.match(await site.get(target), { cache: 'BYPASS' }, target)
  }
  await site.get('/user', { authorization: 'alice' })
  t.match(await site.get('/user', { authorization: 'bob' }), { body: 'for bob ' })
  t.match(await site.get('/user'), { body: 'for nobody ' })
  t.match(await site.get('/user', { authorization: 'bob' }), { cache: 'BYPASS', body: 'for bob ' })
})

t.test('Vary with endless values stays bounded', async (t) => {
  const site = await startCachedSite(t, (request, response) =>
    response
      .setHeader('cache-control', FRESH)
      .setHeader('vary', 'x-any')
      .end(request.headers['x-any'] ?? ''),
  )
  for (let i = 0; i < 100; i++) await site.get('/v', { 'x-any': String(i) })
  const text = await site.metrics.metrics()
  t.match(text, /edged_cache_entries\{tier="memory"\} 32\n/)
  t.match(await site.get('/v', { 'x-any': '99' }), { cache: 'HIT', body: '99' })
})

// A long Accept was sorted once for each of 32 stored representations: 100 ms of the event loop per request.
t.test('a long selecting field is read once, not once for each representation', async (t) => {
  const site = await startCachedSite(t, (_, response) =>
    response.setHeader('cache-control', FRESH).setHeader('vary', 'accept').end('x'),
  )
  const long = Array.from({ length: 1500 }, (_, i) => `${i % 7}/${i}`).join(',')
  const time = async (target: string, i: number) => {
    const started = performance.now()
    t.match(await site.get(target, { accept: `${long},b/${i}` }), { status: 200, cache: 'MISS' })
    return performance.now() - started
  }
  for (let i = 0; i < 32; i++) await site.get('/many', { accept: `a/${i}` })
  const one: number[] = []
  const many: number[] = []
  for (let i = 0; i < 5; i++) {
    one.push(await time(`/one${i}`, i))
    many.push(await time('/many', i))
  }
  t.ok(Math.min(...many) < 5 * Math.min(...one), `${Math.min(...many)} ms, ${Math.min(...one)} ms`)
})

t.test('many ranges get the complete response or an error, not more bytes than it has', async (t) => {
  const site = await startCachedSite(t, (_, response) =>
    response.setHeader('cache-control', FRESH).end(Buffer.alloc(10_000)),
  )
  await site.get('/r')
  for (const range of [
    `bytes=${Array.from({ length: 1000 }, (_, i) => `${i}-`).join(',')}`,
    'bytes=0-9999,0-9999',
    'bytes=9999-0',
    'bytes=-0',
    'bytes=99999999999999999999-',
    `bytes=${'0-0,'.repeat(8)}0-0`,
  ]) {
    const { body, status } = await site.get('/r', { range })
    t.ok([200, 206, 416].includes(status) && body.length <= 10_500, `${range.slice(0, 30)}: ${status} ${body.length}`)
  }
})

t.test('a slow reader and a leader that leaves hold up nobody', async (t) => {
  let finish: (() => void) | undefined
  const size = 3_000_000
  const site = await startCachedSite(t, (_, response) => {
    response.setHeader('cache-control', FRESH).setHeader('content-length', size)
    response.write(Buffer.alloc(1000))
    finish = () => response.end(Buffer.alloc(size - 1000))
  })
  const leader = connect(site.port, '127.0.0.1')
  leader.write('GET /big HTTP/1.1\r\nhost: example.test\r\n\r\n')
  await until(() => finish !== undefined)
  const slow = connect(site.port, '127.0.0.1').pause()
  slow.write('GET /big HTTP/1.1\r\nhost: example.test\r\n\r\n')
  const others = [1, 2, 3].map(async () => await site.get('/big'))
  await until(() => site.cache.metrics.coalesced >= 4)
  leader.destroy()
  finish!()
  for (const { body } of await Promise.all(others)) t.equal(body.length, size)
  t.equal(site.requests.length, 1)
  t.match(await site.get('/big'), { cache: 'HIT' })
  slow.destroy()
})

const DECEPTIVE: [target: string, type: string][] = [
  ['/account/a.css', 'text/html'],
  ['/account/a.CSS?x=1', 'Text/HTML; charset=utf-8'],
  ['/account%2fa.js', 'application/json'],
  ['/account;a.js', 'text/html'],
  ['/account/a.png', 'application/xhtml+xml'],
  ['/account/a.zip', 'application/json'],
  ['/account/a.docx', 'application/problem+json'],
  ['/account/a.ejs', 'text/html'],
  ['/account/a.svg', 'text/xml'],
]
const HONEST: [target: string, type: string][] = [
  ['/a.css', 'text/css; charset=utf-8'],
  ['/a.js', 'application/javascript'],
  ['/a.png', 'image/webp'],
  ['/a.svg', 'image/svg+xml'],
  ['/a.eps', 'application/postscript'],
  ['/a.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['/a.zip', 'application/octet-stream'],
  ['/a.gif', 'video/mp4'],
]
// A page for one user under the name of a static file was stored and sent to others: no rule had asked for the check.
for (const mode of ['default', 'everything'] as const)
  t.test(`cache deception, mode ${mode}: a page under the name of a static file is not stored`, async (t) => {
    const types = new Map([...DECEPTIVE, ...HONEST])
    const site = await startCachedSite(
      t,
      ({ url }, response) =>
        response
          .setHeader('content-type', types.get(url!)!)
          .setHeader('last-modified', new Date(Date.now() - 864_000_000).toUTCString())
          .end(String(site.requests.length)),
      { mode },
    )
    for (const [target, cache] of [
      ...DECEPTIVE.map(([target]) => [target, 'BYPASS']),
      ...HONEST.map(([target]) => [target, 'HIT']),
    ] as const) {
      await site.get(target!)
      t.match(await site.get(target!), { cache }, target!)
    }
  })

t.test('an explicit lifetime of the origin or of a cache rule overrides the check for cache deception', async (t) => {
  const html = (_: unknown, response: ServerResponse, fields = {}) =>
    response.writeHead(200, { 'content-type': 'text/html', ...fields }).end('x')
  const ruled = (action_parameters: object): Partial<Zone> => ({
    rules: rulesOf([
      {
        phase: 'http_request_cache_settings',
        rules: [{ action: 'set_cache_settings', action_parameters: { ...action_parameters } }],
      },
    ]),
  })
  const second = async (fields: object, zone: Partial<Zone> = {}) => {
    const site = await startCachedSite(t, (request, response) => html(request, response, fields), {
      mode: 'default',
      zone,
    })
    await site.get('/account/me.png')
    return (await site.get('/account/me.png')).cache
  }
  t.equal(await second({ 'cache-control': FRESH }), 'HIT')
  t.equal(await second({ expires: new Date(Date.now() + 600_000).toUTCString() }), 'HIT')
  t.equal(await second({ 'cdn-cache-control': FRESH }), 'HIT')
  t.equal(await second({}, ruled({ cache: true, edge_ttl: { mode: 'override_origin', default: 60 } })), 'HIT')
  t.equal(await second({}, ruled({ cache: true, cache_key: { cache_deception_armor: false } })), 'HIT')
  t.equal(await second({}, ruled({ cache: true, cache_key: { cache_deception_armor: true } })), 'BYPASS')
  t.equal(await second({}, ruled({ cache: true })), 'BYPASS')
})

t.test('custom keys separate by cookie, header, device and query as the rule says', async (t) => {
  const rules = rulesOf([
    {
      phase: 'http_request_cache_settings',
      rules: [
        {
          action: 'set_cache_settings',
          action_parameters: {
            cache: true,
            cache_key: {
              custom_key: {
                cookie: { include: ['tenant'] },
                header: { include: ['x-plan'] },
                query_string: { include: { list: ['q'] } },
                user: { device_type: true },
              },
            },
          },
        },
      ],
    },
  ])
  const site = await startCachedSite(
    t,
    (_, response) => response.setHeader('cache-control', FRESH).end(String(site.requests.length)),
    { zone: { rules } },
  )
  const phone = { 'user-agent': 'Mozilla/5.0 (iPhone) Mobile' }
  const different: [target: string, headers?: Record<string, string>][] = [
    ['/k?q=1'],
    ['/k?q=2'],
    ['/k?q=1', { cookie: 'tenant=a' }],
    ['/k?q=1', { cookie: 'tenant=b' }],
    ['/k?q=1', { 'x-plan': 'pro' }],
    ['/k?q=1', phone],
  ]
  for (const [target, headers] of different)
    t.match(await site.get(target, headers), { cache: 'MISS' }, JSON.stringify([target, headers]))
  const same: [target: string, headers?: Record<string, string>][] = [
    ['/k?q=1&utm=x'],
    ['/k?zz=1&q=2'],
    ['/k?q=1', { cookie: 'other=1; tenant=a' }],
    ['/k?q=1', { 'x-plan': 'pro', 'x-more': '1' }],
  ]
  for (const [target, headers] of same)
    t.match(await site.get(target, headers), { cache: 'HIT' }, JSON.stringify([target, headers]))
})

t.test('zone settings act: browser TTL, development mode, query string, always online', async (t) => {
  const clock = new MovedClock()
  let isDown = false
  const site = await startCachedSite(
    t,
    ({ url }, response) => {
      if (isDown) response.writeHead(503)
      else if (url === '/expires') response.setHeader('expires', new Date(Date.now() + 86_400_000).toUTCString())
      else response.setHeader('cache-control', FRESH)
      response.end('x')
    },
    { clock },
  )
  const settings = (options: Partial<(typeof site.zones.current.zones)[0]['cache']>) =>
    site.change({ cache: { ...site.zones.current.zones[0]!.cache, ...options } })
  await site.get('/b?y=1&x=2')
  settings({ browserTtl: 7200 })
  t.equal((await site.get('/b?y=1&x=2')).headers['cache-control'], 'max-age=7200')
  const later = (await site.get('/expires')).headers
  t.notOk(later['cache-control'], 'a later Expires stays')
  t.ok(later.expires)
  settings({ browserTtl: 0, sortQuery: true })
  t.match(await site.get('/b?x=2&y=1'), { cache: 'MISS' })
  t.match(await site.get('/b?y=1&x=2'), { cache: 'HIT' })
  settings({ query: 'without' })
  t.match(await site.get('/b?y=1&x=2'), { cache: 'DYNAMIC' })
  settings({ query: 'ignore' })
  t.match(await site.get('/c?1'), { cache: 'MISS' })
  t.match(await site.get('/c?2'), { cache: 'HIT' })
  settings({ query: 'key', developmentUntil: Date.now() + 60_000 })
  t.match(await site.get('/c?1'), { cache: 'BYPASS', headers: { 'cache-status': 'edged; fwd=bypass; fwd-status=200' } })
  settings({ developmentUntil: 0, alwaysOnline: true })
  await site.get('/d')
  clock.forward(3600)
  isDown = true
  t.match(await site.get('/d'), { cache: 'STALE', body: 'x' })
})
