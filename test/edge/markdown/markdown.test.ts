import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import zlib from 'node:zlib'
import t from 'tap'
import { MarkdownConverter } from '../../../pipelines/markdown/convert.js'
import { open, until, type Responded } from '../../helpers/web.js'
import { site } from './site.js'

/* The whole proxy between real sockets, with the converter that it has. The stage by itself: markdown-stage.test.ts. */

const LIMIT = 6_291_456

const HTML = 'text/html; charset=utf-8'
const MARKDOWN = 'text/markdown; charset=utf-8'

function markdownOf(html: string | Buffer, contentType = HTML): string {
  const converter = new MarkdownConverter({ contentType })
  return converter.write(Buffer.from(html)) + converter.end()
}

const PAGE = `<!doctype html><title>T</title><meta name=title content="A title"><header>gone</header><main><h1>One</h1>${'<p>A <b>bold</b> word, caf\u00e9.</p>'.repeat(2000)}</main>`

const page =
  (headers: Record<string, string | string[]>, body: Buffer | string, status = 200): RequestListener =>
  (_, response) => {
    response.writeHead(status, { 'content-type': HTML, ...headers }).end(body)
  }

/** A client that reads the bytes of the Markdown as they are. */
const PLAIN = { headers: { 'accept-encoding': 'identity' } }

t.test('a page of an enabled zone is Markdown for clients that list it, and HTML for others', async (t) => {
  const { get, outcomes } = await site(
    t,
    page({ 'content-length': String(Buffer.byteLength(PAGE)), etag: '"e"', 'cache-control': 'max-age=9' }, PAGE),
  )
  const markdown = await get('/')
  t.equal(markdown.status, 200)
  t.match(markdown.headers, {
    'content-type': MARKDOWN,
    vary: 'accept',
    'content-signal': 'ai-train=yes, search=yes, ai-input=yes',
    'cache-control': 'max-age=9',
    'transfer-encoding': 'chunked',
  })
  t.equal(markdown.headers.etag, undefined)
  t.equal(markdown.headers['content-length'], undefined)
  t.equal(markdown.body.toString(), markdownOf(PAGE))
  t.match(markdown.body.toString(), /^---\ntitle: A title\n---\n\n# One\n/)

  const html = await get('/', { accept: 'text/html, */*' })
  t.match(html.headers, { 'content-type': HTML, vary: 'accept', etag: '"e"' })
  t.equal(html.body.toString(), PAGE)
  t.same(await outcomes(), { streamed: 1 })
})

t.test('a zone that has it off, or the free plan, serves HTML', async (t) => {
  for (const options of [{ settings: 'off' }, { settings: 'off', plan: 'free' }]) {
    const { get } = await site(t, page({}, PAGE), options)
    const { headers, body } = await get('/')
    t.equal(headers['content-type'], HTML)
    t.equal(headers.vary, undefined)
    t.equal(body.toString(), PAGE)
  }
})

t.test('the origin gets a request for a complete page in HTML', async (t) => {
  let asked: IncomingMessage['headers'] = {}
  const { get } = await site(t, (request, response) => {
    asked = request.headers
    response.setHeader('content-type', HTML).end('<p>x')
  })
  const conditional = { range: 'bytes=0-1', 'if-range': '"e"', 'if-none-match': '"e"', 'if-modified-since': 'x' }
  await get('/', { accept: 'text/markdown', headers: { ...conditional, cookie: 'a=b' } })
  for (const name of Object.keys(conditional)) t.equal(asked[name], undefined, name)
  t.match(asked, { accept: 'text/markdown, text/html', 'accept-encoding': 'gzip, br', cookie: 'a=b' })

  await get('/', { accept: 'text/html', headers: conditional })
  t.match(asked, { ...conditional, accept: 'text/html' }, 'an ordinary request is left alone')
})

const big = Buffer.from(`<p>${'a b '.repeat(200_000)}</p>`)
const ENCODED: [coding: string, encode: (body: Buffer) => Buffer][] = [
  ['gzip', (body) => zlib.gzipSync(body)],
  ['deflate', (body) => zlib.deflateSync(body)],
  ['deflate', (body) => zlib.deflateRawSync(body)],
  ['br', (body) => zlib.brotliCompressSync(body, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 2 } })],
]
if ('zstdCompressSync' in zlib)
  ENCODED.push(['zstd', (body) => (zlib as unknown as { zstdCompressSync(b: Buffer): Buffer }).zstdCompressSync(body)])
for (const [coding, encode] of ENCODED) {
  t.test(`a page in ${coding} is undone and converted, with and without its length`, async (t) => {
    const body = encode(big)
    const { get, outcomes } = await site(t, (request, response) => {
      const length = request.url === '/length' ? { 'content-length': String(body.length) } : {}
      page({ 'content-encoding': coding, ...length }, body)(request, response)
    })
    for (const path of ['/length', '/chunked']) {
      const { headers, body } = await get(path)
      t.equal(body.toString(), markdownOf(big))
      t.equal(headers['content-encoding'], undefined, 'the coding is that of the HTML')
      t.equal(headers['x-markdown-tokens'], String(Math.ceil(body.length / 4)))
    }
    t.same(await outcomes(), { converted: 2 })
  })
}

const fits = Buffer.alloc(LIMIT, '<p>one</p>\n')
const over = Buffer.concat([fits, Buffer.from('.')])
const SIZES: [what: string, (body: Buffer) => RequestListener][] = [
  ['with its length', (body) => page({ 'content-length': String(body.length) }, body)],
  ['chunked', (body) => page({}, body)],
  ['in gzip', (body) => page({ 'content-encoding': 'gzip' }, zlib.gzipSync(body))],
  ['in br', (body) => page({ 'content-encoding': 'br' }, ENCODED[3]![1](body))],
]
for (const [what, handler] of SIZES) {
  t.test(`6,291,456 bytes ${what} convert, and one more pass as they came`, async (t) => {
    const small = await site(t, handler(fits))
    const converted = await small.get('/')
    t.equal(converted.headers['content-type'], MARKDOWN)
    t.ok(converted.complete)
    t.ok(converted.body.toString() === markdownOf(fits))
    t.same(await small.outcomes(), { [what === 'with its length' ? 'streamed' : 'converted']: 1 })

    const large = await site(t, handler(over))
    const passed = await large.get('/')
    t.match(passed.headers, { 'content-type': HTML, vary: 'accept' })
    const body = passed.headers['content-encoding'] ? unpacked(passed) : passed.body
    t.ok(body.equals(over))
    t.same(await large.outcomes(), { too_large: 1 })
  })
}

const unpacked = ({ headers, body }: Responded): Buffer =>
  headers['content-encoding'] === 'br' ? zlib.brotliDecompressSync(body) : zlib.gunzipSync(body)

t.test('a page that cannot be converted passes byte for byte, with its head', async (t) => {
  const gz = zlib.gzipSync(PAGE)
  const broken = Buffer.from(gz)
  broken[broken.length - 5]! ^= 1
  const noise = randomBytes(100_000)
  const gzip = { 'content-encoding': 'gzip' }
  const xhtml = { 'content-type': 'application/xhtml+xml' }
  const malformed = '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>a<b>c</p></body></html>'
  const cases: [what: string, status: number, headers: Record<string, string>, body: Buffer | string][] = [
    ['gzip cut short', 200, gzip, gz.subarray(0, -20)],
    ['gzip with a wrong checksum', 200, gzip, broken],
    ['gzip that is none', 200, gzip, noise],
    ['an unknown coding', 200, { 'content-encoding': 'compress' }, noise],
    ['malformed XHTML', 200, xhtml, malformed],
    ['malformed XHTML in gzip', 200, { ...xhtml, ...gzip }, zlib.gzipSync(malformed)],
    ['no-transform', 200, { 'cache-control': 'no-transform' }, PAGE],
    ['an image', 200, { 'content-type': 'image/png' }, noise],
    ['JSON in gzip', 404, { 'content-type': 'application/json', ...gzip }, zlib.gzipSync('{}')],
    ['a part', 206, { 'content-range': 'bytes 0-4/9' }, '<p>xx'],
    ['nothing', 204, {}, ''],
    ['not modified', 304, { etag: '"e"' }, ''],
  ]
  for (const [what, status, headers, body] of cases) {
    for (const length of [true, false]) {
      const bytes = Buffer.from(body)
      const bodiless = status === 204 || status === 304
      const more = { etag: '"e"', 'last-modified': 'Sat, 21 Nov 2026 00:00:00 GMT', 'set-cookie': ['a=1', 'b=2'] }
      const all = { ...more, ...headers, ...(length && !bodiless && { 'content-length': String(bytes.length) }) }
      const { get } = await site(t, page(all, bytes, status))
      const passed = await get('/')
      const name = `${what}, ${length ? 'with' : 'without'} length`
      t.equal(passed.status, status, name)
      t.match(passed.headers, { 'content-type': HTML, ...all, vary: 'accept' }, name)
      t.ok(passed.complete, name)
      t.ok(passed.body.equals(bodiless ? Buffer.alloc(0) : bytes), name)
    }
  }
})

t.test('well-formed XHTML converts', async (t) => {
  const xhtml = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><h1>Hi</h1><br/></body></html>'
  const { get } = await site(t, page({ 'content-type': 'application/xhtml+xml' }, xhtml))
  t.match((await get('/')).body.toString(), '# Hi')
})

t.test('HEAD gets the fields of GET', async (t) => {
  for (const headers of [{}, { 'content-encoding': 'gzip' }, { 'content-length': String(Buffer.byteLength(PAGE)) }]) {
    const { get } = await site(t, (request, response) => {
      const body = 'content-encoding' in headers ? zlib.gzipSync(PAGE) : PAGE
      response.writeHead(200, { 'content-type': HTML, etag: '"e"', ...headers })
      response.end(request.method === 'HEAD' ? undefined : body)
    })
    const names = ({ headers }: Responded) =>
      Object.entries(headers).filter(([name]) => !/^(?:cf-ray|date|x-markdown-tokens|transfer-encoding)$/.test(name))
    const head = await get('/', { method: 'HEAD' })
    t.equal(head.body.length, 0)
    t.equal(head.headers['content-length'], undefined)
    t.same(names(head), names(await get('/')))
  }
})

t.test('error pages of the origin convert and keep their status', async (t) => {
  const { get } = await site(t, page({}, '<h1>No such page</h1>', 404))
  const { status, headers, body } = await get('/')
  t.match({ status, type: headers['content-type'] }, { status: 404, type: MARKDOWN })
  t.equal(body.toString(), markdownOf('<h1>No such page</h1>'))
})

t.test('a page with a length streams while a slow origin still sends it', async (t) => {
  const last = '<p>third</p>'.padEnd(35)
  let more: ServerResponse | undefined
  const { port } = await site(t, (_, response) => {
    response.writeHead(200, { 'content-type': HTML, 'content-length': '60' })
    response.write('<p>first</p><p>second</p>')
    more = response
  })
  const [response] = (await once(open(port, '/', PLAIN), 'response')) as [IncomingMessage]
  const pieces: string[] = []
  response.on('data', (chunk: Buffer) => pieces.push(chunk.toString()))
  await until(() => pieces.join('').includes('first'))
  more!.end(last)
  await once(response, 'end')
  t.equal(pieces.join(''), markdownOf(`<p>first</p><p>second</p>${last}`))
})

t.test('an origin that dies during a buffered page causes a 502', async (t) => {
  for (const headers of [{}, { 'content-encoding': 'gzip' }]) {
    const { get } = await site(t, (_, response) => {
      response.writeHead(200, { 'content-type': HTML, ...headers })
      const half = 'content-encoding' in headers ? zlib.gzipSync(big).subarray(0, 200) : big.subarray(0, 100_000)
      response.write(half, () => response.destroy())
    })
    const { status, headers: sent, body } = await get('/')
    t.match({ status, type: sent['content-type'] }, { status: 502, type: MARKDOWN })
    t.match(body.toString(), 'http_status: 502')
  }
})

t.test('an origin that dies in a page that streams leaves a broken transfer', async (t) => {
  const { get } = await site(t, (_, response) => {
    response.writeHead(200, { 'content-type': HTML, 'content-length': '200000' })
    response.write('<p>first</p>'.repeat(10_000), () => setTimeout(() => response.destroy(), 20))
  })
  const { status, complete, body } = await get('/', PLAIN)
  t.equal(status, 200)
  t.notOk(complete)
  t.match(body.toString(), 'first')
})

t.test('a client that leaves frees its buffers and the origin', async (t) => {
  let gone = 0
  const { port, budget } = await site(t, (_, response) => {
    response.writeHead(200, { 'content-type': HTML }).write(PAGE)
    response.on('close', () => gone++)
  })
  const asked = open(port, '/', PLAIN)
  asked.on('error', () => {})
  await until(() => budget.used > 0)
  asked.destroy()
  await until(() => budget.used === 0 && gone === 1)
  t.pass('both came to their end')
})

t.test('a client that leaves during its page frees it too', async (t) => {
  // More than the sockets between take in.
  const noise = Buffer.from(Array.from({ length: 9000 }, () => `<p>${randomBytes(300).toString('hex')}</p>`).join(''))
  for (const body of [noise, zlib.gzipSync(noise)]) {
    const headers: Record<string, string> = body === noise ? {} : { 'content-encoding': 'gzip' }
    let sent = false
    const { port, budget } = await site(t, (_, response) => {
      response.writeHead(200, { 'content-type': HTML, ...headers }).end(body, () => (sent = true))
    })
    const asked = open(port, '/', PLAIN)
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.on('error', () => {})
    response.pause()
    await until(() => sent)
    t.ok(budget.used > 0, 'the client has not read all of it')
    response.destroy()
    await until(() => budget.used === 0)
  }
})

t.test('a slow reader gets the complete page, streamed or held', async (t) => {
  for (const headers of [{ 'content-length': String(fits.length) }, {}]) {
    const { port } = await site(t, (_, response) => {
      response.writeHead(200, { 'content-type': HTML, ...headers }).end(fits)
    })
    const [response] = (await once(open(port, '/', PLAIN), 'response')) as [IncomingMessage]
    const chunks: Buffer[] = []
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      if (chunks.length % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    t.ok(Buffer.concat(chunks).toString() === markdownOf(fits))
  }
})

t.test('without memory for buffers, pages are sent as HTML and counted', async (t) => {
  const { get, outcomes } = await site(t, page({}, PAGE), { memory: 20_000 })
  const { headers, body } = await get('/')
  t.match(headers, { 'content-type': HTML, vary: 'accept' })
  t.equal(body.toString(), PAGE)
  t.same(await outcomes(), { no_memory: 1 })
})

t.test('a bomb is sent unchanged', async (t) => {
  const bomb = zlib.gzipSync(Buffer.alloc(200_000_000))
  const { get, outcomes, budget } = await site(t, page({ 'content-encoding': 'gzip' }, bomb), { memory: 20_000_000 })
  const { headers, body } = await get('/')
  t.match(headers, { 'content-encoding': 'gzip', 'content-type': HTML })
  t.ok(body.equals(bomb))
  t.same(await outcomes(), { too_large: 1 })
  t.equal(budget.used, 0)
})

t.test('many concurrent clients each get their own page', async (t) => {
  const { get } = await site(t, (request, response) => {
    const html = `<h1>${request.url!}</h1>${'<p>text</p>'.repeat(500)}`
    const gzip = Number(request.url!.slice(1)) % 2 === 0
    response.writeHead(200, { 'content-type': HTML, ...(gzip && { 'content-encoding': 'gzip' }) })
    response.end(gzip ? zlib.gzipSync(html) : html)
  })
  const bodies = await Promise.all(Array.from({ length: 200 }, async (_, i) => (await get(`/${i}`)).body.toString()))
  for (const [i, body] of bodies.entries()) t.ok(body.startsWith(`# /${i}\n`), `page ${i}`)
})

// Clients that list codings got Markdown in one of them, although nobody had asked for that.
t.test('Markdown has no coding that nobody asked for', async (t) => {
  const { get } = await site(t, page({}, big))
  for (const accepted of ['gzip', 'br', 'zstd', '*', 'gzip, deflate, br, zstd', 'identity;q=0, gzip'])
    for (const method of ['GET', 'HEAD']) {
      const { headers } = await get('/', { method, headers: { 'accept-encoding': accepted } })
      t.match(
        headers,
        { 'content-type': MARKDOWN, 'content-encoding': undefined, vary: 'accept' },
        `${method} ${accepted}`,
      )
    }
})

t.test('with markdown.compress it is compressed as the client accepts it, piece by piece', async (t) => {
  let more: ServerResponse | undefined
  const { port, get } = await site(
    t,
    ({ url }, response) => {
      const html = '<h1>Title</h1>' + '<p>first</p>'.repeat(5000)
      response.writeHead(200, { 'content-type': HTML, etag: '"e"', 'content-length': String(html.length + 13) })
      if (url === '/whole') response.end(`${html}<p>second</p>`)
      else {
        response.write(html)
        more = response
      }
    },
    { markdown: 'compress: true' },
  )
  for (const [accepted, coding] of [
    ['gzip', 'gzip'],
    ['gzip;q=0.5, br', 'br'],
    ['gzip;q=0', undefined],
    ['identity', undefined],
  ] as const) {
    const { headers, body } = await get('/whole', { headers: { 'accept-encoding': accepted } })
    t.match(headers, { vary: 'accept, accept-encoding', etag: undefined, 'content-type': /^text\/markdown/ }, accepted)
    t.equal(headers['content-encoding'], coding, accepted)
    t.match(body.toString(), /^# Title\n\nfirst\n[^]*second\n$/)
  }
  const html = await get('/whole', { accept: 'text/html' })
  t.match(html.headers, { vary: 'accept', etag: '"e"', 'content-encoding': undefined }, 'HTML passes as it is')

  const [response] = (await once(open(port, '/', { headers: { 'accept-encoding': 'gzip' } }), 'response')) as [
    IncomingMessage,
  ]
  let text = ''
  const decoder = response.pipe(zlib.createGunzip()).on('data', (chunk: Buffer) => (text += chunk.toString()))
  while (!text.includes('first')) await once(decoder, 'data')
  more!.end('<p>second</p>')
  await once(decoder, 'end')
  t.match(text, /second\n$/)
})
