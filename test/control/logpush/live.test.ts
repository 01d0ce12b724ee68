import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { zone } from '../../../src/core/scope.js'
import { until } from '../../helpers/web.js'
import { ADMIN, ACCOUNT, OTHER_ZONE, ZONE } from '../client.js'
import { logpushClient, type LogpushClient } from './helper.js'
import { refusedUpgrade } from '../../helpers/refused-upgrade.js'

const EDGE = `/zones/${ZONE}/logpush/edge/jobs`
const RECORDS = `/zones/${ZONE}/edged/records/http_requests`
const line = (id: number | string, status = 200) =>
  `{"RayID":"${id}","EdgeResponseStatus":${status},"EdgeStartTimestamp":1506702504433000200}\n`

interface Listener {
  readonly socket: WebSocket
  /** Lines so far. */
  readonly lines: string[]
}

/** Connects to a session; resolves once its records are being read. */
async function listen(t: Test, { spools }: LogpushClient, url: string): Promise<Listener> {
  const socket = new WebSocket(url)
  const lines: string[] = []
  socket.on('message', (data: Buffer, binary) => {
    if (!binary) lines.push(...data.toString().split('\n').slice(0, -1))
  })
  t.teardown(() => socket.terminate())
  await once(socket, 'open')
  const spool = await spools.open('http_requests', zone(ZONE))
  await until(() => spool.cursors.length > 0)
  return { socket, lines }
}

t.test('records are shown as they come, filtered, with the fields that were asked for', async (t) => {
  const api = await logpushClient(t)
  const filter = '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}'
  const job = { fields: 'EdgeStartTimestamp, RayID', filter, sample: 1 }
  const made = await api.call('POST', EDGE, job)
  t.match(made.body.result, {
    ...job,
    session_id: /^[0-9a-f]{32}$/,
    destination_conf: /^ws:\/\/127\.0\.0\.1:\d+\/client\/v4\//,
  })
  t.strictSame((await api.call('GET', EDGE)).body.result, [made.body.result])
  t.strictSame((await api.call('GET', `/zones/${OTHER_ZONE}/logpush/edge/jobs`)).body.result, [])

  const { lines } = await listen(t, api, made.body.result.destination_conf)
  await api.send(RECORDS, line(1) + line(2, 503) + line(3, 500))
  await api.send(`/zones/${OTHER_ZONE}/edged/records/http_requests`, line(4, 500))
  await until(() => lines.length >= 2)
  t.same(lines, [
    '{"EdgeStartTimestamp":"2017-09-29T16:28:24Z","RayID":"2"}',
    '{"EdgeStartTimestamp":"2017-09-29T16:28:24Z","RayID":"3"}',
  ])
  t.match(api.engine.live.counts, { sent: 2, dropped: 0 })
})

t.test('a sample shows one record of so many', async (t) => {
  const api = await logpushClient(t)
  const { result } = (await api.call('POST', EDGE, { fields: 'RayID', sample: 10 })).body
  const { lines } = await listen(t, api, result.destination_conf)
  const all = Array.from({ length: 2000 }, (_, at) => line(at)).join('')
  await api.send(RECORDS, all)
  await until(() => lines.length > 120)
  t.ok(lines.length < 320, `${lines.length} of 2000`)
})

t.test('all clients of a session see the same, and nothing is read when the last has left', async (t) => {
  const api = await logpushClient(t)
  const { result } = (await api.call('POST', EDGE, { fields: 'RayID' })).body
  const one = await listen(t, api, result.destination_conf)
  const two = await listen(t, api, result.destination_conf)
  await api.send(RECORDS, line(1))
  await until(() => one.lines.length > 0 && two.lines.length > 0)
  t.same(one.lines, ['{"RayID":"1"}'])
  t.same(two.lines, one.lines)
  const spool = await api.spools.open('http_requests', zone(ZONE))
  one.socket.close()
  two.socket.close()
  await until(() => spool.cursors.length === 0)
  const again = await listen(t, api, result.destination_conf)
  await api.send(RECORDS, line(2))
  await until(() => again.lines.length > 0)
  t.same(again.lines, ['{"RayID":"2"}'], 'whoever comes again sees what comes then')
})

t.test('a client that reads too slowly misses records and holds nobody up', async (t) => {
  const api = await logpushClient(t)
  const { result } = (await api.call('POST', EDGE, { fields: 'RayID,ClientRequestUserAgent' })).body
  const { host, hostname, port, pathname } = new URL(result.destination_conf)
  const slow = connect(Number(port), hostname)
  t.teardown(() => slow.destroy())
  slow.write(
    `GET ${pathname} HTTP/1.1\r\nhost: ${host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
      'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  await once(slow, 'readable')
  const fast = await listen(t, api, result.destination_conf)
  const agent = 'a'.repeat(100_000)
  const { counts } = api.engine.live
  for (let sent = 0; counts.dropped === 0 && sent < 1000; sent += 10) {
    const many = Array.from({ length: 10 }, (_, at) => `{"RayID":"${sent + at}","ClientRequestUserAgent":"${agent}"}\n`)
    await api.send(RECORDS, many.join(''))
    await until(() => fast.lines.length >= sent + 10)
  }
  t.ok(counts.dropped > 0, `${counts.dropped} were dropped`)
  t.equal(counts.sent + counts.dropped, fast.lines.length * 2)
})

const BAD: [what: string, body: object, pointer: string][] = [
  ['an unknown field', { fields: 'RayID,Nope' }, '/fields'],
  ['a list of fields', { fields: ['RayID'] }, '/fields'],
  ['a filter that is not JSON', { filter: '{' }, '/filter'],
  [
    'a filter on an unknown field',
    { filter: '{"where":{"key":"Nope","operator":"eq","value":1}}' },
    '/filter/where/key',
  ],
  ['a sample of 0', { sample: 0 }, '/sample'],
  ['a sample of 1.5', { sample: 1.5 }, '/sample'],
  ['an unknown member', { dataset: 'http_requests' }, '/dataset'],
]

t.test('a session that makes no sense is refused', async (t) => {
  const { call } = await logpushClient(t)
  for (const [what, body, pointer] of BAD)
    t.match(
      await call('POST', EDGE, body),
      { status: 400, body: { errors: [{ code: 1002, source: { pointer } }] } },
      what,
    )
  t.match(await call('POST', `/accounts/${ACCOUNT}/logpush/edge/jobs`, {}), { status: 404 })
  t.strictSame((await call('GET', EDGE)).body.result, [])
  t.equal((await call('POST', EDGE, {})).status, 200, 'everything has a default')
  t.equal((await call('POST', EDGE, { kind: 'instant-logs' })).status, 200, 'the commands of the hosted service work')
})

t.test('a zone has ten sessions, a session ten clients', async (t) => {
  const api = await logpushClient(t)
  const urls: string[] = []
  for (let made = 0; made < 10; made++) urls.push((await api.call('POST', EDGE, {})).body.result.destination_conf)
  t.match(await api.call('POST', EDGE, {}), { status: 403, body: { errors: [{ code: 20305 }] } })
  t.equal((await api.call('POST', `/zones/${OTHER_ZONE}/logpush/edge/jobs`, {})).status, 200)
  for (let joined = 0; joined < 10; joined++) await listen(t, api, urls[0]!)
  const eleventh = new WebSocket(urls[0]!)
  const [code] = (await once(eleventh, 'close')) as [number]
  t.equal(code, 1013)
  // Each stayed connected for 30 s, because it did not close.
  t.match(await refusedUpgrade(urls[0]!), /^HTTP\/1\.1 101 /)
})

t.test('sessions end after an hour, and after five minutes without clients', async (t) => {
  const api = await logpushClient(t)
  const used = (await api.call('POST', EDGE, {})).body.result
  await api.call('POST', EDGE, {})
  const { socket } = await listen(t, api, used.destination_conf)
  t.equal((await api.call('GET', EDGE)).body.result.length, 2)
  const pinged = once(socket, 'ping')
  api.clock.advance(5 * 60_000)
  t.match((await api.call('GET', EDGE)).body.result, [{ session_id: used.session_id }])
  await pinged
  api.clock.advance(55 * 60_000)
  const closed = once(socket, 'close')
  t.same((await api.call('GET', EDGE)).body.result, [])
  t.equal(((await closed) as [number])[0], 1000)
  const late = new WebSocket(used.destination_conf)
  const [error] = (await once(late, 'error')) as [Error]
  t.match(error.message, /404/)
})

t.test('a client that no longer responds is disconnected', async (t) => {
  const api = await logpushClient(t)
  const { result } = (await api.call('POST', EDGE, {})).body
  const socket = new WebSocket(result.destination_conf, { autoPong: false })
  await once(socket, 'open')
  const closed = once(socket, 'close')
  const pinged = once(socket, 'ping')
  api.clock.advance(30_000)
  api.engine.live.sweep()
  await pinged
  api.clock.advance(30_000)
  api.engine.live.sweep()
  t.equal(((await closed) as [number])[0], 1006)
})

/** Sends a request by hand; resolves with all that comes back. */
async function raw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(text)
  let response = ''
  for await (const chunk of socket) response += String(chunk)
  return response
}

t.test('Upgrade to an unknown protocol is ignored', async (t) => {
  const { url } = await logpushClient(t)
  const upgrade = `host: a\r\nauthorization: Bearer ${ADMIN}\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n`
  const read = await raw(url, `GET /client/v4/zones/${ZONE}/logpush/jobs HTTP/1.1\r\n${upgrade}\r\n`)
  t.match(read, /^HTTP\/1\.1 200 OK\r\n/)
  t.match(read, /"success":true/)
  const post = await raw(url, `POST /client/v4${EDGE} HTTP/1.1\r\n${upgrade}content-length: 2\r\n\r\n{}`)
  t.match(post, /^HTTP\/1\.1 400 /)
  const nowhere = await raw(url, `GET /client/v4/logpush/edge/sessions/${'0'.repeat(32)} HTTP/1.1\r\n${upgrade}\r\n`)
  t.match(nowhere, /^HTTP\/1\.1 404 /)
})

t.test('the address of a session is the one that its maker came to', async (t) => {
  const { send } = await logpushClient(t)
  const { body } = await send(EDGE, '{}', { 'content-type': 'application/json', 'x-forwarded-proto': 'https' })
  t.match(body.result.destination_conf, /^wss:\/\/127\.0\.0\.1:\d+\//)
})
