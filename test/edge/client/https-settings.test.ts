import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { httpsAddress } from '../../../src/edge/exchange/https-settings.js'
import { withSsl } from '../../../src/edge/origins/origin-target.js'
import { page } from '../proxy-helper.js'
import { sendRaw, startOrigin, startProxy, testZone } from '../../helpers/proxy.js'
import { CA_FILE, SERVER_TLS, tlsFile } from '../../helpers/tls.js'

const CA = readFileSync(CA_FILE)
const FILES = `{ cert_file: '${tlsFile('cert.pem')}', key_file: '${tlsFile('key.pem')}' }`
const YAML = `{ tls: { listen: 127.0.0.1:0, http2: on, certificates: [${FILES}] } }`

/** A zone for `localhost`, which the certificate names. */
const zoneWith = (origin: string, settings: string) =>
  testZone(origin, `hostnames: [localhost, example.test], settings: ${settings}`)

async function secure(t: Test, port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connectTls({ port, host: '127.0.0.1', ca: CA, servername: 'localhost', ...options })
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

async function exchange(socket: TLSSocket, bytes = page()): Promise<string> {
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => (text += chunk))
  socket.write(bytes)
  await once(socket, 'close')
  return text
}

t.test('always_use_https redirects HTTP requests and serves HTTPS ones', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('ok'))
  const proxy = await startProxy(t, [zoneWith(url, '{ always_use_https: on }')], { yaml: YAML })
  const { text } = await sendRaw(proxy.port, page('', 'GET', '/a?b=1'))
  t.match(text, /^HTTP\/1\.1 301 /)
  t.match(text, /\r\nlocation: https:\/\/example\.test\/a\?b=1\r\n/)
  const status = async (path: string) => (await sendRaw(proxy.port, page('', 'GET', path))).text.slice(9, 12)
  const challenge = '/.well-known/acme-challenge'
  for (const path of ['/a-token', '/', '/t?a=../']) t.equal(await status(challenge + path), '200', path)
  for (const path of ['/../x', '/..', '/%2e%2e/x', '/a/../../../x', '/..?', '\\..\\x'])
    t.not(await status(challenge + path), '200', `${path} is no challenge`)
  t.match(await exchange(await secure(t, proxy.tls!.port)), /^HTTP\/1\.1 200 /)
})

t.test('the HTTPS address has the port of the HTTPS listener if the request names that of the HTTP listener', (t) => {
  const ports = { http: 8080, https: 8443 }
  t.equal(httpsAddress('a.test', '/x', ports), 'https://a.test/x')
  t.equal(httpsAddress('a.test:8080', '/x', ports), 'https://a.test:8443/x')
  t.equal(httpsAddress('a.test:80', '/x', { http: 80, https: 443 }), 'https://a.test/x')
  t.equal(httpsAddress('a.test:8000', '/x', ports), 'https://a.test/x')
  t.equal(httpsAddress('[::1]:8080', '/', ports), 'https://[::1]:8443/')
  t.end()
})

t.test('security_header adds its fields over HTTPS only, in place of those of the origin', async (t) => {
  const { url } = await startOrigin(t, (_request, response) =>
    response.setHeader('Strict-Transport-Security', 'max-age=1').end('ok'),
  )
  const header = '{ enabled: true, max_age: 31536000, include_subdomains: true, preload: true, nosniff: true }'
  const zone = zoneWith(url, `{ security_header: { strict_transport_security: ${header} } }`)
  const proxy = await startProxy(t, [zone], { yaml: YAML })
  const text = await exchange(await secure(t, proxy.tls!.port))
  t.match(text, /\r\nstrict-transport-security: max-age=31536000; includeSubDomains; preload\r\n/)
  t.match(text, /\r\nx-content-type-options: nosniff\r\n/)
  t.notMatch(text, /max-age=1\r/)
  t.notMatch((await sendRaw(proxy.port, page())).text, /nosniff/)
})

t.test('min_tls_version and http2 follow the server name; another name on a weaker connection gets 421', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('ok'))
  const strict = testZone(url, `hostnames: [localhost], settings: { min_tls_version: "1.3", http2: off }`)
  const other = { ...testZone(url, `hostnames: [receiver.test]`), id: 'a'.repeat(32) }
  const proxy = await startProxy(t, [strict, other], { yaml: YAML })
  const old = connectTls({
    port: proxy.tls!.port,
    host: '127.0.0.1',
    ca: CA,
    servername: 'localhost',
    maxVersion: 'TLSv1.2',
  })
  const [error] = (await once(old, 'error')) as [Error]
  t.match(error.message, /protocol version/)
  const ALPNProtocols = ['h2', 'http/1.1']
  t.equal((await secure(t, proxy.tls!.port, { ALPNProtocols })).alpnProtocol, 'http/1.1')
  t.equal((await secure(t, proxy.tls!.port, { ALPNProtocols, servername: 'receiver.test' })).alpnProtocol, 'h2')
  const weak = await secure(t, proxy.tls!.port, { servername: 'receiver.test', maxVersion: 'TLSv1.2' })
  const text = await exchange(weak, 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  t.match(text, /^HTTP\/1\.1 421 /)
})

t.test('websockets: off forwards an upgrade as an ordinary request', async (t) => {
  t.equal(zoneWith('http://127.0.0.1:1', '{ websockets: off }').websockets, false)
  t.equal(zoneWith('http://127.0.0.1:1', '{}').websockets, true)
})

t.test('ssl decides about TLS to the origin', async (t) => {
  // Its certificate names receiver.test and is signed by an authority that is not trusted here.
  const server = createServer(SERVER_TLS, (_request, response) => response.end('over TLS'))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const status = async (url: string, settings: string) => {
    const proxy = await startProxy(t, [zoneWith(url, settings)])
    return (await sendRaw(proxy.port, page())).status
  }
  t.equal(await status(`https://127.0.0.1:${port}`, '{}'), 502)
  t.equal(await status(`https://127.0.0.1:${port}`, '{ ssl: strict }'), 502)
  t.equal(await status(`https://127.0.0.1:${port}`, '{ ssl: full }'), 200)
  t.equal(await status(`http://127.0.0.1:${port}`, '{ ssl: full }'), 200)
  const plain = await startOrigin(t, (_request, response) => response.end('ok'))
  t.equal(await status(plain.url.replace('http:', 'https:'), '{ ssl: flexible }'), 200)
  t.strictSame(withSsl({ url: 'unix:/run/app.sock' }, 'strict'), { url: 'unix:/run/app.sock' })
})
