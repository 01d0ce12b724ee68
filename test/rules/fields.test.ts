import t from 'tap'
import { readConfig, type BadConfig } from '../../src/config/load.js'
import { sendRaw, startOrigin, startProxy } from '../helpers/proxy.js'
import { fieldsOf, get, HEADERS } from './fields-helper.js'
import { REQUESTS } from './request-fields.js'

t.test('the fields of requests', async (t) => {
  const ask = await fieldsOf(t)
  for (const [what, request, fields] of REQUESTS) {
    const found = await ask(request, Object.keys(fields))
    for (const [name, value] of Object.entries(fields)) t.strictSame(found[name], value, `${what}: ${name}`)
  }
})

t.test('fields that differ between requests', async (t) => {
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

t.test('client data that trusted proxies send', async (t) => {
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

t.test('fields that header fields of trusted proxies set', async (t) => {
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
    ['x-verified: yes', 'cf.bot_management.verified_bot', false],
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

t.test('header fields that only trusted proxies may send do not reach the origin from other clients', async (t) => {
  const seen: string[][] = []
  const origin = await startOrigin(t, (request, response) => {
    seen.push(request.rawHeaders.map((part) => part.toLowerCase()))
    response.end()
  })
  const yaml = '{ trusted_fields: { cf.bot_management.score: x-bot-score } }'
  const proxy = await startProxy(t, origin.url, { yaml })
  await sendRaw(proxy.port, get('/', 'X-Bot-Score: 1', 'x_bot_Score: 1', 'X-Other: 2'))
  t.notMatch(seen[0]?.join(), /x.bot.score/)
  t.ok(seen[0]?.includes('x-other'))
})

t.test('the configuration of fields is checked', (t) => {
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
