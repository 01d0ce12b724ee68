import { spawnSync } from 'node:child_process'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { testFolder } from '../helpers/folder.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { tcpGate } from '../helpers/tcp-gate.js'
import { until } from '../helpers/web.js'
import { httpRequest, type HttpResult } from '../workers/http-request.js'
import { SKIP as NO_RUNTIME } from '../workers/runtime-helper.js'
import { ACCOUNT, CLI, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'
import { call, uploadScript } from './worker-client.js'

const COUNTER = (version: string) => `import { DurableObject } from 'cloudflare:workers'
export class Counter extends DurableObject {
  async next() { const n = ((await this.ctx.storage.get('n')) ?? 0) + 1; await this.ctx.storage.put('n', n); return n }
  async wake() { await this.ctx.storage.setAlarm(Date.now()) }
  async alarm() { await this.ctx.storage.put('alarms', ((await this.ctx.storage.get('alarms')) ?? 0) + 1) }
  async alarms() { return (await this.ctx.storage.get('alarms')) ?? 0 }
  async fetch() {
    const { 0: client, 1: server } = new WebSocketPair()
    server.accept()
    server.addEventListener('message', async ({ data }) => server.send(data + ' ' + (await this.next())))
    return new Response(null, { status: 101, webSocket: client })
  }
}
export default {
  async fetch(request, env) {
    const object = env.COUNTER.getByName('one')
    if (request.headers.has('upgrade')) return object.fetch(request)
    const { pathname } = new URL(request.url)
    if (pathname === '/version') return new Response(${JSON.stringify(version)})
    if (pathname === '/url') return Response.json([request.method, request.url, request.cf.httpProtocol, await request.text()])
    if (pathname === '/throw') throw new Error('thrown')
    if (pathname === '/wake') return new Response(String(await object.wake()))
    if (pathname === '/alarms') return new Response(String(await object.alarms()))
    return new Response(String(await object.next()))
  },
}`
const COUNTER_BINDINGS = [{ name: 'COUNTER', type: 'durable_object_namespace', class_name: 'Counter' }]

const CALLER = `export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url)
    if (pathname === '/stateless') return new Response('stateless')
    if (pathname === '/rows') return Response.json((await env.DB.prepare('SELECT n FROM counts ORDER BY n').all()).results.map(({ n }) => n))
    if (pathname === '/caught') return new Response(await env.COUNTER.getByName('one').next().catch((error) => 'caught'))
    return new Response(String(await env.COUNTER.getByName('one').next()))
  },
}`

/** Two machines with the same Redis, and the scripts \`counter\` and \`caller\`. */
async function machines(t: Test) {
  const folder = testFolder(t, { redis: {}, one: {}, two: {} })
  const redis = await redisServer(join(folder, 'redis'))
  t.teardown(async () => await redis.kill())
  const config = (store: string) =>
    configuration('demo', {
      store,
      secrets: { key: 'ab'.repeat(32) },
      zones: [{ id: ZONE, account: ACCOUNT, name: 'example.test', origin: 'demo' }],
      control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
    })
  const start = async (name: 'one' | 'two', store = redis.url) =>
    await startDaemon(t, config(store), join(folder, name))
  return { redis, folder, start }
}

const get = async (daemon: Daemon, script: string, path = '/', options = {}): Promise<HttpResult> =>
  await httpRequest(daemon.proxy, `${script}.example.test`, path, options)

async function deploy(daemon: Daemon, version = 'first'): Promise<void> {
  const { status } = await uploadScript(
    daemon,
    'counter',
    {
      compatibility_date: '2026-01-01',
      bindings: COUNTER_BINDINGS,
      ...(version === 'first' && { migrations: { new_tag: 'v1', new_sqlite_classes: ['Counter'] } }),
    },
    { 'index.js': COUNTER(version) },
  )
  if (status !== 200) throw new Error(`the upload was answered with ${status}`)
}

async function domain(daemon: Daemon, script: string): Promise<void> {
  const of = { hostname: `${script}.example.test`, service: script, zone_id: ZONE, environment: 'production' }
  const { status } = await call(daemon, 'PUT', '/domains', of)
  if (status !== 200) throw new Error(`the domain was answered with ${status}`)
}

interface Answer {
  readonly status: number
  readonly body: { readonly result: never; readonly errors: readonly { readonly message: string }[] }
}

async function d1(daemon: Daemon, path: string, body: object): Promise<Answer> {
  const response = await fetch(`${daemon.control}/accounts/${ACCOUNT}/d1/database${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

async function socketTo(daemon: Daemon): Promise<WebSocket> {
  const socket = new WebSocket(daemon.proxy.replace('http', 'ws'), { headers: { host: 'counter.example.test' } })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return socket
}

/** Lines of `edged doctor` about the other machines. */
function doctor(folder: string): { readonly level: string; readonly message: string }[] {
  const args = [CLI, 'doctor', '-c', join(folder, 'edged.yaml'), '--json']
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env: { PATH: process.env['PATH'] } })
  const findings = JSON.parse(stdout) as { check: string; level: string; message: string }[]
  return findings.filter(({ check }) => check === 'machines')
}

const say = async (socket: WebSocket, text: string): Promise<string> =>
  await new Promise((resolve) => {
    socket.once('message', (data: Buffer) => resolve(data.toString()))
    socket.send(text)
  })

const skip = unbuilt || NO_REDIS || NO_RUNTIME

t.test('two machines share Durable Objects and databases', { skip, timeout: 300_000 }, async (t) => {
  const { start } = await machines(t)
  const one = await start('one')
  let two = await start('two')
  await deploy(one)
  await domain(one, 'counter')
  await deploy(two, 'second')
  t.equal((await get(two, 'counter', '/version')).text, 'second')

  await t.test('a counter that is called through both has no gap and no double', async (t) => {
    const counts = await Promise.all(
      Array.from({ length: 60 }, async (_, n) => Number((await get(n % 2 ? one : two, 'counter')).text)),
    )
    t.same(
      counts.toSorted((a, b) => a - b),
      Array.from({ length: 60 }, (_, n) => n + 1),
    )
  })

  await t.test('requests arrive as they were sent', async (t) => {
    const options = { method: 'POST', body: 'text', headers: { host: 'counter.example.test' } }
    const [first, second] = [await get(one, 'counter', '/url', options), await get(two, 'counter', '/url', options)]
    t.equal(second.text, first.text)
    t.same(JSON.parse(second.text), ['POST', 'http://counter.example.test/url', 'HTTP/1.1', 'text'])
    t.match(await get(two, 'counter', '/throw', { headers: { accept: 'application/json' } }), {
      status: 500,
      text: /1101/,
    })
  })

  await t.test('WebSockets and alarms', async (t) => {
    const socket = await socketTo(two)
    t.equal(await say(socket, 'a'), 'a 61')
    socket.close()
    t.equal((await get(two, 'counter', '/wake')).status, 200)
    await until(async () => (await get(two, 'counter', '/alarms')).text === '1')
    t.equal((await get(one, 'counter', '/alarms')).text, '1')
  })

  await t.test('each upload is in force on both', async (t) => {
    for (const [n, from] of [one, two, one].entries()) {
      await deploy(from, `version ${n}`)
      for (const daemon of [one, two])
        await until(async () => (await get(daemon, 'counter', '/version')).text === `version ${n}`)
      t.equal((await get(from, 'counter')).text, String(62 + n))
    }
  })

  await t.test('databases and objects of other scripts', async (t) => {
    const { body } = await d1(two, '', { name: 'shared' })
    const { uuid } = body.result as { uuid: string }
    t.match(await d1(one, `/${uuid}/query`, { sql: 'CREATE TABLE counts (n)' }), { status: 200 })
    for (const [n, daemon] of [one, two, one, two].entries())
      t.match(await d1(daemon, `/${uuid}/query`, { sql: 'INSERT INTO counts VALUES (?)', params: [n] }), {
        status: 200,
      })
    t.match(await d1(two, `/${uuid}/query`, { sql: 'wrong' }), { status: 400 })
    await uploadScript(
      two,
      'caller',
      {
        compatibility_date: '2026-01-01',
        bindings: [
          { name: 'DB', type: 'd1', database_id: uuid },
          { name: 'COUNTER', type: 'durable_object_namespace', class_name: 'Counter', script_name: 'counter' },
        ],
      },
      { 'index.js': CALLER },
    )
    await domain(two, 'caller')
    for (const daemon of [one, two]) {
      await until(async () => (await get(daemon, 'caller', '/stateless')).text === 'stateless')
      t.equal((await get(daemon, 'caller', '/rows')).text, '[0,1,2,3]')
    }
    t.equal((await get(one, 'caller')).text, '65')
    t.equal((await get(two, 'caller')).text, '66')

    await t.test('a tail on either machine shows the calls of both', async (t) => {
      for (const [tailed, path] of [
        ['caller', '/stateless'],
        ['counter', '/version'],
      ] as const)
        for (const at of [one, two]) {
          const { result } = await call<{ url: string }>(at, 'POST', `/scripts/${tailed}/tails`, {})
          const seen: string[] = []
          const socket = new WebSocket(result.url, 'trace-v1')
          t.teardown(() => socket.terminate())
          socket.on('message', (data: Buffer) =>
            seen.push((JSON.parse(data.toString()) as { event: { request: { url: string } } }).event.request.url),
          )
          await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
          for (const [n, daemon] of [one, two].entries()) await get(daemon, tailed, `${path}?${n}`)
          await until(() => seen.length >= 2)
          t.same(
            seen.toSorted(),
            [0, 1].map((n) => `http://${tailed}.example.test${path}?${n}`),
          )
          socket.close()
        }
    })

    await t.test('a live session of log push shows the records of both', async (t) => {
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ fields: 'ClientRequestURI' })
      const opened = await fetch(`${one.control}/zones/${ZONE}/edged/tail`, { method: 'POST', headers, body })
      const { result } = (await opened.json()) as { result: { destination_conf: string } }
      let seen = ''
      const socket = new WebSocket(result.destination_conf)
      t.teardown(() => socket.terminate())
      socket.on('message', (data: Buffer) => (seen += data.toString()))
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
      // Until both read, records pass unseen.
      await until(async () => {
        for (const [n, daemon] of [one, two].entries()) await get(daemon, 'caller', `/stateless?live-${n}`)
        return [0, 1].every((n) => seen.includes(`{"ClientRequestURI":"/stateless?live-${n}"}\n`))
      })
      t.notMatch(seen, /machine|missed/)
    })

    await t.test('the end of the machine without the data harms nothing', async (t) => {
      two.signal('SIGKILL')
      await two.ended
      t.equal((await get(one, 'counter')).text, '67')
      two = await start('two')
      t.equal((await get(two, 'counter')).text, '68')
    })
    return uuid
  })
})

t.test(
  'requests get 503 while the machine with the data is away, and go on afterwards',
  { skip, timeout: 300_000 },
  async (t) => {
    const { redis, start, folder } = await machines(t)
    const gate = await tcpGate(t, redis.port)
    let one = await start('one', `redis://127.0.0.1:${gate.port}/0`)
    const two = await start('two')
    await deploy(one)
    const { body } = await d1(one, '', { name: 'shared' })
    const { uuid } = body.result as { uuid: string }
    const bindings = [
      { name: 'COUNTER', type: 'durable_object_namespace', class_name: 'Counter', script_name: 'counter' },
    ]
    await uploadScript(one, 'caller', { compatibility_date: '2026-01-01', bindings }, { 'index.js': CALLER })
    await domain(one, 'counter')
    await domain(one, 'caller')
    await until(async () => (await get(two, 'caller', '/stateless')).text === 'stateless')
    t.equal((await get(two, 'counter')).text, '1')

    await t.test('cut off from Redis it stays the only one', async (t) => {
      gate.fault = 'freeze'
      t.equal((await get(one, 'counter')).text, '2')
      t.equal((await get(two, 'counter')).text, '3')
      gate.fault = undefined
      t.equal((await get(two, 'counter')).text, '4')
    })

    // The machine that was cut off announces itself again.
    await until(() => doctor(join(folder, 'two')).length === 2)
    t.match(doctor(join(folder, 'two')), [{ level: 'ok' }, { level: 'ok', message: /responds at 127\.0\.0\.1:\d+$/ }])
    one.signal('SIGKILL')
    await one.ended
    t.match(
      doctor(join(folder, 'two')).filter(({ level }) => level === 'FAIL'),
      [{ message: /does not respond at 127\.0\.0\.1:\d+ .* machines\.advertise/ }],
    )
    const accept = { headers: { accept: 'application/json' } }
    t.match(await get(two, 'counter', '/', accept), { status: 503, text: /1105/ })
    t.match(await get(two, 'caller', '/', accept), { status: 503, text: /1105/ })
    t.match(await get(two, 'caller', '/caught'), { status: 200, text: 'caught' })
    t.match(await get(two, 'caller', '/stateless'), { status: 200 })
    const query = await d1(two, `/${uuid}/query`, { sql: 'SELECT 1' })
    t.match(query, { status: 503, body: { errors: [{ message: /does not respond/ }] } })
    t.equal(await two.metric('edged_worker_data_accounts{place="away"}'), 1)
    const place = `${two.control}/accounts/${ACCOUNT}/edged/worker-data`
    const headers = { authorization: `Bearer ${TOKEN}` }
    t.match(await (await fetch(place, { headers })).json(), { result: { place: 'unreachable' } })
    t.equal((await fetch(place, { method: 'DELETE', headers })).status, 409, 'it was there a moment ago')
    one = await start('one')
    t.equal((await get(one, 'counter')).text, '5')
    await until(async () => (await get(two, 'counter')).text === '6')
    t.equal((await get(two, 'caller')).text, '7')
    t.match(await d1(two, `/${uuid}/query`, { sql: 'CREATE TABLE kept AS SELECT 42 AS n' }), { status: 200 })

    await t.test('a copy of the folder goes on elsewhere after the machine is lost for good', async (t) => {
      one.signal('SIGKILL')
      await one.ended
      const data = join('data', 'workers', ACCOUNT)
      await cp(join(folder, 'one', data), join(folder, 'two', data), { recursive: true })
      await rm(join(folder, 'one', 'data'), { recursive: true })
      await until(async () => (await get(two, 'counter', '/', accept)).status === 200)
      t.equal((await get(two, 'counter')).text, '9', 'the call before was 8')
      t.match(await d1(two, `/${uuid}/query`, { sql: 'SELECT n FROM kept' }), {
        status: 200,
        body: { result: [{ results: [{ n: 42 }] }] },
      })
      t.match(await (await fetch(place, { headers })).json(), { result: { place: 'here' } })
    })
  },
)
