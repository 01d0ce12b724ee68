import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { metric, sendRaw } from '../helpers/proxy.js'
import type { TestRule } from '../helpers/rules.js'
import { one, origin, PAGE, site } from './site-helper.js'

t.test('block responds with the page for code 1020 in the accepted form', async (t) => {
  const { ask, seen, metrics } = await site(
    t,
    one('http_request_firewall_custom', 'block', undefined, {
      id: 'a'.repeat(32),
      expression: 'starts_with(http.request.uri.path, "/private")',
    }),
  )
  t.match(await ask(), { status: 200 })
  const page = await ask({ path: '/private/x', headers: { accept: 'application/json' } })
  t.match(page, { status: 403, headers: { 'content-type': /json/ } })
  t.match(JSON.parse(page.text), { error_code: 1020, error_name: 'access_denied', zone: 'example.test' })
  t.equal(seen.length, 1)
  const [value] = (await metrics.getSingleMetric('edged_rule_matches_total')?.get())?.values ?? []
  t.match(value, { value: 1, labels: { rule: 'a'.repeat(32), action: 'block' } })
})

t.test('block responds as its parameters say, also to HEAD and to a request with a body', async (t) => {
  const response = { status_code: 451, content_type: 'text/plain', content: 'no\n' }
  const { ask } = await site(t, one('http_request_firewall_custom', 'block', { response }))
  t.match(await ask(), { status: 451, text: 'no\n', headers: { 'content-type': 'text/plain', 'content-length': '3' } })
  t.match(await ask({ method: 'HEAD' }), { status: 451, text: '', headers: { 'content-length': '3' } })
  t.match(await ask({ method: 'POST', body: 'x'.repeat(100_000) }), { status: 451, text: 'no\n' })
})

t.test('challenges without a challenger deny the request and say so', async (t) => {
  for (const action of ['challenge', 'js_challenge', 'managed_challenge']) {
    const { ask } = await site(t, one('http_request_firewall_custom', action))
    t.match(await ask(), { status: 403, headers: { 'cf-mitigated': 'challenge' } })
  }
})

t.test('force_connection_close closes the connection without a response', async (t) => {
  const { proxy } = await site(t, one('http_request_firewall_custom', 'force_connection_close'))
  t.match(await sendRaw(proxy.port, 'GET / HTTP/1.1\r\nhost: example.test\r\n\r\n'), { text: '', closed: true })
  const { proxy: late } = await site(t, one('http_response_firewall_managed', 'force_connection_close'))
  t.match(await sendRaw(late.port, 'GET / HTTP/1.1\r\nhost: example.test\r\n\r\n'), { text: '', closed: true })
})

t.test('log, ddos_dynamic and transform_response_html let the request continue', async (t) => {
  for (const [action, params] of [['log'], ['ddos_dynamic'], ['transform_response_html', { link_maze: {} }]] as const)
    t.match(await (await site(t, one('http_request_firewall_custom', action, params))).ask(), { status: 200 })
})

t.test('redirects from values', async (t) => {
  const CASES: [what: string, from: object, path: string, status: number, location: string][] = [
    ['to a fixed URL', { target_url: { value: 'https://new.test/a' } }, '/?q=1', 301, 'https://new.test/a'],
    [
      'to an expression',
      { target_url: { expression: 'concat("https://m.test", http.request.uri.path)' }, status_code: 308 },
      '/x/y?q=1',
      308,
      'https://m.test/x/y',
    ],
    [
      'with the query',
      { target_url: { value: 'https://new.test/a?b=1#c' }, preserve_query_string: true, status_code: 302 },
      '/?q=1&r',
      302,
      'https://new.test/a?b=1&q=1&r#c',
    ],
    ['with no query to keep', { target_url: { value: '/b' }, preserve_query_string: true }, '/?', 301, '/b'],
    [
      'with what could split the header escaped',
      { target_url: { expression: 'concat("/", url_decode(http.request.uri.query))' } },
      '/?a%0d%0aset-cookie:x',
      301,
      '/a%0D%0Aset-cookie:x',
    ],
  ]
  for (const [what, from_value, path, status, location] of CASES) {
    const { ask, seen } = await site(t, one('http_request_dynamic_redirect', 'redirect', { from_value }))
    t.match(await ask({ path }), { status, headers: { location } }, what)
    t.equal(seen.length, 0)
  }
})

t.test('a redirect whose target is not a URL does not match, and is counted', async (t) => {
  const rules = one('http_request_dynamic_redirect', 'redirect', {
    from_value: { target_url: { expression: 'http.request.uri.query' } },
  })
  const { ask, metrics } = await site(t, rules)
  t.match(await ask({ path: '/?javascript:x' }), { status: 200 })
  t.match((await metrics.getSingleMetric('edged_rule_failures_total')?.get())?.values[0], { value: 1 })
})

t.test('redirects from a list; a URL that is not listed continues', async (t) => {
  const from_list = { name: '$moved', key: 'http.request.full_uri' }
  const { ask } = await site(
    t,
    [
      {
        phase: 'http_request_redirect',
        level: 'account',
        rules: [{ action: 'redirect', action_parameters: { from_list } }],
      },
    ],
    {
      parts: {
        redirect: (_account, list, url) =>
          list === 'moved' && url === 'http://example.test/old'
            ? { location: 'https://new.test/', status: 307 }
            : undefined,
      },
    },
  )
  t.match(await ask({ path: '/old' }), { status: 307, headers: { location: 'https://new.test/' } })
  t.match(await ask({ path: '/other' }), { status: 200 })
})

t.test('rewrites of the URL', async (t) => {
  const CASES: [what: string, uri: object, path: string, asked: string][] = [
    ['a fixed path', { path: { value: '/new' } }, '/old?q=1', '/new?q=1'],
    ['a path without its slash', { path: { expression: 'concat("a", http.request.uri.path)' } }, '/b', '/a/b'],
    ['a query', { query: { value: 'z=1' } }, '/old?q=1', '/old?z=1'],
    ['an empty query', { query: { value: '' } }, '/old?q=1', '/old'],
    ['odd characters', { path: { expression: 'url_decode(http.request.uri.path)' } }, '/a%20b%3Fc%00', '/a%20b%3Fc%00'],
    [
      'both by expression',
      { path: { expression: 'lower(http.request.uri.path)' }, query: { expression: 'upper(http.request.uri.query)' } },
      '/ABC?q=x',
      '/abc?Q=X',
    ],
  ]
  for (const [what, uri, path, asked] of CASES) {
    const { ask } = await site(t, one('http_request_transform', 'rewrite', { uri }))
    t.equal((await ask({ path })).headers['x-asked'], `GET example.test ${asked}`, what)
  }
})

t.test('rewrites of request headers', async (t) => {
  const headers = {
    'X-Set': { operation: 'set', value: 'one' },
    'x-path': { operation: 'set', expression: 'http.request.uri.path' },
    'x-gone': { operation: 'remove' },
    'x-empty': { operation: 'set', expression: 'http.request.uri.query' },
    'x-more': { operation: 'add', value: 'second' },
    // Its last byte is a space in Latin-1, but not in UTF-8.
    'x-text': { operation: 'set', value: ' voil\u00e0 ' },
  }
  const { ask, seen } = await site(t, one('http_request_late_transform', 'rewrite', { headers }))
  await ask({ path: '/p', headers: { 'x-set': 'old', 'x-gone': '1', 'x-empty': '1', 'x-more': 'first' } })
  t.match(seen[0]?.headers, { 'x-set': 'one', 'x-path': '/p', 'x-more': 'first, second', 'x-text': 'voil\u00c3\u00a0' })
  t.notHas(seen[0]?.headers, 'x-gone')
  t.notHas(seen[0]?.headers, 'x-empty')
})

t.test('a header value with a line break is never sent, and does not prevent the other changes', async (t) => {
  const headers = {
    'x-a': { operation: 'set', expression: 'url_decode(http.request.uri.query)' },
    'x-user': { operation: 'remove' },
    'x-fixed': { operation: 'set', value: '1' },
  }
  const { ask, seen } = await site(t, one('http_request_late_transform', 'rewrite', { headers }))
  t.match(await ask({ path: '/?a%0d%0ab:c', headers: { 'x-a': 'old', 'x-user': 'root' } }), { status: 200 })
  t.notHas(seen[0]?.headers, 'x-a')
  t.notHas(seen[0]?.headers, 'x-user')
  t.match(seen[0]?.headers, { 'x-fixed': '1' })
})

t.test('rules of a response read the normalized path, although the origin gets the one that was sent', async (t) => {
  const headers = {
    'x-path': { operation: 'set', expression: 'http.request.uri.path' },
    'x-uri': { operation: 'set', expression: 'http.request.full_uri' },
    'x-raw': { operation: 'set', expression: 'raw.http.request.uri' },
  }
  const response: TestRule = {
    action: 'rewrite',
    action_parameters: { headers },
    expression: 'http.request.uri.path eq "/a/b"',
  }
  const { proxy } = await site(t, [{ phase: 'http_response_headers_transform', rules: [response] }])
  const request = 'GET /%61//./b?c=%64 HTTP/1.1\r\nhost: example.test\r\nconnection: close\r\n\r\n'
  const { text } = await sendRaw(proxy.port, request)
  t.match(text, '\r\nx-asked: GET example.test /%61//./b?c=%64\r\n')
  t.match(text, '\r\nx-path: /a/b\r\n')
  t.match(text, '\r\nx-uri: http://example.test/a/b?c=%64\r\n')
  t.match(text, '\r\nx-raw: /%61//./b?c=%64\r\n')
})

t.test('rewrites of response headers', async (t) => {
  const headers = {
    'x-new': { operation: 'set', expression: 'to_string(http.response.code)' },
    etag: { operation: 'remove' },
    'set-cookie': { operation: 'add', value: 'c=3' },
  }
  const { ask } = await site(t, one('http_response_headers_transform', 'rewrite', { headers }))
  const response = await ask()
  t.match(response.headers, { 'x-new': '200', 'set-cookie': ['a=1', 'b=2', 'c=3'] })
  t.notHas(response.headers, 'etag')
  t.equal(response.text, PAGE)
})

t.test('route sends the request to another origin, under another name', async (t) => {
  const other = await origin(t)
  const port = Number(new URL(other.url).port)
  const { ask, seen } = await site(
    t,
    one('http_request_origin', 'route', { host_header: 'inner.test', origin: { host: 'localhost', port } }),
  )
  t.equal((await ask({ path: '/a' })).headers['x-asked'], 'GET inner.test /a')
  t.equal(seen.length, 0)
})

t.test('each property of two routes comes from the last rule that has it', async (t) => {
  const other = await origin(t)
  const port = Number(new URL(other.url).port)
  const { ask } = await site(t, [
    {
      phase: 'http_request_origin',
      rules: [
        { action: 'route', action_parameters: { host_header: 'first.test', origin: { port: 1 } } },
        { action: 'route', action_parameters: { host_header: 'second.test' } },
        { action: 'route', action_parameters: { origin: { port } } },
      ],
    },
  ])
  t.equal((await ask()).headers['x-asked'], 'GET second.test /')
})

t.test('set_config enables conversion', async (t) => {
  const rule = { expression: 'starts_with(http.request.uri.path, "/docs")' }
  const { ask } = await site(t, one('http_config_settings', 'set_config', { content_converter: true }, rule), {
    members: 'plan: pro',
  })
  const headers = { accept: 'text/markdown' }
  t.match(await ask({ path: '/docs/a', headers }), { text: /^# Heading/, headers: { 'content-type': /markdown/ } })
  t.match(await ask({ path: '/other', headers }), { text: PAGE })
})

t.test('rules for access see the page behind a Markdown address', async (t) => {
  const off = { expression: 'starts_with(http.request.uri.path, "/off")' }
  const block = 'http.request.uri.path in {"/private" "/dir/" "/a" "/off.md"} or raw.http.request.uri.path eq "/raw.md"'
  const { ask, seen } = await site(
    t,
    [
      ...one('http_config_settings', 'set_config', { content_converter: false }, off),
      ...one('http_request_firewall_custom', 'block', undefined, { expression: block }),
    ],
    {
      members: 'plan: pro, settings: { content_converter: on }, markdown: { md_addresses: true, llms_txt: front_page }',
    },
  )
  for (const path of ['/private.md', '/private.md?a', '/dir/index.md', '/raw.md', '/off.md'])
    for (const method of ['GET', 'HEAD'] as const)
      t.match(await ask({ path, method }), { status: 403 }, `${method} ${path}`)
  t.equal(seen.length, 0)
  t.match(await ask({ path: '/a.md.md' }), { status: 200 })
  t.match(await ask({ path: '/llms.txt' }), { status: 200 })
  t.match(await ask({ path: '/off/b.md' }), { status: 200, text: PAGE })
  t.match(await ask({ path: '/b.md', method: 'POST' }), { status: 200, text: PAGE })
  t.same(
    seen.map(({ url }) => url),
    ['/a.md', '/', '/off/b.md', '/b.md'],
  )
})

t.test('compress_response uses the first algorithm that the client accepts', async (t) => {
  const algorithms = [{ name: 'brotli' }, { name: 'gzip' }]
  const { ask } = await site(t, one('http_response_compression', 'compress_response', { algorithms }))
  const br = await ask({ headers: { 'accept-encoding': 'gzip, br' } })
  t.match(br.headers, { 'content-encoding': 'br', etag: 'W/"abc"', vary: 'accept-encoding' })
  t.equal(brotliDecompressSync(br.bytes).toString(), PAGE)
  const gzip = await ask({ headers: { 'accept-encoding': 'gzip, br;q=0' } })
  t.match(gzip.headers, { 'content-encoding': 'gzip' })
  t.equal(gunzipSync(gzip.bytes).toString(), PAGE)
  const plain = await ask()
  t.notHas(plain.headers, 'content-encoding')
  t.match(plain, { text: PAGE, headers: { vary: 'accept-encoding', etag: '"abc"' } })
  t.notHas((await ask({ path: '/fixed', headers: { 'accept-encoding': 'br' } })).headers, 'content-encoding')
  t.notHas((await ask({ path: '/a.png', headers: { 'accept-encoding': 'br' } })).headers, 'content-encoding')
  const head = await ask({ method: 'HEAD', headers: { 'accept-encoding': 'br' } })
  t.match(head, { text: '', headers: { 'content-encoding': 'br' } })
  t.notHas(head.headers, 'content-length')
})

t.test('converted Markdown is compressed too', async (t) => {
  const { ask } = await site(
    t,
    [
      ...one('http_config_settings', 'set_config', { content_converter: true }),
      ...one('http_response_compression', 'compress_response', { algorithms: [{ name: 'auto' }] }),
    ],
    { members: 'plan: pro' },
  )
  const response = await ask({ headers: { accept: 'text/markdown', 'accept-encoding': 'gzip' } })
  t.match(response.headers, { 'content-type': /markdown/, 'content-encoding': 'gzip' })
  t.match(gunzipSync(response.bytes).toString(), /^# Heading/)
})

t.test('cache rules change the headers of the response', async (t) => {
  const { ask } = await site(t, [
    {
      phase: 'http_response_cache_settings',
      rules: [
        { action: 'set_cache_settings', action_parameters: { strip_etags: true, strip_last_modified: true } },
        { action: 'set_cache_settings', action_parameters: { strip_set_cookie: true, strip_last_modified: false } },
        {
          action: 'set_cache_control',
          action_parameters: {
            'max-age': { operation: 'set', value: 60 },
            public: { operation: 'remove' },
            private: { operation: 'set', qualifiers: ['set-cookie'] },
            'no-store': { operation: 'set', vendor_only: true },
          },
        },
        { action: 'set_cache_tags', action_parameters: { operation: 'set', values: ['a', 'b'] } },
        {
          action: 'set_cache_tags',
          action_parameters: { operation: 'add', expression: 'split(http.request.uri.query, ",", 8)' },
        },
        { action: 'set_cache_tags', action_parameters: { operation: 'remove', values: ['b'] } },
      ],
    },
  ])
  const { headers } = await ask({ path: '/?c,a' })
  t.match(headers, {
    'cache-control': 'max-age=60, private="set-cookie"',
    'cache-tag': 'a,c',
    'last-modified': 'Sat, 21 Nov 2026 00:00:00 GMT',
  })
  t.notHas(headers, 'etag')
  t.notHas(headers, 'set-cookie')
})

t.test('a rule that reads the body blocks by it, and other requests forward the whole body', async (t) => {
  const { ask, seen } = await site(
    t,
    one('http_request_firewall_custom', 'block', undefined, { expression: 'http.request.body.raw contains "attack"' }),
  )
  t.match(await ask({ method: 'POST', body: 'an attack' }), { status: 403 })
  t.match(await ask({ method: 'POST', body: 'x'.repeat(300_000) }), { status: 200 })
  t.equal(seen.length, 1)
})

t.test('a rule that cannot be compiled never matches; the others run', async (t) => {
  const { ask, proxy } = await site(t, [
    {
      phase: 'http_request_firewall_custom',
      rules: [
        { action: 'block', expression: 'http.nothing eq "x"' },
        { action: 'nonsense' },
        { action: 'block', expression: 'http.request.uri.path eq "/b"' },
      ],
    },
  ])
  t.match(await ask(), { status: 200 })
  t.match(await ask({ path: '/b' }), { status: 403 })
  t.equal(await metric(proxy.metrics, 'edged_proxy_requests_in_flight'), 0)
})
