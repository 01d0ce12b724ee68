import { createServer, request as httpRequest, type ClientRequest } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/core/clock.js'
import type { Exchange } from '../../src/edge/exchange/exchange.js'
import { bufferBody } from '../../src/edge/rules/body-buffer.js'
import { Geo } from '../../src/edge/exchange/geo.js'
import { fieldContext } from '../../src/rules/fields/index.js'
import { mimeOf } from '../../src/rules/fields/mime.js'
import { boundaryOf, MAX_PARTS, partsOf } from '../../src/rules/fields/multipart.js'
import { MemoryBudget } from '../../src/core/memory/memory-budget.js'
import { RequestBody } from '../../src/edge/client/request-body.js'
import { compileValue, parseValue, UNLIMITED, type Value } from '../../src/expr/index.js'
import { metric, sendRaw, startOrigin, startProxy } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'
import { ruledZone } from '../helpers/rules.js'
import { arrived } from './exchange-helper.js'

const BODY = 'http.request.body'

const exchangeOf = (rawHeaders: readonly string[]): Exchange => arrived({ method: 'POST', rawHeaders })

const shown = (value: Value | undefined): unknown => (value instanceof Map ? Object.fromEntries(value) : value)

function read(exchange: Exchange, name: string): unknown {
  const context = fieldContext(exchange, { clock: systemClock, geo: new Geo() })
  return shown(compileValue(parseValue(name))(context))
}

/** Returns the fields of a body that was read completely. */
function fieldsOf(type: string, bytes: string, names: readonly string[]): Record<string, unknown> {
  const exchange = exchangeOf(['Content-Type', type])
  exchange.body = { bytes, size: bytes.length, truncated: false, release: () => undefined }
  return Object.fromEntries(names.map((name) => [name, read(exchange, name)]))
}

const FORM = 'application/x-www-form-urlencoded'

t.test('the fields of forms', (t) => {
  const rows: [what: string, type: string, body: string, form: object, names?: string[], values?: string[]][] = [
    ['a form', FORM, 'a=1&b=2&a=3', { a: ['1', '3'], b: ['2'] }, ['a', 'b', 'a'], ['1', '2', '3']],
    ['nothing is decoded', FORM, 'a+b=%3C+%', { 'a+b': ['%3C+%'] }],
    ['names without a value and without a name', FORM, 'a&=b&&c=', { a: [''], '': ['b'], c: [''] }, ['a', '', 'c']],
    ['line breaks', FORM, 'a=1\r\n&b=2\0', { a: ['1\r\n'], b: ['2\0'] }],
    ['bytes that are no UTF-8', FORM, 'a=\xff\xfe', { a: ['\xff\xfe'] }],
    ['parameters of the type', `${FORM.toUpperCase()} ; charset=x`, 'a=1', { a: ['1'] }],
    ['an empty body', FORM, '', {}, [], []],
    ['another type', 'text/plain', 'a=1', {}, [], []],
    ['a type that only begins so', `${FORM}x`, 'a=1', {}],
  ]
  for (const [what, type, body, form, names, values] of rows) {
    const found = fieldsOf(type, body, [`${BODY}.form`, `${BODY}.form.names`, `${BODY}.form.values`, `${BODY}.raw`])
    t.strictSame(found[`${BODY}.form`], form, what)
    if (names) t.strictSame(found[`${BODY}.form.names`], names, `${what}: names`)
    if (values) t.strictSame(found[`${BODY}.form.values`], values, `${what}: values`)
    t.equal(found[`${BODY}.raw`], body)
  }
  t.end()
})

const MULTIPART = 'multipart/form-data; boundary=B'
const part = (head: string, value: string) => `--B\r\n${head}\r\n\r\n${value}\r\n`
const field = (name: string, value: string) => part(`Content-Disposition: form-data; name="${name}"`, value)

t.test('the fields of multipart bodies', (t) => {
  const body =
    field('a', '1') +
    part(
      'content-disposition: form-data; name="file"; filename="x.png"\r\nCONTENT-TYPE:image/png\r\n' +
        'Content-Transfer-Encoding: binary',
      '\x89PNG\r\n--C\r\n',
    ) +
    field('a', '') +
    '--B--\r\nafter it'
  const names = [
    '',
    '.names',
    '.values',
    '.content_types',
    '.content_dispositions',
    '.content_transfer_encodings',
    '.filenames',
  ]
  const found = fieldsOf(
    MULTIPART,
    body,
    names.map((name) => `${BODY}.multipart${name}`),
  )
  t.strictSame(Object.values(found), [
    { a: ['1', ''], file: ['\x89PNG\r\n--C\r\n'] },
    [['a'], ['file'], ['a']],
    ['1', '\x89PNG\r\n--C\r\n', ''],
    [[], ['image/png'], []],
    ['form-data; name="a"', 'form-data; name="file"; filename="x.png"', 'form-data; name="a"'].map((one) => [one]),
    [[], ['binary'], []],
    [[], ['x.png'], []],
  ])
  t.strictSame(fieldsOf('text/plain', body, [`${BODY}.multipart.names`, `${BODY}.multipart`]), {
    [`${BODY}.multipart.names`]: [],
    [`${BODY}.multipart`]: {},
  })
  t.equal(read(exchangeOf([]), `${BODY}.multipart`), undefined)
  t.end()
})

t.test('malformed multipart bodies', (t) => {
  const parts = (body: string, boundary = 'B') =>
    partsOf(body, boundary, UNLIMITED).map(({ names, value }) => [...names, value])
  const rows: [what: string, body: string, parts: string[][]][] = [
    ['nothing', '', []],
    ['no boundary', 'abc', []],
    ['the last boundary alone', '--B--', []],
    ['text before the first one', `before\r\n${field('a', '1')}--B--`, [['a', '1']]],
    ['a boundary in the text before', `--Bx\r\n${field('a', '1')}--B--`, [['a', '1']]],
    ['no last boundary', field('a', '1'), [['a', '1\r\n']]],
    ['cut in a head', '--B\r\nContent-Disposition: form-data; na', [['']]],
    ['cut behind a boundary', `${field('a', '1')}--B`, [['a', '1'], ['']]],
    ['parts behind the last boundary', `${field('a', '1')}--B--\r\n${field('b', '2')}`, [['a', '1']]],
    ['a last boundary with more behind it', `${field('a', '1\r\n--B--x')}--B--`, [['a', '1\r\n--B--x']]],
    ['blanks behind a boundary', field('a', '1').replace('--B', '--B \t') + '--B-- \r\n', [['a', '1']]],
    ['line feeds alone', `${field('a', '1')}--B--`.replaceAll('\r', ''), [['a', '1']]],
    ['a boundary within a line', `${field('a', 'x--B')}--B--`, [['a', 'x--B']]],
    ['no head', '--B\r\n\r\nvalue\r\n--B--', [['value']]],
    ['no empty line', '--B\r\nContent-Disposition: form-data; name=a\r\n--B--', [['a', '']]],
    ['a name without quotes', part('Content-Disposition: form-data; name=a b ;x=y', '1') + '--B--', [['a b', '1']]],
    ['quotes in a name', part('Content-Disposition: form-data; name="a\\"b\\\\c"', '1') + '--B--', [['a"b\\c', '1']]],
    [
      'a path of Windows',
      part('Content-Disposition: form-data; name="C:\\dir\\x"', '1') + '--B--',
      [['C:\\dir\\x', '1']],
    ],
    [
      'semicolons in a name',
      part('Content-Disposition: form-data; name="a;name=b"', '1') + '--B--',
      [['a;name=b', '1']],
    ],
    [
      'a name in another value',
      part('Content-Disposition: form-data; filename="; name=b"; name=a', '1') + '--B--',
      [['a', '1']],
    ],
    ['several names', part('Content-Disposition: form-data; name=a; NAME="b"', '1') + '--B--', [['a', 'b', '1']]],
    [
      'several dispositions',
      `--B\r\ncontent-disposition: x; name=a\r\ncontent-disposition: x; name=b\r\n\r\n1\r\n--B--`,
      [['a', 'b', '1']],
    ],
    ['a folded field', part('Content-Disposition: form-data;\r\n\t name="a"', '1') + '--B--', [['a', '1']]],
    ['an open quote', part('Content-Disposition: form-data; name="a', '1') + '--B--', [['a', '1']]],
    ['an empty name', field('', '1') + '--B--', [['', '1']]],
    ['bytes that are no UTF-8', field('\xff', '\xfe') + '--B--', [['\xff', '\xfe']]],
  ]
  for (const [what, body, expected] of rows) t.strictSame(parts(body), expected, what)

  const boundaries: [type: string, boundary: string | undefined][] = [
    ['multipart/form-data; boundary=B', 'B'],
    ['Multipart/Mixed;Boundary="a b"; charset=x', 'a b'],
    ['multipart/form-data; charset="; boundary=x"; boundary=B', 'B'],
    ['multipart/form-data; boundary=', undefined],
    ['multipart/form-data', undefined],
    ['text/plain; boundary=B', undefined],
  ]
  for (const [type, boundary] of boundaries) t.equal(boundaryOf(['content-type', type]), boundary, type)
  t.end()
})

t.test('hostile bodies take time linear in their length', (t) => {
  const size = 8 * 1024 * 1024
  const fill = (text: string) => text.repeat(Math.floor(size / text.length))
  t.equal(partsOf(fill('\n--'), 'B', UNLIMITED).length, 0)
  t.equal(partsOf(fill('--B\r\n'), 'B', UNLIMITED).length, MAX_PARTS)
  t.equal(partsOf(`--B\r\n${fill('a: b\r\n')}`, 'B', UNLIMITED).length, 1)
  t.equal(partsOf(`--B\r\nContent-Disposition: x${fill(';')}`, 'B', UNLIMITED).length, 1)
  t.equal(partsOf(`--B\r\nContent-Disposition: x; name="${fill('\\')}`, 'B', UNLIMITED).length, 1)
  t.equal(partsOf(`--B\r\nContent-Disposition: x;${fill(' ')}`, 'B', UNLIMITED).length, 1)
  t.equal(partsOf(`--B\r\nA: b\r\n${fill(' \r\n')}`, 'B', UNLIMITED).length, 1)
  t.equal(partsOf(fill(`\n--${'a'.repeat(60)}`), 'a'.repeat(16_000), UNLIMITED).length, 0)
  t.equal(partsOf(fill(`\n--B${' '.repeat(1000)}x`), 'B', UNLIMITED).length, 0)
  t.equal(mimeOf(fill(' ')), 'text/plain')
  t.equal(mimeOf(fill('[')), 'text/plain')
  t.strictSame(fieldsOf(FORM, fill('&').slice(0, 1_000_000), [`${BODY}.form`]), { [`${BODY}.form`]: {} })
  t.end()
})

t.test('types detected from the bytes of a body', (t) => {
  const rows: [body: string, type: string][] = [
    ['', ''],
    ['hello', 'text/plain'],
    ['a=1&b=2', 'text/plain'],
    ['{"a": 1}', 'application/json'],
    [' \r\n[1, 2]', 'application/json'],
    ['{"a": 1', 'text/plain'],
    ['  <!DOCTYPE html><p>', 'text/html'],
    ['<script >', 'text/html'],
    ['<scripted>', 'text/plain'],
    ['<?xml version="1.0"?>', 'text/xml'],
    ['\xef\xbb\xbfx', 'text/plain'],
    ['a\0b', 'application/octet-stream'],
    ['\x89PNG\r\n\x1a\n....', 'image/png'],
    ['\xff\xd8\xff\xe0', 'image/jpeg'],
    ['GIF89a..', 'image/gif'],
    ['RIFF\x01\0\0\0WEBPVP8 ', 'image/webp'],
    ['RIFF\x01\0\0\0WAVEfmt ', 'audio/wave'],
    ['\0\0\0\x18ftypmp42', 'video/mp4'],
    ['BM\x9a\0\0\0', 'image/bmp'],
    ['BMW is a car', 'text/plain'],
    ['ID3\x03\0', 'audio/mpeg'],
    ['IDENTITY', 'text/plain'],
    ['%PDF-1.7', 'application/pdf'],
    ['PK\x03\x04', 'application/zip'],
    ['\x1f\x8b\x08', 'application/x-gzip'],
    ['MZ\x90\0', 'application/x-dosexec'],
    ['\x7fELF\x02', 'application/x-executable'],
    [`${'\0'.repeat(257)}ustar`, 'application/x-tar'],
  ]
  for (const [body, type] of rows) t.equal(mimeOf(body), type, JSON.stringify(body).slice(0, 40))
  t.end()
})

interface Seen {
  raw: unknown
  size: unknown
  truncated: unknown
  /** The bytes that a reader of the upload gets afterwards. */
  forwarded: Buffer | undefined
  exchange: Exchange
  upload: RequestBody
}

/** Starts a server that reads the beginnings of bodies, and then the rest on request. */
async function reader(
  t: Test,
  { limit, memory, forward = true }: { limit: number; memory: MemoryBudget; forward?: boolean },
) {
  const seen: Seen[] = []
  const begun: number[] = []
  const listener: Parameters<typeof createServer>[1] = (request, response) => {
    const source = { pauseBody: () => void request.pause(), resumeBody: () => void request.resume() }
    const upload = new RequestBody(source, () => {
      begun.push(Date.now())
      if (request.headers.expect !== undefined) response.writeContinue()
    })
    request.on('data', (chunk: Buffer) => upload.receive(chunk))
    request.on('end', () => upload.finish())
    request.on('error', () => upload.lost())
    const exchange = exchangeOf(request.rawHeaders)
    bufferBody(exchange, upload, { limit, memory }, () => {
      const [raw, size, truncated] = ['raw', 'size', 'truncated'].map((name) => read(exchange, `${BODY}.${name}`))
      const one: Seen = { raw, size, truncated, forwarded: undefined, exchange, upload }
      seen.push(one)
      if (!forward) return void response.writeHead(403, { connection: 'close' }).end()
      const chunks: Buffer[] = []
      upload.on('data', (chunk: Buffer) => chunks.push(chunk))
      upload.on('end', () => {
        one.forwarded = Buffer.concat(chunks)
        exchange.body?.release()
        response.end('ok')
      })
    })
  }
  const server = createServer(listener)
  server.on('checkContinue', listener)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const post = (headers: Record<string, string>, send: (request: ClientRequest) => void) =>
    new Promise<number>((resolve, reject) => {
      const request = httpRequest({ port, host: '127.0.0.1', method: 'POST', headers, agent: false }, (result) => {
        result.resume()
        resolve(result.statusCode ?? 0)
      })
      request.on('error', reject)
      send(request)
    })
  return { port, seen, begun, post }
}

const bodyOf = (length: number) => Buffer.from(Array.from({ length }, (_, i) => i % 251))

t.test('the beginning of a body is read, and all of it is forwarded', async (t) => {
  const memory = new MemoryBudget(10_000_000)
  const limit = 1000
  const { seen, post } = await reader(t, { limit, memory })
  const rows: [what: string, length: number, chunked: boolean][] = [
    ['a short body', 5, false],
    ['a short body in chunks', 5, true],
    ['a body as long as the limit', limit, false],
    ['a body as long as the limit in chunks', limit, true],
    ['one byte more', limit + 1, false],
    ['one byte more in chunks', limit + 1, true],
    ['a long body', 3_000_000, false],
    ['a long body in chunks', 3_000_000, true],
    ['an empty body in chunks', 0, true],
  ]
  for (const [what, length, chunked] of rows) {
    const body = bodyOf(length)
    const headers = chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) }
    t.equal(await post(headers, (request) => request.end(body)), 200, what)
    const { raw, size, truncated, forwarded } = seen.at(-1)!
    t.equal(raw, body.toString('latin1', 0, limit), what)
    t.equal(truncated, length > limit, what)
    if (chunked && length > limit) t.ok((size as number) > limit && (size as number) <= length, what)
    else t.equal(size, length, what)
    t.ok(forwarded?.equals(body), what)
    t.equal(memory.used, 0, what)
  }
})

t.test('a body that arrives byte by byte is buffered in blocks', async (t) => {
  const memory = new MemoryBudget(100_000)
  const { seen, post } = await reader(t, { limit: 2000, memory })
  const status = post({ 'transfer-encoding': 'chunked' }, (request) => {
    request.setNoDelay(true)
    for (let i = 0; i < 1500; i++) request.write('x')
    request.end()
  })
  t.equal(await status, 200)
  t.match(seen[0], { raw: 'x'.repeat(1500), size: 1500, truncated: false })
  t.equal(memory.used, 0)
})

t.test('a client that waits for 100 Continue gets it', async (t) => {
  const { seen, post } = await reader(t, { limit: 2000, memory: new MemoryBudget(100_000) })
  const status = post({ expect: '100-continue', 'content-length': '5' }, (request) => {
    request.on('continue', () => request.end('abcde'))
    request.flushHeaders()
  })
  t.equal(await status, 200)
  t.equal(seen[0]?.raw, 'abcde')
})

t.test('requests without a body, and without a limit', async (t) => {
  const memory = new MemoryBudget(100)
  const none = exchangeOf([])
  bufferBody(none, null, { limit: 10, memory }, () => undefined)
  t.strictSame([read(none, `${BODY}.raw`), read(none, `${BODY}.size`), read(none, `${BODY}.truncated`)], ['', 0, false])
  t.equal(read(none, `${BODY}.mime`), '')
  none.body?.release()

  const { seen, post } = await reader(t, { limit: 0, memory })
  t.equal(await post({ 'content-length': '5' }, (request) => request.end('abcde')), 200)
  t.match(seen[0], { raw: '', size: 5, truncated: true, forwarded: Buffer.from('abcde') })
})

t.test('bodies share a bounded memory', async (t) => {
  const memory = new MemoryBudget(60_000)
  const { seen, post, port } = await reader(t, { limit: 50_000, memory })
  const waiting = connect(port, '127.0.0.1')
  waiting.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 40000\r\n\r\n${'a'.repeat(39_000)}`)
  await until(() => memory.used >= 39_000)
  const body = bodyOf(45_000)
  t.equal(await post({ 'content-length': '45000' }, (request) => request.end(body)), 200, 'the next one is answered')
  t.match(seen[0], { size: 45_000, truncated: true })
  t.ok((seen[0]!.raw as string).length < 45_000)
  t.ok(seen[0]?.forwarded?.equals(body), 'and loses nothing')
  t.ok(memory.used <= memory.limit)
  waiting.destroy()
  await until(() => memory.used === 0)
  t.equal(seen.length, 1, 'of a client that left no body is told')
})

t.test('a body that is never forwarded releases its memory', async (t) => {
  const memory = new MemoryBudget(1_000_000)
  const { seen, post } = await reader(t, { limit: 1000, memory, forward: false })
  t.equal(await post({ 'content-length': '500' }, (request) => request.end(bodyOf(500))), 403)
  t.ok(memory.used > 0)
  seen[0]?.exchange.body?.release()
  seen[0]?.exchange.body?.release()
  t.equal(memory.used, 0)
  t.ok(seen[0]?.upload.destroyed)
})

t.test('rules on bodies in the proxy', async (t) => {
  const received: Buffer[] = []
  const origin = await startOrigin(t, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push(Buffer.concat(chunks))
      response.end('ok')
    })
  })
  const block = (expression: string) => ({ action: 'block', expression, action_parameters: {} })
  const zone = ruledZone(origin.url, [
    {
      phase: 'http_request_firewall_custom',
      rules: [
        block('any(http.request.body.form["q"][*] contains "evil")'),
        block('lookup_json_string(http.request.body.raw, "user") eq "root"'),
        block('any(http.request.body.multipart.filenames[*][*] contains ".exe")'),
        block('http.request.headers["x-strict"][0] eq "1" and http.request.body.truncated'),
      ],
    },
  ])
  const { port, metrics } = await startProxy(t, [zone], { yaml: '{ rules_body: { bytes: 1KiB, memory: 64KiB } }' })
  const request = (body: string, headers: Record<string, string> = {}) =>
    [
      'POST / HTTP/1.1',
      'Host: example.test',
      `Content-Length: ${body.length}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      '',
      body,
    ].join('\r\n')
  const form = { 'Content-Type': FORM }
  const long = bodyOf(300_000).toString('latin1')
  const rows: [what: string, body: string, headers: Record<string, string>, status: number][] = [
    ['a form', 'q=good', form, 200],
    ['a form that is blocked', 'p=1&q=evil', form, 403],
    ['the same as another type', 'p=1&q=evil', {}, 200],
    ['JSON', '{"user": "me"}', {}, 200],
    ['JSON that is blocked', '{"user": "root"}', {}, 403],
    [
      'a file',
      part('Content-Disposition: x; name=f; filename=a.exe', 'x') + '--B--',
      { 'Content-Type': MULTIPART },
      403,
    ],
    ['a long body', long, {}, 200],
    ['a long body where none may be', long, { 'X-Strict': '1' }, 403],
    ['no body', '', form, 200],
  ]
  for (const [what, body, headers, status] of rows) {
    const before = received.length
    const result = await sendRaw(port, request(body, { ...headers, Connection: 'close' }))
    t.equal(result.status, status, what)
    t.equal(received.length, before + (status === 200 ? 1 : 0), what)
    if (status === 200) t.equal(received.at(-1)?.toString('latin1'), body, what)
  }
  const both = request('q=evil', form) + request('q=good', { ...form, Connection: 'close' })
  t.match((await sendRaw(port, both)).text, /^HTTP\/1\.1 403 [^]*HTTP\/1\.1 200 /, 'a blocked body is not in the way')
  const chunked = 'POST / HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n'
  const pieces = [`${chunked}Content-Type: ${FORM}\r\n\r\n`, '3\r\nq=e\r\n', '3\r\nvil\r\n', '0\r\n\r\n']
  t.equal((await sendRaw(port, pieces)).status, 403, 'a body in chunks')

  const leaving = connect(port, '127.0.0.1')
  leaving.write(request('q=good', form).slice(0, -3))
  await until(async () => (await metric(metrics, 'edged_rule_body_buffer_bytes')) > 0)
  leaving.destroy()
  await until(async () => (await metric(metrics, 'edged_rule_body_buffer_bytes')) === 0)
  t.equal(await metric(metrics, 'edged_rule_bodies_truncated_total'), 0)
})
