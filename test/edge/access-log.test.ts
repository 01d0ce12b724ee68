import t from 'tap'
import { pino } from 'pino'
import { ACCESS_FORMATS, AccessLog, type AccessEntry } from '../../src/edge/records/access-log.js'
import { sendRaw, startOrigin, startProxy } from '../helpers/proxy.js'
import { page } from './proxy-helper.js'

const entry: AccessEntry = {
  startedAt: Date.UTC(2026, 10, 21, 10, 2, 3, 45),
  rayId: '0123456789abcdef',
  clientAddress: '192.0.2.1',
  status: 200,
  bytes: 1427,
  durationMs: 12.345,
  request: {
    method: 'GET',
    target: '/a"b\\\xc3\xa9?q=1',
    httpVersion: '1.1',
    rawHeaders: ['Host', 'example.test', 'User-Agent', 'a "quoted"\tagent', 'Referer', 'http://x/'],
  },
  served: {
    zone: 'z',
    host: 'example.test',
    scheme: 'https',
    origin: 'http://10.0.0.1:9000',
    originStatus: 304,
    originMs: 3.21,
  },
}

t.test('the combined format escapes what could end a field or a line', async (t) => {
  t.equal(
    ACCESS_FORMATS.combined(entry),
    '192.0.2.1 - - [21/Nov/2026:10:02:03 +0000] "GET /a\\x22b\\x5C\\xC3\\xA9?q=1 HTTP/1.1" 200 1427 "http://x/" "a \\x22quoted\\x22\\x09agent"\n',
  )
  t.equal(
    ACCESS_FORMATS.combined({ ...entry, status: 400, bytes: 0, request: undefined }),
    '192.0.2.1 - - [21/Nov/2026:10:02:03 +0000] "-" 400 0 "-" "-"\n',
  )
})

t.test('the json format has one object per line', async (t) => {
  const line = ACCESS_FORMATS.json(entry)
  t.equal(line.indexOf('\n'), line.length - 1)
  t.same(JSON.parse(line), {
    time: '2026-11-21T10:02:03.045Z',
    event: 'request',
    ray: '0123456789abcdef',
    zone: 'z',
    client: '192.0.2.1',
    scheme: 'https',
    host: 'example.test',
    method: 'GET',
    uri: '/a"b\\é?q=1',
    protocol: 'HTTP/1.1',
    status: 200,
    bytes: 1427,
    duration_ms: 12.3,
    referer: 'http://x/',
    user_agent: 'a "quoted"\tagent',
    origin: 'http://10.0.0.1:9000',
    origin_status: 304,
    origin_ms: 3.2,
  })
})

t.test('lines of requests that have facts in common show the facts of their own request', async (t) => {
  const { request, served } = entry
  const variants: AccessEntry[] = [
    entry,
    { ...entry, startedAt: entry.startedAt + 1, rayId: 'fedcba9876543210' },
    { ...entry, status: 503, bytes: 0, durationMs: 90_000 },
    { ...entry, clientAddress: '198.51.100.1' },
    { ...entry, clientAddress: '' },
    { ...entry, request: { ...request!, method: 'PUT', target: '/other' } },
    { ...entry, request: { ...request!, httpVersion: '2', rawHeaders: ['user-agent', 'a "quoteD"\tagent'] } },
    { ...entry, request: { ...request!, rawHeaders: [] } },
    { ...entry, served: { ...served!, host: 'example.tesT', scheme: 'http' } },
    { ...entry, served: { ...served!, zone: 'y', origin: undefined, originStatus: 0, originMs: undefined } },
  ]
  const first = variants.map((variant) => ACCESS_FORMATS.json(variant))
  for (const [at, variant] of [...variants, ...variants.toReversed()].entries()) {
    const index = at < variants.length ? at : variants.length * 2 - 1 - at
    t.equal(ACCESS_FORMATS.json(variant), first[index])
    t.equal(ACCESS_FORMATS.json(variant), first[index], 'again')
  }
  t.equal(new Set(first).size, variants.length)
  t.match(JSON.parse(first[2]!), { status: 503, bytes: 0, duration_ms: 90_000 })
  t.match(JSON.parse(first[3]!), { client: '198.51.100.1', host: 'example.test' })
  t.match(JSON.parse(first[5]!), { method: 'PUT', uri: '/other', user_agent: 'a "quoted"\tagent' })
  t.match(JSON.parse(first[6]!), { protocol: 'HTTP/2', user_agent: 'a "quoteD"\tagent' })
})

t.test('requests that are served, rejected by a zone table or malformed are all logged', async (t) => {
  const { url } = await startOrigin(t, (_, response) => response.writeHead(201).end('hello'))
  const accessLog = new AccessLog()
  const entries: AccessEntry[] = []
  accessLog.target = { format: (entry) => String(entries.push(entry)), write: () => {}, sample: 1 }
  const { port } = await startProxy(t, url, { accessLog })
  await sendRaw(port, page('', 'GET', '/one?q'))
  await sendRaw(port, 'GET / HTTP/1.1\r\nHost: nobody.test\r\nConnection: close\r\n\r\n')
  await sendRaw(port, 'nonsense\r\n\r\n')
  t.match(entries, [
    { status: 201, bytes: 5, request: { target: '/one?q' }, served: { origin: url, originStatus: 201 } },
    { status: 404, request: { method: 'GET' }, served: undefined },
    { status: 400, request: undefined, served: undefined },
  ])
})

t.test('a sample of the requests is logged, and each response of 500 and above', async (t) => {
  const { url } = await startOrigin(t, ({ url: path }, response) => response.writeHead(Number(path!.slice(1))).end())
  const accessLog = new AccessLog()
  const entries: AccessEntry[] = []
  accessLog.target = { format: (entry) => String(entries.push(entry)), write: () => {}, sample: 0 }
  const { port } = await startProxy(t, url, { accessLog })
  for (const status of [200, 503, 404]) await sendRaw(port, page('', 'GET', `/${status}`))
  await sendRaw(port, 'nonsense\r\n\r\n')
  t.match(entries, [{ status: 503 }])
  t.equal(entries.length, 1)
})

t.test('X-Forwarded-For from a peer that is not trusted is reported once, until trusted_proxies changes', async (t) => {
  const { url } = await startOrigin(t, (_, response) => response.end())
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const proxy = await startProxy(t, url, { log })
  const forwarded = () => lines.filter((line) => line.includes('"event":"forwarded_ignored"'))
  await sendRaw(proxy.port, page())
  t.equal(forwarded().length, 0)
  for (let i = 0; i < 3; i++) await sendRaw(proxy.port, page('X-Forwarded-For: 192.0.2.1\r\n'))
  t.equal(forwarded().length, 1)
  t.match(forwarded()[0], 'add 127.0.0.1 to proxy.trusted_proxies')

  const trusting = await startProxy(t, url, { log, yaml: '{ trusted_proxies: [127.0.0.0/8] }' })
  await sendRaw(trusting.port, page('X-Forwarded-For: 192.0.2.1\r\n'))
  t.equal(forwarded().length, 1)
})
