import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Connector } from '../../src/http/connector.js'
import type { OriginLimits } from '../../src/http/origin-connection.js'
import { InvalidResponse, ConnectionLost, Overloaded, TooSlow, WaitedTooLong } from '../../src/http/origin-errors.js'
import { Origin } from '../../src/http/origin.js'
import { Origins } from '../../src/http/origins.js'
import { requestText } from '../../src/http/request-text.js'
import { openDial, startRawOrigin } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'
import { Asked, LIMITS, OK } from './origin-helper.js'

/** Starts an origin that responds to each request with `answer`, and counts its connections. */
async function start(
  t: Test,
  response: (socket: Socket, request: string, count: number) => void,
  limits: Partial<OriginLimits> = {},
) {
  let connections = 0
  let open = 0
  const url = await startRawOrigin(t, (socket) => {
    connections++
    open++
    let count = 0
    socket.on('close', () => open--)
    socket.on('data', (data) => response(socket, data.toString('latin1'), ++count))
  })
  const origins = new Origins({ ...LIMITS, ...limits }, openDial)
  t.teardown(() => origins.close())
  const origin = origins.get('zone', { url })
  const ask = async (...request: ConstructorParameters<typeof Asked>) => {
    const asked = new Asked(...request)
    origin.send(asked)
    return await asked.done()
  }
  return { origin, ask, made: () => connections, open: () => open }
}

t.test('a connection is used again only if nothing prevents it', async (t) => {
  const cases: readonly (readonly [why: string, response: string, again: boolean])[] = [
    ['a length', OK, true],
    ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n', true],
    ['interim answers', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n${OK}`, true],
    ['HTTP/1.0 that keeps it', OK.replace('1.1', '1.0').replace('\r\n', '\r\nConnection: keep-alive\r\n'), true],
    ['close', OK.replace('\r\n', '\r\nConnection: close\r\n'), false],
    ['HTTP/1.0', OK.replace('1.1', '1.0'), false],
    ['a connection that is about to be closed', OK.replace('\r\n', '\r\nKeep-Alive: timeout=1\r\n'), false],
    ['bytes behind the answer', `${OK}!`, false],
    ['another answer behind the answer', `${OK}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`, false],
  ]
  for (const [why, response, again] of cases)
    await t.test(why, async (t) => {
      const { ask, made } = await start(t, (socket) => socket.write(response))
      for (let i = 0; i < 3; i++) t.match(await ask(), { status: 200, got: 'ok', error: undefined })
      t.equal(made(), again ? 1 : 3)
    })
})

t.test('bytes between responses are not a response', async (t) => {
  const { ask, open } = await start(t, (socket, _request, count) => {
    socket.write(OK)
    if (count === 1) setTimeout(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'), 20)
  })
  t.match(await ask(), { got: 'ok' })
  await until(() => open() === 0)
  t.match(await ask(), { got: 'ok' })
})

t.test('the end of a body that has no length is the end of the connection, and not its reset', async (t) => {
  const { ask } = await start(t, (socket, request) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\nhello')
    setTimeout(() => (request.includes('/reset') ? socket.resetAndDestroy() : socket.end(' world')), 20)
  })
  t.match(await ask('/end'), { got: 'hello world', error: undefined })
  t.match(await ask('/reset'), { got: 'hello', error: new ConnectionLost('', false) })
})

t.test('a slow head is a valid response, and interim responses do not extend the timeout', async (t) => {
  const { ask } = await start(t, (socket) => {
    void (async () => {
      for (const byte of OK) {
        socket.write(byte)
        await new Promise(setImmediate)
      }
    })()
  })
  t.match(await ask(), { status: 200, got: 'ok' })
  const endless = await start(
    t,
    (socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 10)
      socket.on('close', () => clearInterval(timer))
    },
    { headers_timeout: 200 },
  )
  t.match(await endless.ask(), { error: new TooSlow('headers_timeout', 'the origin does not respond') })
})

t.test('a stale connection is distinguished from a broken one', async (t) => {
  const { ask } = await start(t, (socket, request, count) => {
    if (request.includes('/half')) socket.end('HTTP/1.1 200')
    else if (count === 1 && !request.includes('/first')) socket.write(OK)
    else socket.destroy()
  })
  const broken = async (target: string) => ((await ask(target)).error as ConnectionLost).stale
  t.equal(await broken('/first'), false, 'a new connection')
  await ask()
  t.equal(await broken('/again'), true)
  await ask()
  t.equal(await broken('/half'), false, 'a part of the answer came')
})

t.test('requests wait in order, and leave the queue when they are cancelled', async (t) => {
  const held: (() => void)[] = []
  const { origin } = await start(t, (socket) => held.push(() => socket.write(OK)), { connections: 1, queue_size: 2 })
  const [first, second, third] = [new Asked('/1'), new Asked('/2'), new Asked('/3')]
  for (const request of [first, second, third]) origin.send(request)
  t.throws(() => origin.send(new Asked('/4')), Overloaded)
  t.equal(origin.active, 3)
  origin.cancel(second)
  t.equal(origin.active, 2)
  await until(() => held.length === 1)
  held[0]!()
  await first.done()
  await until(() => held.length === 2)
  held[1]!()
  t.match(await third.done(), { got: 'ok' })
  t.equal(second.over, false, 'and nothing is told to it')
  t.equal(origin.active, 0)
})

t.test('a cancelled request closes its connection and frees the slot', async (t) => {
  const { origin, ask, open } = await start(
    t,
    (socket, request) => {
      if (request.includes('/ok')) socket.write(OK)
    },
    { connections: 1 },
  )
  const stuck = new Asked('/stuck')
  origin.send(stuck)
  await until(() => open() === 1)
  const next = ask('/ok')
  origin.cancel(stuck)
  t.match(await next, { got: 'ok' })
  t.equal(stuck.over, false)
})

t.test('the wait for a connection is limited', async (t) => {
  const { origin } = await start(t, () => undefined, { connections: 1, queue_timeout: 40 })
  origin.send(new Asked())
  const waiting = new Asked()
  origin.send(waiting)
  t.match((await waiting.done()).error, new WaitedTooLong('no connection to the origin became free'))
})

t.test('an idle connection is closed in time', async (t) => {
  const { ask, open } = await start(t, (socket) => socket.write(OK), { keep_alive_timeout: 60 })
  t.match(await ask(), { got: 'ok' })
  await until(() => open() === 0)
})

t.test('a body is sent completely, by its length or in chunks', async (t) => {
  let got = ''
  const { ask, made } = await start(t, (socket, request) => {
    got += request
    if (got.endsWith('world') || got.endsWith('\r\n0\r\n\r\n')) socket.write(OK)
  })
  const body = () => Readable.from([Buffer.from('hello '), Buffer.from('world')])
  const headers = ['Host', 'example.test']
  await ask('/', { method: 'POST', headers: [...headers, 'content-length', '11'], body: body() })
  t.match(
    got,
    /^POST \/ HTTP\/1\.1\r\nhost: example\.test\r\nconnection: keep-alive\r\ncontent-length: 11\r\n\r\nhello world$/,
  )
  got = ''
  t.match(await ask('/', { method: 'POST', headers, body: body() }), { got: 'ok' })
  t.match(got, /\r\ntransfer-encoding: chunked\r\n\r\n6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n$/)
  t.equal(made(), 1)
})

t.test('a body that differs from its announced length ends the connection', async (t) => {
  let got = ''
  const { ask, open } = await start(t, (_socket, request) => (got += request))
  for (const length of ['3', '8']) {
    const body = Readable.from([Buffer.from('hello')])
    const { error } = await ask('/', { method: 'POST', headers: ['content-length', length], body })
    t.match(error?.message, /than its length says/)
    await until(() => open() === 0)
  }
  t.notMatch(got, /3\r\n\r\nhello/)
})

t.test('a response that arrives before the body is sent is used, and the connection is not used again', async (t) => {
  const { ask, made } = await start(t, (socket, _request, count) => {
    if (count === 1) socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno')
  })
  for (let i = 1; i <= 2; i++) {
    const body = new Readable({ read() {} })
    body.push(Buffer.from('hello'))
    t.match(await ask('/', { method: 'POST', headers: ['content-length', '10'], body }), { status: 413, got: 'no' })
    t.ok(body.destroyed)
    t.equal(made(), i)
  }
})

t.test('an invalid response ends the connection, and its data is not forwarded', async (t) => {
  const { ask, open } = await start(t, (socket) =>
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n'),
  )
  t.match(await ask(), { got: '', error: new InvalidResponse('a chunk is longer than its size') })
  await until(() => open() === 0)
})

t.test('a reader that throws fails its own request only', async (t) => {
  const { origin, ask, open } = await start(t, (socket) => socket.write(OK))
  const clumsy = new Asked()
  clumsy.head = () => {
    throw new Error('oh')
  }
  origin.send(clumsy)
  t.equal((await clumsy.done()).error?.message, 'oh')
  await until(() => open() === 0)
  const late = new Asked()
  late.end = () => {
    throw new Error('ah')
  }
  origin.send(late)
  t.equal((await late.done()).error?.message, 'ah')
  t.equal(open(), 1, 'its answer was complete')
  t.match(await ask(), { got: 'ok' })
})

t.test('a reader that does not keep up is waited for', async (t) => {
  const size = 64 * 1024 * 1024
  const { origin } = await start(
    t,
    (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`)
      socket.write(Buffer.alloc(size))
    },
    { body_timeout: 1000 },
  )
  const slow = new Asked()
  let bytes = 0
  let reads = 0
  slow.data = (chunk) => {
    bytes += chunk.length
    reads++
    return false
  }
  origin.send(slow)
  await until(() => reads === 1)
  await new Promise((resolve) => setTimeout(resolve, 2000))
  t.equal(reads, 1, 'and is not taken for a slow origin')
  slow.data = (chunk) => {
    bytes += chunk.length
    return true
  }
  slow.connection?.resume()
  await slow.done()
  t.strictSame([bytes, slow.error], [size, undefined])
})

// Uploads that took an origin longer than `headers_timeout` ended in 504 in the middle, however fast it was.
t.test('an origin that still reads a body is not late with its response, and one that stopped is', async (t) => {
  // More than the system buffers between the two.
  const step = 16 * 1024 * 1024
  let got = 0
  let taker: Socket | undefined
  const url = await startRawOrigin(t, (socket) => {
    taker = socket
    socket.on('data', (data) => (got += data.length))
  })
  const origin = new Origin(new Connector({ url }, { ...openDial, zone: 'zone' }), { ...LIMITS, headers_timeout: 1000 })
  t.teardown(() => origin.destroy())
  const piece = Buffer.alloc(65_536)
  const body = new Readable({ read: () => void body.push(piece) })
  const upload = new Asked('/', { method: 'POST', body })
  origin.send(upload)
  for (let taken = step; taken <= 5 * step; taken += step) {
    taker?.resume()
    await until(() => got >= taken || upload.over)
    taker?.pause()
    origin.tick(600)
  }
  t.equal(upload.error, undefined)
  await until(() => {
    origin.tick(600)
    return upload.over
  })
  t.match(upload.error, new TooSlow('headers_timeout', 'the origin does not respond'))
})

t.test('a head with a part that could become another one is not written', async (t) => {
  const parts = { method: 'GET', target: '/', headers: ['Host', 'a'], body: null, upgrade: false }
  const body = new Readable()
  for (const [why, unsafe] of [
    ['a target with a space', { target: '/a b' }],
    ['a target with a line break', { target: '/\r\nX: y' }],
    ['no target', { target: '' }],
    ['a method with a space', { method: 'GET /' }],
    ['a value with a line break', { headers: ['X', 'a\r\nY: b'] }],
    ['a value beyond latin1', { headers: ['X', '\u010a'] }],
    ['a name with a colon', { headers: ['X: a\r\nY', 'b'] }],
    ['two hosts', { headers: ['Host', 'a', 'host', 'a'] }],
    ['a length without a body', { headers: ['content-length', '5'] }],
    ['two lengths', { headers: ['content-length', '5', 'Content-Length', '5'], body }],
    ['an odd length', { headers: ['content-length', '+5'], body }],
  ] as const)
    t.throws(() => requestText({ ...parts, ...unsafe }), TypeError, why)
  const kept = requestText({
    ...parts,
    method: 'POST',
    headers: ['Connection', 'x', 'Transfer-Encoding', 'x', 'a', 'b'],
  })
  t.equal(kept.text, 'POST / HTTP/1.1\r\na: b\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n')
  const padded = requestText({ ...parts, method: 'POST', headers: ['content-length', '0010'], body })
  t.match(padded, { text: /content-length: 10\r\n/, length: 10 }, 'some servers read 0010 as octal')
})

// Origins that read fields as variables (CGI, WSGI, PHP) got the address that a client chose.
t.test('a name with underscores that means another field is left out', (t) => {
  const headers = ['X_Forwarded-for', 'evil', 'x_a', 'b', 'X-Forwarded-For', '192.0.2.1', 'cf_connecting_ip', 'evil']
  headers.push('cf-connecting-ip', '192.0.2.1', 'transfer_encoding', 'chunked', 'Content_Length', '5')
  const { text } = requestText({ method: 'GET', target: '/', headers, body: null, upgrade: false })
  t.equal(
    text,
    'GET / HTTP/1.1\r\nX-Forwarded-For: 192.0.2.1\r\ncf-connecting-ip: 192.0.2.1\r\nx_a: b\r\nconnection: keep-alive\r\n\r\n',
  )
  t.end()
})

t.test('closing ends the requests in flight', async (t) => {
  const { origin } = await start(t, () => undefined)
  const asked = new Asked()
  origin.send(asked)
  origin.destroy()
  t.type((await asked.done()).error, ConnectionLost)
  t.equal(origin.active, 0)
  await origin.close()
})

t.test('bytes that come late after a response without a body are not the next response', async (t) => {
  const evil = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'
  const bare: [method: string, head: string][] = [
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 41\r\n\r\n'],
    ['GET', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['GET', 'HTTP/1.1 304 Not Modified\r\n\r\n'],
  ]
  for (const [method, head] of bare) {
    const { ask, made } = await start(t, (socket, request) => {
      if (request.includes('/next')) socket.write(OK)
      else {
        socket.write(head)
        setTimeout(() => socket.write(evil), 20)
      }
    })
    await ask('/bare', { method })
    t.match(await ask('/next'), { got: 'ok' })
    t.equal(made(), 2, 'the next request goes out on another connection')
  }
})

t.test('a connection is used again after a response without a body, a little later', async (t) => {
  const { ask, made, origin } = await start(t, (socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n'), {
    connections: 1,
  })
  await ask()
  t.equal(origin.active, 0)
  await until(async () => {
    const before = made()
    await wait(150)
    await ask()
    return made() === before
  })
  t.ok(made() > 0)
})

t.test('one client leaves connections and queue slots to others', async (t) => {
  const held: (() => void)[] = []
  const { origin } = await start(
    t,
    (socket, request) => {
      if (request.includes('/quick')) socket.write(OK)
      else held.push(() => socket.write(OK))
    },
    { connections: 16, queue_size: 16 },
  )
  const slow = Array.from({ length: 16 }, () => new Asked('/slow', { client: 'a' }))
  for (const request of slow) origin.send(request)
  t.throws(() => origin.send(new Asked('/slow', { client: 'a' })), Overloaded, 'its share of the queue is full')
  await until(() => held.length === 8)
  for (const client of ['b', 'c', 'd', 'e']) {
    const other = new Asked('/quick', { client })
    origin.send(other)
    t.match(await other.done(), { got: 'ok' }, client)
  }
  t.equal(held.length, 8, 'half of the connections')
  while (slow.some(({ over }) => !over)) {
    held.shift()?.()
    await new Promise(setImmediate)
  }
  t.ok(
    slow.every(({ got }) => got === 'ok'),
    'all of its requests are served in the end',
  )
  t.equal(origin.active, 0)
})

t.test('clients whose requests wait are served in rotation', async (t) => {
  const order: string[] = []
  const held: (() => void)[] = []
  const { origin } = await start(
    t,
    (socket, request) => {
      order.push(request.slice(4, 7))
      held.push(() => socket.write(OK))
    },
    { connections: 1 },
  )
  const all = [['/00', 'x'], ...['/a1', '/a2', '/a3'].map((path) => [path, 'a']), ['/b1', 'b'], ['/c1', 'c']].map(
    ([path, client]) => new Asked(path, { client: client! }),
  )
  for (const request of all) origin.send(request)
  for (const request of all) {
    await until(() => held.length > 0)
    held.shift()!()
    void request
  }
  await Promise.all(all.map(async (request) => await request.done()))
  t.strictSame(order, ['/00', '/a1', '/b1', '/c1', '/a2', '/a3'])
})
