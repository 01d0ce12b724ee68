import { once } from 'node:events'
import { connect } from 'node:net'
import { Reader } from 'mmdb-lib'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { DATASETS } from '../../pipelines/records/index.js'
import type { Emitter, LogRecord } from '../../src/core/emit.js'
import { Geo } from '../../src/edge/exchange/geo.js'
import { mmdb } from '../helpers/mmdb.js'
import { sendRaw, startOrigin, startProxy, testZone } from '../helpers/proxy.js'
import { ruledZone, type TestRuleset } from '../helpers/rules.js'
import { until } from '../helpers/web.js'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const HTTP = `http_requests zone ${ZONE}`
const EVENTS = `firewall_events zone ${ZONE}`
const ACCOUNT_EVENTS = `firewall_events account ${ACCOUNT}`

interface Emitted {
  readonly to: string
  readonly record: LogRecord
}

/** Stores the emitted records of the wanted datasets. */
function collector(wanted: readonly string[]) {
  const emitted: Emitted[] = []
  const emitter: Emitter = {
    wants: (dataset, { type, id }) => wanted.includes(`${dataset} ${type} ${id}`),
    emit: (dataset, { type, id }, record) => void emitted.push({ to: `${dataset} ${type} ${id}`, record }),
  }
  const of = async (to: string, count = 1): Promise<LogRecord[]> => {
    const found = () => emitted.filter((one) => one.to === to).map(({ record }) => record)
    await until(() => found().length >= count)
    return found()
  }
  return { emitter, emitted, of }
}

const PLACES = {
  '198.51.100.0/24': {
    country: { iso_code: 'NZ' },
    city: { names: { en: 'Nelson' } },
    subdivisions: [{ iso_code: 'NSN' }],
    location: { latitude: -41.27, longitude: 173.28 },
  },
}
const NETWORKS = {
  '198.51.100.0/24': { autonomous_system_number: 64500, autonomous_system_organization: 'EXAMPLE-NET' },
}

async function site(
  t: Test,
  { wanted = [HTTP], rulesets = [], yaml }: { wanted?: string[]; rulesets?: TestRuleset[]; yaml?: string } = {},
) {
  const { url, server } = await startOrigin(t, (request, response) => {
    request.resume()
    if (request.url === '/broken') {
      request.socket.destroy()
      return
    }
    if (request.url === '/chunked') {
      response.writeHead(200, { 'content-type': 'text/plain' })
      response.write('0123456789')
      setImmediate(() => response.end('abcdef'))
      return
    }
    response.writeHead(203, {
      'content-type': 'text/plain; charset=utf-8',
      'content-length': 5,
      expires: 'Sat, 21 Nov 2026 12:00:00 GMT',
      'last-modified': 'Fri, 20 Nov 2026 12:00:00 GMT',
      'x-many': ['a', 'b'],
      'x-name': Buffer.from('Zoë').toString('latin1'),
    })
    request.on('end', () => response.end(Buffer.from('hello')))
  })
  const kept = collector(wanted)
  const geo = new Geo()
  geo.use({ city: new Reader(mmdb(PLACES)), asn: new Reader(mmdb(NETWORKS)) })
  const zones = [rulesets.length > 0 ? ruledZone(url, rulesets) : testZone(url, 'websockets: true')]
  const proxy = await startProxy(t, zones, { emitter: kept.emitter, geo, ...(yaml !== undefined && { yaml }) })
  return { ...kept, proxy, server, originPort: Number(new URL(url).port) }
}

const HEAD = 'Host: Example.test:80\r\nConnection: close\r\n'

t.test('a request becomes one record with the fields of the proxy', async (t) => {
  const { proxy, of, emitted } = await site(t, { yaml: '{ trusted_proxies: [127.0.0.1] }' })
  const before = Date.now()
  const asked =
    `POST /a%20b?x=1 HTTP/1.1\r\n${HEAD}X-Forwarded-For: 198.51.100.7\r\nX-Forwarded-Proto: http\r\n` +
    'User-Agent: Caf\xc3\xa9/1.0\r\nReferer: https://from.test/page\r\nX-Requested-With: XMLHttpRequest\r\n' +
    'Content-Length: 7\r\n\r\n1234567'
  const { text } = await sendRaw(proxy.port, Buffer.from(asked, 'latin1'))
  const [record] = await of(HTTP)
  t.equal(emitted.length, 1)
  const {
    EdgeStartTimestamp: start,
    EdgeEndTimestamp: end,
    EdgeTimeToFirstByteMs: firstByte,
    OriginResponseDurationMs: duration,
    OriginResponseHeaderReceiveDurationMs: wait,
    OriginResponseTime: time,
    ...rest
  } = record!
  t.strictSame(rest, {
    CacheCacheStatus: 'dynamic',
    CacheReserveUsed: false,
    ClientMTLSAuthCertFingerprint: '',
    ClientMTLSAuthStatus: 'unknown',
    CacheResponseBytes: 5,
    CacheResponseStatus: 203,
    CacheTieredFill: false,
    ClientASN: 64500,
    ClientCity: 'Nelson',
    ClientCountry: 'nz',
    ClientIP: '198.51.100.7',
    ClientLatitude: '-41.27',
    ClientLongitude: '173.28',
    ClientRegionCode: 'NSN',
    ClientRequestBytes: asked.length,
    ClientRequestHost: 'example.test',
    ClientRequestMethod: 'POST',
    ClientRequestPath: '/a%20b',
    ClientRequestProtocol: 'HTTP/1.1',
    ClientRequestReferer: 'https://from.test/page',
    ClientRequestScheme: 'http',
    ClientRequestSource: 'eyeball',
    ClientRequestURI: '/a%20b?x=1',
    ClientRequestUserAgent: 'Café/1.0',
    ClientSSLCipher: 'NONE',
    ClientSSLProtocol: 'none',
    ClientSrcPort: undefined,
    ClientXRequestedWith: 'XMLHttpRequest',
    Cookies: {},
    EdgeCFConnectingO2O: false,
    EdgeRequestHost: 'example.test',
    EdgeResponseBodyBytes: 5,
    EdgeResponseBytes: text.length,
    EdgeResponseContentType: 'text/plain; charset=utf-8',
    EdgeResponseStatus: 203,
    EdgeServerIP: '127.0.0.1',
    OriginIP: '127.0.0.1',
    OriginResponseBytes: 5,
    OriginResponseHTTPExpires: 'Sat, 21 Nov 2026 12:00:00 GMT',
    OriginResponseHTTPLastModified: 'Fri, 20 Nov 2026 12:00:00 GMT',
    OriginResponseStatus: 203,
    OriginSSLProtocol: 'none',
    ParentRayID: '00',
    PayPerCrawlStatus: '',
    VerifiedBotCategory: '',
    edged_agent: '',
    edged_agent_action: '',
    edged_agent_verified: '',
    RayID: /cf-ray: ([0-9a-f]{16})/.exec(text)?.[1],
    RequestHeaders: {},
    ResponseHeaders: {},
    SecurityAction: '',
    SecurityActions: [],
    SecurityRuleDescription: '',
    SecurityRuleID: '',
    SecurityRuleIDs: [],
    SecuritySources: [],
    WAFAttackScore: undefined,
    WorkerSubrequest: false,
    WorkerSubrequestCount: 0,
    ZoneName: 'example.test',
  })
  t.ok(typeof start === 'bigint' && start >= BigInt(before) * 1_000_000n && start % 1_000_000n === 0n)
  t.ok(typeof end === 'bigint' && end >= (start as bigint))
  for (const ms of [firstByte, duration, wait]) t.ok(Number.isInteger(ms) && (ms as number) >= 0)
  t.ok(Number.isInteger(time) && (time as number) > 0)
})

t.test('every field of a record is one of its dataset', async (t) => {
  const rulesets: TestRuleset[] = [{ phase: 'http_request_firewall_custom', rules: [{ action: 'log' }] }]
  const { proxy, of } = await site(t, { wanted: [HTTP, EVENTS], rulesets })
  await sendRaw(proxy.port, `GET / HTTP/1.1\r\n${HEAD}\r\n`)
  for (const [to, dataset] of [
    [HTTP, 'http_requests'],
    [EVENTS, 'firewall_events'],
  ] as const) {
    const [record] = await of(to)
    t.strictSame(
      Object.keys(record!).filter((name) => !DATASETS.get(dataset)!.places.has(name)),
      [],
    )
  }
})

t.test('bytes are those on the wire, for all types of responses', async (t) => {
  const { proxy, of } = await site(t)
  const CASES: [what: string, request: string, body: number, status: number][] = [
    ['in chunks', `GET /chunked HTTP/1.1\r\n${HEAD}\r\n`, 16, 200],
    ['until the end of the connection', `GET /chunked HTTP/1.0\r\n${HEAD}\r\n`, 16, 200],
    ['without a body', `HEAD / HTTP/1.1\r\n${HEAD}\r\n`, 0, 203],
    ['a page of ours', `GET /broken HTTP/1.1\r\n${HEAD}Accept: application/json\r\n\r\n`, -1, 502],
    ['to a server-wide question', `OPTIONS * HTTP/1.1\r\n${HEAD}\r\n`, 0, 204],
  ]
  for (const [index, [what, request, body, status]] of CASES.entries()) {
    const { text } = await sendRaw(proxy.port, request)
    const record = (await of(HTTP, index + 1))[index]!
    t.equal(record['EdgeResponseStatus'], status, what)
    t.equal(record['EdgeResponseBytes'], text.length, what)
    t.equal(record['EdgeResponseBodyBytes'], body < 0 ? text.length - text.indexOf('\r\n\r\n') - 4 : body)
    if (status < 400) t.equal(record['ClientRequestBytes'], request.length)
    t.type(record['ClientSrcPort'], 'number')
  }
  const broken = (await of(HTTP, CASES.length))[3]
  t.match(broken, { OriginResponseStatus: 0, OriginResponseDurationMs: undefined, OriginIP: '127.0.0.1' })
  t.match((await of(HTTP))[4], { ClientRequestURI: '*', EdgeServerIP: '', OriginIP: undefined })
})

t.test('a request with an invalid body is recorded as rejected', async (t) => {
  const { proxy, server, of } = await site(t)
  const socket = connect(proxy.port, '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk))
  // The origin is asked once the body has begun to arrive.
  server.once('request', () => socket.write('zz\r\n'))
  socket.write(`POST / HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n`)
  await once(socket, 'end')
  t.match((await of(HTTP))[0], { EdgeResponseStatus: 400, EdgeResponseBytes: text.length, OriginResponseStatus: 0 })
})

t.test('each of several requests on a connection has its own numbers', async (t) => {
  const { proxy, of } = await site(t)
  const one = 'GET /1 HTTP/1.1\r\nHost: example.test\r\n\r\n'
  const two = `GET /second HTTP/1.1\r\n${HEAD}\r\n`
  const { text } = await sendRaw(proxy.port, one + two)
  const records = await of(HTTP, 2)
  t.strictSame(
    records.map((record) => [record['ClientRequestPath'], record['ClientRequestBytes']]),
    [
      ['/1', one.length],
      ['/second', two.length],
    ],
  )
  t.equal((records[0]!['EdgeResponseBytes'] as number) + (records[1]!['EdgeResponseBytes'] as number), text.length)
})

t.test('a tunnel is a record when it closes', async (t) => {
  const { proxy, server, of, emitted } = await site(t)
  const sockets = new WebSocketServer({ server })
  t.teardown(() => sockets.close())
  sockets.on('connection', (socket) => socket.on('message', () => socket.send('x'.repeat(100))))
  const socket = new WebSocket(`ws://127.0.0.1:${proxy.port}/`, { headers: { host: 'example.test' } })
  await once(socket, 'open')
  t.equal(emitted.length, 0)
  socket.send('hello')
  await once(socket, 'message')
  socket.close()
  const [record] = await of(HTTP)
  t.match(record, { EdgeResponseStatus: 101, OriginResponseStatus: 101, OriginIP: '127.0.0.1' })
  t.ok((record!['EdgeResponseBodyBytes'] as number) > 100)
  t.ok((record!['EdgeResponseBytes'] as number) > (record!['EdgeResponseBodyBytes'] as number))
})

const RULES: TestRuleset[] = [
  {
    phase: 'http_request_firewall_custom',
    id: 'c'.repeat(32),
    rules: [
      { id: '1'.repeat(32), action: 'log', description: 'Watched', ref: 'watch' },
      {
        action: 'skip',
        expression: 'http.request.uri.path eq "/quiet"',
        action_parameters: { ruleset: 'current' },
        logging: { enabled: false },
      },
      {
        id: '2'.repeat(32),
        action: 'block',
        expression: 'http.request.uri.path eq "/secret"',
        description: 'No entry',
      },
      { id: '3'.repeat(32), action: 'score', action_parameters: { increment: 7 } },
    ],
  },
  {
    phase: 'http_request_late_transform',
    rules: [
      { action: 'rewrite', action_parameters: { headers: { 'x-added': { operation: 'set', value: 'by a rule' } } } },
    ],
  },
  {
    phase: 'http_log_custom_fields',
    rules: [
      {
        action: 'log_custom_field',
        action_parameters: {
          request_fields: [{ name: 'x-asked' }],
          transformed_request_fields: [{ name: 'x-added' }],
          raw_response_fields: [{ name: 'x-many', preserve_duplicates: true }],
          response_fields: [{ name: 'x-name' }, { name: 'absent' }],
          cookie_fields: [{ name: 'session' }, { name: '__proto__' }, { name: 'zo\u00eb' }],
        },
      },
    ],
  },
]

t.test('matches of security rules become events, for the zone and for its account', async (t) => {
  const { proxy, of, emitted } = await site(t, { wanted: [HTTP, EVENTS, ACCOUNT_EVENTS], rulesets: RULES })
  await sendRaw(
    proxy.port,
    `GET /secret?k=v HTTP/1.1\r\n${HEAD}Referer: https://user.test:8443/from/here?a=1#x\r\nUser-Agent: curl/8\r\n\r\n`,
  )
  const events = await of(EVENTS, 2)
  const [request] = await of(HTTP)
  const shared = {
    ClientASN: undefined,
    ClientASNDescription: undefined,
    ClientCountry: undefined,
    ClientIP: '127.0.0.1',
    ClientRefererHost: 'user.test:8443',
    ClientRefererPath: '/from/here',
    ClientRefererQuery: '?a=1',
    ClientRefererScheme: 'https',
    ClientRequestHost: 'example.test',
    ClientRequestMethod: 'GET',
    ClientRequestPath: '/secret',
    ClientRequestProtocol: 'HTTP/1.1',
    ClientRequestQuery: '?k=v',
    ClientRequestScheme: 'http',
    ClientRequestUserAgent: 'curl/8',
    Datetime: request!['EdgeStartTimestamp'],
    EdgeResponseStatus: 403,
    Kind: 'firewall',
    Metadata: { phase: 'http_request_firewall_custom', ruleset_id: 'c'.repeat(32) },
    OriginResponseStatus: 0,
    OriginatorRayID: '00',
    RayID: request!['RayID'],
    Source: 'firewallcustom',
  }
  t.strictSame(events, [
    { ...shared, Action: 'log', Description: 'Watched', MatchIndex: 1, Ref: 'watch', RuleID: '1'.repeat(32) },
    {
      ...shared,
      Action: 'block',
      Description: 'No entry',
      MatchIndex: 0,
      Ref: '2'.repeat(32),
      RuleID: '2'.repeat(32),
    },
  ])
  t.strictSame(await of(ACCOUNT_EVENTS, 2), events)
  t.match(request, {
    SecurityAction: 'block',
    SecurityActions: ['log', 'block'],
    SecurityRuleDescription: 'No entry',
    SecurityRuleID: '2'.repeat(32),
    SecurityRuleIDs: ['1'.repeat(32), '2'.repeat(32)],
    SecuritySources: ['firewallCustom', 'firewallCustom'],
  })
  t.equal(emitted.length, 5)
})

t.test('a rule that only logs ends nothing; one with logging off is not recorded', async (t) => {
  const { proxy, of } = await site(t, { wanted: [HTTP, EVENTS], rulesets: RULES })
  await sendRaw(proxy.port, `GET /quiet HTTP/1.1\r\n${HEAD}\r\n`)
  const [request] = await of(HTTP)
  t.match(request, { SecurityAction: '', SecurityRuleID: '', SecurityActions: ['log'], EdgeResponseStatus: 203 })
  t.match(await of(EVENTS), [{ Action: 'log', MatchIndex: 0, OriginResponseStatus: 203 }])
})

t.test('scores and the fields that a rule names are in the record, bytes of UTF-8 as text', async (t) => {
  const { proxy, of, emitted } = await site(t, { rulesets: RULES })
  await sendRaw(
    proxy.port,
    `GET / HTTP/1.1\r\n${HEAD}X-Asked: yes\r\nX-Asked: no\r\nCookie: session= voil\u00c3\u00a0 ; other=x; __proto__=p; zo\u00c3\u00ab=z\r\n\r\n`,
  )
  const [record] = await of(HTTP)
  t.equal(record!['WAFAttackScore'], 7)
  t.strictSame({ ...(record!['RequestHeaders'] as object) }, { 'x-asked': 'yes', 'x-added': 'by a rule' })
  t.strictSame({ ...(record!['ResponseHeaders'] as object) }, { 'x-many': ['a', 'b'], 'x-name': 'Zoë' })
  t.strictSame(Object.entries(record!['Cookies'] as object), [
    ['session', 'voil\u00e0'],
    ['__proto__', 'p'],
    ['zo\u00eb', 'z'],
  ])
  t.equal(emitted.length, 1, 'no events: nobody wants them')
})

t.test('unwanted records are not created, and an error in one does not reach the client', async (t) => {
  const { proxy, emitted } = await site(t, { wanted: [], rulesets: RULES })
  t.match(await sendRaw(proxy.port, `GET / HTTP/1.1\r\n${HEAD}\r\n`), { status: 203 })
  t.equal(emitted.length, 0)

  const { url } = await startOrigin(t, (_request, response) => response.end('fine'))
  const emitter: Emitter = {
    wants: () => true,
    emit() {
      throw new Error('broken')
    },
  }
  const faulty = await startProxy(t, url, { emitter })
  t.match(await sendRaw(faulty.port, `GET / HTTP/1.1\r\n${HEAD}\r\n`), { status: 200, closed: true })
})
