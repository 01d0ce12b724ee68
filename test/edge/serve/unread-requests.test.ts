import t from 'tap'
import type { Exchange } from '../../../src/edge/exchange/exchange.js'
import type { Stage } from '../../../src/edge/exchange/response.js'
import { startCachedSite } from '../cache/setup.js'

/** A list of fields that nothing needs is a large part of the memory that a request allocates. */
for (const mode of ['off', 'everything'] as const)
  t.test(`no list of fields is made for an ordinary request, with the cache ${mode}`, async (t) => {
    const exchanges: Exchange[] = []
    const stage: Stage = (exchange, next) => {
      exchanges.push(exchange)
      return next
    }
    const site = await startCachedSite(
      t,
      (_request, response) => response.writeHead(200, { 'cache-control': 'max-age=60' }).end('page'),
      { mode, stages: [stage] },
    )
    t.match(await site.get('/'), { status: 200, body: 'page' })
    t.match(await site.get('/', { accept: 'text/html', cookie: 'a=b', 'user-agent': 'x' }), { body: 'page' })
    t.equal(site.requests.length, mode === 'off' ? 2 : 1)
    t.ok(exchanges.at(-1)?.unread, 'the fields are as they arrived')
    t.match(await site.get('/', { 'x-forwarded-port': '1' }), { body: 'page' })
    t.equal(exchanges.at(-1)?.unread === undefined, mode === 'everything', 'the cache reads a field that is in keys')
  })
