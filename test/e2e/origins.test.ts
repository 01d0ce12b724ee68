import { once } from 'node:events'
import { Agent, createServer, request, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { startOrigin, startRawOrigin } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'
import { ACCOUNT, startDaemon, unbuilt, type Daemon } from './daemon.js'

const options = { skip: unbuilt, timeout: 600_000 }

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  readonly localAddress?: string
  readonly host?: string
}

interface Outcome {
  readonly status: number
  readonly text: string
}

interface ZoneOptions {
  readonly origins: readonly object[]
  readonly [option: string]: unknown
}

const NAME = 'example.test'

/** A daemon with these zones, by name, and a client that sends requests one after the other. */
async function start(t: Test, zones: Record<string, ZoneOptions>, folder = testFolder(t)) {
  const config = {
    accounts: [{ id: ACCOUNT, name: 'Example' }],
    zones: Object.entries(zones).map(([name, zone], at) => ({
      id: String(at + 1)
        .repeat(32)
        .slice(0, 32),
      account: ACCOUNT,
      name,
      ...zone,
    })),
  }
  const daemon = await startDaemon(t, config, folder)
  // One connection stays at one process: each process has a rotation of its own.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const send = async (sent: Sent = {}): Promise<Outcome> => await exchange(daemon, sent, agent)
  const letters = async (count: number, sent: (index: number) => Sent = () => ({})): Promise<string> => {
    let text = ''
    for (let i = 0; i < count; i++) text += (await send(sent(i))).text
    return text
  }
  return { daemon, send, letters }
}

async function exchange({ proxy }: Daemon, sent: Sent, agent: Agent | false = false): Promise<Outcome> {
  const { method = 'GET', path = '/', headers = {}, body, localAddress, host = NAME } = sent
  const call = request(`${proxy}${path}`, {
    method,
    headers: { host, ...headers },
    ...(localAddress === undefined ? { agent } : { agent: false as const, localAddress }),
  })
  call.end(body)
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return { status: response.statusCode ?? 0, text }
}

/** Starts origins that respond with their letter. */
async function letterOrigins(t: Test, ...names: string[]) {
  const started = await Promise.all(
    names.map(async (name) => await startOrigin(t, (_request, response) => response.end(name))),
  )
  return { urls: started.map(({ url }) => url), servers: started.map(({ server }) => server) }
}

const stop = async (server: Server): Promise<void> => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

/** Which origins the daemon has in use, by URL. */
async function up({ admin }: Daemon): Promise<Record<string, boolean | null>> {
  const { zones } = (await (await fetch(`${admin}/status`)).json()) as {
    zones: { origins: { url: string; up: boolean | null }[] }[]
  }
  return Object.fromEntries(zones.flatMap(({ origins }) => origins.map(({ url, up }) => [url, up])))
}

t.test(
  'round robin follows the weights; least_requests and limits leave requests to other origins',
  options,
  async (t) => {
    const { urls } = await letterOrigins(t, 'a', 'b')
    const held: (() => void)[] = []
    const busy = await startOrigin(t, (_request, response) => void held.push(() => response.end('a')))
    const { daemon, letters } = await start(t, {
      [NAME]: { origins: [{ url: urls[0], weight: 2 }, { url: urls[1] }] },
      'least.test': { origins: [{ url: busy.url }, { url: urls[1] }], balance: 'least_requests' },
      'limit.test': { origins: [{ url: busy.url, connections: 1 }, { url: urls[1] }] },
    })
    t.equal(await letters(9), 'abaabaaba')
    const requests = `edged_origin_requests_total{zone="${NAME}",origin="${urls[0]}",class="2xx"}`
    t.equal(await daemon.metric(requests), 6, 'counted by origin')
    // Another process counts the requests of its own.
    if (process.env['EDGED_TEST_PROCESSES'] !== undefined) return
    for (const host of ['least.test', 'limit.test']) {
      const two = [exchange(daemon, { host }), exchange(daemon, { host })]
      await until(() => held.length === 1)
      t.equal(await letters(6, () => ({ host })), 'bbbbbb', host)
      held.pop()!()
      t.same((await Promise.all(two)).map(({ text }) => text).toSorted(), ['a', 'b'])
    }
  },
)

t.test('client_address, header and cookie keep a key at its origin', options, async (t) => {
  const { urls } = await letterOrigins(t, 'a', 'b', 'c')
  const origins = urls.map((url) => ({ url }))
  const BALANCES: [host: string, balance: string, sent: (key: number) => Sent][] = [
    ['address.test', 'client_address', (key) => ({ localAddress: `127.0.0.${2 + key}` })],
    ['header.test', 'header:X-User', (key) => ({ headers: { 'x-user': `user-${key}` } })],
    ['cookie.test', 'cookie:sid', (key) => ({ headers: { cookie: `a=b; sid=session-${key}` } })],
  ]
  const zones = BALANCES.map(([host, balance]) => [host, { origins, balance }])
  const { letters } = await start(t, Object.fromEntries(zones) as Record<string, ZoneOptions>)
  for (const [host, balance, sent] of BALANCES) {
    const all = async () => await letters(24, (key) => ({ host, ...sent(key) }))
    const chosen = await all()
    t.equal(await all(), chosen, `${balance}: the same again`)
    t.equal(new Set(chosen).size, 3, `${balance}: over all origins`)
  }
})

t.test('passive health: an origin that fails gets no requests, the backup serves if all failed', options, async (t) => {
  const { urls, servers } = await letterOrigins(t, 'a', 'b', 'c')
  const [a, b, c] = urls as [string, string, string]
  const origins = [{ url: a }, { url: b }, { url: c, backup: true }]
  const { daemon, letters } = await start(t, { [NAME]: { origins } })
  t.equal(await letters(4), 'abab', 'the backup gets nothing')
  await stop(servers[0]!)
  t.equal(await letters(8), 'bbbbbbbb', 'failed requests go to the other origin')
  await until(() => daemon.lines.some((line) => line.includes('"event":"origin_down"') && line.includes(a)))
  await stop(servers[1]!)
  t.equal(await letters(6), 'cccccc')
  // The state belongs to the process that sent the requests.
  if (process.env['EDGED_TEST_PROCESSES'] === undefined) t.same(await up(daemon), { [a]: false, [b]: false, [c]: true })
})

t.test('active health takes an origin out and back, and it comes back slowly', options, async (t) => {
  let healthy = true
  const a = await startOrigin(t, (incoming, response) => {
    response.statusCode = incoming.url === '/healthz' && !healthy ? 500 : 200
    response.end('a')
  })
  const { urls } = await letterOrigins(t, 'b')
  const health = { path: '/healthz', interval: '100ms', timeout: '20s', healthy_after: 2, unhealthy_after: 2 }
  const { letters } = await start(t, { [NAME]: { origins: [{ url: a.url }, { url: urls[0] }], health } })
  t.equal(await letters(4), 'abab')
  healthy = false
  await until(async () => (await letters(6)) === 'bbbbbb')
  t.equal(await letters(6), 'bbbbbb', 'its responses would be fine, its checks are not')
  healthy = true
  await until(async () => (await letters(1)) === 'a')
  const started = performance.now()
  const next = await letters(10)
  // Its share grows from a twentieth to all of it in 10 s: a slow machine would see more of it.
  if (performance.now() - started < 2000) t.ok(next.split('a').length - 1 <= 3, `slow start: ${next}`)
})

t.test('retries never repeat what is not safe to repeat', options, async (t) => {
  const received: string[] = []
  // Breaks each connection after the head of a request.
  const breaking = await startRawOrigin(t, (socket) =>
    socket.once('data', (bytes) => {
      received.push(String(bytes).split(' ', 1)[0]!)
      socket.destroy()
    }),
  )
  const bodies: string[] = []
  const reading: RequestListener = (incoming, response) => {
    let body = ''
    incoming.on('data', (part) => (body += String(part)))
    incoming.on('end', () => {
      bodies.push(`${incoming.method} ${body}`)
      response.end('ok')
    })
  }
  const { url } = await startOrigin(t, reading)
  const gone = await startOrigin(t, reading)
  await stop(gone.server)
  const missing = { url: 'unix:/nowhere/app.sock', weight: 1000 }

  const METHODS: [method: string, body: string | undefined, status: number][] = [
    ['GET', undefined, 200],
    ['POST', 'once', 502],
    ['PUT', 'once', 502],
    ['DELETE', undefined, 502],
  ]
  // Each request has a zone of its own: failures take an origin of a zone out of use.
  const broken = { origins: [{ url: breaking, weight: 1000 }, { url }] }
  const { send } = await start(t, {
    ...Object.fromEntries(METHODS.map(([method]) => [`${method.toLowerCase()}.test`, broken])),
    'refused.test': { origins: [{ url: gone.url, weight: 1000 }, { url }] },
    'missing.test': { origins: [missing, { url }] },
    'once.test': { origins: [{ url: gone.url, weight: 1000 }, { url }], retries: 0 },
    'alone.test': { origins: [missing] },
  })
  for (const [method, body, status] of METHODS) {
    const host = `${method.toLowerCase()}.test`
    t.equal((await send({ method, host, ...(body !== undefined && { body }) })).status, status, `${method} was sent`)
  }
  t.same(received, ['GET', 'POST', 'PUT', 'DELETE'], 'each was sent to the origin once')
  t.same(bodies, ['GET '], 'and only the GET to the other one')

  for (const host of ['refused.test', 'missing.test']) {
    t.equal((await send({ method: 'POST', host, body: 'whole' })).status, 200, `${host}: nothing of it had been sent`)
    t.equal(bodies.at(-1), 'POST whole')
  }
  t.equal((await send({ host: 'once.test' })).status, 502, 'retries: 0')
  t.match(await send({ host: 'alone.test' }), { status: 502, text: /cannot be reached/ })
})

t.test('an origin can be a unix socket', options, async (t) => {
  const folder = testFolder(t)
  const path = join(folder, 'app.sock')
  const server = createServer((incoming, response) => response.end(`${incoming.headers.host} ${incoming.url}`))
  await new Promise<void>((resolve) => void server.listen(path, resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { send, daemon } = await start(t, { [NAME]: { origins: [{ url: `unix:${path}` }] } }, folder)
  t.same(await send({ path: '/a?b' }), { status: 200, text: 'example.test /a?b' })
  t.same(await up(daemon), { [`unix:${path}`]: true })
})
