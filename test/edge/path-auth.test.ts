import { rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { hashSync } from 'bcryptjs'
import t, { type Test } from 'tap'
import type { Log } from '../../src/core/log.js'
import { silentLog } from '../../src/core/log.js'
import { basicVerdict } from '../../src/edge/auth/basic.js'
import { usersFileIssue } from '../../src/edge/auth/users.js'
import type { Exchange } from '../../src/edge/exchange/exchange.js'
import { placesOf, type Place } from '../../src/edge/exchange/paths.js'
import { testFolder } from '../helpers/folder.js'
import { sendRaw, startOrigin, startProxy, testZone } from '../helpers/proxy.js'

const HASH = hashSync('secret', 4)
const AUTH = `auth: { basic: { users: { alice: '${HASH}' } } }`

async function site(t: Test, origin: string, members: string) {
  const proxy = await startProxy(t, [testZone(origin, members)])
  return async (target: string, host = 'example.test') => {
    const { status, text } = await sendRaw(
      proxy.port,
      `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    )
    return { status, text, location: /^location: (.*)\r$/im.exec(text)?.[1] }
  }
}

/** Spellings that some server reads as a path below /admin. */
const ADMIN = [
  '/admin/x',
  '/admin/x?y',
  '/admin/',
  '//admin/x',
  '/admin//x',
  '/./admin/x',
  '/open/../admin/x',
  '/open/./../admin/x',
  '/open/%2e%2e/admin/x',
  '/open/%2E%2E%2Fadmin%2Fx',
  '/open/..%2fadmin/x',
  '/open%2f..%2fadmin%2fx',
  '/%61dmin/x',
  '/%61%64%6d%69%6e/x',
  '/admin%2fx',
  '/admin%2Fx',
  '\\admin\\x',
  '/open\\..\\admin\\x',
  '/open/..%5cadmin%5cx',
  '/admin%5cx',
  '/admin;x/y',
  '/admin;/y',
  '/admin;a=b;c=d/y',
  '/admin;x/..',
  '/admin;x/../open',
  '/admin%3bx/y',
  '/admin%3Bx/..',
  '/open/..;/admin/x',
  '/open/..;a=b/admin/x',
  '/open/.;/../admin/x',
  '/open/%2e%2e;/admin/x',
  '/open/..%3b/admin/x',
  '/;x/admin/y',
  '/;/admin/y',
  '/admin/../open',
  '/admin/x/../../open',
  '/admin/..',
  '/admin/%2e%2e/open',
  '/admin/..%2fopen',
  '/admin%2f..%2fopen',
  '/%2561dmin/x',
  '/open/%252e%252e/admin/x',
  '/open/%252e%252e%252fadmin/x',
  '/admin%252fx',
  '/admin%253bx/y',
  '/admin%25252fx',
]
/** Spellings that no server reads so. */
const OPEN = [
  '/',
  '/open',
  '/open/admin/x',
  '/administrator/x',
  '/open;admin/x',
  '/open/a%20b',
  '/open?x=/admin/y',
  '/open/x;y=/z',
  '/%c3%a4',
  '/open/%25',
]

t.test('no spelling of a path passes by its authentication', async (t) => {
  const seen: string[] = []
  const { url } = await startOrigin(t, (request, response) => {
    seen.push(request.url!)
    response.end('page')
  })
  const ask = await site(t, url, `paths: [{ path: '/admin/*', ${AUTH} }]`)
  for (const target of ADMIN) {
    const { status } = await ask(target)
    // What is not a path at all does not reach an origin either.
    t.ok(status === 401 || status === 400, `${target}: ${status}`)
  }
  t.same(seen, [])
  for (const target of OPEN) t.equal((await ask(target)).status, 200, target)

  const inside = await site(t, url, `${AUTH}, paths: [{ path: '/public/*', auth: false }]`)
  t.equal((await inside('/public/x')).status, 200)
  t.equal((await inside('/public/%c3%a4')).status, 200)
  for (const target of ['/public/../x', '/public/..;/x', '/public/%2e%2e/x', '/public/..%2fx', '/public/%252e%252e/x'])
    t.equal((await inside(target)).status, 401, target)
})

t.test('the readings of a path take linear time', async (t) => {
  const place = (auth?: Place['auth']): Place => ({
    strip: undefined,
    balancer: undefined as never,
    root: undefined,
    auth,
  })
  const options = { basic: { realm: 'x', file: undefined, users: {} } }
  const places = placesOf([['/admin/*', place(options)]], place())
  for (const part of ['/..;', '%252f', '/;', '%25', '\\', '//']) t.type(places.auths(part.repeat(4000)), Array, part)
  t.same(places.auths(`/admin/${'x;'.repeat(4000)}`), [options])
})

t.test('redirects of an origin keep the prefix that it does not see', async (t) => {
  const { url } = await startOrigin(t, (request, response) => {
    const query = new URL(request.url!, 'http://x').searchParams
    response.writeHead(Number(query.get('status') ?? 302), { location: query.get('to')! }).end()
  })
  const ask = await site(t, url, `paths: [{ path: '/api/*', strip_prefix: /api }, { path: '/plain/*' }]`)
  const to = async (location: string, status = 302, path = '/api/x', host?: string) =>
    (await ask(`${path}?status=${status}&to=${encodeURIComponent(location)}`, host)).location
  for (const [given, expected] of [
    ['/login', '/api/login'],
    ['/', '/api/'],
    ['/login?next=/x#y', '/api/login?next=/x#y'],
    ['/api/login', '/api/login'],
    ['/api', '/api'],
    ['/apis', '/api/apis'],
    ['login', 'login'],
    ['../login', '../login'],
    ['?page=2', '?page=2'],
    ['http://example.test/login', 'http://example.test/api/login'],
    ['https://EXAMPLE.test/login', 'https://EXAMPLE.test/api/login'],
    ['http://example.test', 'http://example.test/api/'],
    ['http://example.test?x', 'http://example.test/api/?x'],
    ['http://example.test/api/login', 'http://example.test/api/login'],
    ['//example.test/login', '//example.test/api/login'],
    ['https://other.test/login', 'https://other.test/login'],
    ['//other.test/login', '//other.test/login'],
    ['mailto:x@example.test', 'mailto:x@example.test'],
  ] as const)
    t.equal(await to(given), expected, given)
  for (const status of [201, 301, 303, 307, 308]) t.equal(await to('/y', status), '/api/y', String(status))
  t.equal(await to('/y', 200), '/y', 'not a redirect')
  t.equal(await to('/y', 302, '/plain/x'), '/y', 'a path that strips nothing')
})

t.test('a service that does not respond within 10 s is 502, however it is slow', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('page'))
  const sockets = new Set<{ destroy(): void }>()
  // The head arrives byte by byte, so the connection is never silent.
  const service = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    const text = `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(10_000)}`
    let at = 0
    const timer = setInterval(() => socket.write(text[at++ % text.length]!), 100)
    socket.on('close', () => clearInterval(timer))
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    service.close()
  })
  const { port } = service.address() as { port: number }
  const ask = await site(t, url, `auth: { forward: { url: 'http://127.0.0.1:${port}/' } }`)
  t.equal((await ask('/')).status, 502)
})

t.test('a success of the service passes, although its body never ends', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('page'))
  const service = await startOrigin(t, (_request, response) => {
    response.writeHead(200, { 'remote-user': 'alice' }).write('x')
  })
  const ask = await site(t, url, `auth: { forward: { url: '${service.url}' } }`)
  t.equal((await ask('/')).status, 200)
})

t.test('a file of users is read when it changes, and its last users stay if it cannot be read', async (t) => {
  const file = join(testFolder(t), 'htpasswd')
  const events: { event: string; reason?: string; users: number }[] = []
  const note = (line: { event: string; users: number }): void => void events.push(line)
  const log = { ...silentLog, info: note, error: note } as unknown as Log
  // The thread of passwords keeps no process running.
  const running = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(running))
  let now = 0
  const ask = async (name: string, password: string) => {
    const given = Buffer.from(`${name}:${password}`).toString('base64')
    const rawHeaders = ['authorization', `Basic ${given}`]
    const exchange = {
      rawHeaders,
      clientShare: String(now),
      clientAddress: '',
      startedMonotonic: now,
    } as never as Exchange
    return await basicVerdict(exchange, { realm: 'x', file, users: {} }, log)
  }
  t.equal(await ask('alice', 'secret'), 'wrong', 'no file')
  t.match(events, [{ event: 'users_file_unreadable', users: 0 }])
  await writeFile(file, `alice:${HASH}\n`)
  now += 1000
  t.equal(await ask('alice', 'secret'), 'right')
  t.match(events[1], { event: 'users_file_read', users: 1 })
  await rm(file)
  for (let n = 0; n < 3; n++) {
    now += 1000
    t.equal(await ask('alice', 'secret'), 'right', 'the last users')
  }
  t.match(events.slice(2), [
    { event: 'users_file_unreadable', reason: /no such file|not found|does not exist/i, users: 1 },
  ])
  t.equal(events.length, 3, 'logged once')
  await writeFile(file, `bob:${HASH}\n`)
  now += 1000
  t.equal(await ask('alice', 'secret'), 'wrong')
  t.equal(await ask('bob', 'secret'), 'right')
  t.equal(events.length, 4)
  await writeFile(file, 'x'.repeat(1_000_001))
  now += 1000
  t.equal(await ask('bob', 'secret'), 'right')
  t.match(events[4], { event: 'users_file_unreadable', users: 1 })
})

t.test('issues of a file of users are found before it is needed', async (t) => {
  const folder = testFolder(t)
  const file = join(folder, 'users')
  t.match(usersFileIssue(file), /users cannot be read: .*edged hash-password/)
  t.match(usersFileIssue(folder), /cannot be read/)
  for (const [text, issue] of [
    ['', /has no users/],
    ['# nobody\n\n', /has no users/],
    [`# all\nalice:${HASH}\nbob:plain\n`, /users:3 is not NAME:HASH with a bcrypt hash/],
    [`alice:$apr1$x$y\n`, /users:1 is not/],
    [`alice:${HASH}\n\n# end\r\nbob:${HASH}:comment\n`, undefined],
  ] as const) {
    await writeFile(file, text)
    const found = usersFileIssue(file)
    if (issue) t.match(found, issue, text)
    else t.equal(found, undefined, text)
    t.notMatch(found ?? '', /plain|\$/, 'no hash and no password is shown')
  }
})
