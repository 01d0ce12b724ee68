import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { testFolder, textsBelow } from '../helpers/folder.js'
import { ACCOUNT, liveDaemon, until, ZONE, type LiveDaemon } from '../helpers/live-daemon.js'

const ADMIN = 'admin-token-0123456789-abcdefghijklmnop'
/** May read rules of the account and of no zone. */
const NARROW = 'rules-token-0123456789-abcdefghijklmnop'
const PATH = `/zones/${ZONE}/edged/requests`
const RULES = {
  http_request_firewall_custom: [
    { expression: 'http.request.uri.path eq "/private"', action: 'block', description: 'No entry' },
  ],
}

/** An origin whose path `/status/NNN` responds with that status. */
async function origin(t: Test): Promise<string> {
  const server = createServer((request, response) => {
    response.statusCode = Number(/^\/status\/(\d{3})/.exec(request.url ?? '')?.[1] ?? 200)
    response.setHeader('set-cookie', 'session=secret-of-the-origin')
    response.setHeader('content-type', 'text/html')
    response.end('<h1>Hello</h1><p>World</p>')
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const started = async (t: Test, folder: string, url: string, history = {}) =>
  await liveDaemon(t, folder, {
    history,
    zone: { origin: url, settings: { content_converter: 'on' }, rules: RULES },
  })

/** Returns the kept requests as soon as there are so many. */
const kept = async ({ call }: LiveDaemon, requests: number, query = '') =>
  await until(async () => {
    const { body } = await call('GET', `${PATH}${query}`)
    return body.result.length >= requests ? body : undefined
  })

t.test('finished requests are listed, found and survive a restart', async (t) => {
  const folder = testFolder(t)
  const url = await origin(t)
  const first = await started(t, folder, url)
  const page = await first.visit('/page?token=hidden', { accept: 'text/markdown', cookie: 'a=secret-cookie' })
  const blocked = await first.visit('/private', { authorization: 'Basic c2VjcmV0' })
  const failed = await first.visit('/status/503', { 'user-agent': 'GPTBot/1.0' })
  const { result } = await kept(first, 3)
  t.match(result, [
    { ray_id: failed.ray, status: 503, path: '/status/503', agent: 'GPTBot', agent_verified: 'none' },
    { ray_id: blocked.ray, status: 403, agent: null, cache_status: null, sample_interval: 1 },
    { ray_id: page.ray, status: 200, path: '/page', query: '', markdown: 'converted', method: 'GET' },
  ])
  const { body: one } = await first.call('GET', `${PATH}/${blocked.ray}`)
  t.match(one.result.rules, [{ phase: 'http_request_firewall_custom', name: 'No entry', action: 'block' }])
  t.equal(one.result.origin, null)
  const { body: other } = await first.call('GET', `${PATH}/${failed.ray}`)
  t.match(other.result.origin, { url, status: 503, tries: 1 })
  t.strictSame(
    other.result.phases.map(({ name }: { name: string }) => name),
    ['rules', 'cache', 'origin', 'send'],
  )
  t.equal(one.result.cache_reason, null, 'the cache was not asked')
  t.match(other.result.cache_reason, /^The path has no extension of a static file/)
  const cookie = await first.visit('/page.css')
  await kept(first, 4)
  const { body: bypassed } = await first.call('GET', `${PATH}/${cookie.ray}`)
  t.match(bypassed.result, { cache_status: 'BYPASS', cache_reason: 'The response sets a cookie.' })
  t.match(other.result.fields, { request: { 'user-agent': 'GPTBot/1.0' }, response: { 'content-type': 'text/html' } })
  for (const secret of ['secret', 'hidden', 'c2VjcmV0'])
    for (const text of await textsBelow(`${folder}/data/requests`)) t.notMatch(text, secret)
  await first.close()

  const second = await started(t, folder, url)
  const later = await second.visit('/later')
  t.strictSame(
    (await kept(second, 5)).result.map(({ ray_id }: { ray_id: string }) => ray_id),
    [later.ray, cookie.ray, failed.ray, blocked.ray, page.ray],
  )
  const missing = await second.call('GET', `${PATH}/${'0'.repeat(16)}`)
  t.equal(missing.status, 404)
  t.match(missing.body, { success: false, kept_from: /^2\d{3}-/, sampled: false, coverage: { machines: 1 } })
  const { body: listed } = await second.call('GET', PATH)
  t.strictSame(listed.result_info.coverage, { machines: 1, missing: [] })
  const unknown = await second.call('GET', `${PATH}?filter=${encodeURIComponent('http.request.uri.pth eq "/"')}`)
  t.match(unknown, {
    status: 400,
    body: { errors: [{ message: /did you mean http\.request\.uri\.path\?$/, source: { pointer: '/filter' } }] },
  })
})

t.test('lists are filtered and read page by page', async (t) => {
  const live = await started(t, testFolder(t), await origin(t), { queries: true })
  for (let i = 0; i < 5; i++) {
    await live.visit(`/status/${i % 2 ? 404 : 200}?i=${i}`)
    // Requests of one millisecond have no order.
    await sleep(2)
  }
  await kept(live, 5)
  const filter = encodeURIComponent('http.response.code eq 404 and http.request.uri.query contains "i="')
  const { body } = await live.call('GET', `${PATH}?filter=${filter}`)
  t.strictSame(
    body.result.map(({ query }: { query: string }) => query),
    ['?i=3', '?i=1'],
  )
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const next = cursor === undefined ? '' : `&cursor=${cursor}`
    const { body: page } = await live.call('GET', `${PATH}?limit=2${next}`)
    seen.push(...page.result.map(({ query }: { query: string }) => query))
    cursor = page.result_info.cursor
  } while (cursor !== undefined)
  t.strictSame(seen, ['?i=4', '?i=3', '?i=2', '?i=1', '?i=0'])
  const dynamic = encodeURIComponent('any(http.response.headers["cf-cache-status"][*] eq "DYNAMIC")')
  t.equal((await live.call('GET', `${PATH}?filter=${dynamic}`)).body.result.length, 5, 'what the cache did')
  const ray = body.result[0].ray_id
  t.match((await live.call('GET', `${PATH}?ray=${ray}`)).body.result, [{ ray_id: ray }])
  t.strictSame((await live.call('GET', `${PATH}?until=2020-01-01`)).body.result, [])
  for (const [query, pointer] of [
    ['filter=nothing', '/filter'],
    ['since=yesterday', '/since'],
    ['since=2026-02-01&until=2026-01-01', '/since'],
    ['cursor=abc', '/cursor'],
    ['ray=1', '/ray'],
    ['limit=0', '/limit'],
    ['filters=1', '/filters'],
  ] as const) {
    const { status, body: refused } = await live.call('GET', `${PATH}?${query}`)
    t.equal(status, 400, query)
    t.equal(refused.errors[0].source.pointer, pointer)
  }
})

t.test('a dry run counts what a rule would have matched', async (t) => {
  const tokens = [
    { name: 'admin', token: ADMIN, permissions: ['*'], accounts: ['*'], zones: ['*'] },
    { name: 'rules', token: NARROW, permissions: ['Account Rulesets Read'], accounts: ['*'], zones: [] },
  ]
  const live = await liveDaemon(t, testFolder(t), { tokens, zone: { origin: await origin(t) } })
  await live.visit('/a', { 'user-agent': 'GPTBot/1.0' })
  const { ray } = await live.visit('/status/404')
  await kept(live, 2)
  const run = async (body: object) => await live.call('POST', `/zones/${ZONE}/edged/rules/dry-run`, body)
  const phase = 'http_request_firewall_custom'
  t.match((await run({ phase, expression: 'http.request.uri.path contains "status"' })).body.result, {
    matched: 1,
    examined: 2,
    statuses: { 404: 1 },
    agents: {},
    samples: [ray],
  })
  t.match((await run({ phase, expression: 'edged.agent.category eq "ai_crawler"' })).body.result, {
    matched: 1,
    agents: { GPTBot: 1 },
  })
  t.match((await run({ phase, expression: 'true', since: '2999-01-01' })).body.result, { matched: 0, examined: 0 })
  const ofAccount = async (body: object, token?: string) =>
    await live.call('POST', `/accounts/${ACCOUNT}/edged/rules/dry-run`, body, token)
  t.match((await ofAccount({ phase, expression: 'http.request.uri.path contains "status"' })).body.result, {
    matched: 1,
    examined: 2,
    statuses: { 404: 1 },
    samples: [ray],
    zones: [{ id: ZONE, name: 'example.test', matched: 1, examined: 2, samples: [ray] }],
    zones_left_out: 0,
    coverage: { machines: 1, missing: [] },
  })
  const invalid = await ofAccount({ phase, expression: 'http.response.code eq 1' })
  t.match(invalid, { status: 400, body: { errors: [{ source: { pointer: '/expression' } }] } })
  t.match(
    (await ofAccount({ phase, expression: 'true' }, NARROW)).body.result,
    { examined: 0, zones: [] },
    'no zone seen',
  )
  for (const [body, pointer] of [
    [{ phase, expression: 'http.response.code eq 1' }, '/expression'],
    [{ phase, expression: 'true', since: 'now' }, '/since'],
    [{ phase: 'none', expression: 'true' }, '/phase'],
  ] as const) {
    const { status, body: refused } = await run(body)
    t.equal(status, 400)
    t.equal(refused.errors[0].source.pointer, pointer)
  }
})

t.test('a live session shows requests as they come', async (t) => {
  const live = await started(t, testFolder(t), await origin(t))
  const open = async (body?: object) => await live.call('POST', `${PATH}/tail`, body)
  t.match((await open({ filter: 'nothing' })).body.errors, [{ source: { pointer: '/filter' } }])
  const { body } = await open({ filter: 'http.request.uri.path ne "/hidden"' })
  const socket = new WebSocket(body.result.url)
  t.teardown(() => socket.terminate())
  const texts: string[] = []
  socket.on('message', (data: Buffer, isBinary) => {
    if (!isBinary) texts.push(...data.toString().trimEnd().split('\n'))
  })
  await new Promise((resolve) => socket.once('open', resolve))
  const shown: string[] = []
  // A session reads what is written after it has begun.
  await until(async () => {
    await live.visit('/hidden')
    shown.push((await live.visit('/shown')).ray)
    return texts.length > 0 || undefined
  })
  for (const text of texts) t.match(JSON.parse(text), { path: '/shown', status: 200 })
  t.ok(shown.includes(JSON.parse(texts[0]!).ray_id))
})

t.test('addresses are cut, and nothing is kept where nothing is wanted', async (t) => {
  const url = await origin(t)
  const folder = testFolder(t)
  const cut = await started(t, folder, url, { anonymise: true })
  await cut.visit('/a')
  t.match((await kept(cut, 1)).result, [{ client_ip: '127.0.0.0' }])
  await cut.close()
  const off = await started(t, folder, url, { requests: 0 })
  await off.visit('/a')
  await off.close()
  t.strictSame(await textsBelow(`${folder}/data/requests`), [])
})

t.test('a token needs the permission to read logs', async (t) => {
  const token = 'narrow-token-0123456789-abcdefghijklmno'
  const tokens = [{ name: 'narrow', token, permissions: ['Zone Read'], accounts: ['*'], zones: ['*'] }]
  const live = await liveDaemon(t, testFolder(t), { tokens })
  t.equal((await live.call('GET', PATH, undefined, token)).status, 403)
  t.equal((await live.call('POST', `${PATH}/tail`, {}, token)).status, 403)
})
