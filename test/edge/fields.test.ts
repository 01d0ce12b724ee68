import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfig, type BadConfig } from '../../src/config/load.js'
import { systemClock } from '../../src/core/clock.js'
import { Exchange, type LocalEnd } from '../../src/edge/exchange.js'
import { Geo, readDatabases } from '../../src/edge/fields/geo.js'
import {
  ANSWER_SLOTS,
  FIELD_GETTERS,
  fieldContext,
  needsBody,
  OWN_FIELDS,
  REWRITTEN_SLOTS,
  SCORE_SLOTS,
} from '../../src/edge/fields/index.js'
import { VOUCHABLE } from '../../src/edge/fields/trusted.js'
import {
  compile,
  compileValue,
  formatIp,
  parse,
  parseValue,
  SCHEME,
  type Context,
  type Value,
} from '../../src/expr/index.js'
import { mmdb } from '../helpers/mmdb.js'
import { sendRaw, startOrigin, startProxy, testZone } from '../helpers/proxy.js'

/** What a value looks like in a test. */
function shown(value: Value | undefined, name: string): unknown {
  if (value === undefined) return undefined
  if (SCHEME.field(name)?.type.kind === 'Ip') return formatIp(value as string | number)
  return value instanceof Map ? Object.fromEntries(value) : value
}

const read = (context: Context, name: string) => shown(compileValue(parseValue(name))(context), name)

/** A proxy that tells what fields the requests that go through it have. */
async function fieldsOf(
  t: Test,
  { yaml, members = '', geo }: { yaml?: string; members?: string; geo?: Geo } = {},
): Promise<(request: string | Buffer, names: readonly string[]) => Promise<Record<string, unknown>>> {
  const origin = await startOrigin(t, (request, response) => {
    request.resume()
    response.end('ok')
  })
  let names: readonly string[] = []
  let found: Record<string, unknown> = {}
  const parts = { clock: systemClock, geo: geo ?? new Geo() }
  const proxy = await startProxy(t, [testZone(origin.url, members)], {
    ...(yaml !== undefined && { yaml }),
    stages: [
      (exchange, next) => {
        const context = fieldContext(exchange, parts)
        found = Object.fromEntries(names.map((name) => [name, read(context, name)]))
        return next
      },
    ],
  })
  return async (request, wanted) => {
    names = wanted
    found = {}
    const answer = await sendRaw(proxy.port, request)
    if (answer.status !== 200) throw new Error(answer.text)
    return found
  }
}

const END = 'Connection: close\r\n\r\n'
const get = (target: string, ...headers: string[]) =>
  [`GET ${target} HTTP/1.1`, 'Host: example.test', ...headers, END].join('\r\n')
const bytes = (text: string) => Buffer.from(text).toString('latin1')
const repeated = (text: string, times: number) => Array.from({ length: times }, () => text)

const URI = 'http.request.uri'
const HEADERS = 'http.request.headers'

/** A request, and what its fields are. */
const REQUESTS: [what: string, request: string | Buffer, fields: Record<string, unknown>][] = [
  [
    'a plain request',
    get('/a/b.HTML?x=1&y=2'),
    {
      'http.request.method': 'GET',
      'http.request.version': 'HTTP/1.1',
      'http.host': 'example.test',
      'http.request.full_uri': 'http://example.test/a/b.HTML?x=1&y=2',
      [URI]: '/a/b.HTML?x=1&y=2',
      [`${URI}.path`]: '/a/b.HTML',
      [`${URI}.path.extension`]: 'html',
      [`${URI}.query`]: 'x=1&y=2',
      [`${URI}.args`]: { x: ['1'], y: ['2'] },
      [`raw.${URI}`]: '/a/b.HTML?x=1&y=2',
      'raw.http.request.full_uri': 'http://example.test/a/b.HTML?x=1&y=2',
      [`raw.${URI}.path`]: '/a/b.HTML',
      [`raw.${URI}.path.extension`]: 'html',
      [`raw.${URI}.query`]: 'x=1&y=2',
      [`raw.${URI}.args.names`]: ['x', 'y'],
      [`raw.${URI}.args.values`]: ['1', '2'],
      [HEADERS]: { host: ['example.test'], connection: ['close'] },
      [`${HEADERS}.names`]: ['Host', 'Connection'],
      [`${HEADERS}.values`]: ['example.test', 'close'],
      [`${HEADERS}.truncated`]: false,
      'http.cookie': '',
      'http.referer': '',
      'http.user_agent': '',
      'http.x_forwarded_for': '',
      'http.request.cookies': {},
      'http.request.accepted_languages': [],
      ssl: false,
      'ip.src': '127.0.0.1',
      'cf.edge.server_ip': '127.0.0.1',
      'cf.edge.client_tcp': true,
      'cf.edge.l4.delivery_rate': 0,
      'cf.zone.name': 'example.test',
      'cf.zone.plan': 'PRO',
      'cf.hostname.metadata': undefined,
      'cf.threat_score': 0,
      'cf.worker.upstream_zone': '',
      'cf.waf.score': undefined,
      'cf.bot_management.score': undefined,
      'cf.tls_version': undefined,
      'cf.tls_client_auth.cert_presented': false,
      'cf.tls_client_auth.cert_serial': '',
      'cf.timings.worker_msec': 0,
      'cf.timings.client_quic_rtt_msec': 0,
      'cf.timings.origin_ttfb_msec': 0,
      'cf.response.1xxx_code': 0,
      'cf.response.error_type': '',
      'http.response.code': undefined,
      'http.request.body.raw': undefined,
      'http.request.body.truncated': undefined,
      'ip.src.country': undefined,
      'ip.src.is_in_european_union': undefined,
      'ip.src.subdivision_1_iso_code': undefined,
    },
  ],
  ['no query', get('/a'), { [`${URI}.query`]: '', [`${URI}.args`]: {}, [`${URI}.args.names`]: [] }],
  ['an empty query', get('/a?'), { [URI]: '/a?', [`${URI}.query`]: '', [`${URI}.args.names`]: [] }],
  [
    'a question mark in the query',
    get('/a?b?c=d?e'),
    { [`${URI}.query`]: 'b?c=d?e', [`${URI}.args`]: { 'b?c': ['d?e'] } },
  ],
  [
    'arguments again and again',
    get('/?a=1&b=2&a=3&a'),
    {
      [`${URI}.args`]: { a: ['1', '3', ''], b: ['2'] },
      [`${URI}.args.names`]: ['a', 'b', 'a', 'a'],
      [`${URI}.args.values`]: ['1', '2', '3', ''],
    },
  ],
  [
    'empty names and values',
    get('/?=v&n=&&=&x'),
    { [`${URI}.args.names`]: ['', 'n', '', 'x'], [`${URI}.args.values`]: ['v', '', '', ''] },
  ],
  ['several equals signs', get('/?a==b=c'), { [`${URI}.args`]: { a: ['=b=c'] } }],
  ['a semicolon, which separates nothing', get('/?a=1;b=2'), { [`${URI}.args`]: { a: ['1;b=2'] } }],
  ['plus signs stay', get('/a+b?q=a+b%2Bc'), { [`${URI}.path`]: '/a+b', [`${URI}.args`]: { q: ['a+b%2Bc'] } }],
  [
    'escapes stay, the broken ones too',
    get('/%41%zz%?%41=%4&%=%%25'),
    { [`${URI}.path`]: '/%41%zz%', [`${URI}.args`]: { '%41': ['%4'], '%': ['%%25'] } },
  ],
  [
    'names of object members',
    get('/?__proto__=1&constructor=2'),
    { [`${URI}.args.names`]: ['__proto__', 'constructor'] },
  ],
  ['brackets in names', get('/?a[]=1&a[]=2&a[b]=3'), { [`${URI}.args`]: { 'a[]': ['1', '2'], 'a[b]': ['3'] } }],
  ['thousands of arguments', get(`/?${repeated('a', 4000).join('&')}`), { [`${URI}.args`]: { a: repeated('', 4000) } }],
  ['nothing but separators', get(`/?${'&'.repeat(8000)}`), { [`${URI}.args`]: {}, [`${URI}.args.names`]: [] }],
  ['dot segments stay', get('/a/../b/./c//d'), { [`${URI}.path`]: '/a/../b/./c//d' }],
  [
    'an absolute target',
    get('http://example.test/x?y'),
    { [URI]: '/x?y', 'http.request.full_uri': 'http://example.test/x?y' },
  ],
  ['an extension of several', get('/a.tar.gz'), { [`${URI}.path.extension`]: 'gz' }],
  ['a dotfile', get('/.htaccess'), { [`${URI}.path.extension`]: '' }],
  ['a dotfile with an extension', get('/.env.BAK'), { [`${URI}.path.extension`]: 'bak' }],
  ['a dot at the end', get('/a.'), { [`${URI}.path.extension`]: '' }],
  ['a dot in a folder', get('/a.b/c'), { [`${URI}.path.extension`]: '' }],
  ['two dots before a name', get('/..a'), { [`${URI}.path.extension`]: 'a' }],
  ['a dot in the query', get('/a?b.js'), { [`${URI}.path.extension`]: '' }],

  ['a host in capitals', 'GET / HTTP/1.1\r\nHost: EXAMPLE.Test\r\n' + END, { 'http.host': 'example.test' }],
  [
    'a host with port',
    'GET / HTTP/1.1\r\nHost: example.test:8080\r\n' + END,
    {
      'http.host': 'example.test',
      'http.request.full_uri': 'http://example.test/',
      [HEADERS]: { host: ['example.test:8080'], connection: ['close'] },
    },
  ],
  [
    'a host with a dot at the end',
    'GET / HTTP/1.1\r\nHost: www.example.test.\r\n' + END,
    { 'http.host': 'www.example.test' },
  ],
  ['HTTP/1.0', 'GET / HTTP/1.0\r\nHost: example.test\r\n\r\n', { 'http.request.version': 'HTTP/1.0' }],
  ['another method', 'PROPFIND / HTTP/1.1\r\nHost: example.test\r\n' + END, { 'http.request.method': 'PROPFIND' }],
  [
    'OPTIONS for a path',
    'OPTIONS /x HTTP/1.1\r\nHost: example.test\r\n' + END,
    { 'http.request.method': 'OPTIONS', [URI]: '/x' },
  ],

  [
    'headers again, in other cases',
    get('/', 'X-A: 1', 'x-a: 2', 'X-a:', 'X-B: b'),
    {
      [HEADERS]: { host: ['example.test'], 'x-a': ['1', '2', ''], 'x-b': ['b'], connection: ['close'] },
      [`${HEADERS}.names`]: ['Host', 'X-A', 'x-a', 'X-a', 'X-B', 'Connection'],
      [`${HEADERS}.values`]: ['example.test', '1', '2', '', 'b', 'close'],
    },
  ],
  [
    'a header called __proto__',
    get('/', '__proto__: x'),
    { [`${HEADERS}.names`]: ['Host', '__proto__', 'Connection'] },
  ],
  [
    'UTF-8 in a header',
    Buffer.from(get('/', 'User-Agent: Zoë')),
    { 'http.user_agent': bytes('Zoë'), [`${HEADERS}.values`]: ['example.test', bytes('Zoë'), 'close'] },
  ],
  [
    'bytes that are no UTF-8',
    Buffer.from(get('/', 'User-Agent: \xff\xfe\xc0\x80'), 'latin1'),
    { 'http.user_agent': '\xff\xfe\xc0\x80' },
  ],
  ['tabs and blanks around a value', get('/', 'User-Agent: \t a b \t'), { 'http.user_agent': 'a b' }],
  ['a long value', get('/', `User-Agent: ${'x'.repeat(15_000)}`), { 'http.user_agent': 'x'.repeat(15_000) }],
  [
    'many headers',
    get('/', ...repeated('X-Y: z', 120)),
    { [`${HEADERS}.names`]: ['Host', ...repeated('X-Y', 120), 'Connection'] },
  ],
  [
    'two User-Agent fields',
    get('/', 'User-Agent: a', 'user-agent: b'),
    {
      'http.user_agent': 'a, b',
      [HEADERS]: { host: ['example.test'], 'user-agent': ['a', 'b'], connection: ['close'] },
    },
  ],
  ['a referer', get('/', 'Referer: https://a.example/?q=1'), { 'http.referer': 'https://a.example/?q=1' }],
  [
    'addresses from who is not trusted',
    get('/', 'X-Forwarded-For: 192.0.2.1, 198.51.100.2', 'X-Forwarded-Proto: https', 'CF-Connecting-IP: 192.0.2.9'),
    { 'http.x_forwarded_for': '192.0.2.1, 198.51.100.2', 'ip.src': '127.0.0.1', ssl: false },
  ],

  ['a cookie', get('/', 'Cookie: a=1'), { 'http.cookie': 'a=1', 'http.request.cookies': { a: ['1'] } }],
  [
    'cookies of one name, some of them escaped',
    get('/', 'Cookie: a b=1; a%20b=2;a%20b=3'),
    { 'http.request.cookies': { 'a b': ['1', '2', '3'] } },
  ],
  ['values of cookies stay', get('/', 'Cookie: a=%20+"x"=='), { 'http.request.cookies': { a: ['%20+"x"=='] } }],
  ['a plus sign in a name', get('/', 'Cookie: a+b=1'), { 'http.request.cookies': { 'a+b': ['1'] } }],
  [
    'a broken escape in a name',
    get('/', 'Cookie: a%2=1; %=2'),
    { 'http.request.cookies': { 'a%2': ['1'], '%': ['2'] } },
  ],
  ['an escape is decoded once', get('/', 'Cookie: a%2541=1'), { 'http.request.cookies': { 'a%41': ['1'] } }],
  [
    'cookies without a name, without a value, without anything',
    get('/', 'Cookie: =1; a; ; b=;;'),
    { 'http.request.cookies': { '': ['1'], a: [''], b: [''] } },
  ],
  [
    'a value that ends in a byte like a blank',
    Buffer.from(get('/', 'Cookie: a=déjà ; b=1')),
    { 'http.request.cookies': { a: [bytes('déjà')], b: ['1'] } },
  ],
  [
    'several Cookie fields',
    get('/', 'Cookie: a=1', 'Cookie: a=2; b=3'),
    { 'http.cookie': 'a=1; a=2; b=3', 'http.request.cookies': { a: ['1', '2'], b: ['3'] } },
  ],
  [
    'many cookies',
    get('/', `Cookie: ${repeated('n=v', 3000).join('; ')}`),
    { 'http.request.cookies': { n: repeated('v', 3000) } },
  ],
  ['nothing but semicolons', get('/', `Cookie: ${';'.repeat(15_000)}`), { 'http.request.cookies': {} }],

  [
    'languages by weight',
    get('/', 'Accept-Language: fr;q=0.5, de, en-GB;q=0.9, *;q=0.1, it;q=0'),
    { 'http.request.accepted_languages': ['de', 'en-GB', 'fr'] },
  ],
  [
    'languages of one weight',
    get('/', 'Accept-Language: b, a', 'Accept-Language: c'),
    { 'http.request.accepted_languages': ['b', 'a', 'c'] },
  ],
  ['no language', get('/', 'Accept-Language: , ;q=1, *'), { 'http.request.accepted_languages': [] }],
  ['a weight that is none', get('/', 'Accept-Language: a;q=x, b'), { 'http.request.accepted_languages': ['b'] }],
]

t.test('the fields of requests', async (t) => {
  const ask = await fieldsOf(t)
  for (const [what, request, fields] of REQUESTS) {
    const found = await ask(request, Object.keys(fields))
    for (const [name, value] of Object.entries(fields)) t.strictSame(found[name], value, `${what}: ${name}`)
  }
})

t.test('what changes from request to request', async (t) => {
  const ask = await fieldsOf(t)
  const names = ['cf.ray_id', 'cf.random_seed', 'cf.edge.server_port', 'cf.timings.edge_msec']
  const times = ['http.request.timestamp.sec', 'http.request.timestamp.msec']
  const [before, one, two, after] = [
    Date.now(),
    await ask(get('/'), [...names, ...times]),
    await ask(get('/'), names),
    Date.now(),
  ]
  t.match(one, { 'cf.ray_id': /^[0-9a-f]{16}$/, 'cf.edge.server_port': Number, 'cf.timings.edge_msec': Number })
  t.equal((one['cf.random_seed'] as string).length, 16)
  t.not(one['cf.ray_id'], two['cf.ray_id'])
  t.not(one['cf.random_seed'], two['cf.random_seed'])
  const at = (one[times[0]!] as number) * 1000 + (one[times[1]!] as number)
  t.ok(at >= before && at <= after)
})

const TRUSTED = 'trusted_proxies: [127.0.0.1]'

t.test('what trusted proxies tell of the visitor', async (t) => {
  const ask = await fieldsOf(t, { yaml: `{ ${TRUSTED} }` })
  const visitor = async (...headers: string[]) =>
    await ask(get('/', ...headers), ['ip.src', 'ssl', 'http.request.full_uri'])
  t.match(await visitor('X-Forwarded-For: 192.0.2.1', 'X-Forwarded-Proto: https'), {
    'ip.src': '192.0.2.1',
    ssl: true,
    'http.request.full_uri': 'https://example.test/',
  })
  t.match(await visitor('X-Forwarded-For: 10.0.0.1, [2001:DB8::1]:443'), { 'ip.src': '2001:db8::1', ssl: false })
  t.match(await visitor('X-Forwarded-For: ::ffff:192.0.2.7'), { 'ip.src': '192.0.2.7' })
  t.match(await visitor('X-Forwarded-For: nonsense'), { 'ip.src': '127.0.0.1' })
})

const TOLD = `trusted_fields: {
  cf.bot_management.score: x-bot-score, cf.bot_management.verified_bot: X-Verified, cf.bot_management.ja4: x-ja4,
  cf.bot_management.detection_ids: x-ids, cf.waf.content_scan.obj_types: x-types, ip.src.country: x-country,
  cf.tls_version: x-tls, cf.threat_score: x-threat, cf.waf.score: x-waf }`

t.test('fields that header fields of trusted proxies tell', async (t) => {
  const trusting = await fieldsOf(t, { yaml: `{ ${TRUSTED}, ${TOLD} }` })
  const rows: [header: string, field: string, value: unknown][] = [
    ['X-Bot-Score: 30', 'cf.bot_management.score', 30],
    ['X-Bot-Score: -1', 'cf.bot_management.score', -1],
    ['X-Bot-Score: 30.5', 'cf.bot_management.score', undefined],
    ['X-Bot-Score: 0x10', 'cf.bot_management.score', undefined],
    ['X-Bot-Score: 12345678901234567890', 'cf.bot_management.score', undefined],
    ['X-Bot-Score:', 'cf.bot_management.score', undefined],
    ['X-Bot-Score: 1\r\nX-Bot-Score: 99', 'cf.bot_management.score', 99],
    ['x-verified: TRUE', 'cf.bot_management.verified_bot', true],
    ['x-verified: 0', 'cf.bot_management.verified_bot', false],
    ['x-verified: yes', 'cf.bot_management.verified_bot', undefined],
    ['x-ja4: t13d_\xe9', 'cf.bot_management.ja4', '\xe9'],
    ['x-ids: 1, 2,x,,3', 'cf.bot_management.detection_ids', [1, 2, 3]],
    ['x-types: a/b\r\nx-types: c/d', 'cf.waf.content_scan.obj_types', ['a/b', 'c/d']],
    ['x-country: DE', 'ip.src.country', 'DE'],
    ['x-country: DE', 'ip.geoip.country', 'DE'],
    ['x-tls: TLSv1.3', 'cf.tls_version', 'TLSv1.3'],
    ['x-threat: 5', 'cf.threat_score', 5],
    ['x-other: 5', 'cf.threat_score', 0],
    ['x-waf: 20', 'cf.waf.score', 20],
  ]
  for (const [header, field, value] of rows) {
    const found = await trusting(Buffer.from(get('/', header), 'latin1'), [field])
    t.strictSame(found[field], field.endsWith('ja4') ? `t13d_${String(value)}` : value, `${header} as ${field}`)
  }

  const open = await fieldsOf(t, { yaml: `{ ${TOLD} }` })
  const claimed = get('/', 'X-BOT-score: 99', 'x-country: DE', 'x-kept: 1')
  t.strictSame(await open(claimed, ['cf.bot_management.score', 'ip.src.country', `${HEADERS}.names`]), {
    'cf.bot_management.score': undefined,
    'ip.src.country': undefined,
    [`${HEADERS}.names`]: ['Host', 'x-kept', 'Connection'],
  })
})

t.test('header fields that only trusted proxies may send do not reach the origin from others', async (t) => {
  const seen: string[][] = []
  const origin = await startOrigin(t, (request, response) => {
    seen.push(request.rawHeaders.map((part) => part.toLowerCase()))
    response.end()
  })
  const yaml = '{ trusted_fields: { cf.bot_management.score: x-bot-score } }'
  const proxy = await startProxy(t, origin.url, { yaml })
  await sendRaw(proxy.port, get('/', 'X-Bot-Score: 1', 'X-Other: 2'))
  t.notOk(seen[0]?.includes('x-bot-score'))
  t.ok(seen[0]?.includes('x-other'))
})

t.test('what the configuration says of fields is checked', (t) => {
  const faults = (field: string, header = 'x-y') => {
    try {
      readConfig(`proxy: { trusted_fields: { ${field}: '${header}' } }`, 'test.yaml', {})
      return ''
    } catch (error) {
      return (error as BadConfig).message
    }
  }
  t.equal(faults('cf.bot_management.score'), '')
  t.match(faults('cf.bot_management.scores'), /1:28: proxy.trusted_fields.*names no field of the rules language/)
  t.match(faults('http.host'), /no header field can tell: http.host/)
  t.match(faults('ip.geoip.country'), /no header field can tell/)
  t.match(faults('cf.llm.prompt.custom_topic_categories'), /no header field can tell/)
  t.throws(() => readConfig('proxy: { rules_body: { bytes: 2MiB } }', 'test.yaml', {}), /1:24: .*at most 1MiB/)
  t.match(faults('cf.bot_management.score', 'x y'), /must be the name of a header field/)
  t.end()
})

const LOCAL: LocalEnd = { localAddress: '::ffff:192.0.2.80', localPort: 8080 }

/** An exchange as the proxy makes it. */
function exchangeOf({
  address = '198.51.100.7',
  headers = [],
  local = LOCAL,
  members = '',
  metadata,
  method = 'POST',
}: {
  address?: string
  headers?: readonly string[]
  local?: LocalEnd
  members?: string
  metadata?: Record<string, string>
  method?: string
} = {}): Exchange {
  const zone = testZone('http://127.0.0.1:1', members)
  const custom = metadata && { id: 'c', hostname: 'a.test', zoneId: zone.id, metadata }
  return new Exchange({
    rayId: '0123456789abcdef',
    clientAddress: address,
    scheme: 'http',
    served: { zone, host: 'example.test', custom },
    method,
    target: '/',
    httpVersion: '1.1',
    rawHeaders: headers,
    headers: [...headers],
    local,
    vouched: undefined,
    startedAt: 1_700_000_000_123,
    startedMonotonic: systemClock.monotonic(),
  })
}

const PARTS = { clock: systemClock, geo: new Geo() }

t.test('what the proxy knows besides the request', (t) => {
  const of = (exchange: Exchange, name: string) => read(fieldContext(exchange, PARTS), name)
  t.equal(of(exchangeOf(), 'http.request.timestamp.sec'), 1_700_000_000)
  t.equal(of(exchangeOf(), 'http.request.timestamp.msec'), 123)
  t.equal(of(exchangeOf({ method: 'pOst' }), 'http.request.method'), 'POST')
  t.equal(of(exchangeOf(), 'cf.edge.server_ip'), '192.0.2.80')
  t.equal(of(exchangeOf(), 'cf.edge.server_port'), 8080)
  t.equal(of(exchangeOf({ local: {} }), 'cf.edge.server_ip'), undefined)
  t.equal(of(exchangeOf({ address: 'fe80::1%eth0' }), 'ip.src'), 'fe80::1')
  t.equal(of(exchangeOf({ address: '' }), 'ip.src'), undefined)
  const plans: [plan: string, value: string][] = [
    ['free', 'FREE'],
    ['pro', 'PRO'],
    ['business', 'BIZ'],
    ['enterprise', 'ENT'],
  ]
  for (const [plan, value] of plans) t.equal(of(exchangeOf({ members: `plan: ${plan}` }), 'cf.zone.plan'), value)

  const custom = exchangeOf({ metadata: { content_converter: 'enabled', name: 'Zoë' } })
  t.equal(of(custom, 'cf.hostname.metadata'), bytes('{"content_converter":"enabled","name":"Zoë"}'))
  const test = compile(parse('lookup_json_string(cf.hostname.metadata, "content_converter") eq "enabled"'))
  t.equal(test(fieldContext(custom, PARTS)), true)
  t.equal(test(fieldContext(exchangeOf(), PARTS)), false)
  t.end()
})

t.test('the fields of an answer', (t) => {
  const exchange = exchangeOf()
  const context = fieldContext(exchange, PARTS)
  t.equal(read(context, 'http.response.code'), undefined)
  exchange.originSentAt = exchange.startedMonotonic + 5
  exchange.originAt = exchange.startedMonotonic + 47.4
  exchange.answer = {
    status: 404,
    headers: ['Content-Type', 'Text/HTML ; charset=utf-8', 'Set-Cookie', 'a=1', 'set-cookie', 'b=2', 'X-Added', 'é'],
    originHeaders: ['X-Origin', '1'],
  }
  t.equal(read(context, 'http.response.code'), undefined, 'a value stays within a phase')
  context.forget(ANSWER_SLOTS)
  const values: [name: string, value: unknown][] = [
    ['http.response.code', 404],
    [
      'http.response.headers',
      { 'content-type': ['Text/HTML ; charset=utf-8'], 'set-cookie': ['a=1', 'b=2'], 'x-added': ['é'] },
    ],
    ['http.response.headers.names', ['Content-Type', 'Set-Cookie', 'set-cookie', 'X-Added']],
    ['http.response.headers.values', ['Text/HTML ; charset=utf-8', 'a=1', 'b=2', 'é']],
    ['http.response.content_type.media_type', 'text/html'],
    ['raw.http.response.headers', { 'x-origin': ['1'] }],
    ['raw.http.response.headers.names', ['X-Origin']],
    ['raw.http.response.headers.values', ['1']],
    ['cf.timings.origin_ttfb_msec', 42],
    ['cf.response.1xxx_code', 0],
    ['cf.response.error_type', ''],
  ]
  for (const [name, value] of values) t.strictSame(read(context, name), value, name)

  exchange.answer = { status: 403, headers: [], originHeaders: undefined }
  exchange.edgeError = { type: 'waf', code: 1020 }
  context.forget(ANSWER_SLOTS)
  t.equal(read(context, 'http.response.code'), 403)
  t.equal(read(context, 'http.response.content_type.media_type'), '')
  t.equal(read(context, 'raw.http.response.headers'), undefined)
  t.equal(read(context, 'cf.response.1xxx_code'), 1020)
  t.equal(read(context, 'cf.response.error_type'), 'waf')
  t.end()
})

t.test('rewrites show in the next phase, and never in raw fields', (t) => {
  const exchange = exchangeOf({ headers: ['User-Agent', 'a', 'Host', 'example.test'] })
  const context = fieldContext(exchange, PARTS)
  const uri = () => read(context, URI)
  t.equal(uri(), '/')
  exchange.target = '/new.JS?a=1'
  exchange.clientHeaders = ['User-Agent', 'b']
  t.equal(uri(), '/', 'not within the phase')
  context.forget(REWRITTEN_SLOTS)
  const values: [name: string, value: unknown][] = [
    [URI, '/new.JS?a=1'],
    [`${URI}.path`, '/new.JS'],
    [`${URI}.path.extension`, 'js'],
    [`${URI}.query`, 'a=1'],
    [`${URI}.args`, { a: ['1'] }],
    ['http.request.full_uri', 'http://example.test/new.JS?a=1'],
    [`raw.${URI}`, '/'],
    [`raw.${URI}.args`, {}],
    ['raw.http.request.full_uri', 'http://example.test/'],
    [HEADERS, { 'user-agent': ['b'] }],
    [`${HEADERS}.names`, ['User-Agent']],
    // Not among the fields that rules may change.
    ['http.user_agent', 'a'],
    ['http.host', 'example.test'],
  ]
  for (const [name, value] of values) t.strictSame(read(context, name), value, name)
  t.end()
})

t.test('rules read what score rules have added up', (t) => {
  const exchange = exchangeOf()
  const context = fieldContext(exchange, PARTS)
  const [high, low] = [compile(parse('cf.waf.score ge 25')), compile(parse('cf.waf.score lt 25'))]
  t.strictSame([high(context), low(context)], [false, false], 'neither while nothing is added')
  exchange.score = 20
  context.forget(SCORE_SLOTS)
  t.strictSame([high(context), low(context)], [false, true])
  exchange.score += 5
  context.forget(SCORE_SLOTS)
  t.strictSame([high(context), low(context)], [true, false])
  t.end()
})

/** Fields that are always missing here, unless a trusted proxy tells them, and why. */
const ABSENT: [pattern: RegExp, why: string][] = [
  [/^cf\.(bot_management|api_gateway|schema_validation|llm)\./, 'detected by services that are not here'],
  [/^cf\.(client\.bot|verified_bot_category)$/, 'detected by services that are not here'],
  [/^cf\.waf\.(?!score$)/, 'detected by services that are not here'],
  [/^http\.request\.jwt\.claims/, 'there are no token configurations'],
  [/^cf\.tls_(?!client_auth)/, 'the proxy speaks plain HTTP'],
  [/^cf\.timings\.client_tcp_rtt_msec$/, 'the runtime does not tell'],
  [/^cf\.(colo\.id|unique_visitor_id)$/, 'for rate limits only, not for expressions'],
  [/^(true|false)$/, 'constants of the language'],
]

t.test('every documented field is known, or absent for a reason', (t) => {
  const { fields } = JSON.parse(readFileSync('test/fixtures/fields.json', 'utf8')) as {
    fields: Record<string, { alias_of?: string }>
  }
  const known = new Set([...OWN_FIELDS, 'cf.waf.score'])
  for (const [name, { alias_of: alias }] of Object.entries(fields)) {
    const absent = ABSENT.some(([pattern]) => pattern.test(name))
    t.equal(known.has(alias ?? name), !absent, name)
    if (/^cf\.(colo|unique)/.test(name)) continue
    const context = fieldContext(exchangeOf(), PARTS)
    const { type } = SCHEME.field(name)!
    const value = context.get(SCHEME.field(name)!.index)
    if (absent && type.kind !== 'Bool') t.equal(value, undefined, name)
  }
  for (const name of [...known, ...VOUCHABLE]) t.ok(name in fields, name)
  t.equal(FIELD_GETTERS.scheme, SCHEME)
  t.end()
})

t.test('a body is needed where an expression reads it', (t) => {
  const needed = (text: string) => needsBody(parse(text).uses)
  t.equal(needed('ssl and http.request.uri.path eq "/"'), false)
  t.equal(needed('http.request.body.size gt 5'), true)
  t.equal(needed('any(http.request.body.multipart.filenames[*][*] == "x")'), true)
  t.equal(needed('not ssl or lookup_json_string(http.request.body.raw, "a") eq "b"'), true)
  t.equal(needed('any(url_decode(http.request.body.form["a"][*])[*] contains "<")'), true)
  t.end()
})

const CITY = {
  city: { names: { en: 'Zürich', de: 'Zürich' } },
  continent: { code: 'EU' },
  country: { iso_code: 'CH' },
  location: { latitude: 47.3667, longitude: 8.55, time_zone: 'Europe/Zurich', metro_code: 501 },
  postal: { code: '8001' },
  subdivisions: [
    { iso_code: 'ZH', names: { en: 'Zurich' } },
    { iso_code: '112', names: { en: 'District' } },
  ],
}

t.test('where a client is, from databases', async (t) => {
  const folder = t.testdir()
  const write = (name: string, content: Buffer | string) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const city_file = write(
    'city.mmdb',
    mmdb({
      '198.51.100.0/24': CITY,
      '203.0.113.0/24': { country: { iso_code: 'DE' }, location: { latitude: -33.5, longitude: -70 } },
      '2001:db8::/32': { country: { iso_code: 'GB' }, subdivisions: [{ iso_code: 'ENG' }] },
    }),
  )
  const asn_file = write('asn.mmdb', mmdb({ '198.51.100.0/25': { autonomous_system_number: 64_500 } }))
  const geo = new Geo(await readDatabases({ city_file, asn_file }))
  const of = (address: string, name: string) => read(fieldContext(exchangeOf({ address }), { ...PARTS, geo }), name)
  const rows: [address: string, fields: Record<string, unknown>][] = [
    [
      '198.51.100.7',
      {
        'ip.src.country': 'CH',
        'ip.geoip.country': 'CH',
        'ip.src.continent': 'EU',
        'ip.src.is_in_european_union': false,
        'ip.src.city': bytes('Zürich'),
        'ip.src.postal_code': '8001',
        'ip.src.metro_code': '501',
        'ip.src.lat': '47.3667',
        'ip.src.lon': '8.55',
        'ip.src.timezone.name': 'Europe/Zurich',
        'ip.src.region': 'Zurich',
        'ip.src.region_code': 'ZH',
        'ip.src.subdivision_1_iso_code': 'CH-ZH',
        'ip.src.subdivision_2_iso_code': 'CH-112',
        'ip.src.asnum': 64_500,
        'ip.geoip.asnum': 64_500,
      },
    ],
    [
      '203.0.113.200',
      {
        'ip.src.country': 'DE',
        'ip.src.is_in_european_union': true,
        'ip.src.lat': '-33.5',
        'ip.src.lon': '-70',
        'ip.src.city': undefined,
        'ip.src.subdivision_1_iso_code': '',
        'ip.src.asnum': undefined,
      },
    ],
    [
      '2001:db8:1::1',
      {
        'ip.src.country': 'GB',
        'ip.src.subdivision_1_iso_code': 'GB-ENG',
        'ip.src.subdivision_2_iso_code': '',
        'ip.src.is_in_european_union': false,
      },
    ],
    [
      '192.0.2.1',
      { 'ip.src.country': undefined, 'ip.src.is_in_european_union': false, 'ip.src.subdivision_1_iso_code': '' },
    ],
    ['198.51.100.200', { 'ip.src.country': 'CH', 'ip.src.asnum': undefined }],
  ]
  for (const [address, fields] of rows)
    for (const [name, value] of Object.entries(fields)) t.strictSame(of(address, name), value, `${address}: ${name}`)

  t.test('a database of IPv4 addresses knows no IPv6 address', async (t) => {
    const file = write('v4.mmdb', mmdb({ '0.0.0.0/1': CITY, '128.0.0.0/1': CITY }, { ipVersion: 4 }))
    geo.use(await readDatabases({ country_file: file }))
    t.equal(of('198.51.100.7', 'ip.src.country'), 'CH')
    t.equal(of('2001:db8::1', 'ip.src.country'), undefined)
  })

  t.test('a file that is no database is refused by name', async (t) => {
    for (const [name, content] of [
      ['text.mmdb', 'no database'],
      ['empty.mmdb', ''],
      ['cut.mmdb', mmdb({ '198.51.100.0/24': CITY }).subarray(200)],
    ] as const) {
      await t.rejects(readDatabases({ city_file: write(name, content) }), {
        message: new RegExp(`${name} cannot be read`),
      })
    }
    await t.rejects(readDatabases({ asn_file: join(folder, 'none.mmdb') }), /none.mmdb cannot be read.*ENOENT/)
  })

  t.test('another configuration takes the place of what was known', async (t) => {
    const city_file = write('new.mmdb', mmdb({ '198.51.100.0/24': { country: { iso_code: 'FR' } } }))
    geo.use(await readDatabases({ city_file }))
    t.equal(of('198.51.100.7', 'ip.src.country'), 'FR')
    geo.use(await readDatabases({}))
    t.equal(of('198.51.100.7', 'ip.src.country'), undefined)
  })
})
