import t from 'tap'
import {
  bytesList,
  compile,
  compileValue,
  contextOf,
  hostnameList,
  intList,
  ipList,
  parse,
  parseIp,
  parseValue,
  SCHEME,
  type Value,
} from '../../src/expr/index.js'

const matches = (text: string, values: Record<string, Value>, lists?: Parameters<typeof compile>[1]): boolean =>
  compile(parse(text), lists)(contextOf(SCHEME, new Map(Object.entries(values))))

const valueOf = (text: string, values: Record<string, Value> = {}): Value | undefined =>
  compileValue(parseValue(text))(contextOf(SCHEME, new Map(Object.entries(values))))

t.test('functions beyond the documented examples', async (t) => {
  const cases: [text: string, values: Record<string, Value>, expected: Value | undefined][] = [
    ['url_decode(http.host, "r")', { 'http.host': '%252525252f%2B' }, '/ '],
    ['url_decode(http.host)', { 'http.host': '%zz%2' }, '%zz%2'],
    ['url_decode(http.host, "ur")', { 'http.host': '%uD83D%uDE00' }, '\u00f0\u009f\u0098\u0080'],
    ['url_decode(http.host, "u")', { 'http.host': '%uD83D%uDE00' }, '\u00f0\u009f\u0098\u0080'],
    ['decode_base64(http.host)', { 'http.host': 'YWI' }, 'ab'],
    ['decode_base64(http.host)', { 'http.host': 'a' }, undefined],
    ['decode_base64(http.host)', { 'http.host': 'a*' }, undefined],
    ['encode_base64(http.host, "u")', { 'http.host': '\u00fb\u00ff' }, '-_8'],
    ['len(sha256("a"))', {}, 32],
    ['cidr(ip.src, 8, 64)', { 'ip.src': parseIp('10.1.2.3') as Value }, parseIp('10.0.0.0')],
    ['cidr6(ip.src, 33)', { 'ip.src': parseIp('2001:db8:ffff::1') as Value }, parseIp('2001:db8:8000::')],
    ['split(http.host, ",", 2)', { 'http.host': 'a,b,c' }, ['a', 'b,c']],
    ['split(http.host, ",", 128)', { 'http.host': '' }, ['']],
    ['join(http.request.headers.names, "-")', { 'http.request.headers.names': ['a', 'b'] }, 'a-b'],
    ['join(http.request.headers.names, "-")', { 'http.request.headers.names': [] }, ''],
    ['join(http.request.headers.names, "-")', {}, undefined],
    ['has_key(http.request.headers, "a")', {}, undefined],
    ['has_value(http.request.headers.names, "b")', { 'http.request.headers.names': ['a', 'b'] }, true],
    ['lookup_json_string(http.host, "a", 1)', { 'http.host': '{"a":["x","\\u00fc"]}' }, '\u00c3\u00bc'],
    ['lookup_json_string(http.host, "__proto__")', { 'http.host': '{}' }, undefined],
    ['lookup_json_string(http.host, "a")', { 'http.host': '{"a":' }, undefined],
    ['lookup_json_integer(http.host, "a")', { 'http.host': '{"a":4e1}' }, undefined],
    ['lookup_json_integer(http.host, "a")', { 'http.host': '{"b":"1.5","a":-7}' }, -7],
    ['remove_bytes(http.host, "a.")', { 'http.host': 'a.b.a' }, 'b'],
    ['remove_bytes(http.host, "\\xff\\x00")', { 'http.host': '\xff\xfe\x00\xff' }, '\xfe'],
    ['remove_bytes(http.host, "")', { 'http.host': '\xffa' }, '\xffa'],
    ['to_string(ip.src)', { 'ip.src': parseIp('2001:db8::1') as Value }, '2001:db8::1'],
    ['to_string(ssl)', { ssl: true }, 'true'],
    ['uuidv4(cf.random_seed)', { 'cf.random_seed': '\u0000'.repeat(20) }, '00000000-0000-4000-8000-000000000000'],
    ['uuidv4(cf.random_seed)', { 'cf.random_seed': 'short' }, undefined],
    ['bit_slice(http.host, 4, 12)', { 'http.host': '\u00ab\u00cd' }, 0xbc],
    ['bit_slice(http.host, 0, 33)', { 'http.host': 'aaaaaaaa' }, undefined],
    ['regex_replace(http.host, "(a)|(b)", "[${1}${2}${3}$$]")', { 'http.host': 'xba' }, 'x[b$]a'],
    ['regex_replace(http.host, "^(.*)-(.*)$", "${2}")', { 'http.host': 'a-b-c' }, 'c'],
    ['wildcard_replace(http.host, "*.a.*", "${2}/${1}")', { 'http.host': 'X.A.b.a.c' }, 'b.a.c/X'],
    ['remove_query_args(http.request.uri.query, "a")', { 'http.request.uri.query': 'a&aa=1&a=2' }, 'aa=1'],
    ['substring(http.host, -3, -1)', { 'http.host': 'abcdef' }, 'de'],
    ['concat(http.host, http.referer)', {}, undefined],
    ['concat(http.request.headers.names, http.request.headers.values)', { 'http.request.headers.names': ['a'] }, ['a']],
  ]
  for (const [text, values, expected] of cases) t.same(valueOf(text, values), expected, text)
  // A text that is encoded many times takes time linear in its length.
  t.equal(valueOf('url_decode(http.host, "r")', { 'http.host': `%${'25'.repeat(50_000)}41` }), 'A')
})

t.test('functions terminate on hostile texts', async (t) => {
  const body = (text: string, expression: string) => valueOf(expression, { 'http.request.body.raw': text })
  const raw = 'http.request.body.raw'
  t.equal(body(`{"a":"${'\\\\n'.repeat(500_000)}","v":7}`, `lookup_json_integer(${raw}, "v")`), 7)
  t.equal(body('['.repeat(500_000), `lookup_json_string(${raw}, "v")`), undefined)
  t.equal(body('%u00fc'.repeat(300_000), `len(url_decode(${raw}, "u"))`), 600_000)
  t.equal(body('%u00fc'.repeat(100_000), `len(url_decode(${raw}, "ur"))`), 200_000)
  t.equal(body(`${'a'.repeat(100_000)}b`, `regex_replace(${raw}, "(a+)+b", "x")`), 'x')
  t.equal(body('abc'.repeat(100_000), `wildcard_replace(${raw}, "*a*b*c*d", "x")`), 'abc'.repeat(100_000))
})

t.test('a timed HMAC is valid for its message, key and time only', async (t) => {
  const { createHmac } = await import('node:crypto')
  const mac = createHmac('sha256', 'key').update('/path1500000000').digest('base64')
  const signed = (separator: string, code: string) => `/path${separator}1500000000-${code}`
  const holds = (uri: string, now: number, more = ', 8') =>
    matches(`is_timed_hmac_valid_v0("key", http.request.uri, 100, http.request.timestamp.sec${more})`, {
      'http.request.uri': uri,
      'http.request.timestamp.sec': now,
    })
  t.ok(holds(signed('?verify=', encodeURIComponent(mac)), 1500000100))
  t.ok(holds(signed('?verify=', mac), 1500000000))
  t.notOk(holds(signed('?verify=', mac), 1500000101), 'too late')
  t.notOk(holds(signed('?verify=', mac).replace('path', 'math'), 1500000000))
  t.notOk(holds('/path', 1500000000))
  const safe = Buffer.from(mac, 'base64').toString('base64url')
  t.ok(holds(signed('?verify=', safe), 1500000000, ', 8, "s"'))
  t.notOk(holds(signed('?verify=', safe), 1500000000))
})

t.test('lists are looked up by name and type, and match as their type defines', async (t) => {
  const known = new Map([
    ['Ip office', ipList(['10.0.0.0/8', '2001:db8::/32', '192.0.2.1..192.0.2.9'])],
    ['Bytes hosts', hostnameList(['example.com', '*.Example.org'])],
    ['Bytes words', bytesList(['a'])],
    ['Int asns', intList([13335])],
  ])
  const lists = { get: (name: string, type: string) => known.get(`${type} ${name}`) }
  const ip = (text: string) => matches('ip.src in $office', { 'ip.src': parseIp(text) as Value }, lists)
  t.same(['10.2.3.4', '11.0.0.0', '2001:db8::9', '192.0.2.9', '192.0.2.10'].map(ip), [true, false, true, true, false])
  const host = (text: string) => matches('http.host in $hosts', { 'http.host': text }, lists)
  t.same(['EXAMPLE.com', 'a.example.com', 'a.b.example.org', 'example.org'].map(host), [true, false, true, false])
  t.ok(matches('ip.src.asnum in $asns', { 'ip.src.asnum': 13335 }, lists))
  t.notOk(matches('http.host in $office', { 'http.host': 'a' }, lists), 'a list of another type')
  t.same(parse('ip.src in $office').uses.lists, [{ name: 'office', type: 'Ip', span: { start: 0, end: 17 } }])
  t.throws(() => ipList(['10.0.0.1/8']), /10.0.0.1\/8: host part/)
})
