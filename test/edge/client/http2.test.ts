import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type ClientHttp2Session, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { LogRecord } from '../../../src/core/emit.js'
import { silentLog } from '../../../src/core/log.js'
import { MemoryBudget } from '../../../src/core/memory/memory-budget.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { markdownStage } from '../../../src/edge/markdown/stage.js'
import { http2IsOn } from '../../../src/edge/client/http2-support.js'
import { metric, startOrigin, startProxy, startRawOrigin, testZone } from '../../helpers/proxy.js'
import { CA_FILE, tlsFile } from '../../helpers/tls.js'

const CA = readFileSync(CA_FILE)
const FILES = `{ cert_file: '${tlsFile('cert.pem')}', key_file: '${tlsFile('key.pem')}' }`
const YAML = (limits = '') =>
  `{ tls: { listen: 127.0.0.1:0, http2: on, certificates: [${FILES}] }${limits && `, limits: { ${limits} }`} }`

async function session(t: Test, port: number): Promise<ClientHttp2Session> {
  const client = connect(`https://localhost:${port}`, { ca: CA })
  client.on('error', () => undefined)
  t.teardown(() => client.destroy())
  await once(client, 'connect')
  return client
}

interface Got {
  headers: IncomingHttpHeaders
  interim: IncomingHttpHeaders[]
  body: Buffer
}

/** Sends a request and reads the whole response; rejects if the stream is reset. */
async function get(client: ClientHttp2Session, headers: OutgoingHttpHeaders = {}, body?: Buffer): Promise<Got> {
  const stream = client.request({ ':path': '/', ':authority': 'example.test', ...headers }, { endStream: !body })
  const interim: IncomingHttpHeaders[] = []
  stream.on('headers', (fields: IncomingHttpHeaders) => interim.push(fields))
  if (body) stream.end(body)
  const parts: Buffer[] = []
  stream.on('data', (chunk: Buffer) => parts.push(chunk))
  const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders]
  if (!stream.closed) await once(stream, 'close')
  if (stream.rstCode !== 0) throw new Error(`reset with code ${stream.rstCode}`)
  return { headers: head, interim, body: Buffer.concat(parts) }
}

t.test('requests of one connection run at the same time, with the fields of HTTP/1.1', async (t) => {
  let open = 0
  const waiting: (() => void)[] = []
  const { url } = await startOrigin(t, (request, response) => {
    waiting.push(() => response.setHeader('Set-Cookie', ['a=1', 'b=2']).end(JSON.stringify(request.rawHeaders)))
    if (++open === 3) for (const respond of waiting) respond()
  })
  const records: LogRecord[] = []
  const emitter = {
    wants: () => true,
    emit: (_dataset: string, _scope: unknown, record: LogRecord) => records.push(record),
  }
  const proxy = await startProxy(t, url, { yaml: YAML(), emitter })
  const client = await session(t, proxy.tls!.port)
  const all = await Promise.all([1, 2, 3].map(() => get(client, { cookie: ['x=1', 'y=2'], te: 'trailers' })))
  for (const { headers, body } of all) {
    t.match(headers, { ':status': 200, 'set-cookie': ['a=1', 'b=2'], 'cf-ray': /^[0-9a-f]{16}$/ })
    t.equal(headers.connection, undefined)
    const fields = JSON.parse(body.toString()) as string[]
    const of = (name: string) => fields.filter((_, i) => i % 2 === 1 && fields[i - 1]!.toLowerCase() === name)
    t.strictSame(of('host'), ['example.test'])
    t.strictSame(of('cookie'), ['x=1; y=2'])
    t.strictSame(of('x-forwarded-proto'), ['https'])
    t.strictSame(of('via'), ['2 edged'])
    t.strictSame(of('te'), [])
  }
  t.match(records[0], { ClientRequestProtocol: 'HTTP/2', ClientRequestScheme: 'https', EdgeResponseStatus: 200 })
})

t.test('bodies pass in both directions, also beside uploads that wait', async (t) => {
  const { url } = await startOrigin(t, (request, response) => request.pipe(response))
  const proxy = await startProxy(t, url, { yaml: YAML() })
  const client = await session(t, proxy.tls!.port)
  const body = Buffer.alloc(3_000_000, 'abcdefghij')
  for (const method of ['POST', 'PUT']) {
    const got = await get(client, { ':method': method }, body)
    t.equal(got.body.equals(body), true)
  }
  const known = await get(client, { ':method': 'POST', 'content-length': body.length }, body)
  t.equal(known.body.equals(body), true)
})

t.test('responses keep their own bytes while other streams of the client are reset', async (t) => {
  // Around the size of the memory that responses share one after the other.
  const SIZES = [1, 4096, 5000, 16_383, 16_384, 16_385, 40_000]
  const { url } = await startOrigin(t, (request, response) => {
    const number = Number(request.url!.slice(1))
    response.end(Buffer.alloc(SIZES[number % SIZES.length] ?? 0, number))
  })
  const proxy = await startProxy(t, url, { yaml: YAML() })
  const client = await session(t, proxy.tls!.port)
  for (let round = 0; round < 5; round++) {
    const numbers = Array.from({ length: 40 }, (_, i) => round * 40 + i)
    for (let i = 0; i < 5; i++) {
      const cancelled = client.request({ ':path': `/${200 + i}`, ':authority': 'example.test' })
      cancelled.on('error', () => undefined)
      cancelled.once('response', () => cancelled.destroy())
    }
    const responses = await Promise.all(numbers.map(async (number) => await get(client, { ':path': `/${number}` })))
    t.ok(
      responses.every(({ body }, i) => body.equals(Buffer.alloc(SIZES[numbers[i]! % SIZES.length] ?? 0, numbers[i]))),
      `round ${round}`,
    )
  }
})

t.test('HEAD, 204 and 304 end with their head', async (t) => {
  const { url } = await startOrigin(t, (request, response) => {
    if (request.method === 'HEAD') response.setHeader('content-length', 5)
    else response.statusCode = Number(request.url!.slice(1))
    response.end()
  })
  const proxy = await startProxy(t, url, { yaml: YAML() })
  const client = await session(t, proxy.tls!.port)
  t.match(await get(client, { ':method': 'HEAD' }), { headers: { ':status': 200, 'content-length': '5' } })
  t.match(await get(client, { ':path': '/204' }), { headers: { ':status': 204 } })
  t.match(await get(client, { ':path': '/304' }), { headers: { ':status': 304 } })
  while ((await metric(proxy.metrics, 'edged_proxy_requests_in_flight')) > 0) await new Promise(setImmediate)
})

t.test('a client that does not read stops its origin, and only its own stream', async (t) => {
  let sent = 0
  const { url } = await startOrigin(t, (request, response) => {
    if (request.url === '/small') return void response.end('small')
    const more = () => {
      while (sent < 200_000_000 && response.write(Buffer.alloc(65_536))) sent += 65_536
    }
    response.on('drain', more)
    more()
  })
  const proxy = await startProxy(t, url, { yaml: YAML() })
  const client = await session(t, proxy.tls!.port)
  const slow = client.request({ ':path': '/', ':authority': 'example.test' })
  await once(slow, 'response')
  for (let before = -1; before !== sent;) {
    before = sent
    for (let i = 0; i < 5; i++) t.equal((await get(client, { ':path': '/small' })).body.toString(), 'small')
  }
  t.ok(sent < 50_000_000, `${sent} bytes`)
  slow.close()
})

t.test('requests that HTTP/1.1 would read in another way are rejected', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('ok'))
  const proxy = await startProxy(t, url, { yaml: YAML('header_bytes: 2KiB, header_count: 20, body_bytes: 1KiB') })
  const rows: [string, OutgoingHttpHeaders, number][] = [
    ['another Host', { host: 'other.test' }, 400],
    ['a fragment', { ':path': '/a#b' }, 400],
    ['user information', { ':authority': 'me@example.test' }, 400],
    ['an unknown host', { ':authority': 'nobody.test' }, 404],
    ['an unknown method', { ':method': 'FOO' }, 501],
    ['TRACE', { ':method': 'TRACE' }, 405],
    ['a long path', { ':path': `/${'a'.repeat(3000)}` }, 414],
    ['large fields', { 'x-large': 'a'.repeat(3000) }, 431],
    ['many fields', Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`x-${i}`, '1'])), 431],
    ['an unknown expectation', { expect: 'more' }, 417],
  ]
  for (const [what, headers, status] of rows) {
    const client = await session(t, proxy.tls!.port)
    const rejected = await get(client, headers).then(
      (response) => response.headers[':status'],
      (error: Error) => error.message,
    )
    if (typeof rejected === 'number') t.equal(rejected, status, what)
    // Newer versions of nghttp2 find more requests malformed.
    else t.match([status, rejected], [400, /NGHTTP2_PROTOCOL_ERROR/], what)
    t.equal((await get(client)).headers[':status'], 200, `${what}: the connection is still usable`)
    client.destroy()
  }
  const client = await session(t, proxy.tls!.port)
  t.equal((await get(client, { ':method': 'POST' }, Buffer.alloc(2000))).headers[':status'], 413)
  t.equal(
    (await get(client, { ':method': 'POST', 'content-length': 2000 }, Buffer.alloc(2000))).headers[':status'],
    413,
  )
  t.equal((await get(client)).headers[':status'], 200)
})

t.test('a response that breaks off is reset', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n')
      setTimeout(() => socket.destroy(), 50)
    })
  })
  const proxy = await startProxy(t, origin, { yaml: YAML() })
  const client = await session(t, proxy.tls!.port)
  await t.rejects(get(client), /INTERNAL_ERROR|code 2/)
})

t.test('a client that expects 100 (Continue) gets it when the body is wanted', async (t) => {
  const { url } = await startOrigin(t, (request, response) => request.pipe(response))
  const proxy = await startProxy(t, url, { yaml: YAML() })
  const client = await session(t, proxy.tls!.port)
  const stream = client.request({
    ':path': '/',
    ':authority': 'example.test',
    ':method': 'POST',
    expect: '100-continue',
  })
  await once(stream, 'continue')
  stream.end('body')
  const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders]
  t.equal(head[':status'], 200)
  stream.close()
})

t.test('closing the proxy completes requests and closes idle connections', async (t) => {
  let respond = () => undefined as void
  const { url } = await startOrigin(t, (request, response) => {
    if (request.url === '/wait') respond = () => void response.end('late')
    else response.end('ok')
  })
  const proxy = await startProxy(t, url, { yaml: YAML() })
  const [idle, busy] = [await session(t, proxy.tls!.port), await session(t, proxy.tls!.port)]
  await get(idle)
  await get(busy)
  const waiting = get(busy, { ':path': '/wait' })
  while ((await metric(proxy.metrics, 'edged_proxy_requests_in_flight')) === 0) await new Promise(setImmediate)
  const closed = proxy.close()
  await once(idle, 'close')
  respond()
  t.equal((await waiting).body.toString(), 'late')
  await closed
})

t.test('idle connections end by keep_alive_timeout', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('ok'))
  const proxy = await startProxy(t, url, { yaml: YAML('keep_alive_timeout: 100ms') })
  const client = await session(t, proxy.tls!.port)
  t.equal((await get(client)).headers[':status'], 200)
  await once(client, 'close')
  while ((await metric(proxy.metrics, 'edged_proxy_connections')) > 0) await new Promise(setImmediate)
})

t.test('a client that cancels too many requests is disconnected and refused for a while', async (t) => {
  const { url } = await startOrigin(t, () => undefined)
  const proxy = await startProxy(t, url, { yaml: YAML() })
  const client = await session(t, proxy.tls!.port)
  const closed = new Promise((resolve) => client.once('close', resolve))
  for (let i = 0; i < 5000 && !client.closed && !client.destroyed; i++) {
    const stream = client.request({ ':path': '/', ':authority': 'example.test' })
    stream.on('error', () => undefined)
    await new Promise(setImmediate)
    stream.close(8)
  }
  await closed
  t.equal(await metric(proxy.metrics, 'edged_proxy_http2_connections_closed_total'), 1)
  while ((await metric(proxy.metrics, 'edged_proxy_requests_in_flight')) > 0) await new Promise(setImmediate)
  const again = connect(`https://localhost:${proxy.tls!.port}`, { ca: CA })
  again.on('error', () => undefined)
  again.once('remoteSettings', () => t.fail('the connection is served'))
  await new Promise((resolve) => again.once('close', resolve))
})

t.test('auto is on if nghttp2 has no known crash', (t) => {
  const rows: [string, boolean][] = [
    ['1.61.0', false],
    ['1.68.0', false],
    ['1.68.1', true],
    ['1.70.0', true],
    ['1.9.9', false],
    ['2.0.0', true],
  ]
  for (const [version, on] of rows) t.equal(http2IsOn('auto', version), on, version)
  t.equal(http2IsOn('on', '1.61.0'), true)
  t.equal(http2IsOn('off', '1.70.0'), false)
  t.end()
})

t.test('interim responses of the origin arrive before the response', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.on('data', () =>
      socket.write(
        'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      ),
    )
  })
  const proxy = await startProxy(t, origin, { yaml: YAML() })
  const { interim, headers, body } = await get(await session(t, proxy.tls!.port))
  t.match(interim, [{ ':status': 103, link: '</a>, </b>' }])
  t.match(headers, { ':status': 200 })
  t.equal(body.toString(), 'ok')
})

t.test('the tokens of streamed Markdown follow the body as trailers', async (t) => {
  const html = `<h1>Title</h1>${'<p>a bit of text</p>'.repeat(20_000)}`
  const { url } = await startOrigin(t, (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html', 'content-length': String(html.length) }).end(html),
  )
  const metrics = openMetrics({ process: false })
  const stage = markdownStage({ memory: new MemoryBudget(50_000_000), metrics, log: silentLog })
  const zone = testZone(url, 'settings: { content_converter: on }, markdown: { compress: true }')
  const proxy = await startProxy(t, [zone], { yaml: YAML(), stages: [stage] })
  const client = await session(t, proxy.tls!.port)
  for (const coding of ['identity', 'gzip']) {
    const stream = client.request({
      ':path': '/',
      ':authority': 'example.test',
      accept: 'text/markdown',
      'accept-encoding': coding,
      te: 'trailers',
    })
    let trailers: IncomingHttpHeaders = {}
    stream.on('trailers', (fields: IncomingHttpHeaders) => (trailers = fields))
    const parts: Buffer[] = []
    stream.on('data', (chunk: Buffer) => parts.push(chunk))
    const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders]
    await once(stream, 'close')
    t.match(head, { trailer: 'x-markdown-tokens', 'content-type': /^text\/markdown/ })
    t.equal(head['content-encoding'], coding === 'gzip' ? 'gzip' : undefined)
    const body = coding === 'gzip' ? gunzipSync(Buffer.concat(parts)) : Buffer.concat(parts)
    t.match(body.toString(), /^# Title\n/)
    t.equal(trailers['x-markdown-tokens'], String(Math.ceil(body.length / 4)))
  }
})
