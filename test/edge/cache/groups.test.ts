import t from 'tap'
import { MovedClock, startCachedSite } from './setup.js'

t.test('the response to an unsafe request invalidates groups of responses (RFC 9875)', async (t) => {
  const GROUPS: Readonly<Record<string, string>> = {
    '/a': '"one", "Two"',
    '/b': '"two"',
    '/c': '"one";x=1, token, ("one")',
    '/d': 'one, "broken',
  }
  let invalidation: string | string[] = '"one"'
  const site = await startCachedSite(t, (request, response) => {
    response.setHeader('cache-control', 'max-age=60')
    const groups = GROUPS[request.url ?? '']
    if (request.method === 'POST' || request.url === '/safe')
      response.setHeader('cache-group-invalidation', invalidation)
    else if (groups) response.setHeader('cache-groups', groups)
    response.statusCode = request.url === '/fails' ? 500 : 200
    response.end('x')
  })
  const all = async () => {
    const found = []
    for (const target of Object.keys(GROUPS)) found.push((await site.get(target)).cache)
    return found
  }
  t.same(await all(), ['MISS', 'MISS', 'MISS', 'MISS'])
  await site.get('/safe')
  await site.get('/fails', {}, 'POST')
  await site.get('/other', { host: 'example.test:8080' }, 'POST')
  t.same(await all(), ['HIT', 'HIT', 'HIT', 'HIT'], 'safe, failed and foreign requests invalidate nothing')
  await site.get('/other', {}, 'POST')
  t.same(await all(), ['MISS', 'HIT', 'MISS', 'HIT'])
  invalidation = ['"Two"', '"no"']
  await site.get('/other', {}, 'POST')
  t.same(await all(), ['MISS', 'HIT', 'HIT', 'HIT'], 'names are compared with case')
})

t.test('100 groups of 128 characters are possible', async (t) => {
  const groups = Array.from({ length: 100 }, (_, i) => `"${String(i).padStart(128, 'g')}"`)
  const site = await startCachedSite(t, (request, response) => {
    response.setHeader('cache-control', 'max-age=60')
    if (request.method === 'POST') response.setHeader('cache-group-invalidation', groups.at(-1)!)
    else
      for (const half of [groups.slice(0, 50), groups.slice(50)]) response.appendHeader('cache-groups', half.join(', '))
    response.end('x')
  })
  await site.get('/a')
  t.match(await site.get('/a'), { cache: 'HIT' })
  await site.get('/b', {}, 'POST')
  t.match(await site.get('/a'), { cache: 'MISS' })
})

t.test('QUERY is safe: it invalidates nothing, and is not stored without content', async (t) => {
  const site = await startCachedSite(t, (_request, response) => {
    response.setHeader('cache-control', 'max-age=60').end('x')
  })
  await site.get('/a')
  t.match(await site.get('/a', {}, 'QUERY'), { status: 200, cache: 'DYNAMIC' })
  t.match(await site.get('/a', {}, 'QUERY'), { status: 200, cache: 'DYNAMIC' })
  t.match(await site.get('/a'), { cache: 'HIT' })
})

/** Rows: the field, the query of a first request, and queries of further requests with whether they share its response. */
const VARIANCES: readonly (readonly [field: string, first: string, others: Readonly<Record<string, boolean>>])[] = [
  [
    'params=("utm")',
    '?a=1&utm=x',
    { '?a=1&utm=y': true, '?utm=z&a=1': true, '?a=1': true, '?a=2': false, '?a=1&b=1': false },
  ],
  ['params', '?a=1', { '': true, '?': true, '?b=2&c': true }],
  ['params, except=("id")', '?id=1&x=1', { '?id=1': true, '?y=2&id=1': true, '?id=2': false, '': false }],
  ['key-order', '?a=1&b=2', { '?b=2&a=1': true, '?a=1&b=3': false, '?a=1': false }],
  ['key-order', '?a=1&a=2', { '?a=2&a=1': false }],
  ['key-order, params=("c")', '?a=1&b=2&c=3', { '?b=2&c=4&a=1': true, '?b=2&a=%31': true }],
  ['params=("a%20b" "c+d")', '?x=1&a+b=1', { '?c%20d=5&x=1': true, '?x=1': true, '?c%2Bd=5&x=1': false }],
  ['params=(utm)', '?a=1&utm=x', { '?a=1': false }],
  ['params=?0', '?a=1', { '?a=2': false }],
  ['params=("a"), except=("b")', '?a=1', { '?a=2': false }],
  ['except=("a")', '?b=1', { '?b=2': false }],
  ['key-order=1', '?a=1&b=2', { '?b=2&a=1': false }],
  ['"broken', '?a=1', { '?a=2': false }],
  ['params=("utm"), later=1', '?utm=1', { '?utm=2': true }],
]

t.test('parameters that do not matter share a response (No-Vary-Search)', async (t) => {
  const site = await startCachedSite(t, (request, response) => {
    const [, row = ''] = /^\/(\d+)/.exec(request.url ?? '') ?? []
    response.setHeader('cache-control', 'max-age=60').setHeader('no-vary-search', VARIANCES[Number(row)]![0])
    response.end(request.url)
  })
  for (const [row, [field, first, others]] of VARIANCES.entries()) {
    t.match(await site.get(`/${row}${first}`), { cache: 'MISS' })
    for (const [query, isShared] of Object.entries(others)) {
      const got = await site.get(`/${row}${query}`)
      const wanted = isShared ? { cache: 'HIT', body: `/${row}${first}` } : { cache: 'MISS', body: `/${row}${query}` }
      t.match(got, wanted, `${field}: ${first} and ${query}`)
    }
  }
})

t.test(
  'a response without the field is not used for another query, and a purge of one query removes what it shares',
  async (t) => {
    let field: string | undefined = 'params=("utm")'
    const clock = new MovedClock()
    const site = await startCachedSite(
      t,
      (request, response) => {
        response.setHeader('cache-control', 'max-age=60').setHeader('etag', '"1"')
        if (field) response.setHeader('no-vary-search', field)
        if (request.headers['if-none-match']) response.writeHead(304)
        response.end(response.statusCode === 304 ? undefined : request.url)
      },
      { clock },
    )
    await site.get('/p?utm=1')
    t.match(await site.get('/p?utm=2'), { cache: 'HIT', body: '/p?utm=1' })
    site.cache.purge(site.zones.current.zones[0]!.id, { urls: ['example.test/p?*'] }, { kind: 'files', version: 2 })
    t.match(await site.get('/p?utm=2'), { cache: 'MISS', body: '/p?utm=2' })
    field = undefined
    t.match(await site.get('/q?utm=1'), { cache: 'MISS' })
    t.match(await site.get('/q?utm=2'), { cache: 'MISS', body: '/q?utm=2' })
    field = 'key-order'
    clock.forward(61)
    t.match(await site.get('/p?utm=2'), { cache: 'REVALIDATED' }, 'the 304 has another field, so the response leaves')
    t.match(await site.get('/p?utm=3'), { cache: 'MISS', body: '/p?utm=3' })
  },
)
