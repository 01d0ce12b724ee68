import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../src/core/clock.js'
import type { Exchange } from '../../src/edge/exchange/exchange.js'
import type { LocalEnd } from '../../src/rules/types.js'
import { Geo, readDatabases } from '../../src/edge/exchange/geo.js'
import {
  RESPONSE_SLOTS,
  FIELD_GETTERS,
  fieldContext,
  needsBody,
  OWN_FIELDS,
  REWRITTEN_SLOTS,
  SCORE_SLOTS,
} from '../../src/rules/fields/index.js'
import { VOUCHABLE } from '../../src/rules/fields/trusted.js'
import { compile, parse, SCHEME } from '../../src/expr/index.js'
import { testFolder } from '../helpers/folder.js'
import { mmdb } from '../helpers/mmdb.js'
import { testZone } from '../helpers/proxy.js'
import { arrived } from './exchange-helper.js'
import { read, bytes, URI, HEADERS } from './fields-helper.js'

const LOCAL: LocalEnd = { localAddress: '::ffff:192.0.2.80', localPort: 8080 }

/** Returns an exchange as the proxy creates it. */
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
  return arrived({
    clientAddress: address,
    served: { zone, host: 'example.test', custom },
    method,
    rawHeaders: headers,
    headers: [...headers],
    local,
    startedAt: 1_700_000_000_123,
    startedMonotonic: systemClock.monotonic(),
  })
}

const PARTS = { clock: systemClock, geo: new Geo() }

t.test('fields that the proxy adds to those of the request', (t) => {
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

t.test('the fields of a response', (t) => {
  const exchange = exchangeOf()
  const context = fieldContext(exchange, PARTS)
  t.equal(read(context, 'http.response.code'), undefined)
  exchange.origin.sentAt = exchange.startedMonotonic + 5
  exchange.origin.respondedAt = exchange.startedMonotonic + 47.4
  exchange.response = {
    status: 404,
    headers: ['Content-Type', 'Text/HTML ; charset=utf-8', 'Set-Cookie', 'a=1', 'set-cookie', 'b=2', 'X-Added', 'é'],
    originHeaders: ['X-Origin', '1'],
  }
  t.equal(read(context, 'http.response.code'), undefined, 'a value stays within a phase')
  context.forget(RESPONSE_SLOTS)
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

  exchange.response = { status: 403, headers: [], originHeaders: undefined }
  exchange.decisions.edgeError = { type: 'waf', code: 1020 }
  context.forget(RESPONSE_SLOTS)
  t.equal(read(context, 'http.response.code'), 403)
  t.equal(read(context, 'http.response.content_type.media_type'), '')
  t.equal(read(context, 'raw.http.response.headers'), undefined)
  t.equal(read(context, 'cf.response.1xxx_code'), 1020)
  t.equal(read(context, 'cf.response.error_type'), 'waf')
  t.end()
})

t.test('rewrites are visible in the next phase, and never in raw fields', (t) => {
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
    // Not a field that rules may change.
    ['http.user_agent', 'a'],
    ['http.host', 'example.test'],
  ]
  for (const [name, value] of values) t.strictSame(read(context, name), value, name)
  t.end()
})

t.test('rules read the total of score rules', (t) => {
  const exchange = exchangeOf()
  const context = fieldContext(exchange, PARTS)
  const [high, low] = [compile(parse('cf.waf.score ge 25')), compile(parse('cf.waf.score lt 25'))]
  t.strictSame([high(context), low(context)], [false, false], 'neither while nothing is added')
  exchange.decisions.score = 20
  context.forget(SCORE_SLOTS)
  t.strictSame([high(context), low(context)], [false, true])
  exchange.decisions.score += 5
  context.forget(SCORE_SLOTS)
  t.strictSame([high(context), low(context)], [true, false])
  t.end()
})

/** Fields that are always missing here, unless a trusted proxy sends them, and why. */
const ABSENT: [pattern: RegExp, why: string][] = [
  [/^cf\.bot_management\.(?!(?:verified_bot|signed_agent)$)/, 'detected by services that are not here'],
  [/^cf\.(api_gateway|schema_validation|llm)\./, 'detected by services that are not here'],
  [/^cf\.waf\.(?!score$)/, 'detected by services that are not here'],
  [/^http\.request\.jwt\.claims/, 'there are no token configurations'],
  [/^cf\.timings\.client_tcp_rtt_msec$/, 'the runtime does not tell'],
  [/^cf\.(colo\.id|unique_visitor_id)$/, 'for rate limits only, not for expressions'],
  [/^(true|false)$/, 'constants of the language'],
]

t.test('every documented field is known, or absent for a documented reason', (t) => {
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
  for (const name of [...known, ...VOUCHABLE]) t.ok(SCHEME.field(name), name)
  t.equal(FIELD_GETTERS.scheme, SCHEME)
  t.end()
})

t.test('a body is needed if an expression reads it', (t) => {
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

t.test('the location of a client, from databases', async (t) => {
  const folder = testFolder(t)
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

  t.test('a database of IPv4 addresses contains no IPv6 address', async (t) => {
    const file = write('v4.mmdb', mmdb({ '0.0.0.0/1': CITY, '128.0.0.0/1': CITY }, { ipVersion: 4 }))
    geo.use(await readDatabases({ country_file: file }))
    t.equal(of('198.51.100.7', 'ip.src.country'), 'CH')
    t.equal(of('2001:db8::1', 'ip.src.country'), undefined)
  })

  t.test('a file that is not a database is rejected by name', async (t) => {
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

  t.test('a new configuration replaces the previous databases', async (t) => {
    const city_file = write('new.mmdb', mmdb({ '198.51.100.0/24': { country: { iso_code: 'FR' } } }))
    geo.use(await readDatabases({ city_file }))
    t.equal(of('198.51.100.7', 'ip.src.country'), 'FR')
    geo.use(await readDatabases({}))
    t.equal(of('198.51.100.7', 'ip.src.country'), undefined)
  })
})
