import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import {
  check,
  compile,
  ExprError,
  FIELDS,
  formatIp,
  FUNCTIONS,
  Getters,
  lintRules,
  parse,
  parseIp,
  parseType,
  parseValue,
  SCHEME,
} from '../../src/expr/index.js'
import { checkExpression, evaluateExpression } from '../../src/commands/expressions.js'
import { filter } from '../conformance/filter.js'

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))
const json = (name: string): unknown => JSON.parse(readFileSync(fixture(name), 'utf8'))

const valueFaultOf = (text: string): ExprError => {
  try {
    parseValue(text)
  } catch (error) {
    if (error instanceof ExprError) return error
    throw error
  }
  throw new Error(`${text} is a value`)
}

const faultOf = (text: string, options = {}): ExprError => {
  try {
    parse(text, options)
  } catch (error) {
    if (error instanceof ExprError) return error
    throw error
  }
  throw new Error(`${text} parses`)
}

t.test('every case has the outcome, or the error and its position, of the reference engine', async (t) => {
  let count = 0
  for (const { name, expected, got } of await filter.cases(fixture('filter-cases.json'))) {
    const found = got()
    count++
    if (!isDeepStrictEqual(found, expected)) t.same(found, expected, name)
  }
  t.ok(count > 1900, `${count} cases`)
})

t.test('every documented field has its type, phases and relations', async (t) => {
  interface Row {
    type: string
    group: string
    mutable?: boolean
    deprecated?: boolean
    alias_of?: string
    raw_of?: string
    phases?: string[]
  }
  const { fields } = json('fields.json') as { fields: Record<string, Row> }
  const known = new Map(FIELDS.map((field) => [field.name, field]))
  for (const [name, row] of Object.entries(fields)) {
    const field = known.get(name)
    if (field === undefined) {
      t.fail(`there is no field ${name}`)
      continue
    }
    const reported = {
      type: field.type,
      group: field.group,
      mutable: field.mutable,
      deprecated: field.deprecated,
      aliasOf: field.aliasOf,
      rawOf: field.rawOf,
    }
    const documented = {
      type: parseType(row.type),
      group: row.group,
      mutable: row.mutable,
      deprecated: row.deprecated,
      aliasOf: row.alias_of,
      rawOf: row.raw_of,
    }
    t.same(reported, documented, field.name)
    if (row.phases !== undefined) t.same(field.phases, row.phases, `phases of ${field.name}`)
  }
})

t.test('every documented function exists with its parameters', async (t) => {
  interface Row {
    parse?: string
    params: { kind: string; optional?: boolean; repeat?: boolean; min?: number }[]
    value_only?: boolean
  }
  const { functions } = json('functions.json') as { functions: Record<string, Row> }
  const documented = Object.entries(functions).filter(([, { parse: how }]) => how !== 'operator')
  const known = new Set(FUNCTIONS.map(({ name }) => name))
  t.same(
    documented.filter(([name]) => !known.has(name)).map(([name]) => name),
    [],
  )
  for (const [name, { params, value_only: valueOnly }] of documented) {
    const definition = SCHEME.functions.get(name)
    t.same(
      [...(definition?.params ?? []), ...(definition?.optional ?? [])].map(({ kind }) => kind),
      params.map(({ kind }) => kind),
      name,
    )
    t.equal(definition?.optional.length, params.filter(({ optional }) => optional).length, `optional of ${name}`)
    t.equal(definition?.rest !== undefined, params.at(-1)?.repeat === true, `${name} repeats its last parameter`)
    t.equal(definition?.valueOnly === true, valueOnly === true, `${name} in filters`)
  }
})

t.test('an error shows the line with carets under the error, and counts bytes', async (t) => {
  const error = faultOf('http.host eq "ü"\n  and http.hoost eq "ü"')
  t.equal(error.message, 'Filter parsing error (2:7):\n  and http.hoost eq "ü"\n      ^^^^^^^^^^ unknown identifier')
  t.match(error, { class: 'UnknownIdentifier', line: 2, column: 7, length: 10 })

  const after = faultOf('http.host eq "üü" and nope')
  t.match(after, { line: 1, column: 25, length: 4 }, 'two bytes more than characters')
  t.equal(after.message.split('\n')[2], `${' '.repeat(22)}^^^^ unknown identifier`)
})

t.test('a value expression that ends in [*] has the wrong type', async (t) => {
  t.match(valueFaultOf('http.request.cookies[*]'), { class: 'TypeMismatch', column: 1, length: 23 })
  t.match(valueFaultOf('http.request.headers["a"][*]'), { class: 'TypeMismatch', reason: /got Array<Bytes>/ })
})

t.test('errors for exceeded limits contain the number', async (t) => {
  t.match(faultOf(`http.host eq "${'a'.repeat(4096)}"`), {
    class: 'ExpressionTooLong',
    reason: /4096 characters, found 4111/,
  })
  t.ok(parse(`http.host eq "${'ü'.repeat(4081)}"`), 'characters are counted, not bytes')
  t.match(faultOf(`${'('.repeat(2000)}ssl`), { class: 'NestingLimitExceeded', column: 129 })
  t.match(faultOf(`${'not '.repeat(1000)}ssl`), { class: 'NestingLimitExceeded' })
  t.match(faultOf(`${'lower('.repeat(600)}http.host`), { class: 'NestingLimitExceeded' })
  t.match(faultOf(`${'any('.repeat(600)}ssl`), { class: 'NestingLimitExceeded' })
  const many = (count: number) => Array.from({ length: count }, () => 'http.host ~ "a"').join(' or ')
  t.ok(parse(many(64)))
  t.match(faultOf(many(65)), { class: 'TooManyRegexes' })
  t.match(faultOf('http.host ~ "(?:a{1000}){1000}"'), {
    class: 'ParseRegex',
    reason: 'error: compiled pattern has 1000000 steps, 20000 are allowed, at byte 12 of the pattern',
  })
})

t.test('any text parses or is rejected with a position inside of it, fast', async () => {
  // Words separated by one space; the space itself, tab and line feed are added below.
  const pieces =
    `http.host ip.src ssl tcp.port cf.threat_score http.request.headers ["a"] [*] [0] lower( any( all( concat(
    ( ) , and or xor not ! && == in { } "a" r#"a"# " \\ 10 0x1f 10.0.0.0/8 ::1 $list ~ "[a-z" wildcard * \u00fc contains
    matches r" .. - true starts_with( 9223372036854775808`
      .split(/\s+/)
      .concat(' ', '\t', '\n', '\0')
  const text = fc.oneof(
    fc.array(fc.constantFrom(...pieces), { maxLength: 40 }).map((list) => list.join(' ')),
    fc.array(fc.constantFrom(...pieces), { maxLength: 40 }).map((list) => list.join('')),
    fc.string({ unit: 'binary', maxLength: 200 }),
  )
  fc.assert(
    fc.property(text, (expression) => {
      const { error } = check(expression)
      if (error === undefined) return
      const lines = Buffer.from(expression).toString('latin1').split('\n')
      const line = lines[error.line - 1]
      if (line === undefined || error.column < 1 || error.column > line.length + 1 || error.length < 0) {
        throw new Error(`${error.line}:${error.column} is not inside`)
      }
    }),
    { numRuns: 1500 },
  )
  // White space inside: trimmed at both ends, each took thirty milliseconds.
  for (let i = 0; i < 500; i++) t.equal(parse(`\t ssl${' '.repeat(4000)}and ssl\u2003\t`).root.kind, 'and')
  // Shapes that take too long, or too much stack, if parsing is not linear.
  const long = (piece: string) => piece.repeat(Math.floor(4096 / piece.length))
  for (const piece of [
    '(',
    '!',
    'not ',
    'a.',
    'any(',
    'ssl or ',
    '"\\',
    '[*]',
    'lower(',
    'decode_base64(',
    'ssl xor (',
    '{',
    'a',
  ]) {
    check(long(piece))
    check(`ssl and ${long(piece).slice(0, 4000)}`)
    check(`http.host ~ r"${long(piece).slice(0, 4000)}"`)
  }
  check(`http.host in {${'"a" '.repeat(1000)}}`)
  check(`cf.threat_score in {${'1..2 '.repeat(800)}}`)
})

t.test('a rule may use the fields and functions of its phase', async (t) => {
  const cases: [text: string, place: { phase: string; member?: string }, refused: RegExp | undefined][] = [
    ['http.response.code eq 200', { phase: 'http_request_firewall_custom' }, /http.response.code is not available in/],
    ['http.response.code eq 200', { phase: 'http_response_headers_transform' }, undefined],
    ['http.response.code eq 200', { phase: 'http_ratelimit' }, /is not available in http_ratelimit/],
    ['http.response.code eq 200', { phase: 'http_ratelimit', member: 'counting_expression' }, undefined],
    ['cf.response.1xxx_code eq 0', { phase: 'http_response_compression' }, /is not available/],
    ['cidr(ip.src, 24, 24) eq 10.0.0.0', { phase: 'http_ratelimit' }, undefined],
    ['cidr(ip.src, 24, 24) eq 10.0.0.0', { phase: 'http_config_settings' }, /cidr is not available/],
    ['cidr(ip.src, 33, 24) eq 10.0.0.0', { phase: 'http_ratelimit' }, /between 1 and 32, found 33/],
    ['url_decode(http.host, "x") eq "a"', { phase: 'http_ratelimit' }, /flags are r, u/],
    [
      'to_string(cf.threat_score) eq "1"',
      { phase: 'http_request_transform' },
      /is allowed in the value of an action only/,
    ],
    ['ssl', { phase: 'anything' }, undefined],
  ]
  for (const [text, place, refused] of cases) {
    if (refused === undefined) t.ok(parse(text, place), `${text} in ${JSON.stringify(place)}`)
    else t.match(faultOf(text, place).reason, refused)
  }
  t.ok(parseValue('to_string(cf.threat_score)', { phase: 'http_request_transform' }))
  t.throws(
    () =>
      parseValue('concat(regex_replace(http.host, "a", "b"), wildcard_replace(http.host, "*", "b"))', {
        phase: 'http_request_transform',
      }),
    /at most one regex_replace or wildcard_replace/,
  )
  t.throws(
    () => parseValue('regex_replace(http.host, "(", "b")', { phase: 'http_request_transform' }),
    /unclosed group/,
  )
})

t.test('a context reads a field once, on first use, and again after forget', async (t) => {
  const reads: string[] = []
  const getters = new Getters<{ host: string }>(SCHEME, {
    'http.host': ({ host }) => {
      reads.push('host')
      return host
    },
    'ip.src.country': () => 'DE',
  })
  const source = { host: 'a' }
  const context = getters.context(source)
  const rule = compile(parse('http.host eq "a" and http.host ne "b" and ip.geoip.country eq "DE" and true'))
  t.same(reads, [])
  t.ok(rule(context))
  t.ok(rule(context))
  t.same(reads, ['host'])
  source.host = 'c'
  t.ok(rule(context), 'frozen')
  context.forget([SCHEME.field('http.host')?.index ?? -1])
  t.notOk(rule(context))
  t.throws(() => new Getters(SCHEME, { nope: () => 1 }), /unknown field nope/)
})

t.test('addresses are parsed and formatted in the usual form', async (t) => {
  for (const text of [
    '1.2.3.4',
    '255.255.255.255',
    '::',
    '::1',
    '2001:db8::1',
    '1:2:3:4:5:6:7:8',
    '::ffff:1.2.3.4',
    '1::8',
  ]) {
    t.equal(formatIp(parseIp(text) as string), text)
  }
  t.equal(formatIp(parseIp('1:0:0:2:0:0:0:3') as string), '1:0:0:2::3')
  for (const text of [
    '',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '256.1.1.1',
    '1..2.3',
    '1.2.3.',
    ':::',
    '1:2',
    'g::',
    '::1%eth0',
    '[::1]',
    '1::2::3',
    '1.2.3.4:80',
    '::1.2.3',
    '12345::',
  ]) {
    t.equal(parseIp(text), undefined, text)
  }
})

t.test('doubtful expressions get hints', async (t) => {
  const cases: [text: string, message: RegExp][] = [
    ['ssl or ssl and http.host eq "a"', /and binds tighter than or/],
    ['http.request.headers["Accept"][0] eq "a"', /\["accept"\] may be/],
    ['http.request.method eq "get"', /methods are in upper case/],
    ['ip.src.country in {"de"}', /codes are in upper case/],
    ['http.host in {}', /always false/],
    ['http.host in {"a" "b" "a"}', /"a" is in the set twice/],
    ['cf.threat_score in {1..5 5..9}', /overlap/],
    ['ip.src in {10.0.0.0/8 10.1.0.0/16}', /overlap/],
    ['lower(http.host) eq "A"', /lower\(...\) never gives "A"/],
    ['http.host contains "^a"', /only matches reads a pattern/],
    ['ip.geoip.country eq "DE"', /deprecated: use ip.src.country/],
    ['all(http.request.headers.values[*] eq "a")', /true if no element exists/],
    ['cidr(ip.src, 0, 24) eq 10.0.0.0', /will be refused in a rule/],
  ]
  for (const [text, message] of cases) t.match(check(text).lints[0]?.message, message, text)
  t.same(check('ssl or (ssl and http.host eq "a")').lints, [])
  const rule = (text: string, terminating: boolean) => ({ expression: parse(text), terminating })
  t.same(lintRules([rule('true', false), rule('ssl', true), rule('ssl or true', true), rule('ssl', false)]), [
    { hidden: 3, hider: 2 },
  ])
})

/** Mistakes of newcomers. */
const ADVICE: readonly (readonly [text: string, advice: string | RegExp])[] = [
  ['', 'write a condition, or true for every request'],
  ['http.host eq', 'a value is missing at the end'],
  ['http.host eq "a" &&', 'a condition is missing at the end'],
  ['http.host == a', 'write texts in double quotes: "a"'],
  ["http.host eq 'abc'", 'write texts in double quotes: "abc"'],
  ['http.host eq "ü" and ip.src eq "1.2.3.4"', 'write addresses without quotes'],
  ['ip.src eq 10.0.0.0/8', 'write a network as a set: in {10.0.0.0/8}'],
  ['http.response.code gt "5"', 'write numbers without quotes'],
  ['ssl andd ssl', 'did you mean and?'],
  ['ssl or or ssl', 'a condition is missing before or'],
  ['(ssl and ssl', 'a closing parenthesis is missing'],
  ['http.host eq "a" & ssl', 'conditions are joined by and, or, xor'],
  ['ssl == "on"', 'write ssl, or not ssl'],
  ['lower(http.host)', /^compare it with eq, ne/],
  ['http.host = "x"', 'in place of = write eq or =='],
  ['http.request.uri.path startswith "/a"', 'in place of startswith write starts_with(FIELD, "...")'],
  ['any(http.request.headers["a"] eq "b")', 'compare its items: any(http.request.headers["a"][*] eq "...")'],
  ['http.host in ("a")', 'write a set: in {VALUE VALUE}, or a list: in $NAME'],
  ['http.host in {"a", "b"}', 'values of a set have spaces between them, without commas'],
  ['http.request.uri.query["a"] eq "x"', 'its parts are in http.request.uri.args["NAME"][0]'],
]

t.test('edged expr shows where an expression is wrong, and its result for a request', async (t) => {
  t.same(checkExpression('ssl'), { output: 'ok\n', exitCode: 0 })
  t.same(checkExpression('http.hoost eq "x"'), {
    output: 'Filter parsing error (1:1):\nhttp.hoost eq "x"\n^^^^^^^^^^ unknown identifier\ndid you mean http.host?\n',
    exitCode: 2,
  })
  t.match(checkExpression('lowr(http.host) eq "a"').output, /\ndid you mean lower\?\n$/)
  t.match(checkExpression('nothing.like.it eq 1').output, /unknown identifier\n$/)
  for (const [text, advice] of ADVICE) t.match(checkExpression(text).output.split('\n').at(-2), advice, text)
  t.match(checkExpression('http.request.method eq "get"').output, /^ok\nhint: methods are in upper case/)
  t.equal(checkExpression('http.response.code eq 200', { phase: 'http_request_transform' }).exitCode, 2)
  const reported = JSON.parse(checkExpression('ssl and', { json: true }).output) as unknown
  t.match(reported, { valid: false, error: { class: 'ExpectedName', line: 1, column: 8, length: 1 } })

  const request = {
    method: 'POST',
    url: 'https://www.example.com/a/b.TXT?x=1&y&x=%20',
    headers: { 'User-Agent': 'curl/8', Accept: ['text/html', '*/*'], Cookie: 'a%20b=1; c=2; a%20b=3' },
    ip: '2001:db8::1',
    body: 'p=1&q=2',
    'ip.src.country': 'DE',
  }
  const outputs: [text: string, output: unknown][] = [
    ['http.host eq "www.example.com" and ssl and ip.src in {2001:db8::/32} and ip.geoip.country eq "DE"', true],
    ['http.request.method eq "GET"', false],
    ['http.request.full_uri', 'https://www.example.com/a/b.TXT?x=1&y&x=%20'],
    ['http.request.uri', '/a/b.TXT?x=1&y&x=%20'],
    ['raw.http.request.uri.path', '/a/b.TXT'],
    ['http.request.uri.path.extension', 'txt'],
    ['http.request.uri.query', 'x=1&y&x=%20'],
    ['http.request.uri.args', { x: ['1', '%20'], y: [''] }],
    ['http.request.uri.args.names', ['x', 'y', 'x']],
    ['http.request.uri.args.values', ['1', '', '%20']],
    [
      'http.request.headers',
      { 'user-agent': ['curl/8'], accept: ['text/html', '*/*'], cookie: ['a%20b=1; c=2; a%20b=3'] },
    ],
    ['http.request.headers.names', ['User-Agent', 'Accept', 'Accept', 'Cookie']],
    ['http.request.cookies', { 'a b': ['1', '3'], c: ['2'] }],
    ['http.user_agent', 'curl/8'],
    ['http.referer', ''],
    ['http.request.body.size', 7],
    ['http.request.body.form.names', []],
    ['ip.src', '2001:db8::1'],
    ['http.response.code', null],
  ]
  for (const [text, output] of outputs) {
    const found = evaluateExpression(text, request)
    t.same([found.exitCode, JSON.parse(found.output) as unknown], [0, output], text)
  }
  const form = { body: 'p=1&q=2', headers: [['Content-Type', 'application/x-www-form-urlencoded; charset=utf-8']] }
  t.equal(evaluateExpression('http.request.body.form["q"][0]', form).output, '"2"\n')
  const multipart = {
    headers: { 'Content-Type': 'multipart/form-data; boundary="x y"' },
    body: [
      'preamble',
      '--x y',
      'Content-Disposition: form-data; name="a"',
      '',
      'one\r\ntwo',
      '--x y',
      'content-disposition: form-data; name=b; filename="b\\".png"; filename=voil\u00e0',
      'Content-Type: image/png',
      'Content-Transfer-Encoding: binary',
      '',
      'PNG',
      '--x y--',
      'name="c"',
    ].join('\r\n'),
  }
  for (const [field, output] of Object.entries({
    multipart: { a: ['one\r\ntwo'], b: ['PNG'] },
    'multipart.names': [['a'], ['b']],
    'multipart.values': ['one\r\ntwo', 'PNG'],
    'multipart.content_types': [[], ['image/png']],
    'multipart.content_dispositions': [
      ['form-data; name="a"'],
      ['form-data; name=b; filename="b\\".png"; filename=voil\u00e0'],
    ],
    'multipart.content_transfer_encodings': [[], ['binary']],
    'multipart.filenames': [[], ['b".png', 'voil\u00e0']],
    mime: '',
  })) {
    t.same(JSON.parse(evaluateExpression(`http.request.body.${field}`, multipart).output), output, field)
  }
  t.equal(evaluateExpression('http.request.body.mime', { body: '%PDF-1.7' }).output, '"application/pdf"\n')
  t.equal(evaluateExpression('http.host', { 'http.host': '\u00fc' }).output, '"\u00fc"\n')
  t.match(evaluateExpression('ssl', { 'http.hoost': 1 }), { output: /http.hoost is neither a field nor/, exitCode: 2 })
  t.match(evaluateExpression('ssl', { ssl: 1 }), { output: /ssl must be of type Bool/, exitCode: 2 })
  t.match(evaluateExpression('ssl and', {}), { output: /1:8/, exitCode: 2 })
  t.match(evaluateExpression('ssl', []), { exitCode: 2 })
})
