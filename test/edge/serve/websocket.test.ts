import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, Socket, type AddressInfo } from 'node:net'
import t from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import type { Metrics } from '../../../src/core/metrics/metrics.js'
import { metric, sendRaw, startProxy, startRawOrigin, testZone, type Teardown } from '../../helpers/proxy.js'
import { until } from '../../helpers/web.js'

const UPGRADE =
  'GET /chat HTTP/1.1\r\nHost: example.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'

/** The origin agrees to that, as in RFC 6455, 1.3; without the empty line at the end. */
const AGREED =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n'

/** An origin that sends every message back. */
async function echoOrigin(t: Teardown): Promise<string> {
  const server = createServer((_request, response) => response.end('no socket'))
  const sockets = new WebSocketServer({ server, maxPayload: 64 * 1024 * 1024 })
  sockets.on('connection', (socket, request) => {
    socket.on('error', () => undefined)
    socket.send(JSON.stringify(request.headers))
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets.clients) socket.terminate()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const noTunnels = async (metrics: Metrics) =>
  await until(async () => (await metric(metrics, 'edged_proxy_tunnels')) === 0)

t.test('messages pass both ways, large ones too, until one side closes', async (t) => {
  const { url, metrics } = await startProxy(t, [testZone(await echoOrigin(t))])
  const socket = new WebSocket(`${url.replace('http', 'ws')}/chat`, { headers: { host: 'example.test' } })
  const [hello] = (await once(socket, 'message')) as [Buffer]
  t.match(JSON.parse(String(hello)), { host: 'example.test', 'x-forwarded-for': '127.0.0.1', via: '1.1 edged' })
  t.equal(await metric(metrics, 'edged_proxy_tunnels'), 1)
  const large = Buffer.alloc(8 * 1024 * 1024, 'x')
  socket.send(large)
  const [back] = (await once(socket, 'message')) as [Buffer]
  t.ok(back.equals(large))
  socket.close(1000, 'bye')
  t.equal((await once(socket, 'close'))[0], 1000)
  await noTunnels(metrics)
  t.equal(await metric(metrics, 'edged_proxy_requests_in_flight'), 0)
  t.equal(await metric(metrics, 'edged_proxy_requests_total', { class: '1xx' }), 1)
  t.equal(await metric(metrics, 'edged_proxy_requests_aborted_total'), 0)
})

t.test('a side that vanishes ends the other one', async (t) => {
  const origins: { destroy(): void }[] = []
  let closed = 0
  const origin = await startRawOrigin(t, (socket) => {
    origins.push(socket)
    socket.on('close', () => closed++)
    socket.once('data', () => socket.write(`${AGREED}\r\nearly`))
  })
  const { port, metrics } = await startProxy(t, [testZone(origin)])
  const open = async () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(`${UPGRADE}\r\n`)
    let text = ''
    while (!text.includes('early')) text += String((await once(socket, 'data'))[0])
    return { socket, text }
  }
  const { socket, text } = await open()
  t.match(text, /^HTTP\/1\.1 101 [^]*connection: Upgrade\r\nupgrade: websocket\r\ncf-ray: [0-9a-f]{16}\r\n\r\nearly$/)
  socket.resetAndDestroy()
  await noTunnels(metrics)
  await until(() => closed === 1)
  const second = await open()
  origins[1]?.destroy()
  await once(second.socket, 'close')
  await noTunnels(metrics)
})

t.test('a client that does not close after the origin has is disconnected', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.once('data', () => socket.end(`${AGREED}\r\nbye`))
  })
  const { port, metrics } = await startProxy(t, [testZone(origin)])
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  t.teardown(() => socket.destroy())
  socket.on('error', () => undefined)
  let text = ''
  socket.on('data', (chunk) => (text += String(chunk)))
  socket.write(`${UPGRADE}\r\n`)
  await once(socket, 'end')
  t.match(text, /bye$/)
  await noTunnels(metrics)
  t.pass('its place is free again')
})

const sockets = (): Socket[] =>
  (process as unknown as { _getActiveHandles(): unknown[] })
    ._getActiveHandles()
    .filter((one): one is Socket => one instanceof Socket)

/** Sockets of this process, by the port of this end or of the other one. */
const socketsAt = (port: number): Socket[] => sockets().filter(({ localPort }) => localPort === port)
const socketsTo = (port: number): Socket[] => sockets().filter(({ remotePort }) => remotePort === port)

/** A client that has read nothing when its origin has ended, and what the origin sent: more than the system holds for it. */
async function lateClient(t: Teardown, yaml: string) {
  const chunk = Buffer.alloc(4096, 'x')
  let sent = 0
  const origin = await startRawOrigin(t, (socket) => {
    socket.once('data', () => {
      socket.write(`${AGREED}\r\n`)
      void fill(socket)
    })
  })
  const originPort = Number(new URL(origin).port)
  const { port, metrics } = await startProxy(t, [testZone(origin)], { yaml })
  const fill = async (socket: Socket) => {
    const read = () => socketsTo(originPort).reduce((sum, { bytesRead }) => sum + bytesRead, 0)
    while (!socketsAt(port).some(({ writableLength }) => writableLength > 0)) {
      socket.write(chunk)
      sent += chunk.length
      await until(() => read() >= sent)
    }
    socket.end()
  }
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => undefined)
  socket.pause()
  socket.write(`${UPGRADE}\r\n`)
  await until(() => sent > 0 && socketsTo(originPort).length === 0)
  return { socket, sent, metrics }
}

// What had not gone out two seconds after the origin's end was lost: the last messages to a slow reader.
t.test('a client that reads late gets all that the origin sent before it ended', async (t) => {
  const { socket, sent, metrics } = await lateClient(t, '{}')
  await new Promise((resolve) => setTimeout(resolve, 2500))
  let received = 0
  socket.on('data', (bytes: Buffer) => (received += bytes.length)).resume()
  await once(socket, 'close')
  t.ok(received > sent, `${received} of ${sent} bytes and a head`)
  await noTunnels(metrics)
})

t.test('a client that reads nothing more when the origin has ended is disconnected', async (t) => {
  const { metrics } = await lateClient(t, '{ limits: { write_timeout: 100ms } }')
  await noTunnels(metrics)
  t.pass('its place is free again')
})

t.test('bytes that come with the request go to the origin', async (t) => {
  let got = ''
  const origin = await startRawOrigin(t, (socket) => {
    socket.on('data', (data) => {
      got += String(data)
      if (got.endsWith('\r\n\r\n')) socket.write(`${AGREED}\r\n`)
      if (got.endsWith('GET / HTTP/1.1\r\n')) socket.end()
    })
  })
  const { port } = await startProxy(t, [testZone(origin)])
  const { text, closed } = await sendRaw(port, `${UPGRADE}\r\nGET / HTTP/1.1\r\n`)
  t.match(text, /^HTTP\/1\.1 101 /)
  t.ok(closed)
  t.match(got, /\r\n\r\nGET \/ HTTP\/1\.1\r\n$/)
})

t.test('an origin that declines responds as usual', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.on('data', () => socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno'))
  })
  const { port } = await startProxy(t, [testZone(origin)])
  const { text } = await sendRaw(port, `${UPGRADE}\r\n${UPGRADE.replace('keep-alive', 'close')}\r\n`)
  t.equal(text.split(/HTTP\/1\.1 403 /).length - 1, 2)
  t.match(text, /\r\n\r\nno$/)
})

t.test('an origin whose agreement could split the response is a 502', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.on('data', () => socket.write(`${AGREED}X-A: a\x01b\r\n\r\n`))
  })
  const { port, metrics } = await startProxy(t, [testZone(origin)])
  t.equal((await sendRaw(port, `${UPGRADE}Connection: close\r\n\r\n`)).status, 502)
  t.equal(await metric(metrics, 'edged_proxy_tunnels'), 0)
})

t.test('without WebSockets an upgrade is a request like any other', async (t) => {
  const origin = await echoOrigin(t)
  const off = await startProxy(t, [testZone(origin, 'websockets: false')])
  const on = await startProxy(t, [testZone(origin)])
  const last = 'Connection: close\r\n\r\n'
  t.match(
    (await sendRaw(off.port, UPGRADE + last)).text,
    /^HTTP\/1\.1 200 [^]*no socket$/,
    'a zone with websockets: false',
  )
  for (const [why, request] of [
    ['h2c', UPGRADE.replace('websocket', 'h2c')],
    ['several protocols', UPGRADE.replace('websocket', 'websocket, h2c')],
    ['POST', UPGRADE.replace('GET', 'POST')],
    ['HTTP/1.0', UPGRADE.replace('HTTP/1.1', 'HTTP/1.0')],
    ['not named by Connection', UPGRADE.replace(', Upgrade', '')],
  ] as const)
    t.match((await sendRaw(on.port, request + last)).text, /^HTTP\/1\.1 200 [^]*no socket/, why)
})

t.test('an origin that is down is a 502 here too', async (t) => {
  const { port } = await startProxy(t, [testZone('http://127.0.0.1:1')])
  t.equal((await sendRaw(port, `${UPGRADE}Connection: close\r\n\r\n`)).status, 502)
})

const DISAGREEMENTS: [what: string, head: string][] = [
  ['another protocol', AGREED.replace('websocket', 'h2c')],
  ['no protocol', AGREED.replace('Upgrade: websocket\r\n', '')],
  ['two protocols', AGREED.replace('websocket', 'websocket\r\nUpgrade: h2c')],
  ['no connection option', AGREED.replace('Connection: Upgrade\r\n', '')],
  ['no key', AGREED.replace(/Sec-WebSocket-Accept.*/, 'X: y')],
  ['the key of another connection', AGREED.replace('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=', 'Kfh9QIsMVZcl6xEPYxPHzW8SZ8w=')],
]
t.test('a 101 that agrees to something else is a 502', async (t) => {
  for (const [what, head] of DISAGREEMENTS) {
    const origin = await startRawOrigin(t, (socket) => {
      socket.once('data', () => socket.write(`${head}\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`))
    })
    const { port, metrics } = await startProxy(t, [testZone(origin)])
    const response = await sendRaw(port, `${UPGRADE}\r\n`.replace('keep-alive, ', 'close, '))
    t.equal(response.status, 502, what)
    t.notMatch(response.text, /evil/)
    t.equal(await metric(metrics, 'edged_proxy_tunnels'), 0)
  }
})

t.test('a request without a key is not a request for a WebSocket', async (t) => {
  const { port } = await startProxy(t, [testZone(await echoOrigin(t))])
  const head = UPGRADE.replace(/Sec-WebSocket-Key.*\r\n/, '').replace('keep-alive, ', 'close, ')
  t.match((await sendRaw(port, `${head}\r\n`)).text, /^HTTP\/1\.1 200 [^]*no socket$/)
})

t.test('a tunnel whose client has left ends, even if the origin does not close', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.once('data', () => socket.write(`${AGREED}\r\nhello`))
    socket.allowHalfOpen = true
  })
  const { port, metrics } = await startProxy(t, [testZone(origin)])
  const socket = connect(port, '127.0.0.1')
  socket.write(`${UPGRADE}\r\n`)
  let text = ''
  while (!text.includes('hello')) text += String((await once(socket, 'data'))[0])
  socket.end()
  await noTunnels(metrics)
  t.pass('both ends are closed')
})

t.test('a tunnel whose origin reads nothing ends, even if its client has left unnoticed', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.once('data', () => {
      socket.write(`${AGREED}\r\nhello`)
      socket.pause()
    })
  })
  const yaml = '{ limits: { write_timeout: 200ms } }'
  const { port, metrics } = await startProxy(t, [testZone(origin)], { yaml })
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(`${UPGRADE}\r\n`)
  let text = ''
  while (!text.includes('hello')) text += String((await once(socket, 'data'))[0])
  const chunk = Buffer.alloc(1024 * 1024)
  const fill = () => {
    while (!socket.destroyed && socket.write(chunk));
  }
  socket.on('drain', fill)
  fill()
  await noTunnels(metrics)
  socket.destroy()
})
