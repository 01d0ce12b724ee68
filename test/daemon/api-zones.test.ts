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

/** A daemon that allows connections to one port of this machine, with requests to its API and its proxy. */
async function started(t: Test, options: { folder?: string; open: string; origin: string; processes?: number }) {
  const { folder = testFolder(t), open, origin, processes = 1 } = options
  const text = `data: ./data
processes: ${processes}
proxy: { listen: "127.0.0.1:0" }
control: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
egress: { allow_cidrs: ["127.0.0.1/32:${new URL(open).port}"], resolver_overrides: { own.origins.test: [127.0.0.1] } }
tokens: [{ name: all, token: ${TOKEN}, permissions: ["*"] }]
accounts: [{ id: ${ACCOUNT}, name: Example }]
zones: [{ id: ${ZONE}, account: ${ACCOUNT}, name: example.test, origin: "${origin}" }]`
  const config = () => readConfig(text, join(folder, 'test.yaml'), {})
  const daemon = await startDaemon(config(), { log: silentLog })
  t.teardown(() => daemon.close())
  const call = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const response = await fetch(daemon.control + path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it with t.match
    return (await response.json()) as any
  }
  const raw = async (host: string, target = '/', fields = '') =>
    await sendRaw(
      Number(new URL(daemon.proxy).port),
      `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${fields}Connection: close\r\n\r\n`,
    )
  const get = async (host: string, target = '/', fields = '') => {
    const { status, text } = await raw(host, target, fields)
    return status === 200 ? text.slice(text.indexOf('\r\n\r\n') + 4) : status
  }
  return { daemon, config, folder, call, raw, get }
}

t.test('a zone of the API is served at once, after a reload and after a restart', async (t) => {
  const origin = await startOrigin(t, (request, response) => response.end(`for ${request.headers.host}`))
  const first = await started(t, { open: origin.url, origin: origin.url })
  const made = await first.call('POST', '/zones', {
    name: 'api.test',
    account: { id: ACCOUNT },
    edged: { origin: origin.url },
  })
  t.match(made, { success: true, result: { status: 'active', edged: { origin: origin.url } } })
  const path = `/zones/${made.result.id}`
  t.equal(await first.get('api.test'), 'for api.test')
  t.equal(await first.get('deep.sub.api.test'), 'for deep.sub.api.test')
  const rules = [{ expression: 'http.request.uri.path eq "/no"', action: 'block' }]
  await first.call('PUT', `${path}/rulesets/phases/http_request_firewall_custom/entrypoint`, { rules })
  t.equal(await first.get('api.test', '/no'), 403)
  t.equal(await first.get('api.test', '/%6e%6F'), 403, 'rules see the normalized path')
  await first.daemon.reload(first.config())
  t.equal(await first.get('api.test', '/no'), 403)
  t.equal(await first.get('api.test'), 'for api.test')
  await first.daemon.close()

  const second = await started(t, { folder: first.folder, open: origin.url, origin: origin.url })
  t.equal(await second.get('api.test'), 'for api.test')
  t.equal(await second.get('api.test', '/no'), 403)
  await second.call('PATCH', path, { paused: true })
  t.equal(await second.get('api.test', '/no'), 'for api.test', 'a paused zone has no rules')
  await second.call('PATCH', path, { paused: false })
  t.equal(await second.get('api.test', '/no'), 403)
  t.match(await second.call('DELETE', path), { success: true })
  t.equal(await second.get('api.test'), 404)
})

t.test('the origin of a zone of the API passes the egress guard', async (t) => {
  const open = await startOrigin(t, (_request, response) => response.end('open'))
  const closed = await startOrigin(t, (_request, response) => response.end('closed'))
  const { daemon, call, get } = await started(t, { open: open.url, origin: closed.url })
  const account = { id: ACCOUNT }
  const refused = { success: false, errors: [{ code: 20501, source: { pointer: '/edged/origin' } }] }
  const { port } = new URL(closed.url)
  for (const origin of [
    closed.url,
    `http://own.origins.test:${port}`,
    'http://169.254.169.254',
    daemon.admin,
    daemon.proxy,
  ])
    t.match(await call('POST', '/zones', { name: 'a.test', account, edged: { origin } }), refused, origin)

  const { result } = await call('POST', '/zones', { name: 'a.test', account })
  t.match(result, { status: 'pending' })
  t.equal(await get('a.test'), 502, 'no origin')
  const rules = [{ expression: 'true', action: 'route', action_parameters: { origin: { host: 'own.origins.test' } } }]
  const entry = `/zones/${result.id}/rulesets/phases/http_request_origin/entrypoint`
  await call('PUT', entry, { rules })
  t.equal(await get('a.test'), 502, 'port 80 is not allowed')
  const [rule] = rules
  const origin = { host: 'own.origins.test', port: Number(new URL(open.url).port) }
  await call('PUT', entry, { rules: [{ ...rule, action_parameters: { origin } }] })
  t.equal(await get('a.test'), 'open', 'an origin rule names the host')
  await call('PUT', entry, { rules: [] })
  await call('PATCH', `/zones/${result.id}`, { edged: { origin: open.url } })
  t.equal(await get('a.test'), 'open')
  t.equal(await get('example.test'), 'closed', 'the file may name any address')
  // A name that changes after the write: the guard decides when a connection is opened.
  const unknown = await call('PATCH', `/zones/${result.id}`, { edged: { origin: 'http://nowhere.invalid:9' } })
  t.match(unknown, { success: true })
  t.equal(await get('a.test'), 502)
})

t.test('managed transforms change the fields of requests and responses', async (t) => {
  const origin = await startOrigin(t, (request, response) => {
    response.setHeader('x-powered-by', 'secret')
    response.setHeader('x-frame-options', 'DENY')
    response.end(JSON.stringify(request.headers))
  })
  const { call, raw, get } = await started(t, { open: origin.url, origin: origin.url })
  const path = `/zones/${ZONE}/managed_headers`
  const set = async (of: 'request' | 'response', ...ids: string[]) =>
    await call('PATCH', path, { [`managed_${of}_headers`]: ids.map((id) => ({ id, enabled: true })) })
  const forged =
    'True-Client-IP: 1.2.3.4\r\nCF-IPCountry: XX\r\nX-Real-IP: 1.2.3.4\r\nCF_IPCity: XX\r\nX_Real_IP: 1.2.3.4\r\n'
  const seen = async () => JSON.parse((await get('example.test', '/', forged)) as string) as Record<string, string>

  t.match(await seen(), { 'true-client-ip': '1.2.3.4', 'cf-ipcountry': 'XX', 'x-forwarded-for': '127.0.0.1' })
  await set('request', 'add_true_client_ip_headers', 'add_visitor_location_headers')
  t.equal((await seen())['true-client-ip'], '127.0.0.1')
  t.notOk('cf-ipcountry' in (await seen()), 'the location of the client is unknown')
  // The same name for many origins.
  t.notOk('cf_ipcity' in (await seen()))
  await call('DELETE', path)
  await set('request', 'remove_visitor_ip_headers')
  const fields = await seen()
  for (const name of ['true-client-ip', 'cf-connecting-ip', 'x-forwarded-for', 'x-real-ip', 'x_real_ip'])
    t.notOk(name in fields, name)

  t.match((await raw('example.test')).text, /x-powered-by: secret\r\nx-frame-options: DENY/i)
  await set('response', 'remove_x-powered-by_header', 'add_security_headers')
  const { text } = await raw('example.test')
  t.notMatch(text, /x-powered-by/i)
  t.match(text, /x-frame-options: SAMEORIGIN\r\n/)
  t.notMatch(text, /DENY/)
  for (const field of [
    'x-content-type-options: nosniff',
    'x-xss-protection: 1; mode=block',
    'referrer-policy: same-origin',
  ])
    t.match(text, field)
})

t.test('the origin gets the normalized path only with scope both', async (t) => {
  const origin = await startOrigin(t, (request, response) => response.end(request.url))
  const { call, get } = await started(t, { open: origin.url, origin: origin.url })
  const rules = [{ expression: 'http.request.uri.path eq "/a/b"', action: 'block' }]
  await call('PUT', `/zones/${ZONE}/rulesets/phases/http_request_firewall_custom/entrypoint`, { rules })
  const set = async (scope: string) =>
    await call('PUT', `/zones/${ZONE}/url_normalization`, { scope, type: 'cloudflare' })
  t.equal(await get('example.test', '/a//x/../%62'), 403)
  t.equal(await get('example.test', '/c//%64?%65'), '/c//%64?%65')
  await set('both')
  t.equal(await get('example.test', '/c//%64?%65'), '/c/d?%65')
  await set('none')
  t.equal(await get('example.test', '/a//x/../%62'), '/a//x/../%62')
})
