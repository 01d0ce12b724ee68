import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { Type } from 'typebox'
import { endpoint } from '../../../control/http/endpoint.js'
import { discardRest } from '../../../pipelines/sources/intake/unread-body.js'
import { ADMIN, client, ZONE } from '../client.js'
import { SETTING } from '../../../src/core/model/setting.js'

const SETTING_PATH = `/zones/${ZONE}/settings/content_converter`

const deep = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`

const BODIES: [
  what: string,
  body: string,
  headers: Record<string, string>,
  status: number,
  code: number,
  more: object,
][] = [
  ['text that is no JSON', '{"value": on}', {}, 400, 6007, { message: /line 1, column 11: a value is expected/ }],
  ['JSON cut short', '{\n "value": "o', {}, 400, 6007, { message: /line 2, column 13: the text ends too early/ }],
  ['two JSON texts', '{"value":"on"}{}', {}, 400, 6007, { message: /column 15: the end of the text is expected/ }],
  ['a list', '[]', {}, 400, 1007, { source: { pointer: '' } }],
  ['null', 'null', {}, 400, 1007, { source: { pointer: '' } }],
  ['a number', '1', {}, 400, 1007, { source: { pointer: '' } }],
  ['no member', '{}', {}, 400, 1007, { source: { pointer: '/value' }, message: 'is required' }],
  ['no body', '', { 'content-length': '0' }, 400, 1007, { source: { pointer: '/value' } }],
  ['an unknown member', '{"value":"on","x/y":1}', {}, 400, 1007, { source: { pointer: '/x~1y' } }],
  ['another content type', '{"value":"on"}', { 'content-type': 'text/plain' }, 415, 10415, {}],
  ['a form', 'value=on', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 10415, {}],
  ['64 levels and another', deep(65), {}, 400, 1007, { message: 'is nested deeper than 64 levels' }],
  ['64 levels', deep(64), {}, 400, 1007, { source: { pointer: '/value' } }],
  ['a prototype', '{"value":"on","__proto__":{}}', {}, 400, 1007, { source: { pointer: '/__proto__' } }],
  ['a hidden prototype', '{"value":"on","\\u005f_proto__":{}}', {}, 400, 1007, { source: { pointer: '/__proto__' } }],
  ['a constructor', '{"value":{"constructor":1}}', {}, 400, 1007, { source: { pointer: '/value/constructor' } }],
  [
    'a prototype in a list',
    '{"value":[{"prototype":1}]}',
    {},
    400,
    1007,
    { source: { pointer: '/value/0/prototype' } },
  ],
  ['an unknown content encoding', '{}', { 'content-encoding': 'lzma' }, 400, 10026, {}],
  ['a broken content encoding', '{}', { 'content-encoding': 'gzip' }, 400, 10026, {}],
  ['more than 64 KiB', JSON.stringify({ value: 'x'.repeat(65_536) }), {}, 413, 10413, {}],
  ['an open list 60,000 times', '['.repeat(60_000), {}, 400, 1007, { message: 'is nested deeper than 64 levels' }],
  ['brackets in strings', '{"value":"[[[[\\"[[[[\\\\"}', {}, 400, 1007, { source: { pointer: '/value' } }],
]
for (const [what, body, headers, status, code, more] of BODIES) {
  t.test(`a body of ${what} is rejected and changes nothing`, async (t) => {
    const { call, store } = await client(t)
    const response = await call('PATCH', SETTING_PATH, body, headers)
    t.equal(response.status, status)
    t.match(response.body, { success: false, errors: [{ code, ...more }], result: null })
    t.equal(store.count(SETTING), 0)
  })
}

t.test('a body that is not UTF-8 or is empty is rejected', async (t) => {
  const { url, store } = await client(t)
  const send = async (path: string, body: Uint8Array<ArrayBuffer>) => {
    const headers = { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' }
    const response = await fetch(url + path, { method: 'PATCH', headers, body })
    return { status: response.status, body: await response.json() }
  }
  const latin1 = Buffer.concat([Buffer.from('{"value":"'), Buffer.from([0xe9]), Buffer.from('"}')])
  t.match(await send(SETTING_PATH, latin1), { status: 400, body: { errors: [{ code: 6007, message: /not UTF-8/ }] } })
  // A change of a custom hostname has no required member.
  const { id } = (await call(url)).result
  const empty = await send(`/zones/${ZONE}/custom_hostnames/${id}`, new Uint8Array())
  t.match(empty, { status: 400, body: { errors: [{ source: { pointer: '' } }] } })
  t.equal(store.count(SETTING), 0)

  async function call(url: string) {
    const headers = { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ hostname: 'shop.example.test' })
    const made = await fetch(`${url}/zones/${ZONE}/custom_hostnames`, { method: 'POST', headers, body })
    return (await made.json()) as { result: { id: string } }
  }
})

t.test('a large body within the limits leaves the event loop free', async (t) => {
  const large = endpoint({
    method: 'post',
    path: '/large',
    scopes: ['daemon'],
    permissions: [],
    summary: 'a large body',
    body: Type.Array(Type.Unknown()),
    maxBytes: 10_000_000,
    handle: ({ body }) => body.length,
  })
  const { call } = await client(t, { areas: () => [large] })
  const items = (count: number) => `[${'{"a":"b"},'.repeat(count - 1)}{"a":"b"}]`
  t.match(await call('POST', '/large', items(100_000)), { status: 200, body: { result: 100_000 } })
  t.match(await call('POST', '/large', items(100_001)), {
    status: 400,
    body: { errors: [{ code: 10001, message: /more than 100000 members/ }] },
  })
  t.match(await call('POST', '/large', '['.repeat(9_000_000)), {
    status: 400,
    body: { errors: [{ message: /deeper than 64/ }] },
  })
})

t.test('a compressed body is read, and one that grows above 64 KiB is rejected', async (t) => {
  const { url } = await client(t)
  const send = async (body: Uint8Array<ArrayBuffer>) =>
    await fetch(url + SETTING_PATH, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body,
    })
  t.equal((await send(gzipSync('{"value":"on"}'))).status, 200)
  t.equal((await send(gzipSync(JSON.stringify({ value: ' '.repeat(70_000) })))).status, 413)
})

t.test('all issues of a body are reported, one per pointer', async (t) => {
  const { call } = await client(t)
  const items = [{ id: 'content_converter' }, { value: 'on' }, 'x', { id: 1, value: 'on', more: true }]
  const { body } = await call('PATCH', `/zones/${ZONE}/settings`, { items, extra: 1 })
  const pointers = body.errors.map(({ source }: { source: { pointer: string } }) => source.pointer)
  t.same(pointers.toSorted(), ['/extra', '/items/0/value', '/items/1/id', '/items/2', '/items/3/id', '/items/3/more'])
})

t.test('a body with very many issues gets a fast response with a few of them', async (t) => {
  const { call } = await client(t)
  const { status, body } = await call('PATCH', `/zones/${ZONE}/settings`, `{"items":[${'0,'.repeat(30_000)}0]}`)
  t.equal(status, 400)
  t.ok(body.errors.length <= 100)
})

/** Returns endpoints that fail in each possible way. */

// The connection was closed before: the official client reported EPIPE instead of the error.
t.test('a client that sends its body after an early response keeps its connection', async (t) => {
  const { url } = await client(t)
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('latin1')
  t.teardown(() => socket.destroy())
  const size = 4 * 1024 * 1024
  const chunks = socket[Symbol.asyncIterator]() as AsyncIterator<string>
  let received = ''
  const responses = async (count: number) => {
    while (received.split('HTTP/1.1 ').length - 1 < count) {
      const { value, done } = await chunks.next()
      if (done === true) throw new Error(`closed after: ${received}`)
      received += value
    }
  }
  socket.write(`POST /client/v4/zones?nope=1 HTTP/1.1\r\nhost: a\r\ncontent-length: ${size}\r\n\r\n`)
  await responses(1)
  socket.write(Buffer.alloc(size, 'x'))
  socket.write('GET /client/v4/zones HTTP/1.1\r\nhost: a\r\n\r\n')
  await responses(2)
  t.match(received, /^HTTP\/1\.1 4\d\d /)
  t.notMatch(received, /connection: close/i)
})

for (const [what, field] of [
  ['chunked', 'transfer-encoding: chunked'],
  ['long', 'content-length: 100000000'],
])
  t.test(`an early response to a ${what} body is the last of its connection and arrives whole`, async (t) => {
    const { url } = await client(t)
    const rows = [
      ['POST', '/zones', '', 401],
      ['POST', '/nowhere', '', 404],
      ['PUT', '/zones', '', 405],
      ['POST', '/zones', `authorization: Bearer ${ADMIN}\r\ncontent-type: text/plain\r\n`, 415],
    ] as const
    for (const [method, path, more, status] of rows) {
      const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('latin1')
      t.teardown(() => socket.destroy())
      socket.on('error', () => undefined)
      socket.write(`${method} /client/v4${path} HTTP/1.1\r\nhost: a\r\n${more}${field}\r\n\r\n`)
      const [head] = (await once(socket, 'data')) as [string]
      t.match(head, new RegExp(`^HTTP/1.1 (${status}|400) `), `${method} ${path}`)
      t.match(head, /connection: close/i)
      t.match(head, /content-length: \d+/i)
    }
  })

t.test(
  'a client that sends on for too long after an early response is disconnected',
  { timeout: 60_000 },
  async (t) => {
    const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
      discardRest(request, response, 10)
      response.end('early')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => undefined).resume()
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n')
    await once(socket, 'close')
  },
)
