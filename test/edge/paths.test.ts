import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashSync } from 'bcryptjs'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config/load.js'
import { systemClock } from '../../src/core/clock.js'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import { ResponseCache } from '../../src/edge/cache/cache.js'
import { plainPath, placesOf, strippedTarget, type Place } from '../../src/edge/exchange/paths.js'
import { testFolder } from '../helpers/folder.js'
import { sendRaw, startOrigin, startProxy, testZone } from '../helpers/proxy.js'

const HASH = hashSync('secret', 4)
const basic = (user: string, password: string): string =>
  `Authorization: Basic ${Buffer.from(`${user}:${password}`).toString('base64')}\r\n`
const BASIC = `auth: { basic: { realm: Admin, users: { alice: '${HASH}' } } }`

/** A zone with these members. Requests return the status, the head and the body. */
async function site(t: Test, origin: string, members: string) {
  const cache = new ResponseCache(readConfig('{}', 'test.yaml', {}).cache, {
    facts: { country: () => undefined },
    clock: systemClock,
    metrics: openMetrics({ process: false }),
  })
  t.teardown(() => cache.close())
  const proxy = await startProxy(t, [testZone(origin, members)], { cache })
  return async (target: string, more = '', method = 'GET') => {
    const { status, text } = await sendRaw(
      proxy.port,
      `${method} ${target} HTTP/1.1\r\nHost: example.test\r\n${more}Connection: close\r\n\r\n`,
    )
    return { status, raw: text, body: text.slice(text.indexOf('\r\n\r\n') + 4) }
  }
}

async function echo(t: Test, name: string) {
  const seen: string[] = []
  const { url } = await startOrigin(t, (request, response) => {
    seen.push(JSON.stringify(request.headers))
    response.setHeader('cache-control', 'public, max-age=60')
    response.setHeader('content-type', 'text/plain')
    response.end(`${name} ${request.url}`)
  })
  return { url, seen }
}

t.test('the first pattern that matches wins, on the plain path', async (t) => {
  const place = (strip: string): Place => ({ strip, balancer: undefined as never, root: undefined, auth: undefined })
  const names = ['/exact', '/api/v1/*', '/api/*', '*.png', '/a*b*c', '/api/v1/late']
  const places = placesOf(
    names.map((name) => [name, place(name)] as const),
    place('rest'),
  )
  for (const [target, expected] of [
    ['/exact?x', '/exact'],
    ['/Exact', 'rest'],
    ['/exact/', 'rest'],
    ['/api/v1/late', '/api/v1/*'],
    ['/api/x.png', '/api/*'],
    ['/x.png', '*.png'],
    ['/axbxc', '/a*b*c'],
    ['/abxcx', 'rest'],
    ['/open/../api/x', '/api/*'],
    ['/open/%2e%2e/api/x', '/api/*'],
    ['/open/..%2fapi%2fx', '/api/*'],
    ['/open\\..\\api\\x', '/api/*'],
    ['//api//x', '/api/*'],
    ['/%61pi/x', '/api/*'],
    ['/open/%252e%252e/api/x', 'rest'],
  ] as const)
    t.equal(places.find(target).strip, expected, target)
  t.equal(plainPath('/%c3%a4'), '/ä')
  t.same(
    ['/api/x?y', '/api', '/api?y', '/apix'].map((target) => strippedTarget(target, '/api')),
    ['/x?y', '/', '/?y', '/apix'],
  )
})

t.test('any patterns find the place that a search from the first to the last finds', (t) => {
  const part = fc.constantFrom('*', '*', '/', 'a', 'b', '.png')
  const pattern = fc.array(part, { maxLength: 5 }).map((parts) => `/${parts.join('')}`)
  const ending = fc.array(part, { maxLength: 3 }).map((parts) => `*${parts.join('')}`)
  const path = fc
    .array(fc.constantFrom('/', 'a', 'b', '.png', 'c'), { maxLength: 6 })
    .map((parts) => `/${parts.join('')}`)
  fc.assert(
    fc.property(fc.array(fc.oneof(pattern, ending), { maxLength: 12 }), path, (patterns, target) => {
      const place = (strip: string): Place => ({
        strip,
        balancer: undefined as never,
        root: undefined,
        auth: undefined,
      })
      const plain = plainPath(target)
      const fits = (text: string) =>
        new RegExp(`^${text.replaceAll('.', '\\.').replaceAll('*', '.*')}$`, 's').test(plain)
      const found = placesOf(
        patterns.map((text) => [text, place(text)] as const),
        place('rest'),
      ).find(target)
      if (found.strip !== (patterns.find(fits) ?? 'rest')) throw new Error(`${target}: found ${found.strip}`)
    }),
    { numRuns: 2000 },
  )
  t.end()
})

t.test('a path has its own origin and strips its prefix', async (t) => {
  const [one, two] = [await echo(t, 'one'), await echo(t, 'two')]
  const ask = await site(t, one.url, `paths: [{ path: '/api/*', origin: '${two.url}', strip_prefix: /api }]`)
  t.match((await ask('/x')).body, 'one /x')
  t.match((await ask('/api/y?z=1')).body, 'two /y?z=1')
  t.match((await ask('/open/../api/y')).body, 'two /y')
})

t.test('basic authentication passes the right password only, also to the cache', async (t) => {
  const { url, seen } = await echo(t, 'one')
  const paths = `paths: [{ path: '/admin*', ${BASIC} }], cache: everything`
  const ask = await site(t, url, `${paths}, settings: { content_converter: on }, markdown: { md_addresses: true }`)
  const challenged = await ask('/admin/a.css')
  t.equal(challenged.status, 401)
  t.match(challenged.raw, /www-authenticate: Basic realm="Admin", charset="UTF-8"/i)
  for (const target of ['/open/../admin/x', '/open/..%2fadmin/x', '/%61dmin', '//admin', '/admin.md', '/admin/x.md'])
    t.equal((await ask(target)).status, 401, target)
  t.equal(seen.length, 0)
  t.equal((await ask('/admin/a.css', basic('alice', 'secret'))).status, 200)
  t.equal((await ask('/admin/a.css', basic('alice', 'secret'))).status, 200)
  t.equal(seen.length, 2, 'nothing is cached')
  t.equal((await ask('/admin/a.css')).status, 401)
  for (const wrong of [basic('alice', 'wrong'), basic('bob', 'secret'), 'Authorization: Bearer x\r\n'])
    t.equal((await ask('/admin/a.css', wrong)).status, 401)
  const upgrade = 'Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n'
  t.equal((await ask('/admin/ws', upgrade)).status, 401)
  t.equal((await ask('/open')).status, 200)
})

t.test('wrong passwords of one client are limited, and those known to be right still pass', async (t) => {
  const { url } = await echo(t, 'one')
  const hash = hashSync('limit', 4)
  const ask = await site(t, url, `auth: { basic: { users: { carol: '${hash}' } } }`)
  t.equal((await ask('/', basic('carol', 'limit'))).status, 200)
  let status = 401
  for (let i = 0; i < 20 && status === 401; i++) ({ status } = await ask('/', basic('carol', `wrong ${i}`)))
  t.equal(status, 429)
  t.equal((await ask('/', basic('carol', 'limit'))).status, 200)
})

t.test('a service decides, and its fields replace those of the client', async (t) => {
  const { url, seen } = await echo(t, 'one')
  const asked: string[] = []
  const service = await startOrigin(t, (request, response) => {
    asked.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`)
    if (request.headers['x-pass'] === undefined) response.writeHead(302, { location: 'https://login.test/' }).end('go')
    else response.writeHead(200, { 'remote-user': 'alice' }).end('fine')
  })
  const ask = await site(
    t,
    url,
    `auth: { forward: { url: '${service.url}/verify?a=b', copy: [Remote-User, remote-groups] } }`,
  )
  const denied = await ask('/page?x=1', '', 'POST')
  t.equal(denied.status, 302)
  t.match(denied.raw, /location: https:\/\/login.test\//i)
  t.match(asked[0], /^GET \/verify\?a=b /)
  t.match(asked[0], '"x-forwarded-method":"POST","x-forwarded-uri":"/page?x=1"')
  t.equal(seen.length, 0)
  const forged =
    'X-Pass: 1\r\nRemote_User: eve\r\nRemote-User: eve\r\nRemote-Groups: root\r\nX-Forwarded-Uri: /open\r\n'
  const passed = await ask('/page', forged)
  t.equal(passed.status, 200)
  t.match(seen[0], '"remote-user":"alice"')
  t.notMatch(seen[0], /eve|root/)
  t.match(asked[1], '"x-forwarded-uri":"/page"')
})

t.test('a folder is served with its pages, and nothing outside of it or hidden', async (t) => {
  const folder = testFolder(t)
  const root = join(folder, 'public')
  for (const name of ['sub', '.well-known', '.git']) mkdirSync(join(root, name), { recursive: true })
  writeFileSync(join(folder, 'outside.txt'), 'outside')
  for (const [name, text] of Object.entries({
    'index.html': '<h1>home</h1>',
    'page.html': 'page',
    'sub/index.html': 'sub',
    'big.txt': 'x'.repeat(300_000),
    '.well-known/a.txt': 'known',
    '.git/config': 'hidden',
    _headers: '/page\n  X-From: file\n',
    _redirects: '/old /page 301\n',
    '404.html': 'nothing here',
  }))
    writeFileSync(join(root, name), text)
  symlinkSync(join(folder, 'outside.txt'), join(root, 'link.txt'))
  const { url } = await echo(t, 'one')
  const paths = `paths: [{ path: '/files/*', root: '${root}', strip_prefix: /files }, { path: '/x/*', root: { folder: '${root}', html: exact }, strip_prefix: /x }]`
  const ask = await site(t, url, paths)
  t.match((await ask('/files/')).body, '<h1>home</h1>')
  const page = await ask('/files/page')
  t.match(page.body, 'page')
  t.match(page.raw, /x-from: file/i)
  t.match((await ask('/files/page.html')).raw, /307[^]*location: \/files\/page\r/i)
  t.match((await ask('/files/sub')).raw, /location: \/files\/sub\/\r/i)
  t.match((await ask('/files/old')).raw, /301[^]*location: \/files\/page\r/i)
  t.match((await ask('/x/page.html')).body, 'page')
  t.match((await ask('/x/sub')).raw, /location: \/x\/sub\/\r/i)
  const part = await ask('/files/big.txt', 'Range: bytes=299990-\r\n')
  t.equal(part.status, 206)
  t.match(part.raw, /content-range: bytes 299990-299999\/300000/i)
  const { raw } = await ask('/files/big.txt')
  const [, etag = ''] = /etag: ("[^"]+")/i.exec(raw) ?? []
  t.equal((await ask('/files/big.txt', `If-None-Match: ${etag}\r\n`)).status, 304)
  t.match((await ask('/files/.well-known/a.txt')).body, 'known')
  for (const target of ['.git/config', 'link.txt', '_headers', 'nope', '%00'])
    t.equal((await ask(`/files/${target}`)).status, 404, target)
  t.notMatch((await ask('/files/..%2foutside.txt')).body, /^outside/, 'another path')
  t.match((await ask('/files/nope')).body, 'nothing here')
})

t.test('compress: true compresses text for clients that accept it, and nothing else', async (t) => {
  const text = 'some text '.repeat(100)
  const { url } = await startOrigin(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x')
    response.setHeader('content-type', pathname === '/png' ? 'image/png' : 'text/css')
    response.setHeader('etag', '"a"')
    for (const [name, value] of searchParams) response.setHeader(name, value)
    response.end(pathname === '/small' ? 'small' : text)
  })
  const ask = await site(t, url, 'compress: true, cache: off')
  const gzip = 'Accept-Encoding: gzip\r\n'
  const coded = await ask('/', gzip)
  t.match(coded.raw, /content-encoding: gzip/i)
  t.match(coded.raw, /etag: W\/"a"/i)
  t.match(coded.raw, /vary: accept-encoding/i)
  t.match((await ask('/', 'Accept-Encoding: gzip;q=0.5, br\r\n')).raw, /content-encoding: br/i)
  const plain = await ask('/')
  t.notMatch(plain.raw, /content-encoding/i)
  t.match(plain.raw, /vary: accept-encoding/i)
  for (const target of [
    '/png',
    '/small',
    '/?cache-control=no-transform',
    '/?content-encoding=x',
    '/?content-type=text/markdown',
  ])
    t.notMatch((await ask(target, gzip)).raw, /content-encoding: gzip/i, target)
  t.notMatch((await ask('/', 'Accept-Encoding: gzip;q=0\r\n')).raw, /content-encoding/i)
})
