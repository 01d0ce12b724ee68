import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { site } from '../markdown/site.js'

type Json = Record<string, any>

interface Got {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Json
}

const HTML = { 'content-type': 'text/html; charset=utf-8' }

const pages: RequestListener = ({ url, headers }, response) => {
  const html = (body: string, more = {}) => response.writeHead(200, { ...HTML, ...more }).end(body)
  switch (url) {
    case '/':
      return html(
        '<title>The site</title><meta name=description content="All about boats"><a href="/docs/start">Start here</a><a href="/boats">Boats</a>',
      )
    case '/docs/start':
      return html('<h1>First steps</h1><p>How to sail a dinghy.')
    case '/boats':
      return html('<h1>Boats</h1><p>Every boat has a keel.')
    case '/private':
      return html('<h1>Secret</h1><p>zebra', { 'cache-control': 'private' })
    case '/long':
      return html(`<h1>Long</h1><p>${'word '.repeat(12_000)}`)
    case '/moved':
      return response.writeHead(302, { location: '/boats' }).end()
    case '/away':
      return response.writeHead(302, { location: 'https://other.test/' }).end()
    case '/loop':
      return response.writeHead(302, { location: '/loop' }).end()
    case '/to-mcp':
      return response.writeHead(302, { location: '/.well-known/mcp' }).end()
    case '/image':
      return response.writeHead(200, { 'content-type': 'image/png' }).end('x')
    case '/who':
      return html(
        `<p>${headers['user-agent']} ${headers['cookie'] ?? 'no cookie'} ${headers['authorization'] ?? 'no key'} ${String(headers['x-forwarded-for'])}`,
      )
    default:
      return response.writeHead(404, HTML).end('<p>Not here')
  }
}

const start = async (t: Test, handler: RequestListener = pages, more: Json = {}) => {
  const { port, ...rest } = await site(t, handler, {
    agents: 'mcp: true',
    markdown: 'llms_txt: front_page, md_addresses: true',
    ...more,
  })
  const post = async (
    body: unknown,
    headers: Record<string, string> = {},
    { method = 'POST', path = '/.well-known/mcp' } = {},
  ): Promise<Got> => {
    const asked = request({
      host: '127.0.0.1',
      port,
      path,
      method,
      agent: false,
      headers: {
        host: 'example.test',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
    })
    asked.end(method === 'GET' ? undefined : typeof body === 'string' ? body : JSON.stringify(body))
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of response) text += String(chunk)
    return {
      status: response.statusCode!,
      headers: response.headers,
      body: text.startsWith('{') ? (JSON.parse(text) as Json) : { text },
    }
  }
  const call = async (name: string, given: unknown, headers = {}): Promise<Json> => {
    const { status, body } = await post(
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } },
      headers,
    )
    t.equal(status, 200)
    return (body['result'] ?? body['error']) as Json
  }
  return { ...rest, port, post, call }
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
const modern = (method: string, params: Json = {}) => ({
  jsonrpc: '2.0',
  id: 7,
  method,
  params: { ...params, _meta: META },
})
const fields = (method: string, more = {}) => ({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...more })

t.test('the revision without sessions', async (t) => {
  const { post } = await start(t)
  const { status, headers, body } = await post(modern('server/discover'), fields('server/discover'))
  t.equal(status, 200)
  t.match(headers, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  t.equal(headers['access-control-allow-origin'], undefined)
  t.match(body, {
    jsonrpc: '2.0',
    id: 7,
    result: {
      resultType: 'complete',
      supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'],
      capabilities: { tools: {} },
      serverInfo: { name: 'test.example/site', version: '1.2.3' },
      cacheScope: 'public',
      ttlMs: Number,
    },
  })
  const list = await post(modern('tools/list'), fields('tools/list'))
  t.match(list.body['result'], {
    resultType: 'complete',
    tools: [{ name: 'fetch' }, { name: 'search' }],
    ttlMs: Number,
  })
  for (const tool of list.body['result'].tools) t.same(tool.annotations, { readOnlyHint: true, openWorldHint: false })
  for (const name of ['fetch', `=?base64?${Buffer.from('fetch').toString('base64')}?=`]) {
    const called = modern('tools/call', { name: 'fetch', arguments: { path: '/boats' } })
    const read = await post(called, fields('tools/call', { 'mcp-name': name }))
    t.match(read.body['result'], { resultType: 'complete', content: [{ type: 'text', text: /keel/ }] })
  }
})

t.test('errors of the revision without sessions', async (t) => {
  const { post } = await start(t)
  const CASES: [name: string, body: Json, headers: Record<string, string>, status: number, code: number][] = [
    [
      'another version',
      modern('tools/list'),
      { ...fields('tools/list'), 'mcp-protocol-version': '2025-11-25' },
      400,
      -32020,
    ],
    ['no version in the fields', modern('tools/list'), { 'mcp-method': 'tools/list' }, 400, -32020],
    ['no version in the message', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, fields('tools/list'), 400, -32020],
    ['another method', modern('tools/list'), fields('tools/call'), 400, -32020],
    ['no method', modern('tools/list'), { 'mcp-protocol-version': '2026-07-28' }, 400, -32020],
    [
      'another tool',
      modern('tools/call', { name: 'fetch' }),
      fields('tools/call', { 'mcp-name': 'search' }),
      400,
      -32020,
    ],
    [
      'an unknown version',
      { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      { 'mcp-protocol-version': '2099-01-01' },
      400,
      -32022,
    ],
    ['an unknown method', modern('resources/list'), fields('resources/list'), 404, -32601],
    ['initialize', modern('initialize'), fields('initialize'), 404, -32601],
  ]
  for (const [name, body, headers, status, code] of CASES) {
    const got = await post(body, headers)
    t.equal(got.status, status, name)
    t.match(got.body, { jsonrpc: '2.0', error: { code, message: String } }, name)
    if (code === -32022) t.match(got.body['error'].data, { supported: ['2026-07-28'], requested: '2099-01-01' })
  }
})

t.test('earlier revisions begin with initialize', async (t) => {
  const { post } = await start(t)
  const message = (method: string, params?: Json) => ({ jsonrpc: '2.0', id: 'a', method, params })
  for (const [asked, given] of [
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-03-26'],
    ['2024-11-05', '2025-11-25'],
  ]) {
    const { status, headers, body } = await post(
      message('initialize', { protocolVersion: asked, capabilities: {}, clientInfo: { name: 'x', version: '1' } }),
    )
    t.equal(status, 200)
    t.equal(headers['mcp-session-id'], undefined)
    t.match(body, {
      id: 'a',
      result: { protocolVersion: given, capabilities: { tools: {} }, serverInfo: { name: 'test.example/site' } },
    })
  }
  const notified = await post(
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { 'mcp-protocol-version': '2025-06-18' },
  )
  t.match(notified, { status: 202, body: { text: '' } })
  t.match(await post({ jsonrpc: '2.0', id: 1, result: {} }), { status: 202 }, 'a response')
  t.same((await post(message('ping'))).body, { jsonrpc: '2.0', id: 'a', result: {} })
  const list = await post(message('tools/list'), { 'mcp-protocol-version': '2025-11-25' })
  t.equal(list.body['result'].resultType, undefined)
  t.match(await post(message('resources/list')), { status: 200, body: { error: { code: -32601 } } })
  t.match(await post(message('tools/call', { name: 'rm' })), { status: 200, body: { error: { code: -32602 } } })
})

t.test('what is not a message of a client of this site', async (t) => {
  const { post, get } = await start(t)
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  const CASES: [name: string, got: Got, status: number, code?: number][] = [
    ['not JSON', await post('{'), 400, -32700],
    ['nothing', await post(''), 400, -32700],
    ['a batch', await post([ping]), 400, -32600],
    ['an empty batch', await post([]), 400, -32600],
    ['a text', await post('"x"'), 400, -32600],
    ['another version of JSON-RPC', await post({ ...ping, jsonrpc: '1.0' }), 400, -32600],
    ['no method', await post({ jsonrpc: '2.0', id: 1 }), 400, -32600],
    ['an id that is not one', await post({ ...ping, id: {} }), 400, -32600],
    ['params that are not an object', await post({ ...ping, params: [1] }), 400, -32600],
    ['a long body', await post({ ...ping, x: 'x'.repeat(70_000) }), 413],
    ['a very long body', await post('x'.repeat(3_000_000)), 413],
    ['another site', await post(ping, { origin: 'https://evil.test' }), 403],
    ['an opaque origin', await post(ping, { origin: 'null' }), 403],
    ['a form', await post(ping, { 'content-type': 'text/plain' }), 415],
  ]
  for (const [name, { status, body }, expected, code] of CASES) {
    t.equal(status, expected, name)
    if (code !== undefined) t.equal(body['error'].code, code, name)
  }
  t.equal((await post(ping, { origin: 'http://example.test' })).status, 200)
  for (const method of ['GET', 'DELETE', 'PUT'])
    t.match(await post(undefined, {}, { method }), { status: 405, headers: { allow: 'POST' } })
  t.equal((await get('/.well-known/mcp/other')).status, 404)
  const other = await site(t, pages)
  t.equal((await other.get('/.well-known/mcp')).status, 404, 'a zone without the option')
})

t.test('fetch reads pages of this site', async (t) => {
  const { call } = await start(t)
  for (const given of [
    { path: '/docs/start' },
    { url: 'http://example.test/docs/start#x' },
    { id: '/docs/start' },
    { path: '/docs/start.md' },
    { path: '/docs/../docs/./start' },
  ]) {
    const { content, structuredContent, isError } = await call('fetch', given)
    t.equal(isError, undefined)
    t.equal(content[0].text, '# First steps\n\nHow to sail a dinghy.\n', JSON.stringify(given))
    t.match(structuredContent, {
      title: 'First steps',
      url: /^http:\/\/example\.test\/docs\/start/,
      text: content[0].text,
    })
  }
  t.match((await call('fetch', { path: '/moved' })).structuredContent, { id: '/boats', title: 'Boats' })
  t.match((await call('fetch', { path: '/' })).structuredContent, { id: '/', title: '/' })
})

t.test('fetch has the address and the User-Agent of the client, and none of its credentials', async (t) => {
  const { call } = await start(t)
  const { content } = await call(
    'fetch',
    { path: '/who' },
    { 'user-agent': 'Agent/1', cookie: 'a=b', authorization: 'Basic eA==' },
  )
  t.equal(content[0].text.trim(), 'Agent/1 no cookie no key 127.0.0.1')
})

t.test('fetch returns long pages in parts', async (t) => {
  const { call } = await start(t)
  const first = (await call('fetch', { path: '/long' })).content[0].text as string
  t.match(first, /\n\n\[Cut at character 50000 of \d+\. Call fetch with offset 50000 to go on\.\]$/)
  const second = (await call('fetch', { path: '/long', offset: 50_000 })).content[0].text as string
  t.match(first.slice(0, 50_000) + second, /^# Long\n\n(?:word ){11999}word\n$/)
  t.match(await call('fetch', { path: '/long', offset: 10_000_000 }), { isError: true })
})

t.test('fetch reads nothing else', async (t) => {
  const { call } = await start(t)
  for (const [given, problem] of [
    [{ url: 'https://other.test/' }, /only pages of/],
    [{ url: 'http://127.0.0.1/' }, /only pages of/],
    [{ url: 'http://example.test:81/' }, /only pages of/],
    [{ url: 'http://user@example.test/' }, /only pages of/],
    [{ url: 'file:///etc/passwd' }, /only pages of/],
    [{ url: 'http://example.test.evil.test/' }, /only pages of/],
    [{ path: '//other.test/x' }, /only pages of/],
    [{ path: '/\\other.test/x' }, /only pages of/],
    [{ path: '/.well-known/mcp' }, /is not a page/],
    [{ path: '/.well-known/%6dcp?x' }, /is not a page/],
    [{ path: '/x/../.well-known//mcp/' }, /is not a page/],
    [{ path: '/to-mcp' }, /is not a page/],
    [{ path: '/away' }, /only pages of/],
    [{ path: '/loop' }, /redirects more than 3 times/],
    [{ path: '/none' }, /has status 404/],
    [{ path: '/image' }, /is not text/],
    [{ path: `/${'x'.repeat(3000)}` }, /longer than/],
  ] as const)
    t.match(
      await call('fetch', given),
      { isError: true, content: [{ type: 'text', text: problem }] },
      JSON.stringify(given).slice(0, 60),
    )
  for (const given of [
    {},
    { path: 'x' },
    { path: 1 },
    { path: '/', url: '/' },
    { path: '/', offset: -1 },
    { path: '/', offset: 'x' },
  ])
    t.match(await call('fetch', given), { code: -32602 }, JSON.stringify(given))
  t.match(await call('fetch', 'x'), { code: -32602 })
})

t.test('search finds pages of the list by title and pages that were read by their words', async (t) => {
  const { call, get } = await start(t)
  const titles = async (query: string, more = {}) => {
    const { structuredContent, content } = await call('search', { query, ...more })
    t.same(JSON.parse(content[0].text), structuredContent)
    return structuredContent.results.map(({ title }: Json) => title)
  }
  t.same(await titles('start'), ['Start here'])
  t.same(await titles('dinghy'), [], 'the page was not read yet')
  await get('/docs/start')
  const { structuredContent } = await call('search', { query: 'DINGHY sail' })
  t.same(structuredContent.results, [
    {
      id: '/docs/start',
      title: 'First steps',
      url: 'http://example.test/docs/start',
      snippet: 'How to sail a dinghy.',
    },
  ])
  await call('fetch', { path: '/boats' })
  t.same(await titles('keel'), ['Boats'])
  await get('/private')
  await get('/boats', { headers: { cookie: 'a=b' } })
  t.same(await titles('zebra'), [], 'a private page is not found')
  t.same(await titles('boats steps', { limit: 1 }), ['Boats'])
  for (const given of [
    {},
    { query: 1 },
    { query: 'x'.repeat(2000) },
    { query: 'x', limit: 0 },
    { query: 'x', limit: 100 },
  ])
    t.match(await call('search', given), { code: -32602 })
  t.same(await titles(''), [])
})

t.test('calls are limited for each address', async (t) => {
  const { post } = await start(t)
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'search', arguments: { query: 'x' } } }
  const statuses = new Set<number>()
  let last: Got | undefined
  for (let i = 0; i < 121; i++) {
    last = await post(call)
    statuses.add(last.status)
  }
  t.same([...statuses], [200, 429])
  t.match(last, { status: 429, headers: { 'retry-after': /^\d+$/ } })
  t.equal((await post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status, 200, 'other methods are not')
})

t.test('four calls at a time', async (t) => {
  const held: (() => void)[] = []
  const { post } = await start(t, (request, response) => {
    if (request.url === '/slow') held.push(() => response.writeHead(200, HTML).end('<p>late'))
    else pages(request, response)
  })
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'fetch', arguments: { path: '/slow' } } }
  const running = Array.from({ length: 4 }, async () => await post(call))
  while (held.length < 4) await new Promise((resolve) => setImmediate(resolve))
  t.match(await post(call), { status: 429, headers: { 'retry-after': '1' } })
  for (const end of held) end()
  for (const { status } of await Promise.all(running)) t.equal(status, 200)
  const again = post(call)
  while (held.length < 5) await new Promise((resolve) => setImmediate(resolve))
  held[4]!()
  t.equal((await again).status, 200)
})
