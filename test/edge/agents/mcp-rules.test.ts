import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import { MemoryBudget } from '../../../src/core/memory/memory-budget.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { observingStage } from '../../../src/edge/agents/mcp/observed-page.js'
import { PageIndex } from '../../../src/edge/agents/mcp/page-index.js'
import { zoneTable } from '../../../src/edge/exchange/zones.js'
import { markdownStage } from '../../../src/edge/markdown/stage.js'
import { listenProxy } from '../../../src/edge/serve/server.js'
import { openDial, proxyConfig, startOrigin } from '../../helpers/proxy.js'
import { ruledZone, type TestRuleset } from '../../helpers/rules.js'

type Json = Record<string, any>

/** Starts a proxy with an MCP server, whose zone has rules. */
async function start(t: Test, handler: RequestListener, rulesets: readonly TestRuleset[], { yaml = '{}' } = {}) {
  const { url } = await startOrigin(t, handler)
  const members = "settings: { content_converter: 'on' }, hostnames: ['*'], agents: { mcp: true }"
  const monotonic = () => systemClock.monotonic()
  const pages = new PageIndex(1_000_000, monotonic)
  const metrics = openMetrics({ process: false })
  const proxy = await listenProxy(
    { ...proxyConfig(yaml), listen: '127.0.0.1:0' },
    {
      zones: { current: zoneTable([ruledZone(url, rulesets, { members })]) },
      stages: [
        observingStage(pages, monotonic),
        markdownStage({ memory: new MemoryBudget(64_000_000), metrics, log: silentLog }),
      ],
      pages,
      dial: openDial,
      clock: systemClock,
      log: silentLog,
      metrics,
    },
  )
  t.teardown(async () => await proxy.close())
  const call = async (name: string, given: Json, headers: Record<string, string> = {}): Promise<Json> => {
    const response = await fetch(`http://127.0.0.1:${proxy.port}/.well-known/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } }),
    })
    t.equal(response.status, 200)
    return ((await response.json()) as Json)['result'] as Json
  }
  return { proxy, pages, call }
}

t.test('rules of the zone hold for what tools read', async (t) => {
  const handler: RequestListener = ({ url }, response) => {
    const isPage = ['/open', '/closed', '/llms.txt'].includes(url!)
    response.writeHead(isPage ? 200 : 404, { 'content-type': url === '/llms.txt' ? 'text/plain' : 'text/html' })
    response.end(
      url === '/llms.txt' ? '- [Open herons](/open)\n- [Closed herons](/closed)\n' : `<h1>${url}</h1><p>herons`,
    )
  }
  const rules: TestRuleset[] = [
    {
      phase: 'http_request_firewall_custom',
      rules: [
        { action: 'block', expression: 'http.request.uri.path eq "/closed" and http.user_agent ne "Friend"' },
        { action: 'block', expression: 'ip.src ne 127.0.0.1' },
      ],
    },
  ]
  const { call } = await start(t, handler, rules)
  t.match(await call('fetch', { path: '/open' }), { content: [{ text: /herons/ }] })
  t.match(await call('fetch', { path: '/closed' }), { isError: true, content: [{ text: /status 403/ }] })
  t.match(await call('fetch', { path: '/%63losed' }), { isError: true }, 'another spelling')
  const friend = { 'user-agent': 'Friend' }
  t.match(await call('fetch', { path: '/closed' }, friend), { content: [{ text: /herons/ }] })
  const ids = async (headers = {}) =>
    ((await call('search', { query: 'herons' }, headers))['structuredContent'] as Json)['results'].map(
      ({ id }: Json) => id,
    )
  t.same((await ids(friend)).sort(), ['/closed', '/open'])
  t.same(await ids({ 'user-agent': 'Other' }), ['/open'], 'a result that the client may not read is not shown')
})

t.test('behind a trusted proxy tools have the address and scheme of the client', async (t) => {
  const seen: [string | undefined, string | undefined][] = []
  const { call } = await start(
    t,
    ({ headers }, response) => {
      seen.push([headers['cf-connecting-ip'] as string, headers['x-forwarded-proto'] as string])
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>x')
    },
    [
      {
        phase: 'http_request_firewall_custom',
        rules: [{ action: 'block', expression: 'ip.src ne 192.0.2.9 or not ssl' }],
      },
    ],
    { yaml: '{ trusted_proxies: [127.0.0.1] }' },
  )
  const result = await call('fetch', { path: '/x' }, { 'x-forwarded-for': '192.0.2.9', 'x-forwarded-proto': 'https' })
  t.match(result, { structuredContent: { url: /^https:\/\// } })
  t.same(seen, [['192.0.2.9', 'https']])
})

t.test('a client that leaves ends the request of its tool', async (t) => {
  let asked = (): void => {}
  let ended = (): void => {}
  const begun = new Promise<void>((resolve) => (asked = resolve))
  const left = new Promise<void>((resolve) => (ended = resolve))
  const { proxy, call } = await start(
    t,
    ({ url, socket }, response) => {
      if (url !== '/slow') response.writeHead(200, { 'content-type': 'text/html' }).end('<p>x')
      else {
        asked()
        socket.on('close', ended)
      }
    },
    [{ phase: 'http_request_firewall_custom', rules: [{ action: 'block', expression: 'false' }] }],
  )
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'fetch', arguments: { path: '/slow' } },
  })
  const socket = connect(proxy.port, '127.0.0.1')
  socket.write(
    `POST /.well-known/mcp HTTP/1.1\r\nHost: example.test\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await begun
  socket.destroy()
  await left
  t.match(await call('fetch', { path: '/x' }), { content: [{ text: 'x\n' }] }, 'others are served')
})
