import { once } from 'node:events'
import { connect } from 'node:net'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { FileResponse, endpoint, ApiResponse } from '../../../control/http/endpoint.js'
import { ERRORS } from '../../../control/http/errors.js'
import { basicEndpoints, startControl } from '../../../control/index.js'
import { jsonIssue } from '../../../control/http/json-errors.js'
import { ADMIN, client, CONFIG, FREE_ZONE, handClock, ZONE } from '../client.js'
import { BlobLost } from '../../../src/core/blobs.js'
import { silentLog } from '../../../src/core/log.js'
import { SETTING } from '../../../src/core/model/setting.js'
import { zone } from '../../../src/core/scope.js'
import { StoreFull, StoreUnavailable, VersionConflict } from '../../../src/core/store.js'
import { blobName } from '../../../src/store/blobs/blob-name.js'

const SETTING_PATH = `/zones/${ZONE}/settings/content_converter`

t.test('every row of the errors has a code of 1000 or more, a status and a text', async (t) => {
  for (const [kind, [code, status, message]] of Object.entries(ERRORS)) {
    t.ok(code >= 1000 && status >= 400 && status < 600 && message.length > 0, kind)
  }
})

t.test('every response has a request id', async (t) => {
  const { call } = await client(t)
  const names = new Set<string | null>()
  for (const path of ['/zones', '/nothing', '/zones']) names.add((await call('GET', path)).headers.get('cf-ray'))
  t.equal(names.size, 3)
  for (const name of names) t.match(name, /^[0-9a-f]{16}$/)
})

const NOWHERE: [what: string, path: string][] = [
  ['an unknown path', '/nothing'],
  ['an unknown path of a zone', `/zones/${ZONE}/nothing`],
  ['a zone id of another form', '/zones/abc'],
  ['an upper-case zone id', `/zones/${ZONE.toUpperCase()}/settings`],
  ['an unknown zone', '/zones/ffffffffffffffffffffffffffffffff/settings'],
  ['an unknown account', '/accounts/ffffffffffffffffffffffffffffffff'],
  ['a path in capitals', '/ZONES'],
  ['a broken escape', '/zones/%zz/settings'],
]
for (const [what, path] of NOWHERE) {
  t.test(`${what} is not routable`, async (t) => {
    const { call } = await client(t)
    const { status, body } = await call('GET', path)
    t.equal(status, 404)
    t.strictSame(
      body.errors.map(({ code }: { code: number }) => code),
      [7003, 7000],
    )
    const reason = /^\/(zones|accounts)\//.test(path) ? /perhaps your object identifier/ : /no endpoint has this path/
    t.match(body.errors[0].message, /^Could not route to \//)
    t.match(body.errors[0].message, reason)
  })
}

t.test('a method that a path does not support is rejected with the list of its methods', async (t) => {
  const { call } = await client(t)
  const { status, headers, body } = await call('PUT', SETTING_PATH, { value: 'on' })
  t.equal(status, 405)
  t.equal(headers.get('allow'), 'GET, HEAD, PATCH, OPTIONS')
  t.match(body, { success: false, errors: [{ code: 10405 }], result: null })
})

t.test('OPTIONS lists the methods, HEAD responds as GET without a body', async (t) => {
  const { call } = await client(t)
  const options = await call('OPTIONS', SETTING_PATH)
  t.match(options, { status: 204, body: undefined })
  t.equal(options.headers.get('allow'), 'GET, HEAD, PATCH, OPTIONS')
  const head = await call('HEAD', SETTING_PATH)
  const get = await call('GET', SETTING_PATH)
  t.match(head, { status: 200, body: undefined })
  t.equal(head.headers.get('content-length'), get.headers.get('content-length'))
  t.equal((await call('OPTIONS', '/nothing')).status, 404)
})

const failing = (error: unknown) =>
  endpoint({
    method: 'post',
    path: '/fails',
    scopes: ['daemon'],
    permissions: ['Zone Read'],
    summary: 'fails',
    handle() {
      throw error
    },
  })
const THROWN: [what: string, error: unknown, status: number, code: number][] = [
  ['a bug', new Error('secret text of /home/me'), 500, 10500],
  ['a text', 'secret text', 500, 10500],
  ['another change in between', new VersionConflict('secret'), 409, 10409],
  [
    'a full disk of the store',
    new StoreFull('secret', { cause: new Error('IO: No space left on device') }),
    507,
    10507,
  ],
  ['a full disk', Object.assign(new Error('secret'), { code: 'ENOSPC' }), 507, 10507],
]
for (const [what, error, status, code] of THROWN) {
  t.test(`the response to ${what} does not contain its message`, async (t) => {
    const { call } = await client(t, { areas: () => [failing(error)] })
    const response = await call('POST', '/fails')
    t.match(response, { status, body: { success: false, errors: [{ code }], messages: [], result: null } })
    t.notMatch(JSON.stringify(response.body), /secret/)
  })
}

t.test('the response of an unavailable store has the reason', async (t) => {
  const { call } = await client(t, { areas: () => [failing(new StoreUnavailable('Redis at r:6379 is out of reach'))] })
  const message = 'the store does not accept changes now; nothing was changed: Redis at r:6379 is out of reach'
  t.match(await call('POST', '/fails'), { status: 503, body: { errors: [{ code: 10503, message }] } })
})

t.test('the response for a blob that is damaged or missing has a code of its own, and names the blob', async (t) => {
  const blob = blobName(Buffer.from('module'))
  for (const how of ['damaged', 'missing'] as const) {
    const { call } = await client(t, { areas: () => [failing(new BlobLost(blob, how))] })
    const message = `the blob ${blob} is ${how}; upload its content again, or restore it from a backup`
    t.match(await call('POST', '/fails'), { status: 500, body: { errors: [{ code: 10508, message }] } })
  }
})

t.test('an endpoint can respond without a body, with messages and with headers', async (t) => {
  const areas = () => [
    endpoint({
      method: 'get',
      path: '/none',
      scopes: ['daemon'],
      permissions: [],
      summary: 'none',
      status: 204,
      handle: () => null,
    }),
    endpoint({
      method: 'get',
      path: '/list',
      scopes: ['daemon'],
      permissions: [],
      summary: 'a list',
      query: Type.Object({
        n: Type.Optional(Type.Integer()),
        on: Type.Boolean({ default: false }),
        names: Type.Optional(Type.Array(Type.String())),
      }),
      handle: ({ query }) => query,
    }),
  ]
  const { call } = await client(t, { areas })
  t.match(await call('GET', '/none'), { status: 204, body: undefined })
  t.strictSame((await call('GET', '/list?n=-4&on=true&names=a,b&names=c')).body.result, {
    n: -4,
    on: true,
    names: ['a', 'b', 'c'],
  })
  for (const [query, pointer] of [
    ['n=x', '/n'],
    ['n=1.5', '/n'],
    ['n=', '/n'],
    ['n=1e3', '/n'],
    ['on=yes', '/on'],
    ['n=1&n=2', '/n'],
  ])
    t.match(
      await call('GET', `/list?${query}`),
      { status: 400, body: { errors: [{ code: 10002, source: { pointer } }] } },
      `${query} is refused`,
    )
  for (const name of ['other', '__proto__'])
    t.match(
      await call('GET', `/list?n=1&${name}=1`),
      { status: 200, body: { messages: [{ code: 10904, source: { pointer: `/${name}` } }] } },
      `${name} is ignored`,
    )
})

t.test('an endpoint can read its body itself, respond with a file, and be public', async (t) => {
  const base = { scopes: ['daemon'], permissions: [], summary: 'of a test' } as const
  const areas = () => [
    endpoint({
      ...base,
      method: 'put',
      path: '/raw/:name',
      raw: { types: ['text/plain'] },
      async handle({ request, params }) {
        let bytes = 0
        for await (const chunk of request) bytes += (chunk as Buffer).length
        return { name: params.name, bytes, type: request.headers['content-type'] }
      },
    }),
    endpoint({
      ...base,
      method: 'get',
      path: '/file',
      file: 'text/csv',
      handle: () => new FileResponse('text/csv', 'a,b\n', { 'content-disposition': 'attachment' }),
    }),
    endpoint({
      ...base,
      method: 'post',
      path: '/made',
      status: 201,
      handle: () =>
        new ApiResponse('made', {
          status: 202,
          headers: { location: '/x' },
          messages: [{ code: 1000, message: 'a hint' }],
          top: { more: 1 },
        }),
    }),
    endpoint({ ...base, method: 'get', path: '/open', open: true, handle: ({ caller }) => caller.id }),
  ]
  const { url } = await client(t, { areas })
  const authorization = `Bearer ${ADMIN}`
  const put = await fetch(`${url}/raw/a%2Fb`, {
    method: 'PUT',
    headers: { authorization, 'content-type': 'text/x' },
    body: 'x'.repeat(11_000_000),
  })
  t.match(await put.json(), { result: { name: 'a/b', bytes: 11_000_000, type: 'text/x' } })
  const file = await fetch(`${url}/file`, { headers: { authorization } })
  t.equal(await file.text(), 'a,b\n')
  t.match(file.headers.get('content-type'), /^text\/csv/)
  t.equal(file.headers.get('content-disposition'), 'attachment')
  const made = await fetch(`${url}/made`, { method: 'POST', headers: { authorization } })
  t.equal(made.status, 202)
  t.equal(made.headers.get('location'), '/x')
  t.strictSame(await made.json(), {
    success: true,
    errors: [],
    messages: [{ code: 1000, message: 'a hint' }],
    result: 'made',
    more: 1,
  })
  t.match(await (await fetch(`${url}/open`)).json(), { success: true, result: '' })
})

t.test('requests of a token are counted, reported and rejected beyond the limit', async (t) => {
  const config = { control: { ...CONFIG.control, rate_limit: { requests: 3, period: 300_000 } } }
  const { call, clock } = await client(t, { config })
  const reported = async () => {
    const { status, headers } = await call('GET', '/zones')
    return [status, headers.get('ratelimit'), headers.get('retry-after')]
  }
  t.strictSame(await reported(), [200, '"default";r=2;t=300', null])
  clock.advance(100_000)
  t.strictSame(await reported(), [200, '"default";r=1;t=200', null])
  const { headers } = await call('GET', '/zones')
  t.equal(headers.get('ratelimit-policy'), '"default";q=3;w=300')
  t.equal(headers.get('x-ratelimit-limit'), '3')
  t.equal(headers.get('x-ratelimit-remaining'), '0')
  t.equal(headers.get('x-ratelimit-reset'), new Date(clock.now() + 200_000).toUTCString())
  t.strictSame(await reported(), [429, '"default";r=0;t=300', '300'], 'refused for a whole period from now on')
  clock.advance(299_500)
  t.strictSame(await reported(), [429, '"default";r=0;t=1', '1'])
  clock.advance(500)
  t.strictSame(await reported(), [200, '"default";r=2;t=300', null])
})

t.test('a rejected request changes nothing and gets an envelope', async (t) => {
  const config = { control: { ...CONFIG.control, rate_limit: { requests: 1, period: 1000 } } }
  const { call, store } = await client(t, { config })
  await call('GET', '/zones')
  t.match(await call('PATCH', SETTING_PATH, { value: 'on' }), { status: 429, body: { errors: [{ code: 10429 }] } })
  t.equal(store.get(SETTING, zone(ZONE), 'content_converter'), undefined)
})

/** Sends bytes over a socket and returns all bytes that it receives. */
async function raw(t: Test, port: number, bytes: Uint8Array | string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => {})
  socket.end(bytes)
  await once(socket, 'close')
  return Buffer.concat(chunks).toString('latin1')
}

const RAW: [what: string, bytes: string, status: number][] = [
  ['no HTTP at all', 'hello\r\n\r\n', 400],
  ['an unknown method', 'BREW /client/v4/zones HTTP/1.1\r\nhost: a\r\n\r\n', 400],
  ['a header without a name', 'GET / HTTP/1.1\r\nhost: a\r\n: x\r\n\r\n', 400],
  ['more header fields than fit', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
  ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n', 405],
  ['TRACE', 'TRACE /client/v4/zones HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 405],
  ['an unknown expectation', 'GET /x HTTP/1.1\r\nhost: a\r\nexpect: tea\r\nconnection: close\r\n\r\n', 404],
  ['no host', 'GET /client/v4/x HTTP/1.1\r\nconnection: close\r\n\r\n', 404],
  ['a host that is none', 'GET /client/v4/user?a=1 HTTP/1.1\r\nhost: a b/[\r\nconnection: close\r\n\r\n', 400],
  ['an absolute form', 'GET http://a/client/v4/user HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 400],
  ['a lone star', 'OPTIONS * HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 404],
]
t.test('bytes that are not a request get an envelope', async (t) => {
  const { url } = await client(t)
  const port = Number(new URL(url).port)
  for (const [what, bytes, status] of RAW) {
    const text = await raw(t, port, bytes)
    t.match(text, new RegExp(`^HTTP/1.1 ${status} `), what)
    t.match(JSON.parse(text.slice(text.indexOf('\r\n\r\n'))), { success: false, result: null }, what)
  }
})

t.test('a client that disconnects in the middle of its body is not an internal error', async (t) => {
  const { deps, store } = await client(t)
  const faults: unknown[] = []
  const responded = withResolvers()
  const log = {
    ...silentLog,
    error: (line: unknown) => void faults.push(line),
    info: () => responded.resolve(),
  }
  const control = await startControl(basicEndpoints(deps), { ...deps, log })
  const socket = connect(control.port, '127.0.0.1')
  const head = [
    `PATCH /client/v4${SETTING_PATH} HTTP/1.1`,
    'host: a',
    `authorization: Bearer ${ADMIN}`,
    'content-type: application/json',
    'content-length: 100',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n{"value":"on"}`, () => socket.destroy())
  await responded.promise
  await control.close(0)
  t.same(faults, [])
  t.equal(store.count(SETTING), 0)
})

t.test('any bytes get an envelope or a closed connection', async (t) => {
  const { url } = await client(t)
  const port = Number(new URL(url).port)
  const line = fc.constantFrom(
    'GET /client/v4/zones HTTP/1.1',
    'PATCH /client/v4/zones/x HTTP/1.1',
    'GET',
    'POST / HTTP/1.1',
  )
  const field = fc.constantFrom(
    'host: a',
    'content-length: 5',
    'content-length: -1',
    'transfer-encoding: chunked',
    'x',
    ': ',
    'expect: 100-continue',
  )
  const text = fc
    .tuple(line, fc.array(field, { maxLength: 4 }), fc.string())
    .map(([line, fields, rest]) => `${[line, ...fields].join('\r\n')}\r\n\r\n${rest}`)
  const bytes = fc.oneof(
    text.map((one) => Buffer.from(one)),
    fc.uint8Array({ maxLength: 200 }),
  )
  await fc.assert(
    fc.asyncProperty(bytes, async (bytes) => {
      for (const response of (await raw(t, port, bytes)).split(/(?=HTTP\/1\.1 )/)) {
        if (response === '' || response.startsWith('HTTP/1.1 100 ')) continue
        const { success, errors } = JSON.parse(response.slice(response.indexOf('\r\n\r\n'))) as {
          success: boolean
          errors: unknown[]
        }
        if (success || errors.length === 0) return false
      }
      return true
    }),
    { numRuns: 150 },
  )
})

t.test('any request gets an envelope of the right shape and never an internal error', async (t) => {
  const { call, endpoints } = await client(t)
  // Those of log push need its services, which this client lacks; the fuzz test of all endpoints has them.
  const served = endpoints.filter(({ path }) => !path.startsWith('/logpush'))
  const id = fc.constantFrom(ZONE, FREE_ZONE, 'x', '%', '..', '__proto__', 'ffffffffffffffffffffffffffffffff')
  const path = fc
    .tuple(
      fc.constantFrom(...served.flatMap((one) => one.scopes.map((scope) => [scope, one.path] as const))),
      id,
      fc.webQueryParameters(),
    )
    .map(([[scope, path], id, query]) => {
      const prefix = scope === 'daemon' ? '' : `/${scope}s/${id}`
      return `${prefix}${path.replaceAll(/:[a-z_]+/g, encodeURIComponent(id))}?${query}`
    })
  const body = fc.oneof(fc.json(), fc.string(), fc.json({ maxDepth: 1 }), fc.constant(undefined))
  const method = fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE')
  await fc.assert(
    fc.asyncProperty(method, path, body, fc.boolean(), async (method, path, body, typed) => {
      const response = await call(method, path, body, typed || body === undefined ? {} : { 'content-type': 'text/x' })
      return response.status < 500
    }),
    { numRuns: 300 },
  )
})

t.test('the position at which a text stops being JSON is found for any text', async () => {
  const pause = async (): Promise<void> => {}
  const soup = fc
    .array(
      fc.constantFrom('{', '}', '[', ']', ',', ':', '"a"', '"', '\\', '\n', ' ', '1', '-', 'null', 'tru', '\u0001'),
    )
    .map((parts) => parts.join(''))
  await fc.assert(
    fc.asyncProperty(fc.oneof(soup, fc.json(), fc.string()), async (text) => {
      let valid = true
      try {
        JSON.parse(text)
      } catch {
        valid = false
      }
      return ((await jsonIssue(text, pause)) === undefined) === valid
    }),
    { numRuns: 3000 },
  )
})

t.test('a closing listener finishes requests in flight', async (t) => {
  const clock = handClock()
  const begun = withResolvers()
  const go = withResolvers()
  const slow = endpoint({
    method: 'get',
    path: '/slow',
    scopes: ['daemon'],
    permissions: [],
    summary: 'slow',
    async handle() {
      begun.resolve()
      await go.promise
      return 'done'
    },
  })
  const { deps } = await client(t)
  const control = await startControl([slow, ...basicEndpoints(deps)], { ...deps, clock, log: silentLog })
  const response = fetch(`${control.url}/slow`, { headers: { authorization: `Bearer ${ADMIN}` } })
  await begun.promise
  const closed = control.close()
  go.resolve()
  t.match(await (await response).json(), { success: true, result: 'done' })
  await closed
  await t.rejects(fetch(`${control.url}/zones`))
  await control.close()
})

function withResolvers() {
  let resolve: () => void = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

t.test('bodies end in a newline for programs that print them on a terminal', async (t) => {
  const { url } = await client(t)
  const headers = { authorization: `Bearer ${ADMIN}` }
  const PATHS: [path: string, init: RequestInit & { headers?: Record<string, string> }][] = [
    ['/user/tokens/verify', { headers }],
    ['/zones', {}],
    ['/nowhere', { headers }],
    ['/zones', { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: '{' }],
  ]
  for (const [path, init] of PATHS)
    for (const [agent, isTerminal] of [
      ['curl/8.5.0', true],
      ['Wget/1.21', true],
      ['HTTPie/3.2', true],
      ['Cloudflare/JS 7.3.0', false],
      ['a curl/8', false],
    ] as const) {
      const sent = new Headers(init.headers)
      sent.set('user-agent', agent)
      const response = await fetch(`${url}${path}`, { ...init, headers: sent })
      const text = await response.text()
      t.equal(text.endsWith('}\n'), isTerminal, `${path} for ${agent}`)
      t.equal(Buffer.byteLength(text), Number(response.headers.get('content-length')))
      t.match(response.headers.get('content-type'), /^application\/json/)
      JSON.parse(text)
    }
})
