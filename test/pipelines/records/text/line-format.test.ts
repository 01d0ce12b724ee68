import t from 'tap'
import { Output, storedDataset, UnfitRecord } from '../../../../pipelines/records/index.js'
import { lineFormat, type FormatChoice } from '../../../../pipelines/records/text/index.js'
import type { FieldType } from '../../../../pipelines/records/fields/dataset.js'
import type { InvalidInput } from '../../../../src/core/errors.js'

type Schema = Readonly<Record<string, FieldType>>

/** Returns the record of a line as JSON text, or the message if it does not match. */
function read(format: FormatChoice, line: string | Uint8Array, schema: Schema = {}, dataset = 'any'): string {
  const output = new Output()
  const before = Buffer.from('before "\n')
  const after = Buffer.from('\n"after" [')
  const bytes = Buffer.concat([before, Buffer.from(line), after])
  try {
    lineFormat(format, storedDataset(dataset)!, schema)!.write(
      bytes,
      before.length,
      bytes.length - after.length,
      output,
    )
    return Buffer.from(output.bytes.subarray(0, output.length)).toString()
  } catch (error) {
    if (!(error instanceof UnfitRecord)) throw error
    return error.message
  }
}
const record = (...given: Parameters<typeof read>) => JSON.parse(read(...given)) as Record<string, unknown>

const TIME = '[10/Oct/2000:13:55:36 -0700]'
const combined = (request: string, { user = '-', agent = 'a', status = '200', time = TIME } = {}) =>
  `192.0.2.1 - ${user} ${time} "${request}" ${status} 5 "-" "${agent}"`

t.test('a line of the combined format has all fields, with numbers, null for a dash and decoded escapes', async (t) => {
  const line = `192.0.2.1 - ada ${TIME} "GET /a\\x22b\\\\c?q=\\xC3\\xA9 HTTP/1.1" 200 2326 "https://example.com/" "Mozilla \\"x\\""`
  t.strictSame(record('combined', line), {
    remote_addr: '192.0.2.1',
    remote_user: 'ada',
    time: '2000-10-10T13:55:36-07:00',
    method: 'GET',
    target: '/a"b\\c?q=é',
    protocol: 'HTTP/1.1',
    status: 200,
    bytes: 2326,
    referer: 'https://example.com/',
    user_agent: 'Mozilla "x"',
  })
  t.strictSame(record('combined', `- - - ${TIME} "-" - - "-" "-"\r`), {
    remote_addr: null,
    remote_user: null,
    time: '2000-10-10T13:55:36-07:00',
    method: null,
    target: null,
    protocol: null,
    status: null,
    bytes: null,
    referer: null,
    user_agent: null,
  })
})

t.test('a request line that is not HTTP is the target alone', async (t) => {
  const cases: [request: string, target: string][] = [
    ['\\x16\\x03\\x01', '\u0016\u0003\u0001'],
    ['GET /', 'GET /'],
    ['GET  HTTP/1.1', 'GET  HTTP/1.1'],
    ['GET /a b HTTP/1.1', 'GET /a b HTTP/1.1'],
    ['G(T / HTTP/1.1', 'G(T / HTTP/1.1'],
    ['GET / HTTP/1.1x', 'GET / HTTP/1.1x'],
    ['GET / HTTP/', 'GET / HTTP/'],
    ['', ''],
    ['\\xFF', '\uFFFD'],
    ['\\n\\x4 \\xg0', '\\n\\x4 \\xg0'],
  ]
  for (const [request, target] of cases)
    t.match(record('combined', combined(request)), { method: null, target, protocol: null }, request)
  for (const protocol of ['HTTP/1.0', 'HTTP/2', 'HTTP/2.0', 'HTTP/3.0'])
    t.match(record('combined', combined(`OPTIONS * ${protocol}`)), { method: 'OPTIONS', target: '*', protocol })
})

t.test('a user cannot invent the fields after it', async (t) => {
  const user = `x ${TIME} b`
  t.match(record('combined', combined('GET / HTTP/1.1', { user })), { remote_user: user, status: 200 })
  t.match(record('combined', combined('GET / HTTP/1.1', { user: '""' })), { remote_user: '' }, 'as Apache writes it')
  t.match(record('combined', combined('-', { user: 'a\\"b' })), { remote_user: 'a"b' }, 'escaped')
})

t.test('a line that is not in the format does not match', async (t) => {
  const good = combined('GET / HTTP/1.1')
  const lines = [
    '',
    'hello',
    `${good} "192.0.2.9"`,
    good.slice(0, -1),
    good.replace(' "-" ', ' - '),
    good.replace(' 200 ', ' 2x0 '),
    good.replace(' 5 ', ' 1234567890123456789 '),
    good.replace(' 5 ', ' '),
    good.replace('[', '('),
    good.replace('10/Oct', '31/Feb'),
    good.replace('10/Oct', '10/Okt'),
    good.replace('2000', '2x00'),
    good.replace('13:55', '24:55'),
    good.replace('- -', '-'),
    'a'.repeat(100_000),
    '{"remote_addr":"192.0.2.1"}',
  ]
  for (const line of lines) t.match(read('combined', line), /the line is not in the format$/, line.slice(0, 80))
  t.match(read('common', good), /goes on after the fields of common/)
  t.match(record('common', good.split(' "-"')[0]!), { status: 200, bytes: 5 })
  t.match(record('combined', combined('-', { status: '009' })), { status: 9 })
})

t.test('every byte of a line becomes valid JSON', async (t) => {
  const all = Uint8Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => byte !== 0x0a)
  const { message } = record('text', all)
  t.equal(message, Buffer.from(all).toString())
  t.strictSame(record('text', '  [a] "b" \\ \r'), { message: '  [a] "b" \\ ' })
  const { level } = record('logfmt', Buffer.from('level=caf\xe9', 'latin1'))
  t.equal(level, 'caf\uFFFD')
})

t.test('logfmt gives texts; keys without values are true, and the last of equal keys counts', async (t) => {
  t.strictSame(record('logfmt', 'a=1 b="x \\"y\\" \\n\\u00e9\tz" c= flag d=e=f a=2 __proto__=x é=ü\r'), {
    ['__proto__']: 'x',
    a: '2',
    b: 'x "y" \né\tz',
    c: '',
    flag: 'true',
    d: 'e=f',
    é: 'ü',
  })
  const wrong = ['hello world', '=x', 'a=1 =2', 'a="x', 'a="x"y', 'a"b=c', 'a="\\q"', 'a="\\']
  for (const line of wrong) t.match(read('logfmt', line), /is not logfmt/, line)
})

t.test('schema gives types, and a text that does not fit is invalid', async (t) => {
  const schema: Schema = { n: 'int', f: 'float', ok: 'bool', at: 'timestamp', o: 'object', '/s': 'int' }
  t.equal(
    read('logfmt', 'n=00012345678901234567890 f=-1.50e3 ok=TRUE at=1795266000 o="{\\"a\\": [1]}" s=7 t=8', schema),
    '{"n":12345678901234567890,"f":-1.50e3,"ok":true,"at":1795266000,"o":{"a": [1]},"s":7,"t":"8"}',
  )
  t.equal(
    read('logfmt', 'n=- f= at="10/Oct/2000:13:55:36 -0700"', schema),
    '{"n":null,"f":null,"at":"2000-10-10T13:55:36-07:00"}',
  )
  for (const line of ['n=x', 'n=1.5', 'f=1.', 'f=0x1', 'ok=yes', 'at=noon', 'o=1', 'o="{"', 's=x'])
    t.match(read('logfmt', line, schema), / must be /, line)
  t.match(record('combined', combined('-'), { status: 'string', bytes: 'float' }), { status: '200', bytes: 5 })
  t.equal(
    read({ regex: '^(?<ClientIP>[^ ]+) (?<EdgeResponseStatus>[0-9]+)' }, '192.0.2.1 503 x', {}, 'http_requests'),
    '{"ClientIP":"192.0.2.1","EdgeResponseStatus":503}',
    'a dataset has types as well',
  )
})

t.test('named groups of a pattern are the fields of a record', async (t) => {
  const format = { regex: '^(?P<a>\\S+) ([0-9]+)(?: \\[(?<c>.*?)\\])?' }
  t.strictSame(record(format, 'é 12 [x "y"] z'), { a: 'é', c: 'x "y"' })
  t.strictSame(record(format, 'a 12'), { a: 'a', c: null })
  t.equal(read(format, 'a b'), 'the line does not match the pattern')
  const issues = (regex: string) => {
    try {
      lineFormat({ regex }, storedDataset('any')!)
      return ''
    } catch (error) {
      return (error as InvalidInput).issues.map(({ pointer, message }) => `${pointer} ${message}`).join()
    }
  }
  t.equal(issues('('), '/regex is not a regular expression: unclosed group')
  t.match(issues('(a)'), /^\/regex has no named groups/)
  t.match(issues('(?<a>x)(?=y)'), /look-around/)
})

t.test('no pattern takes more than a bounded number of steps', async (t) => {
  t.equal(read({ regex: '^(?<x>(a+)+)$' }, `${'a'.repeat(50_000)}b`), 'the line does not match the pattern')
  t.match(read({ regex: '(?<x>.*)(?<y>.*)(?<z>.*)#' }, 'a'.repeat(1_000_000)), /takes too many steps/)
  t.match(read({ regex: `^(?<x>(?:a?){100}a{100})` }, 'a'.repeat(100)), /"x":"a/)
})
