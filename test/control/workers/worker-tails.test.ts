import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import type { StreamReceiver } from '../../../src/core/machine-streams.js'
import { until } from '../../helpers/web.js'
import { Masking } from '../../../control/workers/services/websocket-mask.js'
import { ACCOUNT } from '../client.js'
import { workersClient } from './helper.js'
import { refusedUpgrade } from '../../helpers/refused-upgrade.js'

const SCRIPT = `/accounts/${ACCOUNT}/workers/scripts/app`
const TAILS = `${SCRIPT}/tails`

/** A socket as wrangler opens it, once it is open. */
async function listen(t: Test, url: string): Promise<WebSocket> {
  const socket = new WebSocket(url, 'trace-v1')
  t.teardown(() => socket.terminate())
  await once(socket, 'open')
  socket.send(JSON.stringify({ debug: false }), { binary: false, compress: false, mask: false, fin: true })
  return socket
}

/** The code and the reason that a socket is closed with. */
async function closing(socket: WebSocket): Promise<[code: number, reason: string]> {
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer]
  return [code, reason.toString()]
}

t.test('a tail is opened as wrangler does, listed, and ended', async (t) => {
  const { call, cf, script } = await workersClient(t)
  await script('app')
  await script('other')
  const filters = [{ sampling_rate: 0.5 }, { outcome: ['ok'] }, { header: { key: 'X-A', query: 'b' } }]
  const made = await call('POST', TAILS, { filters }, { 'content-type': 'text/plain;charset=UTF-8' })
  t.match(made, {
    status: 200,
    body: {
      result: {
        id: /^[0-9a-f]{32}$/,
        url: /^ws:\/\/127\.0\.0\.1:\d+\/client\/v4\/workers\/tails\/[0-9a-f]{32}$/,
        expires_at: '2026-11-21T18:00:00.000Z',
      },
      messages: [],
    },
  })
  const { id, url } = made.body.result
  t.notMatch(url, id, 'the id is no secret')
  const socket = await listen(t, url)
  t.equal(socket.protocol, 'trace-v1')
  t.same((await call('GET', TAILS)).body.result, [made.body.result])
  t.same((await call('GET', `/accounts/${ACCOUNT}/workers/scripts/other/tails`)).body.result, [])
  const closed = closing(socket)
  await cf.workers.scripts.tail.delete(id, { account_id: ACCOUNT, script_name: 'app' })
  t.same(await closed, [1000, 'the tail was deleted'])
  t.match(await call('DELETE', `${TAILS}/${id}`), { status: 404, body: { errors: [{ code: 20409 }] } })
  const bySdk = await cf.workers.scripts.tail.create('app', { account_id: ACCOUNT })
  t.match(bySdk, { id: String, url: String }, 'without a body')
})

t.test('frames without a mask get one that changes nothing, however they come', async (t) => {
  const frame = (first: number, length: number, mask?: number[]): [head: number[], payload: Buffer] => {
    const long = length < 126 ? [length] : length < 65_536 ? [126, length >> 8, length & 255] : [127, 0, 0, 0, 0]
    if (length >= 65_536) long.push(length >>> 24, (length >> 16) & 255, (length >> 8) & 255, length & 255)
    if (mask) long[0]! |= 0x80
    return [[first, ...long, ...(mask ?? [])], Buffer.alloc(length, length % 251)]
  }
  const bytes = (...frames: [number[], Buffer][]) =>
    Buffer.concat(frames.flatMap(([head, body]) => [Buffer.from(head), body]))
  const LENGTHS = [0, 1, 125, 126, 65_535, 65_536, 0, 70_000]
  const key = [1, 2, 3, 4]
  const sent = bytes(...LENGTHS.flatMap((length) => [frame(0x81, length), frame(0x89, length, key)]))
  const wanted = bytes(...LENGTHS.flatMap((length) => [frame(0x81, length, [0, 0, 0, 0]), frame(0x89, length, key)]))
  for (const step of [1, 7, 4096, sent.length]) {
    const masking = new Masking()
    const got: Buffer[] = []
    for (let at = 0; at < sent.length; at += step) got.push(masking.take(sent.subarray(at, at + step)))
    t.ok(Buffer.concat(got).equals(wanted), `${step} bytes at a time`)
  }
})

t.test('a tail ends at its expiry, with its script, and when its client no longer responds', async (t) => {
  const { call, clock, script, tails } = await workersClient(t)
  await script('app')
  const open = async () => await listen(t, (await call('POST', TAILS)).body.result.url)
  const socket = await open()
  const pinged = once(socket, 'ping')
  clock.advance(60_000)
  tails().sweep()
  await pinged
  const expired = closing(socket)
  clock.advance(6 * 60 * 60_000)
  t.same((await call('GET', TAILS)).body.result, [])
  t.same(await expired, [1000, 'the tail has expired'])

  const url = (await call('POST', TAILS)).body.result.url
  clock.advance(6 * 60 * 60_000)
  const late = new WebSocket(url, 'trace-v1')
  const [, response] = (await once(late, 'unexpected-response')) as [unknown, IncomingMessage]
  t.equal(response.statusCode, 404)
  response.destroy()

  await call('POST', TAILS)
  clock.advance(5 * 60_000)
  t.same((await call('GET', TAILS)).body.result, [], 'nobody has listened')

  const gone = closing(await open())
  await call('DELETE', SCRIPT)
  tails().sweep()
  t.same(await gone, [1000, 'the script was deleted'])
})

t.test('a script has ten tails, a tail ten clients', async (t) => {
  const { call, script } = await workersClient(t)
  await script('app')
  await script('other')
  const urls: string[] = []
  for (let made = 0; made < 10; made++) urls.push((await call('POST', TAILS)).body.result.url)
  t.match(await call('POST', TAILS), { status: 403, body: { errors: [{ code: 20410 }] } })
  t.equal((await call('POST', `/accounts/${ACCOUNT}/workers/scripts/other/tails`)).status, 200)
  for (let joined = 0; joined < 10; joined++) await listen(t, urls[0]!)
  const eleventh = new WebSocket(urls[0]!, 'trace-v1')
  t.same(await closing(eleventh), [1013, 'at most 10 clients'])
  // Each stayed connected for 30 s, because it did not close.
  t.match(await refusedUpgrade(urls[0]!), /^HTTP\/1\.1 101 /)
})

t.test('clients get what other machines send, and know of machines that do not respond', async (t) => {
  const { call, script, tails } = await workersClient(t)
  await script('app')
  let receiver: StreamReceiver | undefined
  let closed = false
  tails().machines = {
    follow: (request, given) => {
      t.match(request, { type: 'worker_tail', input: { script: 'app', wants: { filters: [{ outcome: ['ok'] }] } } })
      receiver = given
      return { ready: Promise.resolve(given.machine('two', 'away')), close: () => void (closed = true) }
    },
  }
  const made = await call('POST', TAILS, { filters: [{ outcome: ['ok'] }] })
  const { id, url } = made.body.result as { id: string; url: string }
  const seen: string[] = []
  const socket = new WebSocket(url, 'trace-v1')
  t.teardown(() => socket.terminate())
  socket.on('message', (data: Buffer) => seen.push(data.toString()))
  await until(() => seen.length === 1)
  t.match(JSON.parse(seen[0]!), {
    logs: [],
    exceptions: [],
    event: { type: 'overload', message: /two does not respond/ },
  })
  receiver?.machine('two', 'back')
  receiver?.missed(7)
  receiver?.text(Buffer.from('{"call":1}'))
  await until(() => seen.length === 4)
  t.match(seen.slice(1), [/two are shown again/, /7 calls were left out/, '{"call":1}'])
  await call('DELETE', `${TAILS}/${id}`)
  t.ok(closed)
})

const BAD: readonly (readonly [what: string, body: unknown, pointer: string])[] = [
  ['filters that are no list', { filters: {} }, '/filters'],
  ['an unknown filter', { filters: [{ colour: 'red' }] }, '/filters/0/colour'],
  ['a share beyond all', { filters: [{ sampling_rate: 2 }] }, '/filters/0/sampling_rate'],
  ['a header without a name', { filters: [{ header: {} }] }, '/filters/0/header/key'],
  ['an unknown member', { scope: 'all' }, '/scope'],
]

t.test('a tail that makes no sense is refused', async (t) => {
  const { call, script } = await workersClient(t)
  t.match(await call('POST', TAILS), { status: 404, body: { errors: [{ code: 10007 }] } })
  await script('app')
  for (const [what, body, pointer] of BAD)
    t.match(
      await call('POST', TAILS, body),
      { status: 400, body: { errors: [{ code: 20411, source: { pointer } }] } },
      what,
    )
  t.same((await call('GET', TAILS)).body.result, [])
})
