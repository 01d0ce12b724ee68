import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect } from 'node:net'
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import type { LogRecord } from '../../../src/core/emit.js'
import { http2IsOn } from '../../../src/edge/client/http2-support.js'
import { metric, startOrigin, startProxy, startRawOrigin } from '../../helpers/proxy.js'
import { renegotiations } from '../../helpers/renegotiation.js'
import { CA_FILE, tlsFile } from '../../helpers/tls.js'

const CA = readFileSync(CA_FILE)
const FILES = `{ cert_file: '${tlsFile('cert.pem')}', key_file: '${tlsFile('key.pem')}' }`
const SECOND = `{ cert_file: '${tlsFile('second-cert.pem')}', key_file: '${tlsFile('second-key.pem')}' }`
const tls = (more = '') => `tls: { listen: 127.0.0.1:0, certificates: [${FILES}, ${SECOND}]${more} }`

async function secure(t: Test, port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connectTls({ port, host: '127.0.0.1', ca: CA, servername: 'localhost', ...options })
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

async function exchange(socket: TLSSocket, bytes: string): Promise<string> {
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => (text += chunk))
  socket.write(bytes)
  await once(socket, 'close')
  return text
}

const GET = 'GET /a HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n'

t.test('a request over HTTPS reaches the origin with its scheme, and its record says so', async (t) => {
  const { url } = await startOrigin(t, (request, response) =>
    response.end(`${String(request.headers['x-forwarded-proto'])} ${request.url}`),
  )
  const records: LogRecord[] = []
  const emitter = {
    wants: () => true,
    emit: (_dataset: string, _scope: unknown, record: LogRecord) => records.push(record),
  }
  const proxy = await startProxy(t, url, { yaml: `{ ${tls()} }`, emitter })
  const socket = await secure(t, proxy.tls!.port, { ALPNProtocols: ['http/1.1'] })
  t.equal(socket.alpnProtocol, 'http/1.1')
  const both = await secure(t, proxy.tls!.port, { ALPNProtocols: ['h2', 'http/1.1'] })
  t.equal(both.alpnProtocol, http2IsOn('auto') ? 'h2' : 'http/1.1', 'as this version of Node.js allows')
  both.destroy()
  t.match(await exchange(socket, GET), /^HTTP\/1\.1 200 OK\r\n[^]*https \/a/)
  t.match(records[0], { ClientRequestScheme: 'https', ClientSSLProtocol: 'TLSv1.3', ClientSSLCipher: /^TLS_AES/ })
})

t.test('the order of the cipher suites of the server counts, except for a client that prefers ChaCha20', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end())
  const proxy = await startProxy(t, url, { yaml: `{ ${tls()} }` })
  const chosen = async (...names: string[]): Promise<string> => {
    const ciphers = names.map((name) => `ECDHE-ECDSA-${name}:ECDHE-RSA-${name}`).join(':')
    const socket = await secure(t, proxy.tls!.port, { maxVersion: 'TLSv1.2', ciphers })
    return socket.getCipher().name.replace(/^ECDHE-(ECDSA|RSA)-/, '')
  }
  const [aes128, aes256, chacha] = ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305']
  t.equal(await chosen(aes256, aes128, chacha), aes128)
  t.equal(await chosen(aes256, chacha), aes256)
  t.equal(await chosen(chacha, aes128), chacha)
})

t.test('of many handshakes at once all complete, also if some clients leave meanwhile', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('hello'))
  const proxy = await startProxy(t, url, { yaml: `{ ${tls()} }` })
  const leaving = Array.from({ length: 30 }, () =>
    connectTls({ port: proxy.tls!.port, host: '127.0.0.1', ca: CA, servername: 'localhost' }),
  )
  for (const socket of leaving) {
    socket.on('error', () => undefined)
    // The ClientHello has left by then.
    socket.once('connect', () => setImmediate(() => socket.destroy()))
  }
  const served = await Promise.all(
    Array.from({ length: 60 }, async () => await exchange(await secure(t, proxy.tls!.port), GET)),
  )
  t.equal(served.filter((text) => text.startsWith('HTTP/1.1 200')).length, 60)
})

t.test('many requests and a large body pass one connection, in both directions', async (t) => {
  const { url } = await startOrigin(t, (request, response) => request.pipe(response))
  const proxy = await startProxy(t, url, { yaml: `{ ${tls()} }` })
  const body = Buffer.alloc(3_000_000, 'abcdefghij')
  for (let round = 0; round < 3; round++) {
    const options = { port: proxy.tls!.port, host: '127.0.0.1', ca: CA, servername: 'localhost', method: 'POST' }
    const call = request({ ...options, headers: { host: 'example.test' } })
    call.end(body)
    const [response] = (await once(call, 'response')) as [AsyncIterable<Buffer>]
    const parts: Buffer[] = []
    for await (const part of response) parts.push(part)
    t.equal(Buffer.concat(parts).equals(body), true)
  }
})

t.test('the certificate follows the server name, and sessions resume', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('ok'))
  const proxy = await startProxy(t, url, { yaml: `{ ${tls()} }` })
  const second = await secure(t, proxy.tls!.port, { servername: 'www.second.test', rejectUnauthorized: false })
  t.match(second.getPeerCertificate().subjectaltname, /second\.test/)
  second.destroy()
  const first = await secure(t, proxy.tls!.port)
  const session = once(first, 'session') as Promise<[Buffer]>
  first.write(GET)
  const again = await secure(t, proxy.tls!.port, { session: (await session)[0] })
  t.equal(again.isSessionReused(), true)
})

t.test('versions below the minimum, bytes that are not TLS and slow handshakes end, and are counted', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('ok'))
  const yaml = `{ ${tls(', min_version: "1.3"')}, limits: { header_timeout: 300ms } }`
  const proxy = await startProxy(t, url, { yaml })
  const old = connectTls({ port: proxy.tls!.port, host: '127.0.0.1', ca: CA, maxVersion: 'TLSv1.2' })
  const [error] = (await once(old, 'error')) as [Error]
  t.match(error.message, /protocol version/)
  for (const bytes of [GET, '\x16\x03\x01\x02']) {
    const socket = connect(proxy.tls!.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(bytes, 'latin1')
    await once(socket, 'close')
  }
  t.equal(await metric(proxy.metrics, 'edged_proxy_tls_handshake_failures_total'), 3)
  t.match(await exchange(await secure(t, proxy.tls!.port), GET), /200 OK/, 'others are served')
  while ((await metric(proxy.metrics, 'edged_proxy_connections')) > 0)
    await new Promise((resolve) => setTimeout(resolve, 10))
})

t.test('a response that breaks off never looks complete', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n')
      setTimeout(() => socket.destroy(), 50)
    })
  })
  const proxy = await startProxy(t, origin, { yaml: `{ ${tls()} }` })
  const socket = await secure(t, proxy.tls!.port)
  const ended = new Promise<string>((resolve) => {
    socket.on('end', () => resolve('end'))
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(String(code)))
  })
  socket.resume()
  socket.write('GET / HTTP/1.0\r\nHost: example.test\r\n\r\n')
  t.equal(await ended, 'ECONNRESET', 'a response that ends with its connection is reset')
})

t.test('a new configuration opens, changes and closes the listener; open connections stay', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('ok'))
  const proxy = await startProxy(t, url)
  t.equal(proxy.tls, undefined)
  const { proxyConfig } = await import('../../helpers/proxy.js')
  const next = (yaml: string) => proxy.reconfigure({ ...proxyConfig(yaml), listen: '127.0.0.1:0' })
  await next(`{ ${tls()} }`)
  const socket = await secure(t, proxy.tls!.port)
  await t.rejects(
    next(`{ tls: { listen: 127.0.0.1:0, certificates: [{ cert_file: /none.pem, key_file: /none.key }] } }`),
    /cannot read \/none\.pem/,
  )
  t.ok(proxy.tls, 'a configuration that cannot be used changes nothing')
  await next('{}')
  t.equal(proxy.tls, undefined)
  t.match(await exchange(socket, GET), /200 OK/)
})

t.test('responses to several slow readers over HTTPS never mix', async (t) => {
  const bytes = 300_000
  const letter = (path: string): string => String.fromCharCode(97 + (Number(path.slice(1)) % 26))
  const { url } = await startOrigin(t, (request, response) =>
    response.writeHead(200, { 'content-length': bytes }).end(letter(request.url!).repeat(bytes)),
  )
  const proxy = await startProxy(t, url, { yaml: `{ ${tls()} }` })
  const paths = Array.from({ length: 24 }, (_, i) => `/${i}`)
  const sockets = await Promise.all(paths.map(async () => await secure(t, proxy.tls!.port)))
  const bodies = paths.map(async (path, i) => {
    const first = `GET ${path} HTTP/1.1\r\nHost: example.test\r\n\r\n`
    const last = `GET ${path} HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n`
    return await exchange(sockets[i]!, first + last)
  })
  for (const [i, text] of (await Promise.all(bodies)).entries())
    t.ok(text.endsWith(letter(paths[i]!).repeat(bytes)) && text.split(letter(paths[i]!).repeat(bytes)).length === 3)
})

// Each renegotiation costs a handshake of CPU, and no limit counted it: 1,000 of 1,000 succeeded on one connection.
t.test('a client of TLS 1.2 cannot renegotiate', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('hello'))
  const proxy = await startProxy(t, url, { yaml: `{ ${tls()} }` })
  t.equal(await renegotiations(proxy.tls!.port), 0)
  t.match(await exchange(await secure(t, proxy.tls!.port, { maxVersion: 'TLSv1.2' }), GET), /hello$/)
})
