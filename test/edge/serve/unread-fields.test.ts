import fc from 'fast-check'
import t, { type Test } from 'tap'
import { CacheRequest, cacheRequestOf, PLAIN_REQUEST } from '../../../src/edge/cache/delivery/request.js'
import { Framing, type RequestHead } from '../../../src/edge/client/framing.js'
import type { Exchange } from '../../../src/edge/exchange/exchange.js'
import type { UnreadFields } from '../../../src/edge/exchange/unread/unread-fields.js'
import { ArrivedFields, mayStayUnread } from '../../../src/edge/serve/own-fields.js'
import { READ_NAMES } from '../../../src/edge/serve/read-names.js'
import { RequestFields } from '../../../src/edge/serve/request-fields.js'
import { namesWorkerFields, workerHeaders } from '../../../src/edge/workers/worker-fields.js'
import { headerOf } from '../../../src/http/headers.js'
import { requestText } from '../../../src/http/request-text.js'

/*
 * A request is forwarded as the text of its head if nothing needs the list of its fields. Both ways have to give the same
 * bytes. The same is true of the request that a Worker gets.
 */

const LIMITS = { header_bytes: 65_536, header_count: 100, body_bytes: 0 }
const OWN = { host: 'example.test', scheme: 'http', address: '192.0.2.1', rayId: '0123456789abcdef' } as const
const CF = '{"httpProtocol":"HTTP/1.1"}'

/** Reads a head that arrives in pieces. */
function read(text: string, cut = text.length): RequestHead | undefined {
  const framing = new Framing(LIMITS)
  framing.scan(Buffer.from(text.slice(0, cut), 'latin1'))
  if (cut < text.length) framing.scan(Buffer.from(text.slice(cut), 'latin1'))
  return framing.head
}

const SOUGHT = ['cookie', 'range', 'accept', 'sec-fetch-mode', 'if-none-match', 'absent']

/** The facts that the proxy reads itself. */
const factsOf = (fields: RequestFields): string =>
  JSON.stringify(Object.entries(fields).filter(([name]) => name !== 'keptLines'))

/** Compares both ways. Returns whether the text of the head is forwarded. */
function compare(t: Test, head: RequestHead): boolean {
  const { method, target, rawHeaders, httpVersion } = head
  const fields = new RequestFields(head)
  const listed = new RequestFields({ rawHeaders })
  t.equal(factsOf(fields), factsOf(listed), 'the same facts')
  t.strictSame(fields.kept, listed.kept, 'the same fields')
  if (!mayStayUnread(method, fields)) return false
  const text = new ArrivedFields(head, fields, OWN).text(method, target)
  const headers = new ArrivedFields({ method, target, rawHeaders, httpVersion }, listed, OWN).forOrigin()
  t.equal(text, requestText({ method, target, headers, body: null, upgrade: false }).text, 'the same text')
  const unread = new ArrivedFields(head, fields, OWN)
  t.equal(unread.host, headerOf(headers, 'host'))
  for (const name of SOUGHT) t.equal(unread.find(name), headerOf(rawHeaders, name), `the same ${name}`)
  compareCached(t, unread, headers)
  if (!namesWorkerFields(fields.keptLines!))
    for (const scheme of ['http', 'https'] as const) compareForWorker(t, head, fields, { ...OWN, scheme })
  return true
}

/** Compares both ways of a request for a Worker. */
function compareForWorker(
  t: Test,
  head: RequestHead,
  fields: RequestFields,
  own: typeof OWN | (Omit<typeof OWN, 'scheme'> & { readonly scheme: 'https' }),
): void {
  const { method, target, rawHeaders, httpVersion } = head
  const text = new ArrivedFields(head, fields, own).text(method, target, CF)
  const listed = new ArrivedFields({ method, target, rawHeaders, httpVersion }, new RequestFields({ rawHeaders }), own)
  const exchange = { clientAddress: own.address, scheme: own.scheme, headers: listed.forOrigin() }
  const headers = workerHeaders(exchange, 1, CF)
  t.equal(text, requestText({ method, target, headers, body: null, upgrade: false, bare: true }).text)
}

/** A request whose list of fields the cache does not read has the fields that a plain request has. */
function compareCached(t: Test, unread: UnreadFields, headers: string[]): void {
  const read = cacheRequestOf({ unread, headers } as unknown as Exchange)
  const { forwardedHost, ...facts } = new CacheRequest(headers)
  if (read !== PLAIN_REQUEST) return
  const { forwardedHost: _none, ...plain } = PLAIN_REQUEST
  t.strictSame(facts, plain, 'no field that the cache reads')
  t.equal(forwardedHost, OWN.host)
}

const cased = (name: string) =>
  fc
    .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
    .map((upper) => name.replaceAll(/[a-z]/g, (letter, at: number) => (upper[at] ? letter.toUpperCase() : letter)))
const OTHERS = [
  'Cookie',
  'CDN-Loop',
  'x-real-ip',
  'Accept-Language',
  'X_Forwarded_For',
  'a',
  'x-named',
  'Sec-Fetch-Mode',
  'cf-rays',
  'tf',
]
/** Fields that the cache reads. */
const CACHED = ['Range', 'If-None-Match', 'Authorization', 'Cache-Control', 'Origin', 'RSC', 'Forwarded', 'Next-Url']
const NAME = fc.oneof(fc.constantFrom(...READ_NAMES).chain(cased), fc.constantFrom(...OTHERS, ...CACHED).chain(cased))
const VALUE = fc.constantFrom(
  'a',
  '',
  'keep-alive',
  'close',
  'x-named',
  'close, X-Named',
  'a b',
  'é\xff',
  'a:b_c',
  'a\tb',
)
const SPACES = fc.constantFrom(' ', '', '  ', '\t', ' \t')
const LINE = fc.tuple(NAME, SPACES, VALUE, fc.constantFrom('', '', '', ' ', '\t')).map((parts) => {
  const [name, before, value, after] = parts
  return `${name}:${before}${value}${after}\r\n`
})
const PLAIN_LINE = fc.tuple(fc.constantFrom(...OTHERS, 'accept', 'user-agent'), VALUE).map((parts) => parts.join(': '))
const HEAD = fc
  .tuple(
    fc.constantFrom('', '\r\n', '\r\n\r\n'),
    fc.constantFrom('GET', 'HEAD', 'OPTIONS', 'POST'),
    fc.constantFrom('/', '/a_b?c=d:e', 'http://example.test/', '*'),
    fc.constantFrom('1.1', '1.0'),
    fc.array(
      fc.oneof(
        LINE,
        PLAIN_LINE.map((line) => `${line}\r\n`),
      ),
      { maxLength: 8 },
    ),
  )
  .map(
    ([empty, method, target, version, lines]) => `${empty}${method} ${target} HTTP/${version}\r\n${lines.join('')}\r\n`,
  )

t.test('a head that is forwarded as text has the bytes of its list of fields', async (t) => {
  let unread = 0
  fc.assert(
    fc.property(HEAD, fc.nat(), (text, cut) => {
      const head = read(text, cut % (text.length + 1))
      if (head && compare(t, head)) unread++
    }),
    { numRuns: 3000 },
  )
  t.ok(unread > 100, 'many heads are forwarded as text', { unread })
})

const BROWSER = [
  'Host: example.test',
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  'Accept: text/html,*/*;q=0.8',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Connection: keep-alive',
  'Cookie: _ga=1; session=2',
  'TE: trailers',
  'Empty: ',
]

t.test('the head of a browser is forwarded as text, cut anywhere', async (t) => {
  const text = `GET /page?a=b HTTP/1.1\r\n${BROWSER.join('\r\n')}\r\n\r\n`
  for (let cut = 0; cut < text.length; cut++) t.ok(compare(t, read(text, cut)!))
})

const LISTED: readonly (readonly [why: string, line: string])[] = [
  ['the name has an underscore', 'X_Forwarded_For: 1'],
  ['no space is before the value', 'A:b'],
  ['two spaces are before the value', 'A:  b'],
  ['a tab is after the value', 'A: b\t'],
  ['Connection names a field', 'Connection: a'],
  ['another proxy forwarded it', 'Via: 1.1 a'],
  ['another proxy forwarded it for a client', 'X-Forwarded-For: 192.0.2.7'],
  ['it has a length', 'Content-Length: 0'],
]

for (const [why, line] of LISTED) {
  t.test(`a request is forwarded from its list of fields: ${why}`, async (t) => {
    const head = read(`GET / HTTP/1.1\r\nHost: example.test\r\n${line}\r\nB: c\r\n\r\n`)!
    t.notOk(compare(t, head))
  })
}

t.test('a target or an address that could end its line is rejected', async (t) => {
  const head = read('GET / HTTP/1.1\r\nHost: example.test\r\n\r\n')!
  const fields = new RequestFields(head)
  t.throws(() => new ArrivedFields(head, fields, OWN).text('GET', '/ HTTP/1.1\r\na: b'), TypeError)
  t.throws(() => new ArrivedFields(head, fields, { ...OWN, address: '1\r\na: b' }).text('GET', '/'), TypeError)
})

t.test('a client cannot send the fields that only the proxy tells a Worker', async (t) => {
  for (const name of ['cdn-loop', 'CF-Visitor', 'X-Real-IP', 'x-edged-cf', 'X-Edged-Proto', 'x-edged-script']) {
    const fields = new RequestFields(read(`GET / HTTP/1.1\r\nHost: example.test\r\nA: b\r\n${name}: c\r\n\r\n`)!)
    t.ok(namesWorkerFields(fields.keptLines!), name)
  }
  t.notOk(namesWorkerFields('\r\na: cdn-loop: b\r\nx-real-ips: c'), 'the names stand in other places')
})
