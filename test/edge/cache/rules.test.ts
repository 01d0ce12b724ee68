import t from 'tap'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import { storedUrls } from '../../../src/edge/cache/key.js'
import { Challenges } from '../../../src/edge/challenge/challenges.js'
import { conditions } from '../../../src/edge/rules/conditions.js'
import { Limiter } from '../../../src/rules/limits/limiter.js'
import { rulesOf } from '../../helpers/rules.js'
import { startCachedSite } from './setup.js'

const FRESH = 'max-age=600'

/** Rules of a zone that set these cache settings for all requests. */
const settings = (params: object) =>
  rulesOf([
    {
      phase: 'http_request_cache_settings',
      rules: [{ action: 'set_cache_settings', action_parameters: { cache: true, ...params } }],
    },
  ])

t.test('a URL names responses whose key ignores the query, a part of it or its order', async (t) => {
  const keys: [what: string, cacheKey: object, stored: string, other: string][] = [
    ['no query', { custom_key: { query_string: { exclude: { all: true } } } }, '/q?a=1', '/q?b=2'],
    ['some parameters', { custom_key: { query_string: { exclude: { list: ['utm'] } } } }, '/q?a=1', '/q?a=1&utm=x'],
    ['one parameter', { custom_key: { query_string: { include: { list: ['a'] } } } }, '/q?a=1', '/q?b=2&a=1'],
    ['any order', { ignore_query_strings_order: true }, '/q?a=1&b=2', '/q?b=2&a=1'],
  ]
  for (const [what, cache_key, stored, other] of keys) {
    const site = await startCachedSite(
      t,
      (request, response) =>
        request.method === 'GET' ? response.setHeader('cache-control', FRESH).end('x') : response.end(),
      { zone: { rules: settings({ cache_key }) } },
    )
    const zone = site.zones.current.zones[0]!.id
    await site.get(stored)
    t.match(await site.get(other), { cache: 'HIT' }, what)
    site.cache.purge(zone, { urls: storedUrls(`example.test${other}`) }, { kind: 'files', version: 1 })
    t.match(await site.get(stored), { cache: 'MISS' }, `${what}: purged`)
    await site.get(other, {}, 'POST')
    t.match(await site.get(stored), { cache: 'MISS' }, `${what}: changed by a POST`)
  }
})

t.test('a rule that normalizes Accept-Language sends the normalized field to the origin', async (t) => {
  const languages: (string | undefined)[] = []
  const vary = {
    default: { action: 'passthrough' },
    headers: { 'accept-language': { action: 'normalize', languages: ['de', 'en'] } },
  }
  const site = await startCachedSite(
    t,
    (request, response) => {
      languages.push(request.headers['accept-language'])
      response.setHeader('cache-control', FRESH).setHeader('vary', 'accept-language').end('x')
    },
    { zone: { rules: settings({ vary }) } },
  )
  const rows: [field: string | undefined, cache: string, sent?: string][] = [
    ['de-AT;q=0.9, fr;q=0.8, EN;q=0.3', 'MISS', 'de,en;q=0.9'],
    ['DE , en;q=0.9', 'HIT'],
    ['en, de;q=0', 'MISS', 'en,de;q=0'],
    ['fr, es', 'MISS'],
    [undefined, 'MISS'],
  ]
  for (const [field, cache, sent] of rows) {
    const got = await site.get('/', field === undefined ? {} : { 'accept-language': field })
    t.equal(got.cache, cache, field ?? 'without the field')
    if (cache === 'MISS') t.equal(languages.at(-1), sent, field ?? 'without the field')
  }
})

t.test('a strong entity tag stays strong if the rule says so, and the response is not compressed', async (t) => {
  for (const respect_strong_etags of [true, false]) {
    const rules = rulesOf([
      {
        phase: 'http_request_cache_settings',
        rules: [{ action: 'set_cache_settings', action_parameters: { cache: true, respect_strong_etags } }],
      },
      {
        phase: 'http_response_compression',
        rules: [{ action: 'compress_response', action_parameters: { algorithms: [{ name: 'gzip' }] } }],
      },
    ])
    const site = await startCachedSite(
      t,
      (request, response) =>
        response
          .setHeader('cache-control', FRESH)
          .setHeader('content-type', 'text/plain')
          .setHeader('etag', request.url === '/weak' ? 'W/"tag"' : '"tag"')
          .end('text '.repeat(100)),
      { zone: { rules } },
    )
    const encoding = respect_strong_etags ? undefined : 'gzip'
    for (const cache of ['MISS', 'HIT'])
      t.match(await site.get('/strong', { 'accept-encoding': 'gzip' }), {
        cache,
        headers: { 'content-encoding': encoding, etag: respect_strong_etags ? '"tag"' : 'W/"tag"' },
      })
    t.match(await site.get('/weak', { 'accept-encoding': 'gzip' }), { headers: { 'content-encoding': 'gzip' } })
  }
})

t.test(
  'fields for the cache alone do not reach clients, but tags of a response that the cache does not handle do',
  async (t) => {
    const site = await startCachedSite(
      t,
      ({ url }, response) => {
        response.setHeader('cache-tag', 'a').setHeader('cloudflare-cdn-cache-control', 'max-age=60')
        if (url === '/private.css') response.setHeader('set-cookie', 'a=1')
        response.setHeader('cdn-cache-control', 'max-age=9').end('x')
      },
      { mode: 'default' },
    )
    for (const [target, cache] of [
      ['/page', 'DYNAMIC'],
      ['/private.css', 'BYPASS'],
      ['/a.css', 'MISS'],
      ['/a.css', 'HIT'],
    ] as const) {
      const { headers, ...response } = await site.get(target)
      t.match(response, { cache }, target)
      t.equal(headers['cache-tag'], cache === 'DYNAMIC' ? 'a' : undefined, target)
      t.notOk(headers['cloudflare-cdn-cache-control'], target)
      t.equal(headers['cdn-cache-control'], 'max-age=9', target)
    }
  },
)

t.test('a rate limit of requests to the origin stops what the cache does not have', async (t) => {
  const ratelimit = {
    characteristics: ['cf.colo.id', 'ip.src'],
    period: 60,
    requests_per_period: 2,
    mitigation_timeout: 0,
    requests_to_origin: true,
  }
  const options = { difficulty: 1, clearance_lifetime: 60_000 }
  const challenges = new Challenges(() => [Buffer.alloc(32, 1)], systemClock, options)
  for (const mode of ['everything', 'off'] as const) {
    const parts = conditions({ limiter: new Limiter({ clock: systemClock }), challenges, log: silentLog })
    const site = await startCachedSite(
      t,
      (_request, response) => response.setHeader('cache-control', FRESH).setHeader('x-origin', 'yes').end('x'),
      {
        mode,
        zone: { rules: rulesOf([{ phase: 'http_ratelimit', rules: [{ action: 'block', ratelimit }] }], { parts }) },
      },
    )
    const statuses = async (targets: readonly string[], method = 'GET') => {
      const seen: number[] = []
      for (const target of targets) seen.push((await site.get(target, {}, method)).status)
      return seen
    }
    t.same(await statuses(['/a', '/b']), [200, 200])
    if (mode === 'everything') t.same(await statuses(['/a', '/b', '/a']), [200, 200, 200], 'from the cache')
    t.same(await statuses(['/c', '/d']), [429, 429], 'not to the origin')
    t.same(await statuses(['/a'], 'POST'), [429])
    t.equal((await site.get('/c')).headers['x-origin'], undefined)
    if (mode === 'everything') t.match(await site.get('/a'), { status: 200, cache: 'HIT' }, 'still from the cache')
    t.same(site.requests, ['GET /a', 'GET /b'])
  }
})
