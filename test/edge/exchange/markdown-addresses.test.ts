import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import t from 'tap'
import { open } from '../../helpers/web.js'
import { site } from '../markdown/site.js'

const HTML = 'text/html; charset=utf-8'
const MARKDOWN = 'text/markdown; charset=utf-8'

/** An origin with a page at every address but these. */
const pages: RequestListener = ({ url, headers }, response) => {
  const [path = ''] = url!.split('?')
  if (path === '/moved') response.writeHead(301, { location: '/docs/?a=1#top', 'content-type': HTML }).end('<p>Moved')
  else if (path === '/away') response.writeHead(302, { location: 'https://other.test/b' }).end()
  else if (path === '/docs/to') response.writeHead(302, { location: decodeURIComponent(url!.split('?')[1]!) }).end()
  else if (path === '/named')
    response.writeHead(200, { 'content-type': HTML, link: '<https://a.test/x>; rel="canonical bookmark"' }).end('<p>x')
  else if (path === '/none' || path === '/none.md') response.writeHead(404, { 'content-type': HTML }).end('<p>Not here')
  else if (path === '/file') response.writeHead(200, { 'content-type': 'text/plain', link: '<a>; rel=b' }).end('plain')
  else response.writeHead(200, { 'content-type': HTML, link: '<a>; rel=b' }).end(`<h1>${url}</h1><p>${headers.accept}`)
}

t.test('a zone with md_addresses has the Markdown of each page at an address of its own', async (t) => {
  const { get } = await site(t, pages, { markdown: 'md_addresses: true' })
  const CASES: [path: string, page: string, canonical: string][] = [
    ['/index.md', '/', '/'],
    ['/docs/index.md', '/docs/', '/docs/'],
    ['/docs/page.md?a=1&b=.md', '/docs/page?a=1&b=.md', '/docs/page?a=1&b=.md'],
    ['/page.html.md', '/page.html', '/page.html'],
    ['/my-index.md', '/my-index', '/my-index'],
  ]
  for (const [path, page, canonical] of CASES) {
    const { status, headers, body } = await get(path, { accept: '*/*' })
    t.equal(status, 200, path)
    t.match(headers, { 'content-type': MARKDOWN, link: `<a>; rel=b, <${canonical}>; rel="canonical"` }, path)
    t.equal(body.toString(), `# ${page}\n\n\\*/\\*, text/html\n`, path)
    const head = await get(path, { accept: '*/*', method: 'HEAD' })
    t.match(head.headers, { 'content-type': MARKDOWN, link: headers['link'] }, `HEAD ${path}`)
  }
})

t.test('an HTML page names the address of its Markdown', async (t) => {
  const { get } = await site(t, pages, { markdown: 'md_addresses: true' })
  for (const [path, address] of [
    ['/', '/index.md'],
    ['/docs/?a=1', '/docs/index.md?a=1'],
    ['/page', '/page.md'],
    ['/<b>', '/%3Cb%3E.md'],
  ] as const) {
    const { headers } = await get(path, { accept: 'text/html' })
    t.equal(headers['link'], `<a>; rel=b, <${address}>; rel="alternate"; type="text/markdown"`)
  }
  t.equal((await get('/none', { accept: 'text/html' })).headers['link'], undefined)
  t.equal((await get('/file', { accept: 'text/html' })).headers['link'], '<a>; rel=b')
})

t.test('redirects, missing pages and other files at Markdown addresses', async (t) => {
  const { get } = await site(t, pages, { markdown: 'md_addresses: true' })
  const moved = await get('/moved.md')
  t.match(moved, { status: 301, headers: { location: '/docs/index.md?a=1#top' } })
  t.match(await get('/away.md'), { status: 302, headers: { location: 'https://other.test/b' } })
  const none = await get('/none.md')
  t.match(none, { status: 404, headers: { 'content-type': MARKDOWN } })
  t.equal(none.body.toString(), 'Not here\n')
  const file = await get('/file.md')
  t.match(file, { status: 200, headers: { 'content-type': 'text/plain' } })
  t.equal(file.body.toString(), 'plain')
  t.match((await get('/.md', { accept: '*/*' })).headers, { 'content-type': HTML }, 'not the name of a page')
})

t.test('redirects in every form lead to the Markdown of pages on the same host', async (t) => {
  const { get } = await site(t, pages, { markdown: 'md_addresses: true, llms_txt: front_page' })
  const CASES: [location: string, expected: string][] = [
    ['b', '/docs/b.md'],
    ['./', '/docs/index.md'],
    ['../b?x=1#y', '/b.md?x=1#y'],
    ['https://EXAMPLE.test/b', 'https://example.test/b.md'],
    ['//other.test/b', '//other.test/b'],
    ['/\\\\other.test/b', '/\\\\other.test/b'],
    ['mailto:a@b.test', 'mailto:a@b.test'],
    ['http://[', 'http://['],
  ]
  for (const [location, expected] of CASES) {
    const { status, headers } = await get(`/docs/to.md?${encodeURIComponent(location)}`, { accept: '*/*' })
    t.match({ status, location: headers['location'] }, { status: 302, location: expected }, location)
  }
})

t.test('the canonical address that the origin names is the only one', async (t) => {
  const { get } = await site(t, pages, { markdown: 'md_addresses: true' })
  t.equal((await get('/named.md')).headers['link'], '<https://a.test/x>; rel="canonical bookmark"')
})

t.test('without the option, and with the converter off, these are addresses of the origin', async (t) => {
  for (const options of [{}, { markdown: 'md_addresses: true, llms_txt: front_page', settings: 'off' }]) {
    const { get } = await site(t, pages, options)
    for (const path of ['/page.md', '/llms.txt']) {
      const { headers, body } = await get(path, { accept: 'text/html' })
      t.match(headers, { 'content-type': HTML, link: '<a>; rel=b' })
      t.match(body.toString(), `<h1>${path}</h1>`)
    }
  }
})

const FRONT = `<!doctype html><html><head><title>A [site]</title><meta name=description content="What  it is"></head><body>
<nav><a href="/">Home</a><a href="/docs/">Docs</a><a href="#x">Here</a><a href="mailto:a@b.c">Mail</a></nav>
<h2>Guides</h2><p><a href="/docs/start#a">Start <b>here</b></a> <a href="/docs/start">again</a>
<a href="https://other.test/">Other</a> <a href="/style.css">x</a>
<h3><a href="guide">The guide</a></h3><a href="http://example.test/api?v=1"><img alt="API" src=i.png></a>
<h2>Nothing</h2><script>'<a href="/no">'</script></body></html>`

const START = '# example.test\n\n> The pages of example.test.\n\n'

t.test('a list has an entity tag, and parts if it is long', async (t) => {
  const links = Array.from(
    { length: 1500 },
    (_, i) => `<a href="/a-long-name-of-a-page/${i}">Page ${i} with a title</a>`,
  )
  const { get } = await site(
    t,
    (_, response) => void response.writeHead(200, { 'content-type': HTML }).end(`<title>A</title>${links.join('')}`),
    { markdown: 'llms_txt: front_page' },
  )
  const list = async (path: string, headers = {}) => await get(path, { accept: '*/*', headers })
  const first = await list('/llms.txt')
  t.match(first.headers, { etag: /^W\//, 'cache-control': 'max-age=300' })
  t.match(await list('/llms.txt', { 'if-none-match': first.headers.etag }), { status: 304 })
  const parts = [first.body.toString()]
  for (let part = 2; part <= 3; part++) parts.push((await list(`/llms-${part}.txt`)).body.toString())
  t.match(
    parts[0],
    '## More pages\n\n- [A, part 2](http://example.test/llms-2.txt)\n- [A, part 3](http://example.test/llms-3.txt)\n',
  )
  t.match(parts[1], /^# A, part 2\n\n> The pages of example\.test\.\n\n## Pages\n\n- \[Page/)
  for (const part of parts) t.ok(part.length < 50_000)
  t.equal(parts.join('').match(/^- \[Page \d+/gm)?.length, 1500, 'each page once')
})

t.test('llms.txt lists the pages that the front page links', async (t) => {
  const front: RequestListener = ({ url }, response) => {
    response.writeHead(url === '/' ? 200 : 404, { 'content-type': HTML, etag: '"e"' }).end(url === '/' ? FRONT : '')
  }
  const { get } = await site(t, front, { markdown: 'llms_txt: front_page' })
  const { status, headers, body } = await get('/llms.txt', { accept: '*/*' })
  t.equal(status, 200)
  t.match(headers, { 'content-type': MARKDOWN, etag: /^W\//, 'cache-control': 'max-age=300', link: undefined })
  const expected = `# A [site]

> What it is

## Pages

- [Docs](http://example.test/docs/)

## Guides

- [Start here](http://example.test/docs/start)

## The guide

- [The guide](http://example.test/guide)
- [API](http://example.test/api?v=1)
`
  t.equal(body.toString(), expected)
  t.match((await get('/llms.txt', { method: 'HEAD' })).headers, { 'content-type': MARKDOWN })

  const both = await site(t, front, { markdown: 'llms_txt: front_page, md_addresses: true' })
  const listed = (await both.get('/llms.txt', { accept: '*/*' })).body.toString()
  t.match(listed, /test\/docs\/index\.md\)[^]*test\/docs\/start\.md\)[^]*test\/api\.md\?v=1\)/)
})

t.test('llms.txt lists the pages of the sitemap', async (t) => {
  let sitemap = `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>
    http://example.test/docs/</loc></url><url><loc>http://example.test/a%20b?x=1&amp;y</loc></url>
    <url><loc>http://other.test/c</loc></url></urlset>`
  const { get, outcomes } = await site(
    t,
    ({ url }, response) => {
      response.writeHead(url === '/sitemap.xml' ? 200 : 404, { 'content-type': 'application/xml' }).end(sitemap)
    },
    { markdown: 'llms_txt: sitemap' },
  )
  const { headers, body } = await get('/llms.txt', { accept: '*/*' })
  t.match(headers, { 'content-type': MARKDOWN })
  t.equal(
    body.toString(),
    `${START}## Pages\n\n- [docs](http://example.test/docs/)\n- [a b](http://example.test/a%20b?x=1&y)\n`,
  )
  sitemap = '<sitemapindex><sitemap><loc>http://example.test/map-1.xml.gz</loc></sitemap></sitemapindex>'
  const index = await get('/llms.txt', { accept: '*/*' })
  t.equal(index.body.toString(), `${START}## Sitemaps\n\n- [map-1.xml.gz](http://example.test/map-1.xml.gz)\n`)
  sitemap = '<urlset><url>'
  const broken = await get('/llms.txt', { accept: '*/*' })
  t.match(broken.headers, { 'content-type': 'application/xml' })
  t.equal(broken.body.toString(), sitemap, 'a malformed one arrives as it is')
  t.same(await outcomes(), { converted: 2, malformed: 1 })
})

t.test('llms.txt is created from the sitemap at a path', async (t) => {
  const sitemap = '<urlset><url><loc>http://example.test/about/</loc></url></urlset>'
  const { get } = await site(
    t,
    ({ url }, response) => {
      if (url === '/wp-sitemap-posts-page-1.xml') response.writeHead(200, { 'content-type': 'text/xml' }).end(sitemap)
      else response.writeHead(301, { location: '/wp-sitemap.xml' }).end()
    },
    { markdown: 'llms_txt: /wp-sitemap-posts-page-1.xml' },
  )
  const { headers, body } = await get('/llms.txt', { accept: '*/*' })
  t.match(headers, { 'content-type': MARKDOWN })
  t.equal(body.toString(), `${START}## Pages\n\n- [about](http://example.test/about/)\n`)
})

t.test('llms.txt of a front page with a base address, and of one that moved', async (t) => {
  let head: [number, Record<string, string>] = [200, {}]
  const { get } = await site(
    t,
    (_, response) => {
      response.writeHead(head[0], { 'content-type': HTML, ...head[1] })
      response.end('<base href="/docs/"><title>A</title><a href="b">B</a><a href="/c">C</a>')
    },
    { markdown: 'llms_txt: front_page' },
  )
  const list = async () => await get('/llms.txt', { accept: '*/*' })
  t.equal(
    (await list()).body.toString(),
    '# A\n\n> The pages of example.test.\n\n## Pages\n\n- [B](http://example.test/docs/b)\n- [C](http://example.test/c)\n',
  )
  head = [301, { location: 'https://example.test/' }]
  t.equal((await list()).headers['location'], 'https://example.test/llms.txt', 'its other scheme')
  head = [302, { location: '/en/' }]
  t.equal((await list()).headers['location'], '/en/')
})

const LONG = '<p>a bit of text</p>\n'.repeat(20_000)

t.test('the tokens of a streamed page follow the body if the client accepts trailers', async (t) => {
  const { port } = await site(t, (_, response) => {
    response.writeHead(200, { 'content-type': HTML, 'content-length': String(LONG.length) }).end(LONG)
  })
  for (const [te, has] of [
    ['trailers', true],
    ['deflate;q=0.5, Trailers', true],
    ['trailersx', false],
    [undefined, false],
  ] as const) {
    const headers = { 'accept-encoding': 'identity', ...(te !== undefined && { te, connection: 'TE, keep-alive' }) }
    const [response] = (await once(open(port, '/', { headers }), 'response')) as [IncomingMessage]
    const what = te ?? 'without TE'
    let bytes = 0
    for await (const chunk of response as AsyncIterable<Buffer>) bytes += chunk.length
    t.equal(response.headers['x-markdown-tokens'], undefined, what)
    t.equal(response.headers['trailer'], has ? 'x-markdown-tokens' : undefined, what)
    t.same(response.trailers, has ? { 'x-markdown-tokens': String(Math.ceil(bytes / 4)) } : {}, what)
  }
})
