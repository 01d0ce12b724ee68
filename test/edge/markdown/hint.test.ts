import { createHash } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import zlib from 'node:zlib'
import t, { type Test } from 'tap'
import { site } from './site.js'

const HEAD = '<!doctype html><html><head><title>x</title>'
const PAGE = `${HEAD}</head><body><p>Hello</p></body></html>`
const LINK = '<link rel="alternate" type="text/markdown" href="/page.md">'
const LINE =
  '<div hidden data-nosnippet>Markdown: <a href="/page.md">/page.md</a>. Index: <a href="/llms.txt">/llms.txt</a></div>'
const HINTED = `${HEAD}${LINK}</head><body>${LINE}<p>Hello</p></body></html>`
const HTML = { 'content-type': 'text/html; charset=utf-8' }
const HTML_ACCEPT = { accept: 'text/html', headers: { 'accept-encoding': 'identity' } }

const start = async (t: Test, handler: RequestListener, more: object = {}) =>
  await site(t, handler, { agents: 'hint: true', markdown: 'llms_txt: front_page', ...more })

const send =
  (body: string | Buffer, headers: Record<string, string> = HTML, status = 200) =>
  (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(status, headers).end(body)

t.test('a page names its Markdown in the head and in one hidden line', async (t) => {
  const { get } = await start(
    t,
    send(PAGE, {
      ...HTML,
      'content-length': String(PAGE.length),
      etag: '"v1"',
      'accept-ranges': 'bytes',
      'content-md5': 'x',
      'repr-digest': 'sha-256=:x:',
      signature: 'a=:x:',
      'last-modified': 'Thu, 01 Oct 2026 00:00:00 GMT',
    }),
  )
  const { status, headers, body } = await get('/page', HTML_ACCEPT)
  t.equal(status, 200)
  t.equal(body.toString(), HINTED)
  t.match(headers, { etag: 'W/"v1-h"', 'last-modified': 'Thu, 01 Oct 2026 00:00:00 GMT', vary: 'accept' })
  for (const gone of ['content-length', 'accept-ranges', 'content-md5', 'repr-digest', 'signature'])
    t.equal(headers[gone], undefined, gone)
  t.equal(
    headers['link'],
    '</page.md>; rel="alternate"; type="text/markdown", </llms.txt>; rel="describedby"; type="text/markdown"',
  )
  const head = await get('/page', { ...HTML_ACCEPT, method: 'HEAD' })
  t.match(head.headers, { etag: 'W/"v1-h"', link: headers['link'] })
  t.equal(head.headers['content-length'], undefined)
  t.match((await get('/page.md')).body.toString(), 'Hello', 'the Markdown is at this address')
  t.notMatch((await get('/page')).body.toString(), 'Markdown:', 'the Markdown does not have the line')
})

t.test('without a list of pages the line does not name one', async (t) => {
  const { get } = await start(t, send(PAGE), { markdown: '' })
  const { headers, body } = await get('/a/?q=%22<>&x', HTML_ACCEPT)
  const address = '/a/index.md?q=%22&lt;&gt;&amp;x'
  t.match(body.toString(), `<body><div hidden data-nosnippet>Markdown: <a href="${address}">${address}</a>.</div><p>`)
  t.equal(headers['link'], '</a/index.md?q=%22%3C%3E&x>; rel="alternate"; type="text/markdown"')
})

t.test('pages with a base get an absolute address', async (t) => {
  const { get } = await start(t, send(`${HEAD}<base href="https://cdn.test/"></head><body>x`))
  t.match((await get('/page', HTML_ACCEPT)).body.toString(), /href="http:\/\/example.test\/page.md">/)
})

t.test('XHTML stays well-formed', async (t) => {
  const xhtml = { 'content-type': 'application/xhtml+xml' }
  const { get } = await start(t, send('<html><head><title>x</title></head><body><p/></body></html>', xhtml))
  t.equal(
    (await get('/page', HTML_ACCEPT)).body.toString(),
    `<html><head><title>x</title>${LINK.replace('>', ' />')}</head><body>${LINE.replace('hidden data-nosnippet', 'hidden="hidden" data-nosnippet=""')}<p/></body></html>`,
  )
})

const CODERS: Record<string, [encode: (body: Buffer) => Buffer, decode: (body: Buffer) => Buffer, sent?: string]> = {
  gzip: [zlib.gzipSync, zlib.gunzipSync],
  'x-gzip': [zlib.gzipSync, zlib.gunzipSync, 'gzip'],
  deflate: [zlib.deflateSync, zlib.gunzipSync, 'gzip'],
  br: [zlib.brotliCompressSync, zlib.brotliDecompressSync],
}

for (const [coding, [encode, decode, sent = coding]] of Object.entries(CODERS))
  t.test(`a page in ${coding} is decoded and encoded again`, async (t) => {
    for (const cache of ['off', 'everything']) {
      const { get } = await start(
        t,
        send(encode(Buffer.from(PAGE)), { ...HTML, 'content-encoding': coding, 'cache-control': 'max-age=60' }),
        {
          cache,
        },
      )
      for (const path of ['/page', '/page', '/page', '/other', '/page']) {
        const { headers, body } = await get(path, { accept: 'text/html', headers: { 'accept-encoding': 'gzip, br' } })
        t.match(headers, { 'content-encoding': sent, vary: /accept-encoding/ })
        t.equal(decode(body).toString(), HINTED.replaceAll('/page.md', `${path}.md`), `${cache} ${path}`)
      }
      const plain = await get('/page', HTML_ACCEPT)
      t.equal(plain.headers['content-encoding'], undefined, 'not for a client that does not accept it')
      t.equal(plain.body.toString(), HINTED)
      const head = await get('/page', { accept: 'text/html', method: 'HEAD' })
      t.match(head, { status: 200, headers: { 'content-encoding': sent } })
    }
  })

t.test('what is not a document passes unchanged', async (t) => {
  const CASES: [name: string, handler: RequestListener, headers?: Record<string, string>][] = [
    ['a part', send('<p>part', { ...HTML, 'content-range': 'bytes 0-6/10', etag: '"v1"' }, 206)],
    ['a missing page', send(PAGE, HTML, 404)],
    ['no-transform', send(PAGE, { ...HTML, 'cache-control': 'no-transform' })],
    ['text', send(PAGE, { 'content-type': 'text/plain' })],
    ['UTF-16', send(Buffer.from(PAGE, 'utf16le'), { 'content-type': 'text/html; charset=utf-16' })],
    ['an unknown coding', send(PAGE, { ...HTML, 'content-encoding': 'unknown' })],
    ['a fetch of a script', send(PAGE), { 'sec-fetch-dest': 'empty' }],
  ]
  for (const [name, handler, headers] of CASES) {
    const { get } = await start(t, handler)
    const plain = await site(t, handler)
    const how = { accept: 'text/html', headers: { 'accept-encoding': 'identity', ...headers } }
    const [hinted, unchanged] = [await get('/page', how), await plain.get('/page', how)]
    t.same(hinted.body, unchanged.body, name)
    t.equal(hinted.headers['etag'], unchanged.headers['etag'], name)
    t.equal(hinted.headers['content-length'], unchanged.headers['content-length'], name)
  }
  const { get } = await start(t, send('<p>a part of a page</p>'))
  t.equal((await get('/page', HTML_ACCEPT)).body.toString(), '<p>a part of a page</p>')
})

t.test('conditions name the entity tag that the origin gave', async (t) => {
  for (const cache of ['off', 'everything'])
    for (const tag of ['"v1"', 'W/"v1"']) {
      const seen: (string | undefined)[] = []
      const { get } = await start(
        t,
        (request, response) => {
          seen.push(request.headers['if-none-match'])
          const isSame = request.headers['if-none-match']?.includes('"v1"') === true
          response.writeHead(isSame ? 304 : 200, { ...HTML, etag: tag, 'cache-control': 'max-age=60' })
          response.end(isSame ? undefined : PAGE)
        },
        { cache },
      )
      const ask = async (headers: Record<string, string>) => await get('/page', { accept: 'text/html', headers })
      const first = await ask({ 'accept-encoding': 'identity' })
      t.match(first, { status: 200, headers: { etag: 'W/"v1-h"' } })
      const again = await ask({ 'if-none-match': 'W/"other", W/"v1-h"' })
      t.match(again, { status: 304, headers: { etag: 'W/"v1-h"' } }, `${cache} ${tag}`)
      if (cache === 'off') t.equal(seen.at(-1), 'W/"other", "v1"')
      t.match(await ask({ 'if-none-match': 'W/"v2-h"', 'accept-encoding': 'identity' }), { status: 200 })
    }
})

t.test('a part of the bytes of the origin is never added to a page with the hint', async (t) => {
  for (const cache of ['off', 'everything']) {
    const { get } = await start(
      t,
      (request, response) => {
        const isPart = request.headers.range !== undefined && request.headers['if-range'] === '"v1"'
        response.writeHead(isPart ? 206 : 200, { ...HTML, etag: '"v1"', 'cache-control': 'max-age=60' })
        response.end(isPart ? PAGE.slice(0, 10) : PAGE)
      },
      { cache },
    )
    await get('/page', HTML_ACCEPT)
    const headers = { range: 'bytes=0-9', 'if-range': 'W/"v1-h"', 'accept-encoding': 'identity' }
    const whole = await get('/page', { accept: 'text/html', headers })
    t.equal(whole.status, 200)
    t.equal(whole.body.toString(), HINTED)
  }
})

t.test('bytes arrive as the origin sends them, also one at a time', async (t) => {
  let finish = (): void => {}
  const { port } = await start(t, (_, response) => {
    response.writeHead(200, HTML)
    const bytes = [...Buffer.from(PAGE)]
    const next = () => {
      const byte = bytes.shift()
      if (byte === undefined) finish = () => response.end()
      else response.write(Buffer.of(byte), () => setImmediate(next))
    }
    next()
  })
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write('GET /page HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n')
  let text = ''
  for await (const chunk of socket) {
    text += String(chunk)
    const body = text
      .split('\r\n\r\n')
      .slice(1)
      .join('\r\n\r\n')
      .replaceAll(/[0-9a-f]+\r\n([^]*?)\r\n/g, '$1')
    // Everything is there before the origin has ended the page.
    if (body === HINTED) finish()
  }
  t.match(text, /\r\n0\r\n\r\n$/)
})

t.test('ten megabytes without an end of the head pass', async (t) => {
  const body = Buffer.from(`${HEAD}${'<meta name="x" content="<body>"><!-- </head> -->'.repeat(220_000)}`)
  for (const coding of ['identity', 'gzip']) {
    const bytes = coding === 'gzip' ? zlib.gzipSync(body, { level: 1 }) : body
    const { get } = await start(t, send(bytes, { ...HTML, ...(coding === 'gzip' && { 'content-encoding': 'gzip' }) }))
    const { body: sent, complete } = await get('/page', HTML_ACCEPT)
    t.ok(complete)
    const expected = Buffer.concat([body, Buffer.from(LINK + LINE)])
    t.equal(digest(sent), digest(expected), coding)
  }
})

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

t.test('a page that decodes to far too much breaks off', async (t) => {
  const bomb = zlib.gzipSync(Buffer.alloc(70 * 1024 * 1024, `${HEAD} `), { level: 9 })
  const { get } = await start(t, send(bomb, { ...HTML, 'content-encoding': 'gzip' }))
  const { complete, body } = await get('/page', HTML_ACCEPT)
  t.notOk(complete)
  t.ok(body.length <= 64 * 1024 * 1024)
})

t.test('a page whose coding is broken breaks off', async (t) => {
  for (const bytes of [Buffer.from('not gzip'), zlib.gzipSync(PAGE).subarray(0, 40)]) {
    const { get } = await start(t, send(bytes, { ...HTML, 'content-encoding': 'gzip' }))
    const { complete } = await get('/page', HTML_ACCEPT).catch(() => ({ complete: false }))
    t.notOk(complete)
  }
})
