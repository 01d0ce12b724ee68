import t from 'tap'
import type { LogRecord } from '../../../src/core/emit.js'
import { until } from '../../helpers/web.js'
import { MovedClock, startCachedSite } from './setup.js'

t.test('the log record of a request has what the cache did', async (t) => {
  const records: LogRecord[] = []
  const emitter = {
    wants: (dataset: string) => dataset === 'http_requests',
    emit: (_dataset: string, _scope: unknown, record: LogRecord) => void records.push(record),
  }
  const clock = new MovedClock()
  let fails = false
  const site = await startCachedSite(
    t,
    (request, response) => {
      if (fails) response.writeHead(503).end('down')
      else if (request.url === '/private') response.setHeader('cache-control', 'private').end('mine')
      else if (request.headers['if-none-match']) response.writeHead(304).end()
      else
        response.setHeader('cache-control', 'max-age=60, stale-if-error=600').setHeader('etag', '"1"').end('0123456789')
    },
    { emitter, clock },
  )
  const cases: readonly [send: () => Promise<unknown>, record: LogRecord][] = [
    [
      async () => await site.get('/a'),
      { CacheCacheStatus: 'miss', CacheResponseStatus: 200, CacheResponseBytes: 10, OriginResponseStatus: 200 },
    ],
    [
      async () => await site.get('/a'),
      { CacheCacheStatus: 'hit', CacheResponseStatus: 200, CacheResponseBytes: 10, OriginResponseStatus: 0 },
    ],
    [
      async () => await site.get('/a', { range: 'bytes=0-3' }),
      { CacheCacheStatus: 'hit', CacheResponseStatus: 206, CacheResponseBytes: 4 },
    ],
    [
      async () => await site.get('/a', { 'if-none-match': '"1"' }),
      { CacheCacheStatus: 'hit', CacheResponseStatus: 304, CacheResponseBytes: 0 },
    ],
    [
      async () => {
        clock.forward(61)
        await site.get('/a')
      },
      { CacheCacheStatus: 'revalidated', CacheResponseStatus: 200, CacheResponseBytes: 10, OriginResponseStatus: 304 },
    ],
    [
      async () => {
        clock.forward(61)
        fails = true
        await site.get('/a')
        fails = false
      },
      { CacheCacheStatus: 'stale', CacheResponseStatus: 200, OriginResponseStatus: 503 },
    ],
    [
      async () => await site.get('/private'),
      { CacheCacheStatus: 'bypass', CacheResponseStatus: 200, CacheResponseBytes: 4 },
    ],
    [async () => await site.get('/a', {}, 'DELETE'), { CacheCacheStatus: 'dynamic', CacheReserveUsed: false }],
  ]
  for (const [i, [send, expected]] of cases.entries()) {
    await send()
    await until(() => records.length > i)
    t.match(records[i], expected, String(expected['CacheCacheStatus']))
  }
})

t.test('metrics show requests, bytes, entries, ages and evictions of each zone', async (t) => {
  const clock = new MovedClock()
  const site = await startCachedSite(
    t,
    (_, response) => response.setHeader('cache-control', 'max-age=60').end(Buffer.alloc(30_000)),
    { clock, memory: 200_000 },
  )
  await site.get('/a')
  clock.forward(10)
  await site.get('/a')
  for (let i = 0; i < 20; i++) await site.get(`/scan/${i}`)
  const text = await site.metrics.metrics()
  const value = (line: string): number =>
    Number(
      text
        .split('\n')
        .find((one) => one.startsWith(line))
        ?.split(' ')
        .at(-1),
    )
  const zone = site.zones.current.zones[0]!.name
  t.equal(value(`edged_cache_zone_requests_total{zone="${zone}",status="HIT"}`), 1)
  t.equal(value(`edged_cache_zone_requests_total{zone="${zone}",status="MISS"}`), 21)
  t.equal(value(`edged_cache_zone_hits_total{zone="${zone}"}`), 1)
  const age = value(`edged_cache_zone_hit_age_seconds_total{zone="${zone}"}`)
  t.ok(age >= 10 && age < 60, `age ${age}`)
  const entries = value(`edged_cache_zone_entries{zone="${zone}"}`)
  t.ok(entries > 0 && entries < 7, `${entries} entries`)
  t.equal(entries, value('edged_cache_entries{tier="memory"}'))
  t.equal(value(`edged_cache_zone_bytes{zone="${zone}"}`), value('edged_cache_bytes{tier="memory"}'))
  t.equal(value(`edged_cache_zone_evictions_total{zone="${zone}"}`), 21 - entries)
})
