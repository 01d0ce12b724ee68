// Alone: its timeout would hold for the tests of other files, too.
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { Origin } from '../../src/http/origin.js'
import { Connector } from '../../src/http/connector.js'
import { Overloaded } from '../../src/http/origin-errors.js'
import { openDial, startRawOrigin } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'
import { Asked, LIMITS, OK } from './origin-helper.js'

// A request that waits for ever fails here, and not after the timeout of the file.
t.setTimeout(30_000)

const LARGE = `HTTP/1.1 200 OK\r\nContent-Length: ${64 * 1024 * 1024}\r\n\r\n`
/** Longer than the time over which the pace of a client is measured. */
const WINDOW_MS = 6000

/** An origin with 64 MB at `/large`, and its connections as edged has them. */
async function start(t: Test, connections: number) {
  const url = await startRawOrigin(t, (socket: Socket) => {
    socket.on('data', (data) => {
      const text = data.toString('latin1')
      if (text.startsWith('GET /large')) socket.write(LARGE + 'x'.repeat(1_000_000))
      else if (text.startsWith('GET')) socket.write(OK)
    })
  })
  const origin = new Origin(new Connector({ url }, { ...openDial, zone: 'zone' }), {
    ...LIMITS,
    connections,
    queue_size: 32,
    queue_timeout: 60_000,
    headers_timeout: 60_000,
  })
  t.teardown(() => origin.destroy())
  return origin
}

/** A request whose client reads nothing. */
function unread(client: string): Asked {
  const request = new Asked('/large', { client })
  request.data = (chunk) => {
    request.got = String(chunk.length)
    return false
  }
  return request
}

// 256 clients of 8 addresses that took 1 KiB/s of a large response each left a site unreachable for hours.
t.test('clients that hold all connections give way to requests that wait', async (t) => {
  const origin = await start(t, 8)
  const slow = Array.from({ length: 8 }, (_, i) => unread(`slow ${i}`))
  for (const request of slow) origin.send(request)
  await until(() => slow.every(({ got }) => got !== ''))
  origin.tick(WINDOW_MS)
  t.ok(
    slow.every(({ over }) => !over),
    'nobody else needs a connection',
  )
  const other = new Asked('/', { client: 'other' })
  origin.send(other)
  t.notOk(other.over)
  origin.tick(WINDOW_MS)
  t.match(await other.done(), { got: 'ok' })
  const ended = slow.filter(({ over }) => over)
  t.equal(ended.length, 1, 'as many as others wait')
  t.ok(ended[0]!.error instanceof Overloaded)
  // The client that gave way comes again.
  const again = [unread(ended[0]!.client!), unread(ended[0]!.client!)]
  for (const request of again) origin.send(request)
  await until(() => again[0]!.got !== '')
  const third = new Asked('/', { client: 'third' })
  origin.send(third)
  origin.tick(WINDOW_MS)
  t.match(await third.done(), { got: 'ok' })
})

t.test('a client that was slow has one connection while others need them, for a minute', async (t) => {
  const origin = await start(t, 64)
  const shared = Array.from({ length: 40 }, (_, i) => unread(`shared ${i % 8}`))
  const slow = [...shared, ...Array.from({ length: 24 }, (_, i) => unread(`single ${i}`))]
  for (const request of slow) origin.send(request)
  await until(() => slow.every(({ got }) => got !== ''))
  // More than there are single ones: at least four of the shared ones give way.
  const others = Array.from({ length: 28 }, (_, i) => new Asked('/', { client: `other ${i}` }))
  for (const other of others) origin.send(other)
  origin.tick(WINDOW_MS)
  await Promise.all(others.map(async (other) => await other.done()))
  const gone = shared.find(({ over }) => over)!.client!
  // It has fewer than the share of a client, but one.
  for (const request of shared.filter(({ client, over }) => client === gone && !over).slice(1)) origin.cancel(request)
  const again = new Asked('/', { client: gone })
  origin.send(again)
  for (let passed = 0; passed < 60_000; passed += WINDOW_MS) {
    await new Promise(setImmediate)
    t.equal(again.connection, undefined, 'it waits')
    origin.tick(WINDOW_MS)
  }
  const next = new Asked('/', { client: 'next' })
  origin.send(next)
  await Promise.all([again.done(), next.done()])
})

t.test('fast clients, and requests whose origin is slow, do not give way', async (t) => {
  const origin = await start(t, 3)
  const fast = unread('fast')
  const upload = new Asked('/upload', {
    method: 'POST',
    headers: ['Host', 'example.test', 'Content-Length', '1000000'],
    body: new Readable({ read: () => undefined }),
    client: 'upload',
  })
  const slowOrigin = new Asked('/upload', { method: 'POST', client: 'patient' })
  for (const request of [fast, upload, slowOrigin]) origin.send(request)
  await until(() => fast.got !== '')
  const other = new Asked('/', { client: 'other' })
  origin.send(other)
  // The client has read what the origin sent in the meantime.
  let read = 0
  fast.data = (chunk) => {
    read += chunk.length
    return read < 900_000
  }
  fast.connection?.resume()
  await until(() => read >= 900_000)
  origin.tick(WINDOW_MS)
  t.match(await other.done(), { got: 'ok' })
  t.ok(upload.over, 'a body that does not arrive')
  t.notOk(fast.over)
  t.notOk(slowOrigin.over)
})

t.test('in a full queue a client with many requests makes room for others', async (t) => {
  const origin = await start(t, 1)
  const held = unread('a')
  origin.send(held)
  await until(() => held.got !== '')
  const waiting = Array.from({ length: 32 }, (_, i) => new Asked('/', { client: `many ${i % 8}` }))
  for (const request of waiting) origin.send(request)
  const others = ['c', 'd', 'e'].map((client) => new Asked('/', { client }))
  for (const request of others) origin.send(request)
  t.equal(waiting.filter(({ error }) => error instanceof Overloaded).length, 3)
  t.throws(() => origin.send(new Asked('/', { client: 'many 7' })), Overloaded, 'a client with as many as any other')
  origin.cancel(held)
  for (const request of others) t.match(await request.done(), { got: 'ok' })
})

// A request that had waited was dropped for one of a client beyond its own share, although the queue had room.
t.test('a client beyond its share of the queue displaces nobody while the queue has room', async (t) => {
  const origin = await start(t, 1)
  const held = unread('a')
  origin.send(held)
  await until(() => held.got !== '')
  const waiting = 'm m m m m m m m m m b b b b c c'.split(' ').map((client) => new Asked('/', { client }))
  for (const request of waiting) origin.send(request)
  t.throws(() => origin.send(new Asked('/', { client: 'b' })), Overloaded)
  t.ok(waiting.every(({ over }) => !over))
})
