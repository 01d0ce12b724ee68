import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/core/clock.js'
import type { LogRecord } from '../../../src/core/emit.js'
import { silentLog } from '../../../src/core/log.js'
import { MemoryBudget } from '../../../src/core/memory/memory-budget.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { ListedPages } from '../../../src/edge/agents/mcp/listed-pages.js'
import { observingStage } from '../../../src/edge/agents/mcp/observed-page.js'
import { PageIndex } from '../../../src/edge/agents/mcp/page-index.js'
import type { Caller } from '../../../src/edge/agents/mcp/read-page.js'
import type { Exchange } from '../../../src/edge/exchange/exchange.js'
import { markdownStage } from '../../../src/edge/markdown/stage.js'
import { Signer, testIdentity } from '../../helpers/agents.js'
import { startOrigin, startProxy, testZone } from '../../helpers/proxy.js'

type Json = Record<string, any>

const LIST = ['open', 'closed', 'free/a', 'sold'].map((path) => `- [Herons of ${path}](/${path})`).join('\n')

/** Starts a site with an MCP server whose zone has these members. */
async function openSite(t: Test, members: string) {
  const asked: string[] = []
  const origin = await startOrigin(t, ({ url = '', headers }, response) => {
    asked.push(url)
    if (url === '/llms.txt' || url === '/sitemap.xml') {
      response.writeHead(url === '/llms.txt' ? 200 : 404, { 'content-type': 'text/plain' }).end(LIST)
      return
    }
    response.writeHead(headers.authorization === undefined || url !== '/whoami' ? 200 : 500, {
      'content-type': 'text/html',
      ...(url === '/noindex' && { 'x-robots-tag': 'bot: noindex' }),
    })
    response.end(`<title>${url}</title><p>pelicans ${url}`)
  })
  const signer = new Signer()
  const agents = testIdentity(t, { fetchKeys: signer.fetchKeys })
  const receipts: LogRecord[] = []
  const emitter = {
    wants: () => true,
    emit: () => undefined,
    save: async (_dataset: string, _scope: unknown, record: LogRecord) => void receipts.push(record),
  }
  const monotonic = () => systemClock.monotonic()
  const pages = new PageIndex(1_000_000, monotonic)
  const proxy = await startProxy(
    t,
    [testZone(origin.url, `hostnames: ['*'], settings: { content_converter: on }, ${members}`)],
    {
      yaml: '{ trusted_proxies: [127.0.0.1] }',
      agents,
      emitter,
      pages,
      stages: [
        observingStage(pages, monotonic),
        markdownStage({
          memory: new MemoryBudget(64_000_000),
          metrics: openMetrics({ process: false }),
          log: silentLog,
        }),
      ],
    },
  )
  const send = async (body: string | object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${proxy.url}/.well-known/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-proto': 'https', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body: text.startsWith('{') ? (JSON.parse(text) as Json) : {},
    }
  }
  const call = async (name: string, given: Json, headers: Record<string, string> = {}) => {
    const {
      status,
      headers: got,
      body,
    } = await send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } }, headers)
    const result = (body['result'] ?? {}) as Json
    return {
      status,
      text: String(result['content']?.[0]?.text ?? ''),
      isError: result['isError'] === true,
      got,
      result,
    }
  }
  const found = async (headers: Record<string, string> = {}, query = 'herons pelicans') =>
    ((await call('search', { query, limit: 20 }, headers)).result['structuredContent']?.results ?? [])
      .map(({ id }: Json) => String(id))
      .sort()
  const read = async (path: string, headers: Record<string, string> = {}) =>
    await (
      await fetch(proxy.url + path, { headers: { accept: 'text/markdown', 'x-forwarded-proto': 'https', ...headers } })
    ).text()
  const authority = `127.0.0.1:${proxy.port}`
  const signed = (fields: Record<string, string> = {}, nonce = '1') => signer.fields(authority, { fields, nonce })
  await fetch(`${proxy.url}/robots.txt`, { headers: { 'x-forwarded-proto': 'https', ...signed() } })
  await agents.directories.settled()
  return { send, call, found, read, signed, asked, receipts, proxy }
}

const CRAWLER = { 'user-agent': 'meta-externalagent/1.1' }

t.test('a blocked agent reads nothing through the server, a verified one does', async (t) => {
  const { send, call, signed } = await openSite(
    t,
    'agents: { mcp: true, access: [{ who: { operator: Meta, verified: true }, do: allow }, { who: { category: ai_crawler }, do: block }] }',
  )
  t.equal((await send({ jsonrpc: '2.0', id: 1, method: 'ping' }, CRAWLER)).status, 403)
  t.equal((await call('fetch', { path: '/open' }, CRAWLER)).status, 403)
  const verified = await call('fetch', { path: '/open' }, { ...CRAWLER, ...signed() })
  t.match(verified.text, /pelicans/, 'the signature of the call counts for the page')
})

t.test('a page that is sold is sold through the server too, once, and its words are not shown', async (t) => {
  const { call, found, read, signed, receipts } = await openSite(
    t,
    'agents: { mcp: true, access: [{ who: { operator: Meta }, do: pay, price: USD 0.5, free: [/free/*] }] }',
  )
  await read('/sold', { 'user-agent': 'Mozilla/5.0' })
  t.same(await found({ 'user-agent': 'Mozilla/5.0' }), ['/closed', '/free/a', '/open', '/sold'])
  t.same(await found(CRAWLER), ['/free/a'])
  const refused = await call('fetch', { path: '/sold' }, CRAWLER)
  t.ok(refused.isError)
  t.match(refused.text, /costs USD 0\.5 \(MissingCrawlerPrice\)/)
  t.match((await call('fetch', { path: '/free/a' }, CRAWLER)).text, /pelicans/)
  for (const path of ['/free/%2e%2e/sold', '/free/..%2fsold', '//free/a'])
    t.ok((await call('fetch', { path }, CRAWLER)).isError, path)
  const paying = { ...CRAWLER, ...signed({ 'crawler-max-price': 'USD 1' }, '2') }
  const bought = await call('fetch', { path: '/sold' }, paying)
  t.match(bought.text, /pelicans/)
  t.equal(bought.got.get('crawler-charged'), 'USD 0.5')
  t.match(receipts, [{ path: '/sold', agent: 'Meta-ExternalAgent', price: '0.5' }])
  t.ok((await call('fetch', { path: '/open' }, paying)).isError, 'the signature has paid')
  const unsigned = await call('fetch', { path: '/open' }, { ...CRAWLER, 'crawler-max-price': 'USD 1' })
  t.match(unsigned.text, /StrongAuthRequired/)
  t.equal(receipts.length, 1)
})

t.test('what needs authentication is neither read nor found', async (t) => {
  const { call, found, read } = await openSite(
    t,
    `markdown: { md_addresses: true }, agents: { mcp: true },
      paths: [{ path: '/closed*', auth: { basic: { realm: R, users: { a: '$2y$04$0123456789012345678901uMrkgMqD5Z0pbZk2bJhQ8yYcPJ7xQb6' } } } }]`,
  )
  const key = { authorization: `Basic ${Buffer.from('a:b').toString('base64')}`, cookie: 'session=1' }
  for (const path of ['/closed', '/closed.md', '/%63losed', '/open/../closed', '/open/%2e%2e/closed', '/./closed']) {
    const { isError, text } = await call('fetch', { path }, key)
    t.ok(isError, path)
    t.notMatch(text, /pelicans/)
  }
  await read('/open')
  t.same(await found(), ['/free/a', '/open', '/sold'])
})

t.test('pages of one client are not shown to others', async (t) => {
  const { found, read } = await openSite(t, 'agents: { mcp: true }')
  await read('/cookie', { cookie: 'a=1' })
  await read('/key', { 'x-api-key': '1' })
  await read('/token', { 'x-auth-token': '1' })
  await read('/access', { 'cf-access-client-secret': '1' })
  await read('/noindex')
  await read('/invite?code=secret')
  await read('/public')
  t.same(await found({}, 'pelicans'), ['/public'])
})

t.test('only pages of the host are read', async (t) => {
  const { call, asked } = await openSite(t, 'agents: { mcp: true }')
  asked.length = 0
  for (const given of [
    { url: 'https://evil.test/' },
    { url: '//evil.test/' },
    { url: '\\\\evil.test\\a' },
    { url: 'https://127.0.0.1:1/' },
    { url: 'file:///etc/passwd' },
    { url: 'javascript:alert(1)' },
    { id: 'http://user@127.0.0.1/' },
    { id: 'data:text/html,x' },
    { path: '/.well-known/mcp' },
    { path: '/.well-known/%6dcp/' },
    { path: `/${'x'.repeat(5000)}` },
  ])
    t.ok((await call('fetch', given)).isError, JSON.stringify(given).slice(0, 60))
  t.same(asked, [])
})

t.test('a list that one client cannot read is read again for the next, and few sites are remembered', async (t) => {
  let now = 0
  let status = 429
  let reads = 0
  const index = new PageIndex(1_000_000, () => now)
  const listed = new ListedPages(index, () => now)
  const callerOf = (host: string): Caller => ({
    exchange: {
      zone: testZone('http://127.0.0.1:1'),
      scheme: 'https',
      host,
      rawHeaders: ['host', host],
    } as unknown as Exchange,
    connection: undefined as never,
    get: () => {
      reads++
      const response = { status, headers: [], body: Buffer.from(LIST), isWhole: true }
      return { response: Promise.resolve(response), cancel: () => undefined }
    },
    cancels: new Set(),
  })
  await listed.know(callerOf('a.test'))
  t.equal(reads, 2, 'the list and the sitemap')
  status = 200
  await listed.know(callerOf('a.test'))
  t.equal(reads, 2)
  now += 5000
  await listed.know(callerOf('a.test'))
  t.equal(reads, 3)
  now += 5000
  await listed.know(callerOf('a.test'))
  t.equal(reads, 3, 'a list that was read stays known')
  for (let at = 0; at < 1000; at++) await listed.know(callerOf(`${at}.test`))
  await listed.know(callerOf('a.test'))
  t.equal(reads, 1004, 'the site that was read first is forgotten')
})

t.test('hostile messages get an error, and the server goes on', async (t) => {
  const { send, call, proxy } = await openSite(t, 'agents: { mcp: true }')
  const nested = `${'['.repeat(30_000)}${']'.repeat(30_000)}`
  const VERSION = 'io.modelcontextprotocol/protocolVersion'
  const hostile: [string, number][] = [
    [nested, 400],
    [`${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}`, 400],
    [`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"${VERSION}":${nested}}}}`, 400],
    [`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${nested}}}`, 200],
    [`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":{"path":${nested}}}}`, 200],
    [`{"jsonrpc":"2.0","id":${nested},"method":"ping"}`, 400],
    [
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":{"path":"/","offset":1e308}}}`,
      200,
    ],
    [`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"__proto__","arguments":{}}}`, 200],
    [`{"__proto__":{"jsonrpc":"2.0"},"id":1,"method":"ping"}`, 400],
    [JSON.stringify(Array.from({ length: 500 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }))), 400],
    [`"${'x'.repeat(70_000)}"`, 413],
    ['', 400],
    ['\ud800', 400],
  ]
  for (const [body, status] of hostile) {
    const got = await send(body, { 'mcp-session-id': 'x'.repeat(1000) })
    t.equal(got.status, status, body.slice(0, 80))
    t.ok(got.body['error'], 'an error of JSON-RPC')
    t.equal(got.headers.get('mcp-session-id'), null)
  }
  const slow = connect(proxy.port, '127.0.0.1')
  t.teardown(() => slow.destroy())
  slow.write(
    'POST /.well-known/mcp HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{"jsonrpc"',
  )
  t.match((await call('fetch', { path: '/open' })).text, /pelicans/, 'a slow body delays nobody')
})
