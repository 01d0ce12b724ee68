import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { connect as connectTls, TLSSocket, createSecureContext } from 'node:tls'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { LogRecord } from '../../../src/core/emit.js'
import { parseProxyHeader, proxyHeader } from '../../../src/http/proxy-protocol.js'
import { metric, sendRaw, startOrigin, startProxy, testZone } from '../../helpers/proxy.js'
import { CA_FILE, SERVER_TLS, tlsFile } from '../../helpers/tls.js'

const GET = 'GET / HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n'
const V1 = 'PROXY TCP4 192.0.2.7 198.51.100.1 40001 443\r\n'
const V2 = proxyHeader('v2', {
  remoteAddress: '2001:db8::7',
  remotePort: 40_002,
  localAddress: '2001:db8::1',
  localPort: 443,
})
const TRUSTED = 'proxy_protocol: true, trusted_proxies: [127.0.0.1]'
const TLS = `tls: { listen: 127.0.0.1:0, http2: 'on', certificates: [{ cert_file: '${tlsFile('cert.pem')}', key_file: '${tlsFile('key.pem')}' }] }`

const seen = async (t: Test) =>
  await startOrigin(t, (request, response) => response.end(`client ${String(request.headers['cf-connecting-ip'])}.`))

t.test('headers of both versions are parsed', (t) => {
  const ends = { remoteAddress: '192.0.2.7', remotePort: 40_001, localAddress: '198.51.100.1', localPort: 443 }
  t.same(parseProxyHeader(Buffer.from(`${V1}GET`)), { length: V1.length, ends })
  for (const version of ['v1', 'v2'] as const)
    for (const of of [ends, { ...ends, remoteAddress: '2001:db8::7', localAddress: '::1' }]) {
      const header = proxyHeader(version, of)
      t.same(parseProxyHeader(header), { length: header.length, ends: of }, `${version} ${of.remoteAddress}`)
      for (let cut = 0; cut < header.length; cut++) t.equal(parseProxyHeader(header.subarray(0, cut)), 'incomplete')
    }
  const mixed = proxyHeader('v2', { ...ends, localAddress: '2001:db8::1' })
  t.match(parseProxyHeader(mixed), { ends: { remoteAddress: '::ffff:192.0.2.7', localAddress: '2001:db8::1' } })
  t.match(parseProxyHeader(Buffer.from('PROXY TCP6 2001:DB8:0::7 ::1 1 2\r\n')), {
    ends: { remoteAddress: '2001:db8::7' },
  })
  for (const version of ['v1', 'v2'] as const) {
    const local = proxyHeader(version, undefined)
    t.same(parseProxyHeader(local), { length: local.length, ends: undefined })
  }
  t.same(parseProxyHeader(Buffer.from('PROXY UNKNOWN ffff::1 ::2 1 2\r\n')), { length: 31, ends: undefined })
  t.end()
})

t.test('what is not a header is recognized as soon as possible', (t) => {
  const byte = (at: number, value: number) => {
    const changed = Buffer.from(V2)
    changed[at] = value
    return changed
  }
  const invalid: [what: string, bytes: Buffer][] = [
    ['a request', Buffer.from('G')],
    ['TLS', Buffer.from([22, 3, 1])],
    ['another family', Buffer.from('PROXY TCP6 192.0.2.7 198.51.100.1 1 2\r\n')],
    ['a name', Buffer.from('PROXY TCP4 client.test 198.51.100.1 1 2\r\n')],
    ['a port that is too large', Buffer.from('PROXY TCP4 192.0.2.7 198.51.100.1 65536 2\r\n')],
    ['a port with a leading zero', Buffer.from('PROXY TCP4 192.0.2.7 198.51.100.1 01 2\r\n')],
    ['two spaces', Buffer.from('PROXY TCP4  192.0.2.7 198.51.100.1 1 2\r\n')],
    ['a missing port', Buffer.from('PROXY TCP4 192.0.2.7 198.51.100.1 1\r\n')],
    ['a line that is too long', Buffer.from(`PROXY TCP4 ${'1'.repeat(100)}`)],
    ['UDP', Buffer.from('PROXY UDP4 192.0.2.7 198.51.100.1 1 2\r\n')],
    ['another version', byte(12, 0x11)],
    ['another command', byte(12, 0x22)],
    ['a datagram', byte(13, 0x22)],
    ['addresses that are too short', Buffer.concat([V2.subarray(0, 14), Buffer.from([0, 12]), V2.subarray(16)])],
    ['too many extensions', byte(14, 0x20)],
  ]
  for (const [what, bytes] of invalid) t.equal(parseProxyHeader(bytes), 'invalid', what)
  t.end()
})

t.test('the address in the header is the client of the request, in records too', async (t) => {
  const { url } = await seen(t)
  const records: LogRecord[] = []
  const emitter = { wants: () => true, emit: (_: string, __: unknown, record: LogRecord) => records.push(record) }
  const { port } = await startProxy(t, url, { yaml: `{ ${TRUSTED} }`, emitter })
  t.match((await sendRaw(port, V1 + GET)).text, /client 192\.0\.2\.7\./)
  t.match(records[0], { ClientIP: '192.0.2.7', ClientSrcPort: 40_001 })
  t.match((await sendRaw(port, [V2, GET])).text, /client 2001:db8::7\./)
  const bytes = Buffer.concat([V2, Buffer.from(GET)])
  const pieces = Array.from(bytes, (byte) => Buffer.from([byte]))
  t.match((await sendRaw(port, pieces)).text, /client 2001:db8::7\./, 'byte by byte')
  t.match((await sendRaw(port, ['PROXY UNKNOWN\r\n', GET])).text, /client 127\.0\.0\.1\./)
  t.match((await sendRaw(port, [proxyHeader('v2', undefined), GET])).text, /client 127\.0\.0\.1\./)
})

t.test('a trusted peer without a header is disconnected, another one is served without it', async (t) => {
  const { url } = await seen(t)
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const options = { yaml: `{ ${TRUSTED}, ${TLS}, limits: { header_timeout: 200ms } }`, log }
  const { port, tls, metrics } = await startProxy(t, url, options)
  for (const bytes of [GET, V1.replace('TCP4', 'TCP5') + GET, V1.slice(0, 20)]) {
    const { text, closed } = await sendRaw(port, bytes)
    t.same([text, closed], ['', true], JSON.stringify(bytes.slice(0, 20)))
  }
  t.equal((await sendRaw(tls!.port, Buffer.from([22, 3, 1, 0, 5]))).text, '')
  t.equal(await metric(metrics, 'edged_proxy_protocol_failures_total'), 4)
  t.equal(lines.filter((line) => line.includes('proxy_header_rejected')).length, 1, 'reported once in a while')

  const checked = connect(port, '127.0.0.1')
  checked.end()
  checked.resume()
  await once(checked, 'close')
  t.equal(await metric(metrics, 'edged_proxy_protocol_failures_total'), 4, 'a check of the port is no failure')

  const others = await startProxy(t, url, { yaml: '{ proxy_protocol: true, trusted_proxies: [192.0.2.1] }' })
  t.match((await sendRaw(others.port, GET)).text, /client 127\.0\.0\.1\./)
  t.equal((await sendRaw(others.port, V1 + GET)).status, 400)
  const second = await sendRaw(others.port, Buffer.concat([V2, Buffer.from(GET)]))
  t.equal(second.status, 400)
  t.notMatch(second.text, /client/)
})

t.test('TLS follows the header, with the same bytes or later, over HTTP/1.1 and HTTP/2', async (t) => {
  const { url } = await seen(t)
  const { tls } = await startProxy(t, url, { yaml: `{ ${TRUSTED}, ${TLS} }` })
  const secure = async (header: Buffer | string, protocol: string) => {
    const socket = connect(tls!.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(header)
    const secured = connectTls({
      socket,
      ca: readFileSync(CA_FILE),
      servername: 'localhost',
      ALPNProtocols: [protocol],
    })
    t.teardown(() => secured.destroy())
    await once(secured, 'secureConnect')
    return secured
  }
  for (const header of [V1, V2]) {
    const socket = await secure(header, 'http/1.1')
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
    socket.write(GET)
    await once(socket, 'close')
    t.match(text, header === V1 ? /client 192\.0\.2\.7\./ : /client 2001:db8::7\./)
  }
  const h2 = await secure(V1, 'h2')
  const session = connectHttp2('https://example.test', { createConnection: () => h2 })
  t.teardown(() => session.destroy())
  const stream = session.request({ ':path': '/', ':authority': 'example.test' })
  let text = ''
  stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await once(stream, 'end')
  t.equal(text, 'client 192.0.2.7.')
})

t.test('connections are counted under the address of the header', async (t) => {
  const { url } = await seen(t)
  const { port, metrics } = await startProxy(t, url, { yaml: `{ ${TRUSTED}, limits: { connections_per_address: 2 } }` })
  const open = async (header: string) => {
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.on('error', () => undefined)
    socket.write(`${header}GET / HTTP/1.1\r\nHost: example.test\r\n\r\n`)
    return await Promise.race([once(socket, 'data').then(() => 'served'), once(socket, 'close').then(() => 'closed')])
  }
  t.same([await open(V1), await open(V1), await open(V1)], ['served', 'served', 'closed'])
  t.equal(await open(V1.replace('192.0.2.7', '192.0.2.8')), 'served')
  t.equal(await metric(metrics, 'edged_proxy_connections'), 3)
})

t.test('closing ends connections whose header is incomplete', async (t) => {
  const { url } = await seen(t)
  const proxy = await startProxy(t, url, { yaml: `{ ${TRUSTED} }` })
  const socket = connect(proxy.port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write('PROXY ')
  while ((await metric(proxy.metrics, 'edged_proxy_connections')) === 0) await new Promise(setImmediate)
  const closed = new Promise((resolve) => socket.on('close', resolve))
  await proxy.close()
  await closed
})

/** Starts an origin that takes the PROXY header off each connection and responds with it. */
async function startProxiedOrigin(t: Test, { tls = false } = {}): Promise<{ url: string; heads: string[] }> {
  const heads: string[] = []
  const serve = (socket: Socket, ends: string) => {
    let text = ''
    socket.on('error', () => socket.destroy())
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      if (!text.includes('\r\n\r\n')) return
      text = ''
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${ends.length}\r\n\r\n${ends}`)
    })
  }
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.once('readable', () => {
      const bytes = (socket.read() as Buffer | null) ?? Buffer.alloc(0)
      const header = parseProxyHeader(bytes)
      if (typeof header === 'string') return void socket.destroy()
      const ends = `${header.ends?.remoteAddress ?? 'local'} ${header.ends?.remotePort ?? ''}`
      heads.push(ends)
      socket.unshift(bytes.subarray(header.length))
      serve(
        tls ? new TLSSocket(socket, { isServer: true, secureContext: createSecureContext(SERVER_TLS) }) : socket,
        ends,
      )
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { url: `${tls ? 'https://localhost' : 'http://127.0.0.1'}:${(server.address() as AddressInfo).port}`, heads }
}

for (const tls of [false, true])
  for (const version of ['v1', 'v2'])
    t.test(`an origin ${tls ? 'with TLS ' : ''}receives the client in a header of ${version}`, async (t) => {
      const { url, heads } = await startProxiedOrigin(t, { tls })
      const members = `origin_proxy_protocol: ${version}, origin_ca_file: '${CA_FILE}', health: { interval: 100ms, path: /up }`
      const zone = { ...testZone(url, members), originCa: readFileSync(CA_FILE, 'utf8') }
      const { port } = await startProxy(t, [zone], { yaml: `{ ${TRUSTED} }` })
      const two = V1 + GET.replace('Connection: close\r\n', '') + GET
      t.equal((await sendRaw(port, two)).text.match(/192\.0\.2\.7 40001/g)?.length, 2)
      const other = await sendRaw(port, V1.replace('40001', '40009') + GET)
      t.match(other.text, /192\.0\.2\.7 40009/, 'no connection is used for two clients')
      while (!heads.includes('local ')) await new Promise(setImmediate)
    })
