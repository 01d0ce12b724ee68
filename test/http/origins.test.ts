import t, { type Test } from 'tap'
import { Origins } from '../../src/http/origins.js'
import { openDial, startRawOrigin } from '../helpers/proxy.js'
import { Asked, LIMITS, OK } from './origin-helper.js'

/** An origin that counts its connections, and the origins of a proxy. */
async function start(t: Test, limits = LIMITS) {
  let connections = 0
  const url = await startRawOrigin(t, (socket) => {
    connections++
    socket.on('data', () => socket.write(OK))
    socket.on('error', () => undefined)
  })
  const origins = new Origins(limits, openDial)
  t.teardown(() => origins.close())
  return { url, origins, connections: () => connections }
}

t.test('zones share no connections', async (t) => {
  const { url, origins, connections } = await start(t)
  for (const zone of ['a', 'b', 'a', 'b']) {
    const request = new Asked()
    origins.get(zone, { url }).send(request)
    t.match(await request.done(), { got: 'ok' })
  }
  t.equal(connections(), 2)
  for (let i = 0; i < 300; i++) origins.get('a', { url: `http://127.0.0.1:${i + 1}` })
  t.equal(origins.size, 257, 'the origins of one zone are limited')
})

t.test('the origins of all zones are limited, and those in use stay', async (t) => {
  const { url, origins, connections } = await start(t)
  const ask = async () => {
    const request = new Asked()
    origins.get('busy', { url }).send(request)
    t.match(await request.done(), { got: 'ok' })
  }
  await ask()
  const busy = origins.get('busy', { url })
  for (let i = 0; i < 17_000; i++) {
    origins.get(`zone ${i}`, { url: 'http://127.0.0.1:1' }).idleMs = 1000
    if (i % 1000 === 0) await ask()
  }
  t.equal(origins.size, 16_384)
  t.equal(origins.get('busy', { url }), busy)
  t.equal(connections(), 1)
})

t.test('idle connections that end at the same time are closed over several turns of the event loop', async (t) => {
  // An origin reports its time in ticks of a quarter of the shortest timeout.
  const { url, origins } = await start(t, { ...LIMITS, keep_alive_timeout: 80 })
  const zones = Array.from({ length: 200 }, (_, n) => origins.get(`zone ${n}`, { url }))
  let inTurn = 0
  // Before the first request: on a slow machine a connection can end while others are opened.
  for (const origin of zones) {
    const { tick } = origin
    origin.tick = (ms) => {
      const count = tick.call(origin, ms)
      inTurn += count
      return count
    }
  }
  const requests = zones.map((origin) => {
    const request = new Asked()
    origin.send(request)
    return request
  })
  for (const request of requests) await request.done()
  let closed = inTurn
  inTurn = 0
  let most = 0
  while (closed < zones.length) {
    closed += inTurn
    most = Math.max(most, inTurn)
    inTurn = 0
    await new Promise(setImmediate)
  }
  t.ok(most <= 100, `${most} in one turn`)
})
