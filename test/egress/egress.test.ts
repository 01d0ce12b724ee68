import { once } from 'node:events'
import {
  createServer as createPlain,
  request as requestPlain,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http'
import { createServer as createSecure, request as requestSecure } from 'node:https'
import { createServer as createTcp, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTls } from 'node:tls'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/core/clock.js'
import { InvalidInput } from '../../src/core/errors.js'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import { isPublic, parseAllowedTarget } from '../../src/egress/addresses.js'
import { NotPublic, type GuardedAgents } from '../../src/egress/egress.js'
import { fairResolve } from '../../src/egress/fair-resolve.js'
import { GuardedEgress, readEgress } from '../../src/egress/guarded-egress.js'
import { hostOf, portOf, publicUrl } from '../../src/egress/public-url.js'
import { posterOver } from '../../src/webhooks/http-post.js'
import { openEgress, testEgress } from '../helpers/egress.js'
import { testFolder } from '../helpers/folder.js'
import { metric } from '../helpers/proxy.js'
import { CA_FILE, SERVER_TLS } from '../helpers/tls.js'
import { until } from '../helpers/web.js'

async function listening<S extends Server>(t: Test, server: S, host = '127.0.0.1'): Promise<S & { port: number }> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  server.listen(0, host)
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return Object.assign(server, { port: (server.address() as AddressInfo).port })
}

/** Returns the status of a response, or the error. */
async function status(url: string, agents: GuardedAgents, options: RequestOptions = {}): Promise<unknown> {
  const secure = url.startsWith('https:')
  const asked = secure
    ? requestSecure(url, { agent: agents.https, ...options })
    : requestPlain(url, { agent: agents.http, ...options })
  try {
    asked.end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.resume()
    await once(response, 'end')
    // The agent has its connection back only after this turn.
    await new Promise(setImmediate)
    return response.statusCode
  } catch (error) {
    return error
  }
}

const echo = () => createPlain((_request, response) => response.end('here'))
const secureEcho = () => createSecure(SERVER_TLS, (_request, response) => response.end('here'))

t.test('an opened address is reached on its port, by address and by name, and on no other', async (t) => {
  const [open, closed] = [await listening(t, echo()), await listening(t, echo())]
  let connections = 0
  closed.on('connection', () => connections++)
  const egress = await openEgress([open])
  const agents = egress.agents()
  t.teardown(() => agents.destroy())

  t.equal(await status(`http://127.0.0.1:${open.port}/a/path?b`, agents), 200)
  t.equal(await status(`http://receiver.test:${open.port}/`, agents), 200)
  t.equal(await status(`http://RECEIVER.test.:${open.port}/`, agents), 200)
  t.equal(await status(`http://receiver.test:${open.port}/`, agents, { family: 4, agent: egress.agents().http }), 200)
  await egress.check('receiver.test', open.port)
  await egress.check('127.0.0.1', open.port)

  for (const host of ['127.0.0.1', '[::1]', '[::ffff:7f00:1]', 'receiver.test', 'localhost', 'nowhere.test']) {
    const refused = await status(`http://${host}:${closed.port}/`, agents)
    t.type(refused, NotPublic, host)
    const isUnknown = host === 'localhost' || host === 'nowhere.test'
    const reason = isUnknown
      ? /^the name .* does not resolve to an address/
      : /is not allowed; .* egress\.allow_cidrs(?:: \[".*"\]|, and finds the entry in the log \(destination_denied\))$/
    t.match((refused as Error).message, reason, host)
    await t.rejects(egress.check(host, closed.port), NotPublic)
    await t.rejects(egress.connect({ host, port: closed.port, tls: false, timeoutMs: 1000 }), NotPublic)
  }
  t.type(await status(`http://[::1]:${open.port}/`, agents), NotPublic, 'an IPv4 opening opens no IPv6')
  t.equal(connections, 0)
})

t.test('a name that is public when checked and private when connected is rejected', async (t) => {
  const server = await listening(t, secureEcho())
  let connections = 0
  server.on('connection', () => connections++)
  const answers = [['93.184.216.34'], ['127.0.0.1'], ['93.184.216.34', '127.0.0.1']]
  const egress = await testEgress({ ca_file: CA_FILE }, { resolve: async () => answers.shift() ?? [] })
  const agents = egress.agents()
  t.teardown(() => agents.destroy())
  await egress.check('receiver.test', server.port)
  for (const what of ['private', 'mixed', 'no answer'])
    t.type(await status(`https://receiver.test:${server.port}/`, agents), NotPublic, what)
  t.equal(connections, 0)
})

t.test('an error of the resolver is reported, but not by a check', async (t) => {
  const broken = Object.assign(new Error('getaddrinfo EAI_AGAIN a.test'), { code: 'EAI_AGAIN' })
  const egress = await testEgress({}, { resolve: async () => await Promise.reject(broken) })
  const agents = egress.agents()
  t.equal(await status('http://a.test/', agents), broken)
  await t.rejects(egress.check('a.test', 443), NotPublic)
})

t.test('unix sockets and proxies of the environment do not bypass the guard', async (t) => {
  const server = await listening(t, echo())
  const egress = await openEgress([server])
  const agents = egress.agents()
  t.teardown(() => agents.destroy())
  t.type(await status('http://8.8.8.8/', agents, { socketPath: `${testFolder(t)}/socket` }), NotPublic)
  for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'NODE_USE_ENV_PROXY']) {
    process.env[name] = 'http://127.0.0.1:1'
    t.teardown(() => delete process.env[name])
  }
  t.equal(await status(`http://receiver.test:${server.port}/`, agents), 200)
})

t.test('certificates are verified against the default authorities and those of ca_file', async (t) => {
  const server = await listening(t, secureEcho())
  const trusting = (await openEgress([server])).agents()
  const plain = await testEgress({
    allow_cidrs: [`127.0.0.1/32:${server.port}`],
    resolver_overrides: { 'receiver.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] },
  })
  const [strict, lax] = [plain.agents(), plain.agents({ rejectUnauthorized: false })]
  t.teardown(() => [trusting, strict, lax].forEach((agents) => agents.destroy()))
  t.equal(await status(`https://receiver.test:${server.port}/`, trusting), 200)
  t.equal(await status(`https://127.0.0.1:${server.port}/`, trusting), 200)
  t.match(await status(`https://receiver.test:${server.port}/`, strict), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' })
  t.equal(await status(`https://receiver.test:${server.port}/`, lax), 200)
  await t.rejects(readEgress({ allow_cidrs: [], resolver_overrides: {}, ca_file: '/nowhere.pem' }), /egress.ca_file/)
})

// Node ends such a request without an error: attempts of webhooks and batches of logs never finished.
t.test('a response that switches protocols is a failure like others', async (t) => {
  const server = await listening(
    t,
    createTcp((socket) =>
      socket.on('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
      ),
    ),
  )
  let open = 0
  server.on('connection', (socket) => {
    open++
    socket.on('close', () => open--)
  })
  const egress = await openEgress([server])
  const agents = egress.agents({ maxSockets: 1 })
  t.teardown(() => agents.destroy())
  const url = `http://127.0.0.1:${server.port}/`
  const failure = { code: 'ECONNRESET', message: /switched protocols/ }
  t.match(await Promise.all([status(url, agents), status(url, agents)]), [failure, failure], 'and makes room')
  const post = posterOver(agents)
  const reply = await post({ url, headers: {}, body: '{}', timeoutMs: 60_000, clock: systemClock })
  t.match(reply, { status: 0, error: 'connection reset' })
  await until(() => open === 0)
})

t.test('connections are reused, but not shared between destinations', async (t) => {
  const server = await listening(t, secureEcho())
  let connections = 0
  server.on('secureConnection', () => connections++)
  const egress = await openEgress([server])
  const [one, other] = [egress.agents(), egress.agents()]
  t.teardown(() => other.destroy())
  const url = `https://receiver.test:${server.port}/`
  t.same([await status(url, one), await status(url, one)], [200, 200])
  t.equal(connections, 1)
  t.equal(await status(url, other), 200)
  t.equal(connections, 2)
  const [socket] = Object.values(one.https.freeSockets).flat()
  one.destroy()
  t.ok(socket?.destroyed)
})

t.test('addresses that a new configuration removes are closed for existing connections', async (t) => {
  const held: (() => void)[] = []
  const server = await listening(
    t,
    createPlain((request, response) => {
      if (request.url === '/slow') held.push(() => response.end('late'))
      else response.end('here')
    }),
  )
  const lines: unknown[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const metrics = openMetrics({ process: false })
  const open = await readEgress({ allow_cidrs: [`127.0.0.1/32:${server.port}`], resolver_overrides: {} })
  const closed = await readEgress({ allow_cidrs: [], resolver_overrides: {} })
  const egress = new GuardedEgress(open, { log, metrics })
  const agents = egress.agents({ maxSockets: 2 })
  t.teardown(() => agents.destroy())
  const url = `http://127.0.0.1:${server.port}/`
  t.match(lines, [{ level: 40, event: 'egress_open', allow_cidrs: [`127.0.0.1/32:${server.port}`] }])
  t.equal(await metric(metrics, 'edged_egress_allow_rules'), 1)

  t.equal(await status(url, agents), 200)
  egress.use(await readEgress(open.config))
  t.equal(Object.values(agents.http.freeSockets).flat().length, 1, 'the same configuration changes nothing')
  const slow = [status(`${url}slow`, agents), status(`${url}slow`, agents)]
  const waiting = status(url, agents)
  await until(() => held.length === 2)
  egress.use(closed)
  for (const result of held) result()
  t.same(await Promise.all(slow), [200, 200], 'requests under way get their answers')
  t.type(await waiting, NotPublic, 'a request that waited for their connection does not get it')
  t.type(await status(url, agents), NotPublic)
  t.equal(await metric(metrics, 'edged_egress_allow_rules'), 0)
  t.match(lines.slice(1), [{ event: 'destination_denied', host: '127.0.0.1', port: server.port }])
})

t.test('connections that are not for HTTP pass the same guard', async (t) => {
  const plain = await listening(
    t,
    createTcp((socket) => socket.end('plain')),
  )
  const secure = await listening(
    t,
    createTls(SERVER_TLS, (socket) => socket.end('secure')),
  )
  const silent = await listening(
    t,
    createTcp(() => {}),
  )
  const egress = await openEgress([plain, secure, silent])
  const timeoutMs = 5000
  const text = async (socket: Socket) => String(Buffer.concat((await socket.toArray()) as Buffer[]))
  t.equal(await text(await egress.connect({ host: 'receiver.test', port: plain.port, tls: false, timeoutMs })), 'plain')
  for (const host of ['receiver.test', '127.0.0.1'])
    t.equal(await text(await egress.connect({ host, port: secure.port, tls: true, timeoutMs })), 'secure')
  const hangs = { host: '127.0.0.1', port: silent.port, tls: true }
  await t.rejects(egress.connect({ ...hangs, timeoutMs: 20 }), /no connection within 20 ms/)
  const gone = new AbortController()
  const given = egress.connect({ ...hangs, timeoutMs, signal: gone.signal })
  setTimeout(() => gone.abort(), 10)
  await t.rejects(given, /given up/)
  await t.rejects(egress.connect({ ...hangs, timeoutMs, signal: gone.signal }), { name: 'AbortError' })
})

/** First and last addresses of networks that are not public, with their public neighbours. */
const CLOSED: readonly (readonly [first: string, last: string, before: string | null, after: string | null])[] = [
  ['0.0.0.0', '0.255.255.255', null, '1.0.0.0'],
  ['10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
  ['100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
  ['127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
  ['168.63.129.16', '168.63.129.16', '168.63.129.15', '168.63.129.17'],
  ['169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
  ['172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
  ['192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
  ['192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
  ['192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
  ['192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
  ['198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
  ['198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
  ['203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
  ['224.0.0.0', '239.255.255.255', '223.255.255.255', null],
  ['240.0.0.0', '255.255.255.255', null, null],
  ['::', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', null, '2000::'],
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', '2000:ffff::', '2001:200::'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db7::', '2001:db9::'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:ffff::', '2003::'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', '3ffe:ffff::', '3fff:1000::'],
  ['4000::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:1000::', null],
]

t.test('every network that is not public is closed from its first address to its last', async (t) => {
  for (const [first, last, before, after] of CLOSED) {
    for (const address of [first, last]) t.notOk(isPublic(address), address)
    for (const address of [before, after]) if (address !== null) t.ok(isPublic(address), address)
  }
})

t.test('public addresses are distinguished from all others', async (t) => {
  for (const address of ['1.1.1.1', '168.63.129.17', '223.255.255.255', '2600::', '2003::1', '3ffe::1'])
    t.ok(isPublic(address), address)
  const closed = ['168.63.129.16', '224.0.0.1', '::', '::1', '::ffff:1.1.1.1', '64:ff9b::1.1.1.1', '2001::1', '2002::1']
  const more = ['2001:db8::1', '3fff::1', '4000::', 'fc00::1', 'fe80::1%eth0', '2600::1%eth0', 'ff02::1', '', '1.1.1']
  for (const address of [...closed, ...more]) t.notOk(isPublic(address), address)
})

t.test('an opening is a CIDR and a port', async (t) => {
  const has: [allowed: string, address: string, port: number, open: boolean][] = [
    ['127.0.0.1/32:9443', '127.0.0.1', 9443, true],
    ['127.0.0.1/32:9443', '127.0.0.1', 9444, false],
    ['127.0.0.1/32:9443', '127.0.0.2', 9443, false],
    ['127.0.0.1:9443', '127.0.0.1', 9443, true],
    ['10.1.2.3/8:443', '10.200.0.1', 443, true],
    ['0.0.0.0/0:443', '10.200.0.1', 443, true],
    ['0.0.0.0/0:443', '::1', 443, false],
    ['[::1]:443', '::1', 443, true],
    ['[::1]:443', '::2', 443, false],
    ['[fd00::]/8:443', 'fd12::1', 443, true],
    ['[fd00::/8]:443', 'fd12::1', 443, true],
    ['fd00::/8:443', 'fd12::1', 443, true],
    ['fd00::/8:443', 'fe00::1', 443, false],
  ]
  for (const [allowed, address, port, open] of has)
    t.equal(parseAllowedTarget(allowed)?.has(address, port), open, `${allowed} ${address} ${port}`)
  const wrong = [
    '',
    '127.0.0.1',
    '127.0.0.1/32',
    '127.0.0.1/33:1',
    '127.0.0.1/8/8:1',
    '127.0.0.1/:1',
    '::1:443',
    'a/8:1',
  ]
  const more = ['[127.0.0.1]:1', '[fd00::]/129:1', '[fd00::/8]/8:1', '10.0.0.0/8:0', '10.0.0.0/8:65536', 'fe80::%a/8:1']
  for (const allowed of [...wrong, ...more]) t.equal(parseAllowedTarget(allowed), undefined, allowed)
})

t.test('the URL of a public destination is checked by its raw text first', async (t) => {
  const wrong: [text: string, message: RegExp][] = [
    ['https://a.test/ b', /white space/],
    ['https://a.test/\n', /white space/],
    ['https:\\\\a.test', /backslash/],
    ['https://a\u200b.test/', /control/],
    ['http://a.test/', /https:/],
    ['https:/a.test', /https:/],
    ['https:///a.test', /https:/],
    ['https://u:p@a.test/', /credentials/],
    ['https://@a.test/', /credentials/],
    ['https://:443/', /https:/],
    ['https://a.test:0/', /port 0/],
    ['https://a.test:99999/', /https:/],
  ]
  for (const [text, message] of wrong) {
    t.throws(() => publicUrl(text), { name: 'InvalidInput', issues: [{ pointer: '', message }] }, text)
    t.throws(() => publicUrl(text), InvalidInput)
  }
  const url = publicUrl('HTTPS://[2600::1]/a@b?c=@')
  t.same([hostOf(url), portOf(url)], ['2600::1', 443])
  t.same([portOf(new URL('http://a.test/')), portOf(new URL('https://a.test:8443/'))], [80, 8443])
})

t.test('a name with a slow server delays only other slow names', async (t) => {
  let now = 0
  const asked: string[] = []
  const hanging: (() => void)[] = []
  const resolve = fairResolve(
    async (name) => {
      asked.push(name)
      if (name.startsWith('slow')) await new Promise<void>((done) => hanging.push(done))
      return ['192.0.2.1']
    },
    () => now,
  )
  const answers = [resolve('slow-1.test'), resolve('slow-1.test')]
  t.strictSame(asked, ['slow-1.test'], 'one lookup for all who ask at the time')
  t.strictSame(await resolve('a.test'), ['192.0.2.1'])
  now += 5000
  hanging.pop()?.()
  await Promise.all(answers)

  const again = [resolve('slow-1.test'), resolve('slow-2.test')]
  t.strictSame(await resolve('b.test'), ['192.0.2.1'], 'one that was slow waits elsewhere')
  for (const done of hanging) done()
  await Promise.all(again)
  t.strictSame(asked, ['slow-1.test', 'a.test', 'slow-1.test', 'slow-2.test', 'b.test'])
})

t.test('listeners of this server are denied, on each of its addresses, regardless of the configuration', async (t) => {
  const server = await listening(
    t,
    createPlain((_request, response) => response.end()),
  )
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const egress = await openEgress([server], { log })
  const agents = egress.agents()
  t.equal(await status(`http://127.0.0.1:${server.port}/`, agents), 200)
  egress.reserve(server.port)
  for (const host of ['127.0.0.1', '127.0.0.2', '[::1]', '2130706433', 'receiver.test'])
    t.type(await status(`http://${host}:${server.port}/`, egress.agents()), NotPublic, host)
  await t.rejects(egress.check('127.0.0.1', server.port), NotPublic)
  await t.rejects(egress.connect({ host: 'receiver.test', port: server.port, tls: false, timeoutMs: 5000 }))
  t.match(
    lines.join(''),
    /receiver\.test resolves to 127\.0\.0\.1, which is not allowed: port \d+ is a listener of this server/,
  )
})
