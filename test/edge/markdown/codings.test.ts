import zlib from 'node:zlib'
import t from 'tap'
import { LIMIT, shout, stand, chunked, withLength, encoded, response, ENCODERS, PAGE } from './setup.js'

for (const [i, [coding, encode]] of ENCODERS.entries()) {
  t.test(`${coding} (${i}) is undone, however it is cut`, async (t) => {
    for (const piece of [1, 7, 16_384, Infinity]) {
      const body = encode(piece === 1 ? PAGE.subarray(0, 3000) : PAGE)
      const { headers, ...page } = await response(encoded(coding), body, { piece, window: 1 })
      t.equal(page.outcome, 'converted')
      const expected = shout(piece === 1 ? PAGE.subarray(0, 3000) : PAGE)
      t.equal(page.body.toString(), expected)
      t.equal(headers['content-encoding'], undefined)
      t.equal(headers['x-markdown-tokens'], String(Math.ceil(expected.length / 4)))
    }
  })

  if (coding === 'identity') continue
  t.test(`${coding} (${i}) that is cut short, has more behind its end or is broken passes as it came`, async (t) => {
    const whole = encode(PAGE.subarray(0, 90_000))
    const bodies = [
      Buffer.alloc(0),
      whole.subarray(0, 1),
      whole.subarray(0, whole.length >> 1),
      whole.subarray(0, -1),
      Buffer.concat([whole, Buffer.from('and more')]),
      Buffer.concat([whole, Buffer.alloc(3)]),
      Buffer.from('<p>not encoded at all</p>'),
    ]
    for (const [j, body] of bodies.entries()) {
      for (const piece of [500, Infinity]) {
        const page = await response(encoded(coding), body, { piece, window: 1 })
        t.match(page, { outcome: 'undecodable', headers: { 'content-encoding': coding, vary: 'accept' } }, `body ${j}`)
        t.ok(page.body.equals(body), `body ${j}`)
      }
    }
  })
}

t.test('gzip with a wrong checksum passes as it came', async (t) => {
  const body = zlib.gzipSync(PAGE)
  body[body.length - 6]! ^= 1
  const page = await response(encoded('gzip'), body)
  t.equal(page.outcome, 'undecodable')
  t.ok(page.body.equals(body))
})

const full = Buffer.alloc(LIMIT, '<p>x</p>')

const over = Buffer.concat([full, Buffer.from('y')])

const LIMITS: [what: string, headers: (body: Buffer) => string[], encode: (body: Buffer) => Buffer, outcome: string][] =
  [
    ['with its length', (body) => withLength(body.length), (body) => body, 'streamed'],
    ['chunked', () => chunked, (body) => body, 'converted'],
    ['in gzip', () => encoded('gzip'), (body) => zlib.gzipSync(body, { level: 1 }), 'converted'],
    ['in gzip that makes it longer', () => encoded('gzip'), (body) => zlib.gzipSync(body, { level: 0 }), 'converted'],
    ['in br', () => encoded('br'), ENCODERS[6]![1], 'converted'],
    ['in gzip of gzip', () => encoded('gzip, gzip'), (body) => zlib.gzipSync(zlib.gzipSync(body)), 'converted'],
  ]

for (const [what, headers, encode, outcome] of LIMITS) {
  t.test(`a page of 6,291,456 bytes ${what} converts, and one byte more passes as it came`, async (t) => {
    const fits = await response(headers(full), encode(full), { piece: 65_536 })
    t.equal(fits.outcome, outcome)
    t.ok(fits.body.equals(Buffer.from(shout(full))))
    const body = encode(over)
    const page = await response(headers(over), body, { piece: 65_536, window: 1 })
    t.equal(page.outcome, 'too_large')
    t.match(page.headers, { 'content-type': 'text/html; charset=utf-8', vary: 'accept' })
    t.ok(page.body.equals(body))
  })
}

t.test('encoded data that never becomes a page is not held beyond what a page needs', async (t) => {
  const { sink, client, budget, send } = stand()
  sink.head(200, encoded('gzip'))
  // A gzip member of nothing, again and again.
  const empty = Buffer.concat(Array.from({ length: 3000 }, () => zlib.gzipSync('')))
  let most = 0
  for (let sent = 0; sent < 3 * LIMIT; sent += empty.length) {
    await send(empty)
    most = Math.max(most, budget.used)
  }
  t.equal(client.state, 'open')
  t.ok(most > 1_000_000 && most < LIMIT + 1_000_000, String(most))
  t.equal(budget.used, 0)
  sink.fail(new Error('enough'))
})

t.test('a gzip bomb costs no more than a page and is sent unchanged', async (t) => {
  const { sink, client, budget, send, settled, outcome } = stand()
  sink.head(200, encoded('gzip'))
  const gzip = zlib.createGzip({ level: 9 })
  const came: Buffer[] = []
  let most = 0
  const zeros = Buffer.alloc(1 << 20)
  const written = (async () => {
    for (let i = 0; i < 1024; i++) if (!gzip.write(zeros)) await new Promise((resolve) => gzip.once('drain', resolve))
    gzip.end()
  })()
  for await (const chunk of gzip as AsyncIterable<Buffer>) {
    came.push(chunk)
    await send(chunk)
    most = Math.max(most, budget.used)
  }
  await written
  sink.end()
  await settled()
  t.equal(await outcome(), 'too_large')
  t.ok(most < 8 * LIMIT, String(most))
  t.ok(client.body.equals(Buffer.concat(came)))
  t.match(client.headers, { 'content-encoding': 'gzip' })
  t.equal(budget.used, 0)
})

const XHTML = ['Content-Type', 'Application/XHTML+XML; charset=utf-8']

t.test('XHTML converts when its end is there and it is well-formed', async (t) => {
  const { sink, client, send, settled } = stand()
  sink.head(200, [...XHTML, 'Content-Length', '10'])
  await send(Buffer.from('<p>hi'))
  t.equal(client.state, 'waiting', 'nothing goes out before the end')
  await send(Buffer.from('boo..'))
  sink.end()
  await settled()
  t.equal(client.body.toString(), '<P>HIBOO..THE END')
})

t.test('malformed XHTML passes as it came', async (t) => {
  const body = Buffer.concat([PAGE, Buffer.from('boom'), PAGE])
  for (const [headers, sent] of [
    [XHTML, body],
    [[...XHTML, 'Content-Encoding', 'gzip'], zlib.gzipSync(body)],
  ] as const) {
    const page = await response([...headers], sent, { window: 1, piece: 1000 })
    t.match(page, { outcome: 'malformed', headers: { 'content-type': XHTML[1]! } })
    t.ok(page.body.equals(sent))
  }
})
