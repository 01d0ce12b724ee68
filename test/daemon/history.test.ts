import { once } from 'node:events'
import { connect as connect2 } from 'node:http2'
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { readConfig } from '../../src/config/load.js'
import { silentLog } from '../../src/core/log.js'
import { startDaemon, type Daemon } from '../../src/daemon/index.js'
import { testFolder } from '../helpers/folder.js'
import { startOrigin } from '../helpers/proxy.js'
import { tlsFile } from '../helpers/tls.js'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const OTHER = '8f1839b6152d298aca64c4e906b6d075'
const ADMIN = 'admin-token-0123456789-abcdefghijklmnop'
const OF_ZONE = 'zone-token-0123456789-abcdefghijklmnop'
const NOTHING = 'less-token-0123456789-abcdefghijklmnop'

const PAGE = `<!doctype html><title>Page</title><p>${'Some words of the page. '.repeat(20)}</p>`

interface Totals {
  readonly requests: number
  readonly bytes: number
  readonly errors: number
  readonly cached_bytes: number
  readonly statuses: Readonly<Record<string, number>>
  readonly cache: Readonly<Record<string, number>>
  readonly markdown: Readonly<Record<string, number>>
  readonly duration_ms: { readonly p50: number | null }
}
interface Analytics {
  readonly step_seconds: number
  readonly partial_from: string | null
  readonly machines: string
  readonly totals: Totals
  readonly points: readonly (Totals & { readonly at: string })[]
  readonly groups: readonly (Totals & {
    readonly key: string
    readonly name: string
    readonly points: readonly Totals[]
  })[]
  readonly other: Totals
  readonly coverage: readonly object[]
}

interface Answer {
  readonly status: number
  readonly result: unknown
  readonly errors: readonly { source?: { pointer: string } }[]
}

interface Site {
  readonly daemon: Daemon
  /** Configuration with other members. */
  readonly config: (more?: object) => ReturnType<typeof readConfig>
  readonly get: (path: string, headers?: OutgoingHttpHeaders, host?: string) => Promise<number>
  readonly api: (path: string, token?: string) => Promise<Answer>
  readonly counts: (query?: string) => Promise<Analytics>
}

/** Starts a daemon with two zones in front of an origin. */
async function started(t: Test, more: object = {}): Promise<Site> {
  const { url } = await startOrigin(t, (request, response) => {
    if (request.url === '/broken') {
      response.socket?.destroy()
      return
    }
    if (request.url === '/missing') response.statusCode = 404
    if (request.url?.startsWith('/cached')) response.setHeader('cache-control', 'max-age=600')
    response.setHeader('content-type', 'text/html')
    response.end(PAGE)
  })
  const folder = testFolder(t)
  const listen = { listen: '127.0.0.1:0' }
  const zone = (id: string, name: string) => ({
    id,
    account: ACCOUNT,
    name,
    origin: url,
    retries: 0,
    settings: { content_converter: 'on' },
    rules: {
      http_request_firewall_custom: [
        { expression: 'http.request.uri.path eq "/private"', action: 'block', description: 'No entry' },
      ],
    },
    agents: { access: [{ who: { name: 'GPTBot' }, do: 'markdown' }] },
  })
  const config = (other: object = {}) =>
    readConfig(
      stringify({
        data: './data',
        proxy: {
          ...listen,
          tls: {
            ...listen,
            http2: 'on',
            certificates: [{ cert_file: tlsFile('cert.pem'), key_file: tlsFile('key.pem') }],
          },
        },
        control: listen,
        admin: listen,
        accounts: [{ id: ACCOUNT, name: 'A' }],
        zones: [zone(ZONE, 'receiver.test'), zone(OTHER, 'b.test')],
        tokens: [
          { name: 'admin', token: ADMIN, permissions: ['*'] },
          { name: 'zone', token: OF_ZONE, permissions: ['*'], accounts: [ACCOUNT], zones: [ZONE] },
          { name: 'nothing', token: NOTHING, permissions: ['Logs Read'] },
        ],
        ...more,
        ...other,
      }),
      join(folder, 'edged.yaml'),
      {},
    )
  const daemon = await startDaemon(config(), { log: silentLog })
  t.teardown(async () => await daemon.close())
  const api: Site['api'] = async (path, token = ADMIN) => {
    const response = await fetch(`${daemon.control}${path}`, { headers: { authorization: `Bearer ${token}` } })
    const body = (await response.json()) as object
    return { status: response.status, ...body } as never
  }
  return {
    daemon,
    config,
    api,
    async get(path, headers = {}, host = 'receiver.test') {
      const sent = httpRequest(`${daemon.proxy}${path}`, { headers: { host, ...headers }, agent: false })
      sent.end()
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      response.resume()
      await once(response, 'close')
      return response.statusCode ?? 0
    },
    counts: async (query = '') => (await api(`/zones/${ZONE}/edged/analytics?${query}`)).result as Analytics,
  }
}

t.test('each request is counted once, whatever responds', async (t) => {
  const { daemon, get, counts } = await started(t)
  const sent: Record<string, number> = {}
  const send = async (path: string, headers?: OutgoingHttpHeaders): Promise<void> => {
    const status = await get(path, headers)
    sent[status] = (sent[status] ?? 0) + 1
  }
  await send('/')
  await send('/?secret=1')
  await send('/missing')
  await send('/private')
  await send('/broken')
  for (let i = 0; i < 3; i++) await send('/cached.css')
  await send('/', { accept: 'text/markdown' })
  const session = connect2(daemon.proxyTls!, { rejectUnauthorized: false, servername: 'receiver.test' })
  const stream = session.request({ ':path': '/h2', ':authority': 'receiver.test' })
  stream.resume()
  await once(stream, 'close')
  session.close()
  sent[200] = (sent[200] ?? 0) + 1
  await get('/', {}, 'nobody.test')

  const { totals, points, groups, other, coverage, machines, partial_from: partial } = await counts('by=status')
  const total = Object.values(sent).reduce((sum, each) => sum + each, 0)
  t.equal(totals.requests, total)
  t.equal(
    points.reduce((sum, { requests }) => sum + requests, 0),
    total,
  )
  t.same(Object.fromEntries(groups.map(({ key, requests }) => [key, requests])), sent)
  t.equal(other.requests, 0)
  t.equal(totals.errors, sent[502])
  t.match(totals.statuses, { '2xx': sent[200], '4xx': 2, '5xx': 1 })
  t.match(totals.cache, { hit: 2, miss: 1 })
  t.equal(totals.cached_bytes, 2 * PAGE.length)
  t.match(totals.markdown, { converted: 1, refused: 0, failed: 0, html_bytes: PAGE.length })
  t.ok(totals.markdown['tokens']! > 0 && totals.markdown['tokens']! < totals.markdown['html_tokens']!)
  t.ok(totals.duration_ms.p50! > 0)
  t.ok(partial !== null && coverage.length === 1)
  t.equal(machines, 'this')

  const by = async (query: string): Promise<Record<string, number>> =>
    Object.fromEntries((await counts(query)).groups.map(({ key, requests }) => [key, requests]))
  t.same(await by('by=path'), { '/': 3, '/cached.css': 3, '/missing': 1, '/private': 1, '/broken': 1, '/h2': 1 })
  t.same(await by('by=path&limit=1&filter=path:/cached.css'), { '/cached.css': 3 })
  t.same(await by('by=host'), { 'receiver.test': total })
  t.same(await by('by=method'), { GET: total })
  t.same(await by('by=cache&filter=cache:hit'), { hit: 2 })
  const [rule] = (await counts('by=rule')).groups
  t.match(rule, { name: 'No entry', requests: 1, statuses: { '4xx': 1 } })
  t.equal((await counts('filter=status:404')).totals.requests, 1)
})

t.test('agents are reported with what they got', async (t) => {
  const { get, api, counts } = await started(t)
  const agent = { 'user-agent': 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)' }
  for (let i = 0; i < 3; i++) await get('/cached', agent)
  await get('/missing', agent)
  await get('/', { 'user-agent': 'Mozilla/5.0' })
  const { status, result } = await api(`/zones/${ZONE}/edged/agents`)
  t.equal(status, 200)
  t.match(result, [
    {
      name: 'GPTBot',
      operator: 'OpenAI',
      category: 'ai_crawler',
      requests: 4,
      markdown_requests: 3,
      verified: { none: 4, address: 0, signature: 0 },
      actions: { markdown: 4 },
      charged: {},
      paths: [
        { path: '/cached', requests: 3 },
        { path: '/missing', requests: 1 },
      ],
    },
  ])
  const [{ tokens, tokens_saved: saved } = {}] = result as { tokens?: number; tokens_saved?: number }[]
  t.ok(tokens! > 0 && saved! > 0)
  t.equal((result as object[]).length, 1, 'other clients are no agents')
  t.same(
    (await counts('by=path&filter=agent:GPTBot')).groups.map(({ key, requests }) => [key, requests]),
    [
      ['/cached', 3],
      ['/missing', 1],
    ],
  )
  t.equal((await counts('by=agent,path')).groups[0]?.key, 'GPTBot,/cached')
  const long = await api(`/zones/${ZONE}/edged/agents?since=2020-01-01&until=2020-02-01`)
  t.same(long.result, [])
})

t.test('an account sees the zones that its token sees', async (t) => {
  const { get, api } = await started(t)
  await get('/')
  await get('/x', {}, 'b.test')
  await get('/y', {}, 'b.test')
  const path = `/accounts/${ACCOUNT}/edged/analytics?by=zone`
  const whole = (await api(path)).result as Analytics
  t.equal(whole.totals.requests, 3)
  t.same(
    whole.groups.map(({ key, name, requests }) => [key, name, requests]),
    [
      [OTHER, 'b.test', 2],
      [ZONE, 'receiver.test', 1],
    ],
  )
  const part = (await api(path, OF_ZONE)).result as Analytics
  t.equal(part.totals.requests, 1)
  t.same(
    part.groups.map(({ key }) => key),
    [ZONE],
  )
  t.equal((await api(`/zones/${OTHER}/edged/analytics`, OF_ZONE)).status, 403)
  for (const each of [path, `/zones/${ZONE}/edged/analytics`, `/zones/${ZONE}/edged/agents`])
    t.equal((await api(each, NOTHING)).status, 403, each)
})

t.test('a query that is none is refused at its parameter', async (t) => {
  const { api } = await started(t)
  const refused: readonly [query: string, pointer: string][] = [
    ['since=yesterday', '/since'],
    ['until=-1', '/until'],
    ['since=2026-01-02&until=2026-01-01', '/since'],
    ['since=2020-01-01&until=2026-01-01', '/since'],
    ['step=5', '/step'],
    ['step=10&since=2026-01-01&until=2026-02-01', '/step'],
    ['by=colour', '/by'],
    ['by=charge', '/by'],
    ['by=zone', '/by'],
    ['limit=0', '/limit'],
    ['limit=101', '/limit'],
    ['filter=GPTBot', '/filter'],
    ['filter=colour:red', '/filter'],
    ['by=status&filter=agent:GPTBot', '/filter'],
    ['sinse=1', '/sinse'],
  ]
  for (const [query, pointer] of refused) {
    const { status, errors } = await api(`/zones/${ZONE}/edged/analytics?${query}`)
    t.equal(status, 400, query)
    t.equal(errors[0]?.source?.pointer, pointer, query)
  }
  const { result } = await api(`/zones/${ZONE}/edged/analytics?since=1767225600&until=1767312000`)
  t.equal((result as Analytics).step_seconds, 86_400, 'only whole days are kept of that time')
})

t.test('a reload switches the history off and on', async (t) => {
  const { daemon, config, get, counts } = await started(t)
  await get('/')
  t.equal((await counts()).totals.requests, 1)
  await daemon.reload(config({ history: false }))
  await get('/')
  t.match(await counts(), { totals: { requests: 0 }, coverage: [] })
  await daemon.reload(config())
  await get('/')
  t.equal((await counts()).totals.requests, 2)
})
