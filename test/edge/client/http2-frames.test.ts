import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  fields,
  frame,
  type Frame,
  getFields,
  GOAWAY,
  HEADERS,
  PADDED,
  PING,
  PREFACE,
  PRIORITY,
  PUSH_PROMISE,
  RawHttp2,
  RST_STREAM,
  SETTINGS,
  SETTINGS_FRAME,
  uint32,
  WINDOW_UPDATE,
} from '../../helpers/http2-frames.js'
import { metric, startOrigin, startProxy, type TestProxy } from '../../helpers/proxy.js'
import { CA_FILE, tlsFile } from '../../helpers/tls.js'
import { until } from '../../helpers/web.js'

const CA = readFileSync(CA_FILE)
const FILES = `{ cert_file: '${tlsFile('cert.pem')}', key_file: '${tlsFile('key.pem')}' }`
const START = Buffer.concat([PREFACE, SETTINGS_FRAME])
const GET = frame(HEADERS, END_STREAM | END_HEADERS, 1, getFields())
const POST_FIELDS = fields([':method', 'POST'], [':scheme', 'https'], [':path', '/'], [':authority', 'example.test'])
const POST = frame(HEADERS, END_HEADERS, 1, POST_FIELDS)

async function start(t: Test, limits = ''): Promise<TestProxy> {
  const { url } = await startOrigin(t, (request, response) => {
    request.resume()
    response.end('ok')
  })
  const yaml = `{ tls: { listen: 127.0.0.1:0, http2: on, certificates: [${FILES}] }, limits: { ${limits} } }`
  return await startProxy(t, url, { yaml })
}

async function open(t: Test, proxy: TestProxy): Promise<RawHttp2> {
  const client = await RawHttp2.open(proxy.tls!.port, CA)
  t.teardown(() => client.socket.destroy())
  return client
}

/** First frames: unusual, but most of them allowed. */
const FIRST: [string, Buffer][] = [
  ['nothing', Buffer.alloc(0)],
  ['a request', GET],
  ['a request with a body to come', POST],
  ['a request and its reset', Buffer.concat([GET, frame(RST_STREAM, 0, 1, uint32(8))])],
  ['two requests', Buffer.concat([GET, frame(HEADERS, END_STREAM | END_HEADERS, 3, getFields())])],
  ['a malformed request', frame(HEADERS, END_STREAM | END_HEADERS, 1, getFields(['connection', 'close']))],
  ['an unfinished head', frame(HEADERS, END_STREAM, 1, getFields())],
  ['a priority', frame(PRIORITY, 0, 1, Buffer.from([0, 0, 0, 0, 15]))],
  ['a ping', frame(PING, 0, 0, Buffer.alloc(8))],
  ['a window of the connection', frame(WINDOW_UPDATE, 0, 0, uint32(1000))],
  ['a table size of 0', frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 1]), uint32(0)]))],
  ['a window of 0 for all streams', frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(0)]))],
  ['goaway', frame(GOAWAY, 0, 0, Buffer.alloc(8))],
  ['an unknown frame', frame(0xef, 0, 0, Buffer.alloc(16))],
  ['a settings acknowledgement', frame(SETTINGS, ACK, 0)],
]

/** Malformed second frames. */
const SECOND: [string, Buffer][] = [
  ['DATA on stream 0', frame(DATA, 0, 0, Buffer.from('x'))],
  ['DATA on an idle stream', frame(DATA, 0, 99, Buffer.from('x'))],
  ['DATA with too much padding', frame(DATA, PADDED, 1, Buffer.from([200, 1]))],
  ['HEADERS on an even stream', frame(HEADERS, END_STREAM | END_HEADERS, 2, getFields())],
  [
    'HEADERS that HPACK cannot read',
    frame(HEADERS, END_STREAM | END_HEADERS, 5, Buffer.from([0xff, 0xff, 0xff, 0xff])),
  ],
  ['CONTINUATION without HEADERS', frame(CONTINUATION, END_HEADERS, 1, getFields())],
  ['RST_STREAM of an idle stream', frame(RST_STREAM, 0, 99, uint32(8))],
  ['SETTINGS with a wrong length', frame(SETTINGS, 0, 0, Buffer.alloc(5))],
  [
    'SETTINGS with an impossible window',
    frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(0xffffffff)])),
  ],
  ['PING with a wrong length', frame(PING, 0, 0, Buffer.alloc(7))],
  ['PUSH_PROMISE of a client', frame(PUSH_PROMISE, END_HEADERS, 1, Buffer.concat([uint32(2), getFields()]))],
  ['WINDOW_UPDATE of 0', frame(WINDOW_UPDATE, 0, 0, uint32(0))],
  ['a frame above the maximum size', frame(DATA, 0, 1, Buffer.alloc(100), 20_000_000 & 0xffffff)],
]

const LAST_PING = frame(PING, 0, 0, Buffer.from('the last'))

t.test('no pair of odd and malformed frames ends the process or harms another client', async (t) => {
  const proxy = await start(t)
  const runs = FIRST.flatMap((first) =>
    SECOND.flatMap((second) => [true, false].map((once) => ({ first, second, once }))),
  )
  const run = async ({ first, second, once }: (typeof runs)[number]): Promise<void> => {
    const client = await RawHttp2.open(proxy.tls!.port, CA)
    if (once) client.write(START, first[1], second[1], LAST_PING)
    else {
      client.write(START, first[1])
      await new Promise((resolve) => setTimeout(resolve, 4))
      client.write(second[1], LAST_PING)
    }
    // Some frames are ignored, as those of a stream that is already closed: then the ping is acknowledged.
    await client.find(
      ({ type, payload }) => type === GOAWAY || (type === PING && payload.equals(LAST_PING.subarray(9))),
    )
    client.socket.destroy()
  }
  const waiting = [...runs]
  const worker = async (): Promise<void> => {
    for (let next = waiting.pop(); next; next = waiting.pop()) await run(next)
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  const other = await open(t, proxy)
  other.write(START, GET)
  t.equal(await other.outcome(1), 'response')
  while ((await metric(proxy.metrics, 'edged_proxy_requests_in_flight')) > 0) await new Promise(setImmediate)
})

/**
 * RFC 9113, 8.1 to 8.3: malformed requests. They are reset and do not reach the origin, except for fields that nghttp2
 * drops before the request is read.
 */
const MALFORMED: [string, Buffer, 'reset' | 'dropped'][] = [
  ['an upper-case name', getFields(['X-Upper', '1']), 'reset'],
  ['a name with a space', getFields(['x y', '1']), 'dropped'],
  ['a name with a colon', getFields(['x:y', '1']), 'dropped'],
  ['a value with a line feed', getFields(['x-a', 'b\nc']), 'dropped'],
  ['a value with a carriage return', getFields(['x-a', 'b\rc']), 'dropped'],
  ['a value with a zero byte', getFields(['x-a', 'b\0c']), 'dropped'],
  ['connection', getFields(['connection', 'close']), 'reset'],
  ['keep-alive', getFields(['keep-alive', 'timeout=5']), 'reset'],
  ['proxy-connection', getFields(['proxy-connection', 'close']), 'reset'],
  ['transfer-encoding', getFields(['transfer-encoding', 'chunked']), 'reset'],
  ['upgrade', getFields(['upgrade', 'websocket']), 'reset'],
  ['te other than trailers', getFields(['te', 'gzip']), 'reset'],
  ['a pseudo field after a field', getFields(['a', 'b'], [':path', '/']), 'reset'],
  ['an unknown pseudo field', getFields([':unknown', '1']), 'reset'],
  ['a pseudo field of responses', getFields([':status', '200']), 'reset'],
  ['two paths', getFields([':path', '/b']), 'reset'],
  ['no method', fields([':scheme', 'https'], [':path', '/'], [':authority', 'example.test']), 'reset'],
  ['no path', fields([':method', 'GET'], [':scheme', 'https'], [':authority', 'example.test']), 'reset'],
  ['no scheme', fields([':method', 'GET'], [':path', '/'], [':authority', 'example.test']), 'reset'],
  ['an empty path', fields([':method', 'GET'], [':scheme', 'https'], [':path', ''], [':authority', 'e.test']), 'reset'],
  [
    'a path with a line feed',
    fields([':method', 'GET'], [':scheme', 'https'], [':path', '/\n'], [':authority', 'e']),
    'reset',
  ],
  ['no authority and no Host', fields([':method', 'GET'], [':scheme', 'https'], [':path', '/']), 'reset'],
  ['two lengths', getFields(['content-length', '1'], ['content-length', '2']), 'reset'],
  ['a length without a body', getFields(['content-length', '5']), 'reset'],
  ['a length that is not a number', getFields(['content-length', '+1']), 'reset'],
]

t.test('malformed requests are reset or rejected, and never forwarded', async (t) => {
  const reached: string[][] = []
  const { url } = await startOrigin(t, (request, response) => {
    reached.push(request.rawHeaders.map((text) => text.toLowerCase()))
    response.end('ok')
  })
  const yaml = `{ tls: { listen: 127.0.0.1:0, http2: on, certificates: [${FILES}] } }`
  const proxy = await startProxy(t, url, { yaml })
  const client = await open(t, proxy)
  client.write(START)
  let id = 1
  for (const [what, payload, outcome] of MALFORMED) {
    client.write(frame(HEADERS, END_STREAM | END_HEADERS, id, payload))
    t.equal(await client.outcome(id), outcome === 'dropped' ? 'response' : 'reset', what)
    id += 2
  }
  t.equal(reached.length, MALFORMED.filter(([, , outcome]) => outcome === 'dropped').length)
  t.notMatch(reached.flat().join('\n'), /x y|x:y|x-a/)
  client.write(frame(HEADERS, END_STREAM | END_HEADERS, id, getFields(['te', 'trailers'])))
  t.equal(await client.outcome(id), 'response', 'the connection is still usable')
})

t.test('a body that differs from its length never looks complete to the origin', async (t) => {
  const complete: string[] = []
  const { url } = await startOrigin(t, (request, response) => {
    request.on('end', () => complete.push(request.url!))
    request.on('error', () => undefined)
    request.resume()
    request.on('end', () => response.end('ok'))
  })
  const yaml = `{ tls: { listen: 127.0.0.1:0, http2: on, certificates: [${FILES}] } }`
  const proxy = await startProxy(t, url, { yaml })
  const client = await open(t, proxy)
  const post = (id: number, length: string) =>
    frame(
      HEADERS,
      END_HEADERS,
      id,
      fields(
        [':method', 'POST'],
        [':scheme', 'https'],
        [':path', `/${id}`],
        [':authority', 'example.test'],
        ['content-length', length],
      ),
    )
  client.write(START, post(1, '10'), frame(DATA, END_STREAM, 1, Buffer.from('short')))
  t.equal(await client.outcome(1), 'reset')
  client.write(post(3, '2'), frame(DATA, END_STREAM, 3, Buffer.from('longer')))
  // nghttp2 from 1.69 on ends the whole connection.
  t.match(await client.outcome(3), /^(reset|goaway)$/)
  const other = await open(t, proxy)
  other.write(START, post(5, '4'), frame(DATA, END_STREAM, 5, Buffer.from('full')))
  t.equal(await other.outcome(5), 'response')
  t.strictSame(complete, ['/5'])
})

/** Floods: the connection ends, and the proxy goes on. */
const FLOODS: [string, () => Buffer][] = [
  ['requests that are reset at once', () => repeat(3000, (i) => cancelled(2 * i + 1))],
  [
    'CONTINUATION without end',
    () => Buffer.concat([unfinished(1), repeat(3000, () => frame(CONTINUATION, 0, 1, fields(['x-a', 'b'])))]),
  ],
  ['SETTINGS', () => repeat(20_000, () => SETTINGS_FRAME)],
  ['PING', () => repeat(20_000, () => frame(PING, 0, 0, Buffer.alloc(8)))],
  ['empty DATA', () => Buffer.concat([POST, repeat(20_000, () => frame(DATA, 0, 1))])],
]

const repeat = (count: number, of: (index: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, i) => of(i)))
const unfinished = (id: number): Buffer => frame(HEADERS, END_STREAM, id, getFields())
const cancelled = (id: number): Buffer =>
  Buffer.concat([frame(HEADERS, END_STREAM | END_HEADERS, id, getFields()), frame(RST_STREAM, 0, id, uint32(8))])

t.test('floods end their connection', async (t) => {
  for (const [what, flood] of FLOODS) {
    // One proxy each: an address that floods is refused for a while.
    const proxy = await start(t)
    const client = await open(t, proxy)
    const closed = new Promise((resolve) => client.socket.once('close', resolve))
    client.socket.pause()
    client.write(START, flood())
    client.socket.resume()
    await closed
    t.pass(what)
    while ((await metric(proxy.metrics, 'edged_proxy_requests_in_flight')) > 0) await new Promise(setImmediate)
    while ((await metric(proxy.metrics, 'edged_proxy_connections')) > 0) await new Promise(setImmediate)
  }
})

t.test('a client that reads each acknowledgement of its PING frames is disconnected, too', async (t) => {
  const proxy = await start(t)
  const client = await open(t, proxy)
  client.write(START)
  const acknowledged = () => client.frames.filter(({ type, flags }) => type === PING && flags === ACK).length
  let end: Frame | undefined
  let sent = 0
  while (end?.type !== GOAWAY && sent < 3000) {
    client.write(repeat(50, () => frame(PING, 0, 0, Buffer.alloc(8))))
    sent += 50
    end = await client.find(({ type }) => type === GOAWAY || acknowledged() >= sent)
  }
  t.match(end, { type: GOAWAY })
})

t.test('requests above the limits of one address are refused in a way that they can be sent again', async (t) => {
  const held: (() => void)[] = []
  const { url } = await startOrigin(t, (_request, response) => held.push(() => response.end('ok')))
  const yaml = `{ tls: { listen: 127.0.0.1:0, http2: on, certificates: [${FILES}] }, limits: { connections_per_address: 3 } }`
  const proxy = await startProxy(t, url, { yaml })
  const client = await open(t, proxy)
  client.write(START, ...[1, 3, 5, 7].map((id) => frame(HEADERS, END_STREAM | END_HEADERS, id, getFields())))
  const reset = await client.find(({ type }) => type === RST_STREAM)
  t.match(reset, { stream: 7, payload: uint32(7) }, 'REFUSED_STREAM')
  while (held.length < 3) await new Promise(setImmediate)
  for (const respond of held) respond()
  t.equal(await client.outcome(5), 'response')
})

t.test('a client that never opens its window is disconnected by write_timeout', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end(Buffer.alloc(300_000)))
  const yaml = `{ tls: { listen: 127.0.0.1:0, http2: on, certificates: [${FILES}] }, limits: { write_timeout: 300ms } }`
  const proxy = await startProxy(t, url, { yaml })
  const client = await open(t, proxy)
  client.write(START, GET)
  const reset = await client.find(({ type }) => type === RST_STREAM)
  t.match(reset, { stream: 1, payload: uint32(2) })
  t.equal(await metric(proxy.metrics, 'edged_proxy_requests_in_flight'), 0)
})

t.test('a client that says GOAWAY and leaves with requests in progress frees its connection', async (t) => {
  const held: (() => void)[] = []
  const body = Buffer.alloc(300_000)
  const { url } = await startOrigin(t, (_request, response) => void held.push(() => response.end(body)))
  const yaml = `{ tls: { listen: 127.0.0.1:0, http2: on, certificates: [${FILES}] } }`
  const proxy = await startProxy(t, url, { yaml })
  const clients = await Promise.all(Array.from({ length: 10 }, async () => await open(t, proxy)))
  for (const client of clients)
    client.write(START, ...[1, 3, 5].map((id) => frame(HEADERS, END_STREAM | END_HEADERS, id, getFields())))
  await until(() => held.length === 30)
  t.equal(await metric(proxy.metrics, 'edged_proxy_connections'), 10)
  for (const [at, { socket }] of clients.entries()) {
    socket.write(frame(GOAWAY, 0, 0, Buffer.concat([uint32(0), uint32(0)])))
    // Some leave before the responses, some with unread bytes of them.
    if (at % 2 === 0) socket.end()
    else socket.pause()
  }
  for (const respond of held) respond()
  for (const { socket } of clients) setImmediate(() => socket.destroy())
  await until(async () => (await metric(proxy.metrics, 'edged_proxy_connections')) === 0)
})
