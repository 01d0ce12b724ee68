import { createServer } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config/load.js'
import { silentLog } from '../../src/core/log.js'
import { startDaemon } from '../../src/daemon/index.js'
import { testFolder } from '../helpers/folder.js'
import { sendRaw, startOrigin } from '../helpers/proxy.js'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const TOKEN = 'a-token-of-the-tests-that-is-long-enough'
const PATH = `/zones/${ZONE}/custom_hostnames`
const OVERRIDES = '{ a.origins.test: [127.0.0.2], b.origins.test: [127.0.0.3], c.origins.test: [127.0.0.4] }'
const MARKDOWN = 'Accept: text/markdown\r\n'

interface Result {
  readonly id: string
  readonly origin: string
  readonly status: string
}

/** Starts a daemon with one zone. */
async function startSite(t: Test, zone: string, egress = '{}') {
  const daemon = await startDaemon(
    readConfig(
      `data: ./data
proxy: { listen: "127.0.0.1:0" }
control: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
egress: ${egress}
tokens: [{ name: all, token: ${TOKEN}, permissions: ["*"] }]
accounts: [{ id: ${ACCOUNT}, name: Example }]
zones: [${zone}]`,
      join(testFolder(t), 'test.yaml'),
      {},
    ),
    { log: silentLog },
  )
  t.teardown(() => daemon.close())
  const call = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const sent = body && { body: JSON.stringify(body) }
    const response = await fetch(daemon.control + path, { method, headers, ...sent })
    return (await response.json()) as { success: boolean; result: Result; messages: unknown[] }
  }
  const send = async (host: string, field = '') => {
    const request = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${field}\r\n`
    return await sendRaw(Number(new URL(daemon.proxy).port), request)
  }
  return { call, send }
}

t.test('custom hostnames use their own origin, else the fallback origin, else that of the zone', async (t) => {
  const own = await startOrigin(t, ({ headers: { accept } }, response) => {
    if (!accept?.includes('text/markdown')) return response.end('own')
    return response.setHeader('content-type', 'text/html').end('<h1>own</h1>')
  })
  const port = Number(new URL(own.url).port)
  for (const [address, text] of [
    ['127.0.0.2', 'custom'],
    ['127.0.0.3', 'fallback'],
    ['127.0.0.4', 'private'],
  ] as const) {
    const server = createServer((request, response) => response.end(`${text} for ${request.headers.host}`))
    await new Promise<void>((resolve) => void server.listen(port, address, resolve))
    t.teardown(() => server.close())
  }
  const { call, send } = await startSite(
    t,
    `{ id: ${ZONE}, account: ${ACCOUNT}, name: example.test, origin: "${own.url}" }`,
    `{ allow_cidrs: ["127.0.0.2/31:${port}"], resolver_overrides: ${OVERRIDES} }`,
  )
  const get = async (host: string) => {
    const { status, text } = await send(host)
    return status === 200 ? text.slice(text.lastIndexOf('\n') + 1) : status
  }

  const custom = { hostname: 'shop.test-a.com', custom_origin_server: 'a.origins.test', ssl: { wildcard: true } }
  const { result: made, messages } = await call('POST', PATH, custom)
  t.same(messages, [])
  await call('POST', PATH, { hostname: 'shop.test-b.com' })
  await call('POST', PATH, { hostname: 'deep.shop.test-a.com', custom_origin_server: 'c.origins.test' })
  t.equal(await get('shop.test-a.com'), 'custom for shop.test-a.com')
  t.equal(await get('x.y.shop.test-a.com'), 'custom for x.y.shop.test-a.com', 'a wildcard serves all names below')
  t.equal(await get('deep.shop.test-a.com'), 502, 'an address that egress does not allow')
  t.equal(await get('shop.test-b.com'), 'own')
  t.equal(await get('x.shop.test-b.com'), 404)

  t.match(await call('PUT', `${PATH}/fallback_origin`, { origin: 'b.origins.test' }), {
    result: { origin: 'b.origins.test', status: 'active' },
  })
  t.equal(await get('shop.test-b.com'), 'fallback for shop.test-b.com')
  t.equal(await get('shop.test-a.com'), 'custom for shop.test-a.com')
  t.equal(await get('example.test'), 'own')
  await call('PATCH', `${PATH}/${made.id}`, { custom_origin_server: null, ssl: { wildcard: false } })
  t.equal(await get('shop.test-a.com'), 'fallback for shop.test-a.com')
  t.equal(await get('x.y.shop.test-a.com'), 404)

  t.match((await call('DELETE', `${PATH}/fallback_origin`)).result, { origin: 'b.origins.test' })
  t.equal(await get('shop.test-b.com'), 'own')
  t.match(await call('GET', `${PATH}/fallback_origin`), { errors: [{ code: 1551 }] })
  t.match(await call('PUT', `${PATH}/fallback_origin`, { origin: 'a b' }), {
    errors: [{ source: { pointer: '/origin' } }],
  })

  const setting = `/zones/${ZONE}/settings/edged_custom_hostnames`
  for (const [value, text] of [
    ['all', '# own'],
    ['selected', '<h1>own</h1>'],
  ] as const) {
    await call('PATCH', setting, { value })
    t.match((await send('shop.test-b.com', MARKDOWN)).text, text, `${value}: a custom hostname`)
    t.match((await send('example.test', MARKDOWN)).text, '<h1>own</h1>', `${value}: the zone itself`)
  }
})

t.test('a free zone converts the pages of its custom hostnames: by rule, or all of them', async (t) => {
  const page = await startOrigin(t, (_, response) =>
    response.setHeader('content-type', 'text/html').end('<h1>own</h1>'),
  )
  const zone = `{ id: ${ZONE}, account: ${ACCOUNT}, name: example.test, plan: free, origin: "${page.url}" }`
  const { call, send } = await startSite(t, zone)
  const text = async (host: string) => (await send(host, MARKDOWN)).text
  const rule = {
    expression:
      'lookup_json_string(cf.hostname.metadata, "content_converter") eq "enabled" or http.host eq "example.test"',
    action: 'set_config',
    action_parameters: { content_converter: true },
  }
  const rules = `/zones/${ZONE}/rulesets/phases/http_config_settings/entrypoint`
  t.equal((await call('PUT', rules, { rules: [rule] })).success, false, 'no custom hostname exists')
  const chosen = { hostname: 'a.shop.com', custom_metadata: { content_converter: 'enabled' } }
  for (const body of [chosen, { hostname: 'b.shop.com' }]) t.equal((await call('POST', PATH, body)).success, true)
  t.equal((await call('PUT', rules, { rules: [rule] })).success, true)
  t.match(await text('a.shop.com'), '# own')
  t.match(await text('b.shop.com'), '<h1>own</h1>')
  t.match(await text('example.test'), '<h1>own</h1>', 'the conversion of other hosts needs a plan')
  t.equal((await call('PATCH', `/zones/${ZONE}/settings/edged_custom_hostnames`, { value: 'all' })).success, true)
  t.match(await text('b.shop.com'), '# own')
  t.match(await text('example.test'), '<h1>own</h1>')
})
