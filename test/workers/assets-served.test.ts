import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { convert } from '../../pipelines/markdown/index.js'
import { silentLog } from '../../src/core/log.js'
import { systemClock } from '../../src/core/clock.js'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import { WORKER_DOMAINS, WORKER_ROUTES, domainId } from '../../src/core/model/worker-routing.js'
import { account, zone } from '../../src/core/scope.js'
import { AssetResponse } from '../../src/edge/assets/asset-response.js'
import { BlobCache } from '../../src/edge/assets/blob-cache.js'
import type { Exchange } from '../../src/edge/exchange/exchange.js'
import { markdownStage } from '../../src/edge/markdown/stage.js'
import { MemoryBudget } from '../../src/core/memory/memory-budget.js'
import { WorkerRegistry } from '../../src/daemon/workers/registry.js'
import { openStore } from '../../src/store/index.js'
import { memoryBlobs } from '../../src/store/blobs/memory-blobs.js'
import type { AssetConfig } from '../../src/workers/assets/config.js'
import type { AssetFile } from '../../src/workers/assets/files.js'
import { AssetSite } from '../../src/workers/assets/site.js'
import { versionFor } from '../../src/workers/traffic-split.js'
import { deployed, uploaded, uploadsOver, type Content } from '../helpers/deployed-assets.js'
import { sendRaw, startOrigin, startProxy, testZone } from '../helpers/proxy.js'
import { ask, turns, type Ask } from '../helpers/web.js'
import { Geo } from '../../src/edge/exchange/geo.js'

const PAGE = '<!doctype html><title>Home</title><h1>Home</h1><p>Text of the page.</p>'
const BIG = randomBytes(9_000_000)
const FILES: Record<string, Content> = {
  '/index.html': [PAGE, 'text/html; charset=utf-8'],
  '/a.html': ['<h1>A</h1>', 'text/html'],
  '/404.html': ['<h1>Lost</h1>', 'text/html'],
  '/digits.txt': ['0123456789', 'text/plain; charset=utf-8'],
  '/empty.txt': ['', 'text/plain'],
  '/untyped': ['bytes'],
  '/by-name.css': ['a{}', ''],
  '/big.bin': [BIG, 'application/octet-stream'],
}

/** A zone whose host `example.test` a Worker with the files answers for; everything else is the origin's. */
async function served(
  t: Test,
  config: AssetConfig = {},
  { main, cacheBytes = 64 * 1024 * 1024 }: { main?: string; cacheBytes?: number } = {},
) {
  const store = await openStore('memory', { folder: '', log: silentLog, clock: systemClock })
  const blobs = memoryBlobs(systemClock)
  const uploads = uploadsOver(store, blobs)
  const origin = await startOrigin(t, (_request, response) => void response.end('origin'))
  const at = testZone(origin.url, 'settings: { content_converter: on }')
  const reads: string[] = []
  const read = async (blob: string) => {
    reads.push(blob)
    // As long as a disk takes.
    await turns(3)
    return await blobs.get(blob)
  }
  const workers = new WorkerRegistry(
    {
      store,
      blobs: { ...blobs, get: read },
      geo: new Geo(),
      clock: systemClock,
      metrics: openMetrics({ process: false }),
    },
    { cacheBytes },
  )
  const stages = [
    markdownStage({ memory: new MemoryBudget(1e8), metrics: openMetrics({ process: false }), log: silentLog }),
  ]
  const manifest = await uploaded(uploads, at.accountId, 'site', FILES)
  const place = { hostname: 'example.test', zoneId: at.id, ...(main !== undefined && { main }) }
  await deployed(store, at.accountId, 'site', { manifest, config, ...place })
  const proxy = await startProxy(t, [at], { stages, workers })
  t.teardown(() => workers.close())
  const get = async (path: string, how: Ask = {}) => await ask(proxy.port, path, { accept: 'text/html', ...how })
  const deploy = async (files: Record<string, Content>, config: AssetConfig = {}) =>
    await deployed(store, at.accountId, 'site', {
      manifest: await uploaded(uploads, at.accountId, 'site', files),
      config,
    })
  return { store, get, deploy, zone: at, port: proxy.port, manifest, reads }
}

t.test('a site is read once, however many visitors are the first', async (t) => {
  const { get, reads, manifest } = await served(t)
  const responses = await Promise.all(Array.from({ length: 50 }, async () => await get('/digits.txt')))
  t.ok(responses.every(({ status, body }) => status === 200 && body.toString() === '0123456789'))
  t.equal(reads.filter((blob) => blob === manifest).length, 1)
})

t.test('files arrive byte for byte, with their types', async (t) => {
  const { get } = await served(t)
  const page = await get('/')
  t.match(page, {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'public, max-age=0, must-revalidate',
      'content-length': String(PAGE.length),
      etag: /^"[0-9a-f]{32}"$/,
    },
  })
  t.equal(page.body.toString(), PAGE)
  for (const [path, [bytes]] of Object.entries(FILES)) {
    if (path.endsWith('.html')) continue
    const response = await get(path)
    t.equal(response.status, 200, path)
    t.ok(response.body.equals(Buffer.from(bytes)), path)
  }
  t.equal((await get('/untyped')).headers['content-type'], undefined, 'application/null: no type')
  t.equal((await get('/by-name.css')).headers['content-type'], 'text/css; charset=utf-8')
  t.match(await get('/a.html?q=1'), { status: 307, headers: { location: '/a?q=1', 'content-length': '0' } })
  t.match(await get('/nowhere'), { status: 404, headers: { 'content-length': '0' } })
})

t.test('files that are too large for the cache are read each time, or once for several visitors', async (t) => {
  const { get } = await served(t, {}, { cacheBytes: 1000 })
  const responses = await Promise.all([1, 2, 3].map(async () => await get('/big.bin')))
  for (const { body } of responses) t.ok(body.equals(BIG))
})

// Whoever took a file slowly held all of it, and nothing counted those.
t.test('large files on their way to clients are bounded, each counted once', async (t) => {
  const file = (blob: string): AssetFile => ({ blob, size: 100_000, type: undefined })
  const cache = new BlobCache(async (blob) => (blob === 'none' ? undefined : Buffer.alloc(100_000)), 1e6, 250_000)
  const [one, again, other] = await Promise.all(['a', 'a', 'b'].map(async (blob) => await cache.lend(file(blob))))
  t.equal(one?.bytes, again?.bytes, 'the same bytes for both')
  const full = () => t.throws(() => cache.lend(file('c')), { name: 'Overloaded' })
  full()
  one?.done()
  one?.done()
  full()
  again?.done()
  await t.rejects(async () => await cache.lend(file('none')), { message: /missing/ })
  const cached = await cache.lend(file('a'))
  full()

  // A client that takes the beginning of the file and leaves.
  const site = new AssetSite({ files: new Map([['/b', file('b')]]), config: {}, worker: false })
  const nothing = { headers: [] as string[], field: () => undefined }
  const exchange = { method: 'GET', host: 'x.test', target: '/b', ...nothing } as unknown as Exchange
  const reported: string[] = []
  const response = new AssetResponse(
    site,
    exchange,
    {
      head: (status) => void reported.push(String(status)),
      data: (chunk) => reported.push(String(chunk.length)) === 0,
      end: () => void reported.push('end'),
      fail: () => void reported.push('fail'),
      onDrain: () => undefined,
    },
    { blobs: cache },
  )
  response.send()
  other?.done()
  full()
  response.cancel()
  t.same(reported, ['200', '65536', 'fail'])
  const last = await cache.lend(file('c'))
  cached.done()
  last.done()
})

t.test('HEAD has the header of GET', async (t) => {
  const { get } = await served(t)
  const head = await get('/digits.txt', { method: 'HEAD' })
  const { headers } = await get('/digits.txt')
  t.equal(head.body.length, 0)
  for (const name of ['content-length', 'content-type', 'etag'] as const) t.equal(head.headers[name], headers[name])
})

t.test('states and parts', async (t) => {
  const { get } = await served(t)
  const etag = (await get('/digits.txt')).headers.etag!
  const ROWS: [headers: Record<string, string>, status: number, body: string, range?: string][] = [
    [{ 'if-none-match': etag }, 304, ''],
    [{ 'if-none-match': `W/${etag}` }, 304, ''],
    [{ 'if-none-match': `"x", ${etag}` }, 304, ''],
    [{ 'if-none-match': '*' }, 304, ''],
    [{ 'if-none-match': '"x"' }, 200, '0123456789'],
    [{ 'if-match': '"x"' }, 412, ''],
    [{ 'if-match': etag }, 200, '0123456789'],
    [{ range: 'bytes=0-0' }, 206, '0', 'bytes 0-0/10'],
    [{ range: 'bytes=2-4' }, 206, '234', 'bytes 2-4/10'],
    [{ range: 'bytes=7-' }, 206, '789', 'bytes 7-9/10'],
    [{ range: 'bytes=-3' }, 206, '789', 'bytes 7-9/10'],
    [{ range: 'bytes=-30' }, 206, '0123456789', 'bytes 0-9/10'],
    [{ range: 'bytes=5-100' }, 206, '56789', 'bytes 5-9/10'],
    [{ range: 'bytes=10-' }, 416, '', 'bytes */10'],
    [{ range: 'bytes=-0' }, 416, '', 'bytes */10'],
    [{ range: 'bytes=4-2' }, 200, '0123456789'],
    [{ range: 'bytes=-' }, 200, '0123456789'],
    [{ range: 'bytes=0-1,3-4' }, 200, '0123456789'],
    [{ range: 'lines=0-1' }, 200, '0123456789'],
    [{ range: 'bytes=0-1', 'if-range': etag }, 206, '01', 'bytes 0-1/10'],
    [{ range: 'bytes=0-1', 'if-range': `W/${etag}` }, 200, '0123456789'],
    [{ range: 'bytes=0-1', 'if-range': '"x"' }, 200, '0123456789'],
  ]
  for (const [headers, status, body, range] of ROWS) {
    const response = await get('/digits.txt', { headers })
    t.equal(response.status, status, JSON.stringify(headers))
    t.equal(response.body.toString(), body, JSON.stringify(headers))
    t.equal(response.headers['content-range'], range)
  }
  t.match(await get('/empty.txt', { headers: { range: 'bytes=0-' } }), { status: 416 })
})

t.test('methods other than GET and HEAD', async (t) => {
  const { get, port } = await served(t, { _headers: '/*\n  X-One: 1' })
  t.match(await get('/digits.txt', { method: 'POST' }), {
    status: 405,
    headers: { allow: 'GET, HEAD', 'x-one': '1' },
  })
  t.equal((await get('/nowhere', { method: 'DELETE' })).status, 404)
  const head = 'POST /digits.txt HTTP/1.1\r\nhost: example.test\r\ncontent-length: 4\r\n\r\nbody'
  const again = 'GET /digits.txt HTTP/1.1\r\nhost: example.test\r\nconnection: close\r\n\r\n'
  t.match(await sendRaw(port, head + again, { patience: 500 }), { status: 405 })
})

t.test('rules of headers and redirects, and the page for what is missing', async (t) => {
  const { get } = await served(t, {
    _headers: '/*\n  X-One: 1\n  Cache-Control: max-age=60\n/digits.txt\n  ! X-One\n  X-Two: 2',
    _redirects: '/old/* /a?from=:splat 301\n/alias /digits.txt 200',
    not_found_handling: '404-page',
  })
  t.match((await get('/')).headers, { 'x-one': '1', 'cache-control': 'max-age=60' })
  const digits = (await get('/digits.txt')).headers
  t.match(digits, { 'x-one': undefined, 'x-two': '2' })
  t.match(await get('/old/x'), { status: 301, headers: { location: '/a?from=x' } })
  t.equal((await get('/alias')).body.toString(), '0123456789')
  const lost = await get('/nowhere', { headers: { range: 'bytes=0-0' } })
  t.match([lost.status, lost.body.toString()], [404, '<h1>Lost</h1>'])
})

t.test('pages are served as Markdown when asked', async (t) => {
  const { get } = await served(t)
  const page = await get('/', { accept: 'text/markdown' })
  t.match(page.headers, { 'content-type': 'text/markdown; charset=utf-8', vary: 'accept', etag: undefined })
  t.equal(page.body.toString(), convert(PAGE))
  const { etag } = (await get('/')).headers
  const state = { 'if-none-match': etag!, range: 'bytes=0-1' }
  t.equal((await get('/', { accept: 'text/markdown', headers: state })).status, 200, 'about another form of the page')
  t.equal((await get('/digits.txt', { accept: 'text/markdown' })).body.toString(), '0123456789')
})

t.test('a deployment is seen by the next request', async (t) => {
  const { get, deploy } = await served(t)
  t.equal((await get('/digits.txt')).body.toString(), '0123456789')
  await deploy({ '/digits.txt': ['new', 'text/plain'] })
  t.equal((await get('/digits.txt')).body.toString(), 'new')
  t.equal((await get('/')).status, 404)
})

// Of a thousand neighbours, four in a hundred got the version that ten were meant to get.
t.test('neighbouring visitors are shared out as well as others, and stay with their version', (t) => {
  const versions = [
    { version_id: 'new', percentage: 10 },
    { version_id: 'old', percentage: 90 },
  ]
  for (const visitor of [(i: number) => `2001:db8::${i.toString(16)}`, (i: number) => `10.0.${i >> 8}.${i & 255}`]) {
    const visitors = Array.from({ length: 10_000 }, (_, i) => visitor(i))
    const share = visitors.filter((one) => versionFor(one, { versions }) === 'new').length / 100
    t.ok(share > 9 && share < 11, `${share} of a hundred`)
  }
  const all = [
    { version_id: 'none', percentage: 0 },
    { version_id: 'all', percentage: 100 },
  ]
  t.ok(Array.from({ length: 1000 }, (_, i) => versionFor(String(i), { versions: all })).every((id) => id === 'all'))
  t.end()
})

t.test('routes and domains select the Worker', async (t) => {
  const { get, store, zone: at } = await served(t)
  const route = (id: string, pattern: string, script?: string) =>
    store.batch([{ kind: WORKER_ROUTES, scope: zone(at.id), id, value: { id, pattern, ...(script && { script }) } }])
  await route('r1', 'example.test/api/*')
  t.equal((await get('/api/x')).body.toString(), 'origin', 'a route without a Worker leaves it to the origin')
  t.equal((await get('/digits.txt')).status, 200)
  const host = { headers: { host: 'other.example.test' } }
  t.equal((await get('/digits.txt', host)).body.toString(), 'origin')
  await route('r2', '*.example.test/*', 'site')
  t.equal((await get('/digits.txt', host)).body.toString(), '0123456789')
  await route('r3', 'other.example.test/digits*')
  t.equal((await get('/digits.txt', host)).body.toString(), 'origin', 'the more specific one counts')
  const id = domainId('example.test')
  await store.batch([{ kind: WORKER_DOMAINS, scope: account(at.accountId), id, value: undefined }])
  t.equal((await get('/digits.txt')).body.toString(), 'origin', 'no longer a domain')
})

t.test('a Worker that cannot run is reported', async (t) => {
  const { get, store, zone: at } = await served(t, {}, { main: 'index.js' })
  t.equal((await get('/digits.txt')).status, 200)
  const accept = 'application/json'
  const page = await get('/nowhere', { accept })
  t.equal(page.status, 501)
  t.match(JSON.parse(page.body.toString()), { http_status: 501, detail: /Worker/ })
  await deployed(store, at.accountId, 'site', { main: 'index.js' })
  t.equal((await get('/digits.txt', { accept })).status, 501)
})
