import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config/load.js'
import { silentLog } from '../../src/core/log.js'
import { startDaemon, type Daemon } from '../../src/daemon/index.js'
import { testFolder } from '../helpers/folder.js'
import { renegotiations } from '../helpers/renegotiation.js'
import { tlsFile } from '../helpers/tls.js'

const TOKEN = 'a-token-of-the-tests-that-is-long-enough'
const FILES = `cert_file: '${tlsFile('cert.pem')}', key_file: '${tlsFile('key.pem')}'`

const TLS = `, tls: { listen: "127.0.0.1:0", certificates: [{ ${FILES} }] }`

const configText = (tls = TLS): string => `data: ./data
proxy: { listen: "127.0.0.1:0"${tls} }
control: { listen: "127.0.0.1:0", tls: { ${FILES} } }
admin: { listen: "127.0.0.1:0" }
tokens: [{ name: all, token: ${TOKEN}, permissions: ["*"] }]`

async function start(
  t: Test,
  config = readConfig(configText(), join(testFolder(t), 'test.yaml'), {}),
): Promise<Daemon> {
  const daemon = await startDaemon(config, { log: silentLog })
  t.teardown(() => daemon.close())
  return daemon
}

async function get(url: string, options: object = {}): Promise<IncomingMessage> {
  const send = url.startsWith('https:') ? requestHttps : requestHttp
  const sent = send(url, { rejectUnauthorized: false, agent: false, ...options }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  return response
}

t.test('JSON of the API and of the admin listener is not sniffed', async (t) => {
  const { control, admin } = await start(t)
  const headers = { authorization: `Bearer ${TOKEN}` }
  const responses: [what: string, response: IncomingMessage, status: number][] = [
    ['a result', await get(`${control}/user/tokens/verify`, { headers }), 200],
    ['without a token', await get(`${control}/zones`), 400],
    ['an unknown path', await get(`${control}/nothing`, { headers }), 404],
    ['unreadable bytes', await get(`${control}/zones`, { headers: { 'x-long': 'x'.repeat(40_000) } }), 431],
    [
      'a protocol that nobody speaks',
      await get(`${control}/nothing`, { headers: { connection: 'upgrade', upgrade: 'x' } }),
      404,
    ],
    ['status', await get(`${admin}/status`), 200],
    ['reload', await get(`${admin}/reload`, { method: 'POST' }), 409],
  ]
  for (const [what, response, status] of responses) {
    t.match(response.headers['content-type'], /^application\/json/, what)
    t.equal(response.headers['x-content-type-options'], 'nosniff', what)
    t.equal(response.statusCode, status, what)
  }
})

t.test('clients of TLS 1.2 cannot renegotiate with the proxy or the API', async (t) => {
  const { proxyTls, control } = await start(t)
  for (const url of [proxyTls!, control]) t.equal(await renegotiations(Number(new URL(url).port)), 0, url)
})

// `edged status` showed the listeners of the start, so that `edged doctor` took a new one for another process.
t.test('the status has the HTTPS listener that a reload adds and removes', async (t) => {
  const read = (tls?: string) => readConfig(configText(tls), join(folder, 'test.yaml'), {})
  const folder = testFolder(t)
  const daemon = await start(t, read(''))
  const listeners = async () =>
    ((await (await fetch(`${daemon.admin}/status`)).json()) as { listeners: { proxy_tls?: string } }).listeners
  t.equal((await listeners()).proxy_tls, undefined)
  await daemon.reload(read())
  t.match((await listeners()).proxy_tls, /^https:\/\/127\.0\.0\.1:\d+$/)
  t.equal(daemon.proxyTls, (await listeners()).proxy_tls)
  await daemon.reload(read(''))
  t.equal((await listeners()).proxy_tls, undefined)
})
