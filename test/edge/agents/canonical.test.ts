import { brotliCompressSync, deflateRawSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { BUILT_IN_CATALOGUE } from '../../../src/agents/catalogue/catalogue.js'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import { MemoryBudget } from '../../../src/core/memory/memory-budget.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { CanonicalPages } from '../../../src/edge/agents/canonical/canonical-pages.js'
import { agentsStage } from '../../../src/edge/agents/stage.js'
import { ResponseCache } from '../../../src/edge/cache/cache.js'
import { markdownStage } from '../../../src/edge/markdown/stage.js'
import { readConfig } from '../../../src/config/load.js'
import { testIdentity } from '../../helpers/agents.js'
import { startOrigin, startProxy, testZone } from '../../helpers/proxy.js'

const CRAWLER = { 'user-agent': 'GPTBot/1.2' }

type Page = readonly [body: string | Buffer, fields?: Record<string, string>, status?: number]

/** Starts a site with pages by target, whose crawlers for training are sent to canonical pages. */
async function openSite(t: Test, pages: Readonly<Record<string, Page>>, { members = '', memory = 10_000_000 } = {}) {
  const asked: string[] = []
  const origin = await startOrigin(t, (request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const [body, fields = {}, status = 200] = pages[request.url!] ?? ['missing', {}, 404]
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...fields })
    response.end(typeof body === 'string' ? body.replaceAll('HOST', request.headers.host!) : body)
  })
  const budget = new MemoryBudget(memory)
  const metrics = openMetrics({ process: false })
  const zone = testZone(
    origin.url,
    `hostnames: ['*'], agents: { access: [{ who: { category: ai_crawler }, do: canonical }] }${members}`,
  )
  const cached = members.includes('cache')
  const proxy = await startProxy(t, [zone], {
    yaml: '{ trusted_proxies: [127.0.0.1] }',
    agents: testIdentity(t),
    stages: [
      markdownStage({ memory: budget, metrics, log: silentLog }),
      agentsStage({
        memory: budget,
        catalogue: () => BUILT_IN_CATALOGUE,
        pages: new CanonicalPages(() => systemClock.monotonic()),
      }),
    ],
    ...(cached && {
      cache: new ResponseCache(readConfig('{}', 'test.yaml', {}).cache, {
        facts: { country: () => undefined },
        clock: systemClock,
        metrics,
      }),
    }),
  })
  t.teardown(() => {
    if (budget.used !== 0) throw new Error(`${budget.used} bytes stay held`)
  })
  const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    await fetch(proxy.url + path, { method, redirect: 'manual', headers: { ...CRAWLER, ...headers } })
  const target = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const response = await get(path, headers, method)
    await response.arrayBuffer()
    return response.status === 301 ? response.headers.get('location')!.replace(proxy.url, '') : response.status
  }
  return { get, target, asked, url: proxy.url }
}

const page = (canonical: string, rest = 'text') =>
  `<!doctype html><title>T</title><link rel="canonical" href="${canonical}"></head><body>${rest}`

t.test('a crawler is sent to the page that a page names, other clients are not', async (t) => {
  const { get, target, url } = await openSite(t, {
    '/a?ref=1': [page('/a')],
    '/a': [page('/a')],
    '/base': ['<html><base href="/docs/"><link REL="nofollow Canonical" HREF=" page ">'],
    '/field': ['<p>text', { link: '</other>; rel="x", </a>; rel=canonical' }],
    '/none': ['<!doctype html><p>text'],
    '/large': [`<title>T</title>${'<meta name=a content=b>'.repeat(5000)}<link rel=canonical href=/a>`],
    '/%C3%A4': [page('/ä/ö')],
  })
  const redirect = await get('/a?ref=1')
  t.equal(redirect.status, 301)
  t.equal(redirect.headers.get('location'), `${url}/a`)
  t.equal(redirect.headers.get('cache-control'), 'private')
  t.equal(await redirect.text(), '')
  t.equal((await get('/a?ref=1', { 'user-agent': 'Mozilla/5.0 Firefox/140.0' })).status, 200)
  t.equal(await target('/a'), 200, 'a page that names itself')
  t.equal(await target('/base'), '/docs/page')
  t.equal(await target('/field'), '/a')
  t.equal(await target('/none'), 200)
  t.equal(await target('/large'), '/a')
  t.equal(await target('/%C3%A4'), '/%C3%A4/%C3%B6')
  t.equal(await target('/missing'), 404)
})

t.test('the page is found in any coding, to HEAD, and in spite of conditions', async (t) => {
  const pages = page('/a', 'x'.repeat(100_000))
  const coded = (body: Buffer, coding: string): Page => [body, { 'content-encoding': coding, etag: '"1"' }]
  const { get, target, asked } = await openSite(t, {
    '/gzip': coded(gzipSync(pages), 'gzip'),
    '/br': coded(brotliCompressSync(pages), 'br'),
    '/deflate': coded(deflateRawSync(pages), 'deflate'),
    '/broken': coded(gzipSync(pages).subarray(0, 40), 'gzip'),
    '/unknown': coded(Buffer.from(pages), 'compress'),
    '/own': coded(gzipSync(page('/own', 'y'.repeat(300_000))), 'gzip'),
    '/empty': coded(Buffer.alloc(0), 'gzip'),
  })
  const codings = { 'accept-encoding': 'gzip, deflate, br' }
  for (const path of ['/gzip', '/br', '/deflate']) t.equal(await target(path, codings), '/a', path)
  t.equal((await get('/unknown')).status, 200)
  t.equal((await get('/empty')).status, 200)
  const own = await get('/own', codings)
  t.equal((await own.text()).length, page('/own', 'y'.repeat(300_000)).length, 'the page is whole')
  t.equal((await get('/broken', codings)).status, 200)
  asked.length = 0
  t.equal(await target('/gzip', {}, 'HEAD'), '/a')
  t.strictSame(asked, ['GET /gzip', 'HEAD /gzip'])
  t.equal(await target('/gzip', { 'if-none-match': '"1"', range: 'bytes=0-9' }), '/a')
})

t.test('no page sends a crawler elsewhere, or in a circle', async (t) => {
  const { target } = await openSite(t, {
    '/a': [page('/b')],
    '/b': [page('/a')],
    '/1': [page('/2')],
    '/2': [page('/3')],
    '/3': [page('/1')],
    '/other': [page('https://evil.test/a')],
    '/port': [page('http://127.0.0.1:1/a')],
    '/relative': [page('//evil.test/a')],
    '/script': [page('javascript:alert(1)')],
    '/data': [page('data:text/html,x')],
    '/user': [page('http://user@HOST/x')],
    '/huge': [page(`/${'x'.repeat(5000)}`)],
    '/invalid': [page('http://[')],
    '/empty': [page('')],
    '/hash': [page('/hash#part')],
    '/secure': [page('https://HOST/secure')],
    '/body': ['<title>T</title><p>text<link rel=canonical href=/b>'],
    '/comment': [
      '<title>T</title><!-- <link rel=canonical href=/b> --><script>"<link rel=canonical href=/b>"</script>',
    ],
    '/raw': [
      '<title><link rel=canonical href=/b></title><template><link rel=canonical href=/b></template><style><link rel=canonical href=/b></style>',
    ],
    '/late': [`<title>T</title><!--${'x'.repeat(300_000)}--><link rel=canonical href=/b>`],
    '/text': [page('/b'), { 'content-type': 'text/plain' }],
    '/error': [page('/b'), {}, 500],
    '/lines': [page('/b&#13;&#10;x: y')],
  })
  t.equal(await target('/a'), '/b')
  t.equal(await target('/b'), 200, 'the two pages name each other')
  t.equal(await target('/a'), 200, 'that is known now')
  t.equal(await target('/1'), '/2')
  t.equal(await target('/2'), '/3')
  t.equal(await target('/3'), 200, 'a circle of three')
  for (const path of [
    '/other',
    '/port',
    '/relative',
    '/script',
    '/data',
    '/user',
    '/huge',
    '/invalid',
    '/empty',
    '/hash',
  ])
    t.equal(await target(path), 200, path)
  for (const path of ['/secure', '/body', '/comment', '/raw', '/late', '/text']) t.equal(await target(path), 200, path)
  t.equal(await target('/error'), 500)
  t.equal(await target('/lines'), '/bx:%20y', 'no line end reaches the field')
})

t.test('a crawler that comes from the named page is not sent back', async (t) => {
  const { target, url } = await openSite(t, { '/a': [page('/b')] })
  t.equal(await target('/a', { referer: `${url}/b#part` }), 200)
  t.equal(await target('/a', { referer: `${url}/c` }), '/b')
})

t.test('a page is sent as it is if no memory is left', async (t) => {
  const { target } = await openSite(t, { '/a': [page('/b')] }, { memory: 10 })
  t.equal(await target('/a'), 200)
})

t.test('pages in the cache and as Markdown', async (t) => {
  const { get, target, asked } = await openSite(
    t,
    { '/a': [page('/b'), { 'cache-control': 'max-age=60' }], '/b': [page('/b'), { 'cache-control': 'max-age=60' }] },
    { members: ', cache: everything, markdown: { md_addresses: true }, settings: { content_converter: on }' },
  )
  t.equal((await get('/a', { 'user-agent': 'curl/8' })).status, 200)
  t.equal(await target('/a'), '/b')
  t.equal(await target('/a', { accept: 'text/markdown' }), '/b')
  t.equal(await target('/a.md'), '/b.md')
  t.equal((await get('/b', { accept: 'text/markdown' })).headers.get('content-type'), 'text/markdown; charset=utf-8')
  t.ok(asked.length <= 6, `${asked.length} requests`)
})

t.test('what pages name is remembered with a bound', async (t) => {
  let now = 0
  const pages = new CanonicalPages(() => now)
  for (let at = 0; at < 20_000; at++) pages.saw(`p${at}`, 'q')
  t.equal(pages.size, 10_000)
  t.equal(pages.of('p0'), undefined)
  t.equal(pages.of('p19999'), 'q')
  for (let at = 0; at < 2000; at++) pages.saw(`${at}${'x'.repeat(2000)}`, 'y'.repeat(2000))
  t.ok(pages.size < 1100, 'long addresses')
  pages.saw('a', 'b')
  now += 600_000
  t.equal(pages.of('a'), undefined)
  pages.saw('a', undefined)
  t.equal(pages.leads('b', 'a'), false)
})
