import { brotliDecompressSync } from 'node:zlib'
import t from 'tap'
import { MarkdownConverter } from '../../../../pipelines/markdown/convert.js'
import type { Content } from '../../../../pipelines/markdown/options.js'
import { silentLog } from '../../../../src/core/log.js'
import { MemoryBudget } from '../../../../src/core/memory/memory-budget.js'
import { openMetrics } from '../../../../src/core/metrics/metrics.js'
import { markdownStage } from '../../../../src/edge/markdown/stage.js'
import { metric } from '../../../helpers/proxy.js'
import { rulesOf } from '../../../helpers/rules.js'
import { until } from '../../../helpers/web.js'
import { MovedClock, startCachedSite } from '../setup.js'

const PAGE =
  '<html><body><div><a href="/x">menu</a></div><main><h1>Title</h1>' +
  '<p>Some text that is long enough to be the main part of this page.</p>'.repeat(20) +
  '</main></body></html>'

/** A stage that counts conversions. */
function counted() {
  const conversions: string[] = []
  const stage = markdownStage({
    memory: new MemoryBudget(64 * 1024 * 1024),
    converter: (contentType: string, content: Content) => {
      conversions.push(content)
      return new MarkdownConverter({ contentType, content })
    },
    metrics: openMetrics({ process: false }),
    log: silentLog,
  })
  return { conversions, stages: [stage] }
}

const zone = { settings: { content_converter: true } } as const
const MD = { accept: 'text/markdown' }

t.test('a stored page is converted once, and requests for HTML get the page', async (t) => {
  const { conversions, stages } = counted()
  const site = await startCachedSite(
    t,
    (_, response) => response.setHeader('cache-control', 'max-age=60').setHeader('content-type', 'text/html').end(PAGE),
    { stages, zone },
  )
  const first = await site.get('/', MD)
  t.match(first, { cache: 'MISS', headers: { 'content-type': /^text\/markdown/ }, body: /# Title/ })
  const spellings = ['text/markdown', 'text/markdown;q=0.9, */*;q=0.1', 'TEXT/Markdown, text/html', 'a/b,text/markdown']
  for (const accept of spellings) {
    const next = await site.get('/', { accept })
    t.match(next, { cache: 'HIT', headers: { 'content-type': /^text\/markdown/, vary: 'accept' } }, accept)
    t.equal(next.body, first.body)
    t.ok(next.headers['x-markdown-tokens'])
    t.ok(next.headers['age'])
  }
  t.equal(conversions.length, 1)
  t.equal((await site.get('/')).body, PAGE)
  t.equal((await site.get('/', { accept: 'text/html' })).body, PAGE)
  t.equal(site.requests.length, 1)
  t.ok((await metric(site.metrics, 'edged_cache_variant_bytes', { kind: 'markdown' })) >= first.body.length)
})

t.test('concurrent requests share one conversion of a stored page', async (t) => {
  const { conversions, stages } = counted()
  const site = await startCachedSite(
    t,
    (_, response) => response.setHeader('cache-control', 'max-age=60').setHeader('content-type', 'text/html').end(PAGE),
    { stages, zone },
  )
  await site.get('/')
  const all = await Promise.all(Array.from({ length: 40 }, async () => await site.get('/', MD)))
  t.equal(new Set(all.map(({ body }) => body)).size, 1)
  t.match(all[0], { cache: 'HIT', body: /# Title/ })
  t.equal(conversions.length, 1)
})

t.test('clients of a page that is being received share one conversion, and see if it is cut off', async (t) => {
  const { conversions, stages } = counted()
  let finish: ((cut: boolean) => void) | undefined
  const site = await startCachedSite(
    t,
    (_, response) => {
      response.setHeader('cache-control', 'max-age=60').setHeader('content-type', 'text/html')
      response.setHeader('content-length', PAGE.length).write(PAGE.slice(0, 50))
      finish = (cut) => (cut ? response.destroy() : response.end(PAGE.slice(50)))
    },
    { stages, zone },
  )
  for (const cut of [true, false]) {
    finish = undefined
    conversions.length = 0
    const before = site.cache.metrics.coalesced
    const all = Array.from({ length: 10 }, async () => await site.get('/', MD).catch(() => 'cut'))
    await until(() => finish !== undefined && site.cache.metrics.coalesced - before === 9)
    finish!(cut)
    const got = await Promise.all(all)
    if (cut) t.ok(got.every((one) => one === 'cut' || (typeof one === 'object' && one.status >= 500)))
    else t.ok(got.every((one) => typeof one === 'object' && one.body.includes('# Title')))
    // The first client gets its Markdown while the page arrives, the others share one.
    t.equal(conversions.length, 2)
  }
})

t.test('Markdown belongs to one version of the page and one combination of settings', async (t) => {
  const { conversions, stages } = counted()
  const clock = new MovedClock()
  let version = 1
  const site = await startCachedSite(
    t,
    (request, response) => {
      response.setHeader('cache-control', 'max-age=60').setHeader('content-type', 'text/html')
      const etag = `"${version}"`
      response.setHeader('etag', etag)
      if (request.headers['if-none-match'] === etag) response.writeHead(304).end()
      else response.end(PAGE.replace('Title', `Title ${version}`))
    },
    { stages, zone, clock },
  )
  await site.get('/', MD)
  clock.forward(61)
  t.match(await site.get('/', MD), { cache: 'REVALIDATED', body: /Title 1/ })
  t.equal(conversions.length, 1, 'an unchanged page is not converted again')
  clock.forward(61)
  version = 2
  t.match(await site.get('/', MD), { cache: 'EXPIRED', body: /Title 2/ })
  t.equal(conversions.length, 2)
  version = 3
  site.cache.purge(site.zones.current.zones[0]!.id, { urls: ['example.test/'] }, { kind: 'files', version: 1 })
  t.match(await site.get('/', MD), { cache: 'MISS', body: /Title 3/ })
  t.equal(conversions.length, 3)

  t.match((await site.get('/', MD)).body, /menu/)
  site.change({ settings: { content_converter: true, content_converter_content: 'main' } })
  const main = await site.get('/', MD)
  t.equal(main.cache, 'HIT')
  t.notMatch(main.body, /menu/)
  t.strictSame(conversions.slice(3), ['main'])
  site.change({ settings: { content_converter: true } })
  t.match((await site.get('/', MD)).body, /menu/)
  t.equal(conversions.length, 4)
})

t.test('a page that cannot be converted is sent as HTML without another attempt', async (t) => {
  const { conversions, stages } = counted()
  const broken = '<html><body><p>not closed</body></html>'
  const site = await startCachedSite(
    t,
    (_, response) =>
      response.setHeader('cache-control', 'max-age=60').setHeader('content-type', 'application/xhtml+xml').end(broken),
    { stages, zone },
  )
  for (const cache of ['MISS', 'HIT', 'HIT'])
    t.match(await site.get('/', MD), { cache, body: broken, headers: { 'content-type': 'application/xhtml+xml' } })
  t.ok(conversions.length <= 2, `${conversions.length} conversions`)
})

t.test('compressed bytes are stored for pages and for their Markdown', async (t) => {
  const { stages } = counted()
  const rules = rulesOf([
    {
      phase: 'http_response_compression',
      rules: [{ action: 'compress_response', action_parameters: { algorithms: [{ name: 'brotli' }] } }],
    },
  ])
  const site = await startCachedSite(
    t,
    (_, response) => response.setHeader('cache-control', 'max-age=60').setHeader('content-type', 'text/html').end(PAGE),
    { stages, zone: { ...zone, rules } },
  )
  const texts = new Map<string, string>()
  for (const round of [1, 2, 3])
    for (const accept of ['text/html', 'text/markdown']) {
      const got = await site.get('/', { accept, 'accept-encoding': 'br' })
      t.equal(got.headers['content-encoding'], 'br')
      const text = brotliDecompressSync(Buffer.from(got.body, 'latin1')).toString()
      t.equal(text, texts.get(accept) ?? text)
      texts.set(accept, text)
      if (round > 1) t.equal(got.headers['content-length'], String(got.body.length), `${accept} from memory`)
    }
  t.equal(texts.get('text/html'), PAGE)
  t.match(texts.get('text/markdown'), /# Title/)
  t.match(await site.get('/', { 'accept-encoding': 'identity' }), { body: PAGE, cache: 'HIT' })
  t.equal(site.requests.length, 1)
})
