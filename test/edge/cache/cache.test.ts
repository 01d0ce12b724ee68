import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { metric } from '../../helpers/proxy.js'
import { MovedClock, startCachedSite } from './setup.js'

const BODY = 'x'.repeat(1000)

/** Waits until a condition holds; for events that no response reports. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await wait(5)
}

t.test('a fresh response is sent from the cache with its age, and HEAD is answered from it', async (t) => {
  const clock = new MovedClock()
  const site = await startCachedSite(t, (_, response) => response.setHeader('cache-control', 'max-age=60').end(BODY), {
    clock,
  })
  const first = await site.get('/page')
  t.match(first, { status: 200, cache: 'MISS', body: BODY, headers: { 'cache-status': /^edged; fwd=uri-miss/ } })
  t.equal(first.headers.age, undefined)
  clock.forward(20)
  const second = await site.get('/page')
  t.match(second, { cache: 'HIT', body: BODY, headers: { age: /^2\d$/, 'content-length': '1000' } })
  t.match(second.headers['cache-status'], /^edged; hit; ttl=\d+$/)
  t.equal(second.headers.date, first.headers.date)
  t.match(await site.get('/page', {}, 'HEAD'), { cache: 'HIT', body: '', headers: { 'content-length': '1000' } })
  clock.forward(60)
  t.match(await site.get('/page'), { cache: 'EXPIRED' })
  t.same(site.requests, ['GET /page', 'GET /page'])
  t.equal(await metric(site.metrics, 'edged_cache_requests_total', { status: 'HIT' }), 2)
})

t.test('a zone caches static files by default, and nothing if its cache is off', async (t) => {
  const site = await startCachedSite(t, (_, response) => response.end('body'), { mode: 'default' })
  for (const target of ['/a.css', '/robots.txt', '/deep/b.JPG?v=1']) {
    t.match(await site.get(target), { cache: 'MISS' }, target)
    t.match(await site.get(target), { cache: 'HIT' }, target)
  }
  for (const target of ['/', '/page.html', '/api.json', '/a.css/profile', '/x?file=a.css']) {
    t.match(await site.get(target), { cache: 'DYNAMIC' }, target)
    t.match(await site.get(target), { cache: 'DYNAMIC' }, target)
  }
  site.change({ cache: { ...site.zones.current.zones[0]!.cache, mode: 'off' } })
  t.equal((await site.get('/a.css')).cache, undefined)
})

t.test('a stale response is revalidated with its validator and keeps its body', async (t) => {
  const clock = new MovedClock()
  const seen: (string | undefined)[] = []
  const site = await startCachedSite(
    t,
    (request, response) => {
      seen.push(request.headers['if-none-match'])
      response.setHeader('etag', '"one"').setHeader('cache-control', 'max-age=10').setHeader('x-count', seen.length)
      if (request.headers['if-none-match'] === '"one"') response.writeHead(304).end()
      else response.end(BODY)
    },
    { clock },
  )
  await site.get('/a', { 'if-none-match': '"other"' })
  clock.forward(11)
  t.match(await site.get('/a'), { cache: 'REVALIDATED', status: 200, body: BODY, headers: { 'x-count': '2' } })
  t.match(await site.get('/a'), { cache: 'HIT', headers: { 'x-count': '2' } })
  t.match(await site.get('/a', { 'if-none-match': 'W/"one"' }), { status: 304, body: '', cache: 'HIT' })
  clock.forward(11)
  t.match(await site.get('/a', { 'if-none-match': '"one"' }), { status: 304, cache: 'REVALIDATED' })
  t.same(seen, [undefined, '"one"', '"one"'])
})

t.test('concurrent requests for one response cause one request to the origin', async (t) => {
  let finish = () => {}
  const site = await startCachedSite(t, (_, response) => {
    response.setHeader('cache-control', 'max-age=60').write(BODY)
    finish = () => response.end(BODY)
  })
  const all = Array.from({ length: 100 }, () => site.get('/big'))
  await until(() => site.requests.length === 1)
  await wait(20)
  finish()
  for (const got of await Promise.all(all)) t.equal(got.body, BODY + BODY)
  t.same(site.requests, ['GET /big'])
})

t.test('waiters of a response that must not be stored are sent to the origin together', async (t) => {
  const held: (() => void)[] = []
  const site = await startCachedSite(t, (_, response, count) => {
    const respond = () => response.setHeader('cache-control', 'no-store').end(String(count))
    if (count === 1) held.push(respond)
    else respond()
  })
  const all = Array.from({ length: 10 }, () => site.get('/private'))
  await until(() => held.length === 1)
  await wait(20)
  held[0]!()
  const bodies = (await Promise.all(all)).map(({ body }) => body)
  t.equal(new Set(bodies).size, 10, 'no two clients share it')
  t.match(await site.get('/private'), { cache: 'BYPASS' })
})

t.test('ranges are cut from the stored response', async (t) => {
  const site = await startCachedSite(t, (_, response) =>
    response
      .setHeader('cache-control', 'max-age=60')
      .setHeader('etag', '"e"')
      .setHeader('content-length', 10)
      .end('0123456789'),
  )
  t.match(await site.get('/r', { range: 'bytes=2-4' }), { status: 206, body: '234', cache: 'MISS' })
  t.match(await site.get('/r', { range: 'bytes=-3' }), {
    status: 206,
    body: '789',
    cache: 'HIT',
    headers: { 'content-range': 'bytes 7-9/10', 'content-length': '3' },
  })
  t.match(await site.get('/r', { range: 'bytes=20-' }), { status: 416, headers: { 'content-range': 'bytes */10' } })
  t.match(await site.get('/r', { range: 'bytes=0-1', 'if-range': '"other"' }), { status: 200, body: '0123456789' })
  t.match(await site.get('/r', { range: 'bytes=0-1', 'if-range': '"e"' }), { status: 206, body: '01' })
  const several = await site.get('/r', { range: 'bytes=0-1, 8-9' })
  t.match(several, { status: 206, headers: { 'content-type': /^multipart\/byteranges; boundary=/ } })
  t.match(
    several.body,
    /content-range: bytes 0-1\/10\r\n\r\n01\r\n--[\s\S]*content-range: bytes 8-9\/10\r\n\r\n89\r\n--/,
  )
  t.equal(several.headers['content-length'], String(several.body.length))
  t.match(await site.get('/r', { range: 'bytes=0-5,3-9' }), { status: 200 }, 'overlapping ranges')
  t.match(await site.get('/r', { 'if-match': '"z"' }), { status: 412 })
  t.same(site.requests, ['GET /r'])
})

t.test('a response that is cut off is not stored, and its clients see that', async (t) => {
  const site = await startCachedSite(t, (_, response, count) => {
    response.setHeader('cache-control', 'max-age=60').setHeader('content-length', 2000)
    if (count > 1) response.end(BODY + BODY)
    else response.write(BODY, () => response.socket?.destroy())
  })
  await t.rejects(site.get('/cut'))
  t.match(await site.get('/cut'), { cache: 'MISS', body: BODY + BODY })
})

t.test('stale responses are used while the origin fails or is asked in the background', async (t) => {
  const clock = new MovedClock()
  let isDown = false
  const site = await startCachedSite(
    t,
    (request, response, count) => {
      if (isDown) response.writeHead(503).end('down')
      else {
        const extra = request.url === '/swr' ? 'stale-while-revalidate=60' : 'stale-if-error=60'
        response.setHeader('cache-control', `max-age=10, ${extra}`).end(`version ${count}`)
      }
    },
    { clock },
  )
  await site.get('/swr')
  await site.get('/sie')
  clock.forward(11)
  t.match(await site.get('/swr'), { cache: 'UPDATING', body: 'version 1' })
  await until(() => site.requests.length === 3)
  let next = await site.get('/swr')
  while (next.cache === 'UPDATING') next = await site.get('/swr')
  t.match(next, { cache: 'HIT', body: 'version 3' })
  isDown = true
  t.match(await site.get('/sie'), { cache: 'STALE', status: 200, body: 'version 2' })
  clock.forward(60)
  t.match(await site.get('/sie'), { status: 503, body: 'down' })
})

t.test('variants are selected by Vary in any spelling of Accept-Encoding', async (t) => {
  const site = await startCachedSite(t, (request, response) =>
    response
      .setHeader('cache-control', 'max-age=60')
      .setHeader('vary', 'Accept-Encoding, X-Kind')
      .end([request.headers['accept-encoding'], request.headers['x-kind']].join(' ')),
  )
  await site.get('/v', { 'accept-encoding': 'gzip, br', 'x-kind': 'a' })
  t.match(await site.get('/v', { 'accept-encoding': 'br;q=0.5,gzip;q=1', 'x-kind': 'a' }), { cache: 'HIT' })
  t.match(await site.get('/v', { 'accept-encoding': 'gzip, br', 'x-kind': 'b' }), { cache: 'MISS' })
  t.match(await site.get('/v', { 'accept-encoding': 'br;q=0, gzip', 'x-kind': 'a' }), { cache: 'MISS' })
  t.match(await site.get('/v', { 'accept-encoding': 'gzip, br', 'x-kind': 'a' }), { cache: 'HIT', body: 'gzip, br a' })
})

t.test('an unsafe request that succeeds removes what is stored for its URLs', async (t) => {
  const site = await startCachedSite(t, (request, response) => {
    if (request.method === 'GET') response.setHeader('cache-control', 'max-age=60').end('x')
    else response.writeHead(request.url === '/fails' ? 500 : 201, { location: '/made' }).end()
  })
  for (const target of ['/item', '/made', '/fails']) await site.get(target)
  t.match(await site.get('/item', {}, 'POST'), { status: 201, cache: 'DYNAMIC' })
  t.match(await site.get('/item'), { cache: 'MISS' })
  t.match(await site.get('/made'), { cache: 'MISS' })
  await site.get('/fails', {}, 'DELETE')
  t.match(await site.get('/fails'), { cache: 'HIT' })
})

t.test('a purge removes stored responses and those on their way', async (t) => {
  let finish: (() => void) | undefined
  const site = await startCachedSite(t, (request, response) => {
    response.setHeader('cache-control', 'max-age=60').setHeader('cache-tag', 'News, blog')
    if (request.url === '/slow' && !finish) {
      response.write('old')
      finish = () => response.end()
    } else response.end(String(site.requests.length))
  })
  const zone = site.zones.current.zones[0]!.id
  const first = await site.get('/dir/a?x=1')
  t.equal(first.headers['cache-tag'], undefined)
  const purges = [
    { everything: true },
    { tags: ['news'] },
    { hosts: ['example.test'] },
    { urls: ['example.test/dir/a?x=1'] },
    { prefixes: ['example.test/dir'] },
    { prefixes: ['example.test/dir/'] },
  ]
  for (const purge of purges) {
    t.match(await site.get('/dir/a?x=1'), { cache: 'HIT' })
    site.cache.purge(zone, purge, { kind: 'tags', version: 1 })
    t.match(await site.get('/dir/a?x=1'), { cache: 'MISS' }, JSON.stringify(purge))
  }
  const others = [
    { tags: ['sport'] },
    { hosts: ['other.test'] },
    { prefixes: ['example.test/di'] },
    { urls: ['example.test/dir/a'] },
  ]
  for (const purge of others) site.cache.purge(zone, purge, { kind: 'tags', version: 1 })
  site.cache.purge('ffffffffffffffffffffffffffffffff', { everything: true }, { kind: 'everything', version: 1 })
  t.match(await site.get('/dir/a?x=1'), { cache: 'HIT' })

  const slow = site.get('/slow')
  await until(() => finish !== undefined)
  site.cache.purge(zone, { everything: true }, { kind: 'everything', version: 1 })
  finish!()
  t.equal((await slow).body, 'old')
  t.match(await site.get('/slow'), { cache: 'MISS' })
})

t.test('a request after a purge does not get what was requested before the purge', async (t) => {
  const kinds = [{ everything: true }, { tags: ['a'] }, { urls: ['example.test/slow'] }]
  for (const started of [false, true])
    for (const purge of kinds) {
      let finish: (() => void) | undefined
      const site = await startCachedSite(t, (_, response, count) => {
        response.setHeader('cache-control', 'max-age=60').setHeader('cache-tag', 'a')
        if (count > 1) {
          response.end('new')
          return
        }
        if (started) response.write('o')
        finish = () => response.end(started ? 'ld' : 'old')
      })
      const before = site.get('/slow')
      await until(() => finish !== undefined)
      site.cache.purge(site.zones.current.zones[0]!.id, purge, { kind: 'tags', version: 1 })
      const after = await site.get('/slow')
      t.match(after, { cache: 'MISS', body: 'new' }, `${started} ${JSON.stringify(purge)}`)
      finish!()
      t.equal((await before).body, 'old')
      t.match(await site.get('/slow'), { cache: 'HIT', body: 'new' })
    }
})

t.test('memory stays within its limit, and what is used often stays', async (t) => {
  const site = await startCachedSite(t, (_, response) => response.setHeader('cache-control', 'max-age=600').end(BODY), {
    memory: 200_000,
  })
  for (let round = 0; round < 3; round++) for (let i = 0; i < 10; i++) await site.get(`/hot${i}`)
  for (let i = 0; i < 300; i++) await site.get(`/scan?${i}`)
  t.ok((await metric(site.metrics, 'edged_cache_bytes', { tier: 'memory' })) <= 200_000)
  const hits = []
  for (let i = 0; i < 10; i++) hits.push((await site.get(`/hot${i}`)).cache)
  t.same(
    hits,
    Array.from({ length: 10 }, () => 'HIT'),
  )
})

t.test('a body that does not fit is passed through to all who read it', async (t) => {
  const chunk = 'y'.repeat(100_000)
  const site = await startCachedSite(
    t,
    (request, response) => {
      response.setHeader('cache-control', 'max-age=600')
      if (request.url === '/long') response.setHeader('content-length', 20 * chunk.length)
      for (let i = 0; i < 20; i++) response.write(chunk)
      response.end()
    },
    { memory: 1_000_000, maxObject: 1_500_000 },
  )
  const all = await Promise.all(Array.from({ length: 5 }, () => site.get('/chunked')))
  for (const { body } of all) t.equal(body.length, 2_000_000)
  t.match(await site.get('/chunked', { range: 'bytes=5-8' }), { status: 200 })
  t.match((await site.get('/long')).body.length, 2_000_000)
  t.ok((await metric(site.metrics, 'edged_cache_bytes', { tier: 'memory' })) <= 1_000_000)
  t.equal(await metric(site.metrics, 'edged_cache_entries', { tier: 'memory' }), 0)
})
