import { createServer } from 'node:http'
import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config/load.js'
import { startDaemon } from '../../src/daemon/index.js'
import { testFolder } from '../helpers/folder.js'
import { sendRaw, startOrigin } from '../helpers/proxy.js'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const TOKEN = 'a-token-of-the-tests-that-is-long-enough'

/** A daemon whose zone has its origin at 127.0.0.1; `route` sets where a rule of the zone sends its requests. */
async function start(t: Test, egress = '{}', origins = (own: string) => `origin: "${own}"`) {
  const own = await startOrigin(t, (_request, response) => response.end('own'))
  const elsewhere = createServer((_request, response) => response.end('other'))
  await new Promise<void>((resolve) => void elsewhere.listen(0, '127.0.0.2', resolve))
  t.teardown(() => elsewhere.close())
  const { port: other } = elsewhere.address() as AddressInfo
  const logged: string[] = []
  const daemon = await startDaemon(
    readConfig(
      `data: ./data
proxy: { listen: "127.0.0.1:0" }
control: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
egress: ${egress.replace('OTHER', String(other))}
tokens: [{ name: all, token: ${TOKEN}, permissions: ["*"] }]
accounts: [{ id: ${ACCOUNT}, name: Example }]
zones: [{ id: ${ZONE}, account: ${ACCOUNT}, name: example.test, ${origins(own.url)} }]`,
      join(testFolder(t), 'test.yaml'),
      {},
    ),
    { log: pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) }) },
  )
  t.teardown(() => daemon.close())
  const route = async (origin: { host?: string; port?: number }) => {
    const answer = await fetch(`${daemon.control}/zones/${ZONE}/rulesets/phases/http_request_origin/entrypoint`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ rules: [{ expression: 'true', action: 'route', action_parameters: { origin } }] }),
    })
    if (!answer.ok) throw new Error(await answer.text())
    const { port } = new URL(daemon.proxy)
    return await sendRaw(Number(port), 'GET /metrics HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n')
  }
  return { daemon, route, logged, own: portOf(own.url), other }
}

const portOf = (url: string): number => Number(new URL(url).port)

t.test('a rule cannot send requests to private addresses or to the daemon itself', async (t) => {
  const { daemon, route, logged, other } = await start(t)
  const own = [daemon.admin, daemon.control, daemon.proxy].map(portOf)
  const targets: [host: string, port: number][] = [
    ...own.flatMap((port): [string, number][] =>
      ['127.0.0.1', 'localhost', '0', '2130706433'].map((host) => [host, port]),
    ),
    ['127.0.0.2', other],
    ['localhost', other],
    ['0x7f.2', other],
    ['169.254.169.254', 80],
    ['10.0.0.1', 80],
    ['100.64.0.1', 80],
  ]
  for (const [host, port] of targets) {
    const { status, text } = await route({ host, port })
    t.equal(status, 502, `${host}:${port}`)
    t.notMatch(text, /other|process_cpu|127\.|allow_cidrs/)
  }
  for (const port of own) t.equal((await route({ port })).status, 502, `port ${port} of the own origin`)
  t.match(logged.join(''), /169\.254\.169\.254 is not allowed.*add 169\.254\.169\.254\/32:80 to egress\.allow_cidrs/)
  t.match(logged.join(''), /localhost resolves to (127\.0\.0\.1|::1), which is not allowed/)
})

t.test('a rule can send requests to what the configuration allows', async (t) => {
  const { route, own, other } = await start(t, '{ allow_cidrs: ["127.0.0.2/32:OTHER"] }')
  const second = await startOrigin(t, (_request, response) => response.end('second'))
  t.match((await route({ host: '127.0.0.1' })).text, /own$/)
  t.match((await route({ port: own })).text, /own$/)
  t.equal((await route({ port: portOf(second.url) })).status, 502, 'another port of the host of the zone')
  t.match((await route({ host: '127.0.0.2', port: other })).text, /other$/)
  t.equal((await route({ host: '127.0.0.2', port: own })).status, 502)
})

// A rule reached every service on the host of the origin: databases and admin interfaces on 127.0.0.1.
t.test('a rule reaches no other port of the host of the origin', async (t) => {
  const { route, own, logged } = await start(t)
  const service = await startOrigin(t, (_request, response) => response.end('a service of the machine'))
  const port = portOf(service.url)
  for (const origin of [{ port }, { host: '127.0.0.1', port }, { host: '127.1', port }, { host: '2130706433', port }]) {
    const { status, text } = await route(origin)
    t.equal(status, 502, JSON.stringify(origin))
    t.notMatch(text, /a service of/)
  }
  t.match(logged.join(''), new RegExp(`add 127\\.0\\.0\\.1/32:${port} to egress\\.allow_cidrs`))
  t.match((await route({ port: own })).text, /own$/, 'the configured port')
})

t.test('a rule reaches each origin that the configuration gives the zone, at its port', async (t) => {
  const second = await startOrigin(t, (_request, response) => response.end('second'))
  const { route, own, other } = await start(
    t,
    '{}',
    (url) => `origins: [{ url: "${url}" }, { url: "${second.url}", backup: true }]`,
  )
  t.match((await route({ host: '127.0.0.1', port: portOf(second.url) })).text, /second$/)
  t.match((await route({ port: portOf(second.url) })).text, /second$/)
  t.match((await route({ port: own })).text, /own$/)
  t.equal((await route({ host: '127.0.0.2', port: other })).status, 502)
})
