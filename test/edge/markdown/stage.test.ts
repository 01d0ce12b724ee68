import { randomBytes } from 'node:crypto'
import zlib from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { MemoryBudget } from '../../../src/core/memory/memory-budget.js'
import {
  LIMIT,
  MEMORY,
  type Case,
  busyStage,
  shout,
  stand,
  chunked,
  withLength,
  encoded,
  response,
  ENCODERS,
  PAGE,
} from './setup.js'

t.test('a converted response has the header fields of Markdown, and those of the HTML that also apply', async (t) => {
  const gone = [
    'Content-Length',
    '5',
    'Content-Range',
    'bytes 0-4/5',
    'ETag',
    '"a"',
    'Last-Modified',
    'x',
    'Digest',
    'x',
  ]
  gone.push(
    'Accept-Ranges',
    'bytes',
    'Content-MD5',
    'x',
    'Repr-Digest',
    'x',
    'Content-Digest',
    'x',
    'Trailer',
    'x',
    'X-Markdown-Tokens',
    '9',
    'Content-Location',
    '/page.html',
    'Signature-Input',
    'x',
    'Speculation-Rules',
    '"/rules.json"',
    'Link',
    '</a.css>; rel=preload; as=style, </b,c.js>; rel="modulepreload"',
  )
  const kept = ['Strict-Transport-Security', 'max-age=1', 'Content-Security-Policy', "default-src 'self'"]
  kept.push('X-Frame-Options', 'DENY', 'Set-Cookie', 'a=1', 'set-cookie', 'b=2', 'Access-Control-Allow-Origin', '*')
  kept.push('Cache-Control', 'max-age=60', 'Expires', 'x', 'Age', '3', 'Vary', 'Accept-Encoding, Cookie', 'X-Own', 'y')
  const { status, headers, body, outcome } = await response([...chunked, ...gone, ...kept], Buffer.from('hello'))
  t.equal(status, 200)
  t.same(headers, {
    'content-type': 'text/markdown; charset=utf-8',
    'content-signal': 'ai-train=yes, search=yes, ai-input=yes',
    'x-markdown-tokens': '3',
    'strict-transport-security': 'max-age=1',
    'content-security-policy': "default-src 'self'",
    'x-frame-options': 'DENY',
    'set-cookie': 'a=1 | b=2',
    'access-control-allow-origin': '*',
    'cache-control': 'max-age=60',
    expires: 'x',
    age: '3',
    vary: 'Accept-Encoding, Cookie, accept',
    'x-own': 'y',
  })
  t.equal(body.toString(), 'HELLOTHE END')
  t.equal(outcome, 'streamed', 'its length was known')
})

const LINKS: [origin: string, sent: string | undefined][] = [
  ['</a>; rel=preload', undefined],
  ['</a,b>; as=font; rel="preload  prefetch", </c>; title="x, y"; rel=next', '</c>; title="x, y"; rel=next'],
  ['</a>; rel="next preload",, </b>', '</a>; rel="next preload",, </b>'],
  ['</a>; rel=preload; title="open', '</a>; rel=preload; title="open'],
  ['</a\\>; rel=preconnect; title="\\"", </b>; rel=alternate', '</b>; rel=alternate'],
]
for (const [origin, sent] of LINKS) {
  t.test(`Link: ${origin} has no files of the HTML in Markdown`, async (t) => {
    const { headers } = await response([...chunked, 'Link', origin], Buffer.from('hello'))
    t.equal(headers['link'], sent)
  })
}

const DISPOSITIONS: [origin: string, sent: string | undefined][] = [
  ['inline', 'inline'],
  ['inline; filename="page.html"', 'inline; filename="page.md"'],
  [
    "attachment; filename=a.htm; filename*=UTF-8''%e2%82%ac.xhtml",
    "attachment; filename=a.md; filename*=UTF-8''%e2%82%ac.md",
  ],
  ['inline; filename="data.csv"', 'inline; filename="data.csv"'],
  ['inline; filename="page.html', undefined],
]
for (const [origin, sent] of DISPOSITIONS) {
  t.test(`Content-Disposition: ${origin} names the Markdown`, async (t) => {
    const { headers } = await response([...chunked, 'Content-Disposition', origin], Buffer.from('hello'))
    t.equal(headers['content-disposition'], sent)
  })
}

const VARY: [origin: string[], sent: string, compressible: string][] = [
  [[], 'accept', 'accept, accept-encoding'],
  [[''], 'accept', 'accept, accept-encoding'],
  [['Cookie'], 'Cookie, accept', 'Cookie, accept, accept-encoding'],
  [['Cookie', 'Origin'], 'Cookie, accept | Origin', 'Cookie, accept, Origin, accept-encoding'],
  [['*'], '*', '*'],
  [['Cookie', 'foo,ACCEPT ,bar'], 'Cookie | foo,ACCEPT ,bar', 'Cookie, foo, ACCEPT, bar, accept-encoding'],
  [['Accept-Encoding'], 'Accept-Encoding, accept', 'Accept-Encoding, accept'],
]

for (const [origin, sent, compressible] of VARY) {
  t.test(`Vary ${JSON.stringify(origin)} becomes ${sent}, in Markdown and in HTML`, async (t) => {
    const headers = [...chunked, ...origin.flatMap((value) => ['vary', value])]
    t.equal((await response(headers, Buffer.from('x'))).headers['vary'], sent)
    t.equal((await response(headers, Buffer.from('x'), { accept: 'text/html' })).headers['vary'], sent)
    const large = Buffer.alloc(1400, 'x')
    t.equal((await response(headers, large)).headers['vary'], sent, 'without a coding')
    t.equal((await response(headers, large, { compresses: true })).headers['vary'], compressible, 'worth compressing')
  })
}

t.test("the origin's own content-signal stays as it is", async (t) => {
  const { headers } = await response([...chunked, 'Content-Signal', 'ai-train=no'], Buffer.from('x'))
  t.equal(headers['content-signal'], 'ai-train=no')
})

t.test('any other status converts and is not changed', async (t) => {
  for (const status of [200, 201, 301, 404, 410, 500, 503]) {
    const { headers, ...page } = await response(chunked, Buffer.from('x'), { status })
    t.match({ headers, ...page }, { status, headers: { 'content-type': 'text/markdown; charset=utf-8' } })
  }
})

const PASSING: [what: string, status: number, headers: string[]][] = [
  ['a 204', 204, chunked],
  ['a 206', 206, [...chunked, 'Content-Range', 'bytes 0-1/2']],
  ['a 304', 304, [...chunked, 'ETag', '"x"']],
  ['JSON', 200, ['Content-Type', 'application/json']],
  ['Markdown of its own', 200, ['Content-Type', 'text/markdown', 'ETag', '"x"']],
  ['a type that only begins like HTML', 200, ['Content-Type', 'text/html2']],
  ['no type', 200, ['ETag', '"x"']],
  ['two types', 200, [...chunked, ...chunked]],
  ['no-transform', 200, [...chunked, 'Cache-Control', 'max-age=3, No-Transform']],
  ['no-transform in a second field', 200, [...chunked, 'Cache-Control', 'public', 'cache-control', 'no-transform']],
  ['an unknown coding', 200, encoded('compress')],
  ['too many codings', 200, encoded('gzip, gzip, gzip, gzip')],
]

for (const [what, status, headers] of PASSING) {
  t.test(`${what} passes as it came`, async (t) => {
    const body = status === 204 || status === 304 ? Buffer.alloc(0) : randomBytes(50_000)
    const responded = await response(headers, body, { status, window: 2 })
    const { vary, ...others } = responded.headers
    t.equal(vary, 'accept')
    t.same(Object.values(others), joined(headers))
    t.equal(responded.status, status)
    t.ok(responded.body.equals(body))
  })
}

const joined = (headers: string[]): string[] => {
  const map = new Map<string, string>()
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    map.set(name, map.has(name) ? `${map.get(name)!} | ${headers[i + 1]!}` : headers[i + 1]!)
  }
  return [...map.values()]
}

t.test('a quoted no-transform is not a directive', async (t) => {
  const { headers } = await response([...chunked, 'Cache-Control', 'private="a, no-transform"'], Buffer.from('x'))
  t.equal(headers['content-type'], 'text/markdown; charset=utf-8')
})

t.test('an ordinary request of an enabled zone gets its HTML, with Vary', async (t) => {
  for (const accept of ['text/html', '*/*', 'text/markdown;q=0']) {
    const { sink, client, exchange } = stand({ accept })
    t.match(exchange.headers, ['Accept', accept, 'If-None-Match', '"x"'], 'the request is left alone')
    sink.head(200, [...withLength(5), 'ETag', '"x"'])
    sink.data(Buffer.from('hello'))
    sink.end()
    t.match(client, { state: 'ended', headers: { vary: 'accept', etag: '"x"', 'content-length': '5' } })
    t.equal(client.body.toString(), 'hello')
  }
})

t.test('only pages of an enabled zone get Vary', async (t) => {
  const vary = async (status: number, headers: string[], rest: Case) =>
    (await response(headers, Buffer.alloc(0), { status, ...rest })).headers['vary']
  t.equal(await vary(200, ['Content-Type', 'image/png'], { accept: '*/*' }), undefined)
  t.equal(await vary(304, [], { accept: '*/*' }), 'accept')
  t.equal(await vary(204, [], { accept: '*/*' }), undefined)
  t.equal(await vary(200, ['Content-Type', 'application/xhtml+xml'], { accept: '*/*' }), 'accept')
  t.equal(await vary(200, chunked, { on: false }), undefined)
  t.equal(await vary(200, chunked, { method: 'POST' }), undefined)
})

t.test('several Accept fields count as one, and the origin is asked for a page to convert', async (t) => {
  const { exchange } = stand({ accept: ['image/png', 'text/markdown'] })
  t.same(exchange.headers, ['accept', 'image/png, text/markdown, text/html', 'accept-encoding', 'gzip'])
})

t.test('HEAD gets the head of GET', async (t) => {
  const head = async (headers: string[]) =>
    (await response(headers, Buffer.alloc(0), { method: 'HEAD', compresses: true })).headers
  for (const headers of [chunked, withLength(LIMIT), [...encoded('br'), 'Content-Length', '6300000']]) {
    t.same(await head([...headers, 'ETag', '"x"']), {
      'content-type': 'text/markdown; charset=utf-8',
      'content-signal': 'ai-train=yes, search=yes, ai-input=yes',
      vary: 'accept, accept-encoding',
    })
  }
  t.match(await head(withLength(1000)), { 'content-type': /markdown/, vary: 'accept' }, 'too short to be compressed')
  t.match(await head(withLength(LIMIT + 1)), { 'content-type': /html/, 'content-length': '6291457', vary: 'accept' })
  t.match(await head([...encoded('br'), 'Content-Length', '9000000']), { 'content-type': /html/ })
  t.match(await head(['Content-Type', 'image/png']), { 'content-type': 'image/png' })
})

t.test('after an error of the converter the page is sent as HTML', async (t) => {
  const body = Buffer.concat([PAGE, Buffer.from('boom'), PAGE])
  const page = await response(chunked, body)
  t.equal(page.outcome, 'internal_error')
  t.ok(page.body.equals(body))
})

t.test('an error of the converter in a streamed page breaks the transfer', async (t) => {
  const { sink, client, settled } = stand()
  const body = Buffer.concat([PAGE, Buffer.from('boom'), PAGE])
  sink.head(200, withLength(body.length))
  sink.data(body)
  await settled()
  t.equal(client.state, 'failed')
  t.ok(sink.data(Buffer.from('more')), 'what still comes is taken and dropped')
  sink.end()
  t.equal(client.state, 'failed')
})

t.test('a page with its length streams from its first piece', async (t) => {
  const { sink, client, send, budget, outcome } = stand()
  sink.head(200, withLength(10))
  t.equal(client.state, 'waiting')
  await send(Buffer.from('hello'))
  t.equal(client.body.toString(), 'HELLO')
  t.equal(client.headers['x-markdown-tokens'], undefined, 'how much follows is not known')
  await send(Buffer.from('world'))
  sink.end()
  t.equal(client.body.toString(), 'HELLOWORLDTHE END')
  t.equal(client.state, 'ended')
  t.equal(budget.used, 0)
  t.equal(await outcome(), 'streamed')
})

t.test('an empty page converts', async (t) => {
  for (const headers of [withLength(0), chunked]) {
    const { body, headers: sent } = await response(headers, Buffer.alloc(0))
    t.equal(body.toString(), 'THE END')
    t.equal(sent['x-markdown-tokens'], '2')
  }
})

t.test('a slow client slows the origin down, and one large piece is worked on in slices', async (t) => {
  const { sink, client, settled } = stand({ window: 1 })
  const body = Buffer.alloc(1_000_000, 'abcdefgh')
  sink.head(200, withLength(body.length))
  let drained = false
  sink.onDrain(() => (drained = true))
  t.equal(sink.data(body), false)
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(client.chunks.length, 1, 'one slice, since the client takes no more')
  t.ok(client.chunks[0]!.length <= 65_536)
  t.notOk(drained)
  sink.end()
  await settled()
  t.ok(client.body.equals(Buffer.from(shout(body))))
})

t.test('without memory left the page goes out as HTML', async (t) => {
  for (const [headers, body] of [
    [chunked, PAGE],
    [encoded('gzip'), zlib.gzipSync(randomBytes(200_000))],
  ] as const) {
    for (const memory of [0, 16_384, 100_000]) {
      const page = await response([...headers], body, { memory, window: 1, piece: 5000 })
      t.equal(page.outcome, 'no_memory')
      t.match(page.headers, { vary: 'accept', 'content-type': /html/ })
      t.ok(page.body.equals(body))
    }
  }
  const { outcome } = await response(withLength(PAGE.length), PAGE, { memory: 0 })
  t.equal(outcome, 'streamed', 'a page that streams needs none')
})

t.test('the memory is shared by all', async (t) => {
  const budget = new MemoryBudget(100_000)
  t.ok(budget.take(90_000))
  t.notOk(budget.take(20_000))
  t.equal(budget.used, 90_000)
  budget.give(90_000)
  t.ok(budget.take(100_000))
})

t.test('an origin that dies before the head is sent fails the response, and no memory remains reserved', async (t) => {
  for (const headers of [chunked, encoded('gzip'), withLength(PAGE.length + 1)]) {
    const { sink, client, budget, send } = stand()
    sink.head(200, headers)
    if (headers.length === 2) await send(PAGE)
    if (headers.includes('gzip')) await send(zlib.gzipSync(PAGE).subarray(0, 100))
    sink.fail(new Error('reset'))
    t.equal(client.status, 0)
    t.equal(client.state, 'failed')
    t.equal(budget.used, 0)
  }
})

t.test('an origin that dies while the page streams breaks the transfer', async (t) => {
  const { sink, client, send } = stand()
  sink.head(200, withLength(PAGE.length + 1))
  await send(PAGE)
  sink.fail(new Error('reset'))
  t.equal(client.state, 'failed')
  t.equal(client.status, 200)
})

t.test('a client that leaves during its page leaves nothing behind', async (t) => {
  for (const [headers, body] of [
    [chunked, PAGE],
    [encoded('gzip'), zlib.gzipSync(PAGE)],
    [encoded('gzip'), randomBytes(100_000)],
  ] as const) {
    const { sink, client, budget, send } = stand({ window: 1 })
    sink.head(200, [...headers])
    void send(body)
    sink.end()
    while (client.state === 'waiting') await new Promise((resolve) => setImmediate(resolve))
    t.ok(budget.used > 0)
    sink.fail(new Error('client left'))
    sink.fail(new Error('and again'))
    t.equal(budget.used, 0)
    await new Promise((resolve) => setTimeout(resolve, 5))
    t.equal(client.chunks.length, 1)
  }
})

t.test('for any input in any pieces, the client gets the Markdown or the original bytes', async () => {
  const coding = fc.constantFrom(...ENCODERS)
  const damage = fc.constantFrom('none', 'none', 'cut', 'flip', 'more')
  const size = fc.integer({ min: 0, max: 60_000 })
  const pieces = fc.array(fc.integer({ min: 1, max: 30_000 }), { minLength: 1, maxLength: 5 })
  const memory = fc.constantFrom(MEMORY, MEMORY, 40_000, 100_000)
  const window = fc.integer({ min: 1, max: 4 })
  await fc.assert(
    fc.asyncProperty(
      coding,
      damage,
      size,
      pieces,
      memory,
      window,
      async ([name, encode], damage, size, pieces, memory, window) => {
        const html = PAGE.subarray(0, size)
        let body = Buffer.from(encode(html))
        if (damage === 'cut') body = body.subarray(0, body.length >> 1)
        if (damage === 'flip' && body.length > 0) body[body.length >> 1]! ^= 4
        if (damage === 'more') body = Buffer.concat([body, Buffer.from('x')])
        const { sink, client, budget, send, settled } = stand({ memory, window })
        sink.head(200, encoded(name))
        const sent = (async () => {
          for (let at = 0, i = 0; at < body.length; i++) {
            const piece = pieces[i % pieces.length]!
            await send(body.subarray(at, at + piece))
            at += piece
          }
          sink.end()
        })()
        await settled()
        await sent
        if (budget.used !== 0) throw new Error(`${budget.used} bytes stay held`)
        const converted = client.headers['content-type'] === 'text/markdown; charset=utf-8'
        if (!converted) return client.body.equals(body) && client.headers['content-encoding'] === name
        if (client.body.toString() === shout(html)) return true
        // Only gzip has a checksum by which damage shows for certain.
        return damage !== 'none' && (name === 'identity' || name.includes('deflate') || name === 'br')
      },
    ),
    { numRuns: 300 },
  )
})

t.test('after a response fails, nothing is sent and no memory remains reserved', async () => {
  const coding = fc.constantFrom(...ENCODERS)
  const pieces = fc.integer({ min: 1, max: 8 })
  const moment = fc.integer({ min: 0, max: 8 })
  const ticks = fc.integer({ min: 0, max: 6 })
  const memory = fc.constantFrom(MEMORY, 50_000)
  const window = fc.integer({ min: 1, max: 6 })
  await fc.assert(
    fc.asyncProperty(
      coding,
      pieces,
      moment,
      ticks,
      memory,
      window,
      async ([name, encode], pieces, moment, ticks, memory, window) => {
        const body = encode(PAGE.subarray(0, 100_000))
        const { sink, client, budget, send } = stand({ memory, window })
        const size = Math.ceil(body.length / pieces)
        sink.head(200, encoded(name))
        const feed = async (): Promise<void> => {
          for (let i = 0; i < pieces && client.state !== 'failed'; i++) {
            if (i === moment) sink.fail(new Error('now'))
            else await send(body.subarray(i * size, (i + 1) * size))
          }
          if (client.state !== 'failed') sink.end()
        }
        void feed()
        for (let i = 0; i < ticks; i++) await new Promise((resolve) => setImmediate(resolve))
        // The client throws at any call after it has failed.
        sink.fail(new Error('now'))
        for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
        return budget.used === 0 && client.state === 'failed'
      },
    ),
    { numRuns: 300 },
  )
})

const MAIN: [what: string, memory: number, body: string][] = [
  ['with memory for it', MEMORY, 'HELLOTHE MAIN END'],
  ['without memory for it is converted whole', 100_000, 'HELLOTHE END'],
]
for (const [what, memory, body] of MAIN) {
  t.test(`the main content of a page ${what}, and its memory is released`, async (t) => {
    const { sink, client, budget, send, settled } = stand({ memory, content: 'main' })
    sink.head(200, ['content-type', 'text/html', 'content-length', '5'])
    t.equal(budget.used, memory === MEMORY ? 131_072 : 0)
    await send(Buffer.from('hello'))
    sink.end()
    await settled()
    t.equal(client.body.toString(), body)
    t.equal(budget.used, 0)
  })
}

t.test('a page whose origin fails releases the memory for its main content', async (t) => {
  const { sink, budget } = stand({ content: 'main' })
  sink.head(200, ['content-type', 'text/html', 'content-length', '5'])
  sink.fail(new Error('now'))
  t.equal(budget.used, 0)
})

t.test('the rest of a long chunk keeps its bytes', async (t) => {
  for (const headers of [withLength(100_000), chunked]) {
    const long = Buffer.from('0123456789'.repeat(10_000))
    const { body } = await response(headers, long, { piece: 100_000 })
    t.equal(body.toString(), shout(long))
  }
})

for (const headers of [withLength(10_000), chunked])
  t.test(`pages that wait for others keep their bytes (${headers.length / 2} fields)`, async (t) => {
    const stage = busyStage()
    const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    const pages = await Promise.all(
      letters.map(async (letter) => {
        const { sink, client, send, settled } = stand({ stage })
        sink.head(200, headers)
        await send(Buffer.alloc(6000, letter))
        await send(Buffer.alloc(4000, letter))
        sink.end()
        await settled()
        return client.body.toString()
      }),
    )
    t.same(
      pages,
      letters.map((letter) => shout(Buffer.alloc(10_000, letter))),
    )
  })
