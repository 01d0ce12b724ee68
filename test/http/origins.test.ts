import t from 'tap'
import { Origins } from '../../src/http/origins.js'
import { openDial, startRawOrigin } from '../helpers/proxy.js'
import { Asked, LIMITS, OK } from './origin-helper.js'

t.test('zones share no connections', async (t) => {
  let connections = 0
  const url = await startRawOrigin(t, (socket) => {
    connections++
    socket.on('data', () => socket.write(OK))
  })
  const origins = new Origins(LIMITS, openDial)
  t.teardown(() => origins.close())
  for (const zone of ['a', 'b', 'a', 'b']) {
    const request = new Asked()
    origins.get(zone, { url }).send(request)
    t.match(await request.done(), { got: 'ok' })
  }
  t.equal(connections, 2)
  for (let i = 0; i < 300; i++) origins.get('a', { url: `http://127.0.0.1:${i + 1}` })
  t.equal(origins.size, 257, 'the origins of one zone are limited')
})

t.test('the origins of all zones are limited, and those in use stay', async (t) => {
  let connections = 0
  const url = await startRawOrigin(t, (socket) => {
    connections++
    socket.on('data', () => socket.write(OK))
  })
  const origins = new Origins(LIMITS, openDial)
  t.teardown(() => origins.close())
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
  t.equal(connections, 1)
})
