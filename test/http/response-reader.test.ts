import fc from 'fast-check'
import t from 'tap'
import { ResponseReader } from '../../src/http/response-reader.js'

const LIMITS = { header_bytes: 4096, header_count: 64, body_bytes: 0 }
const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`

interface Asked {
  method?: string
  upgrade?: boolean
}

/** Reads the bytes of one response, cut at these positions. */
function read(text: string, cuts: readonly number[] = [], { method = 'GET', upgrade = false }: Asked = {}) {
  const reader = new ResponseReader(LIMITS)
  reader.expect(method, upgrade)
  const bytes = Buffer.from(text, 'latin1')
  const places = [0, ...new Set([...cuts].sort((a, b) => a - b)), bytes.length]
  let head: ResponseReader['head']
  let body = ''
  let used = 0
  for (let i = 0; i + 1 < places.length && !reader.issue && !reader.complete; i++) {
    // A copy, since the reader may move what it reads.
    used = places[i]! + reader.scan(Buffer.from(bytes.subarray(places[i], places[i + 1])))
    head = reader.head ?? head
    if (!reader.issue) body += reader.body?.toString('latin1') ?? ''
  }
  const { complete, untilClose, persists, issue: fault } = reader
  if (fault) return { fault: fault.detail }
  return { status: head?.status, fields: head?.fields, body, complete, untilClose, persists, rest: text.slice(used) }
}

const everywhere = (text: string): number[] => Array.from({ length: text.length }, (_, i) => i)

const REFUSED: readonly (readonly [why: string, text: string, fault?: RegExp])[] = [
  ['nothing of HTTP', 'SSH-2.0-OpenSSH\r\n'],
  ['HTTP/0.9', '<html>hello'],
  ['an empty line first', `\r\n${OK}Content-Length: 0\r\n\r\n`],
  ['lower case', 'http/1.1 200 OK\r\n\r\n'],
  ['HTTP/2', 'HTTP/2.0 200 OK\r\n\r\n'],
  ['HTTP/1.2', 'HTTP/1.2 200 OK\r\n\r\n'],
  ['HTTP/1.10', 'HTTP/1.10 200 OK\r\n\r\n'],
  ['two spaces before the status', 'HTTP/1.1  200 OK\r\n\r\n'],
  ['a tab before the status', 'HTTP/1.1\t200 OK\r\n\r\n'],
  ['two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
  ['a sign', 'HTTP/1.1 +20 OK\r\n\r\n'],
  ['status 0', 'HTTP/1.1 000 OK\r\n\r\n'],
  ['status 99', 'HTTP/1.1 099 OK\r\n\r\n'],
  ['status 600', 'HTTP/1.1 600 OK\r\n\r\n'],
  ['a bare line feed behind the status line', 'HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n'],
  ['a bare carriage return in the reason', 'HTTP/1.1 200 O\rK\r\n\r\n'],
  ['NUL in the reason', 'HTTP/1.1 200 O\0K\r\n\r\n'],
  ['a field before the status line ends', 'HTTP/1.1 200\rX: y\r\n\r\n'],
  ['an unasked switch', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n', /without being asked/],
  ['obs-fold', `${OK}X-A: a\r\n b\r\nContent-Length: 0\r\n\r\n`],
  ['obs-fold at once', `${OK} X-A: a\r\n\r\n`],
  ['a space before the colon', `${OK}Content-Length : 5\r\n\r\nhello`],
  ['no colon', `${OK}Content-Length\r\n\r\n`],
  ['an empty name', `${OK}: a\r\n\r\n`],
  ['a bracket in a name', `${OK}X(A): a\r\n\r\n`],
  ['NUL in a value', `${OK}X-A: a\0b\r\n\r\n`],
  ['DEL in a value', `${OK}X-A: a\x7fb\r\n\r\n`],
  ['a bare carriage return in a value', `${OK}X-A: a\rX-B: b\r\n\r\n`],
  ['a bare line feed in a value', `${OK}X-A: a\nX-B: b\r\n\r\n`],
  ['a bare line feed at the end of the head', `${OK}X-A: a\r\n\n`],
  ['two lengths', `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`, /several Content-Length/],
  ['one length twice', `${OK}Content-Length: 5\r\nContent-length: 5\r\n\r\nhello`, /several Content-Length/],
  ['a list of lengths', `${OK}Content-Length: 5, 5\r\n\r\nhello`],
  ['an empty length', `${OK}Content-Length:\r\n\r\n`],
  ['a length with a sign', `${OK}Content-Length: +5\r\n\r\nhello`],
  ['a negative length', `${OK}Content-Length: -1\r\n\r\n`],
  ['a hexadecimal length', `${OK}Content-Length: 0x5\r\n\r\nhello`],
  ['a huge length', `${OK}Content-Length: 99999999999999999999\r\n\r\n`],
  ['a length behind a long value', `${OK}Content-Length: ${' '.repeat(80)}5\r\n\r\nhello`],
  ['length and coding', `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`, /exclude each other/],
  ['coding and length', `${OK}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n`, /exclude each other/],
  ['gzip and chunked', `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['chunked and gzip', `${OK}Transfer-Encoding: chunked, gzip\r\n\r\n`],
  ['identity', `${OK}Transfer-Encoding: identity\r\n\r\n`],
  ['chunked in two fields', `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ['chunked behind a vertical tab', `${OK}Transfer-Encoding: \x0bchunked\r\n\r\n`],
  ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['no chunk size', `${CHUNKED}\r\nhello`],
  ['a signed chunk size', `${CHUNKED}+5\r\nhello\r\n`],
  ['a chunk size with 0x', `${CHUNKED}0x5\r\nhello\r\n`],
  ['a space behind a chunk size', `${CHUNKED}5 \r\nhello\r\n`],
  ['a chunk size beyond counting', `${CHUNKED}10000000000000005\r\nhello\r\n`],
  ['a gigantic chunk', `${CHUNKED}fffffffffffff\r\nhello\r\n`],
  ['a chunk longer than its size', `${CHUNKED}5\r\nhello!\r\n`],
  ['a bare line feed behind a chunk', `${CHUNKED}5\r\nhello\n0\r\n\r\n`],
  ['a bare line feed behind a chunk size', `${CHUNKED}5\nhello\r\n0\r\n\r\n`],
  ['a control character in a chunk extension', `${CHUNKED}5;a=\x01\r\nhello\r\n`],
  ['endless chunk extensions', CHUNKED + `1;${'a'.repeat(1000)}\r\nx\r\n`.repeat(5)],
  ['a length behind the body', `${CHUNKED}0\r\nContent-Length: 5\r\n\r\n`],
  ['a bad trailer', `${CHUNKED}0\r\nX A: b\r\n\r\n`],
  ['a head too large', `${OK}X-A: ${'a'.repeat(5000)}\r\n\r\n`, /too large/],
  ['too many fields', `${OK}${'a:\r\n'.repeat(65)}\r\n`, /too many/],
  ['endless interim answers', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(200), /too large/],
  ['a body of an interim answer', 'HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n'],
]

t.test('responses outside the grammar are rejected, however they are cut', async (t) => {
  for (const [why, text, fault] of REFUSED) {
    const whole = read(text)
    t.match(whole, { fault: fault ?? /./ }, why)
    t.equal(read(text, everywhere(text)).fault, whole.fault, why)
  }
})

const TAKEN: readonly (readonly [why: string, text: string, found: object, asked?: Asked])[] = [
  ['a length', `${OK}Content-Length: 5\r\n\r\nhello`, { status: 200, body: 'hello', complete: true, persists: true }],
  ['no reason and no space', 'HTTP/1.1 204\r\n\r\n', { status: 204, body: '', complete: true }],
  ['any reason', 'HTTP/1.1 404 \t\xe4 ?\r\nContent-Length: 0\r\n\r\n', { status: 404, complete: true }],
  ['leading zeros', `${OK}Content-Length: 005\r\n\r\nhello`, { body: 'hello', complete: true }],
  [
    'values without the white space around them',
    `${OK}a: \t x y \t\r\nB:\r\n\r\n`,
    { fields: ['a', 'x y', 'B', ''], untilClose: true },
  ],
  ['until the end', `${OK}Connection: keep-alive\r\n\r\nhello`, { body: 'hello', complete: false, persists: false }],
  ['more than its length', `${OK}Content-Length: 2\r\n\r\nhello`, { body: 'he', complete: true, rest: 'llo' }],
  [
    'chunks, extensions, trailers',
    `${CHUNKED}5;a="b";c\r\nhello\r\n00009\r\n, world, \r\n1\r\n!\r\n0;z\r\nX-Sum: 1\r\n\r\n`,
    { body: 'hello, world, !', complete: true, persists: true, rest: '' },
  ],
  ['CHUNKED', CHUNKED.replace('chunked', 'CHUNKED') + '0\r\n\r\n', { body: '', complete: true }],
  ['HEAD', `${OK}Content-Length: 5\r\n\r\n`, { body: '', complete: true, persists: true }, { method: 'HEAD' }],
  ['HEAD with a body', `${OK}Content-Length: 5\r\n\r\nhello`, { complete: true, rest: 'hello' }, { method: 'HEAD' }],
  ['304', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', { status: 304, body: '', complete: true }],
  ['204 with chunks', `${CHUNKED.replace('200', '204')}0\r\n\r\n`, { body: '', complete: true, rest: '0\r\n\r\n' }],
  [
    'interim answers',
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\nConnection: close\r\n\r\n${OK}Content-Length: 2\r\n\r\nok`,
    { status: 200, fields: ['Content-Length', '2'], body: 'ok', complete: true, persists: true },
  ],
  [
    'a switch that was asked for',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x05',
    { status: 101, complete: true, rest: '\x81\x05' },
    { upgrade: true },
  ],
  ['close', `${OK}Connection: close\r\nContent-Length: 0\r\n\r\n`, { complete: true, persists: false }],
  [
    'close beside others',
    `${OK}Connection: Keep-Alive , CLOSE\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n`,
    { persists: false },
  ],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n', { complete: true, persists: false }],
  [
    'HTTP/1.0 that stays',
    'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n',
    { complete: true, persists: true },
  ],
]

t.test('responses are read alike, however they are cut', async (t) => {
  for (const [why, text, found, asked] of TAKEN) {
    const whole = read(text, [], asked)
    t.match(whole, found, why)
    for (let cut = 1; cut < text.length; cut++)
      if (!whole.rest || cut < text.length - whole.rest.length)
        t.strictSame(read(text, [cut], asked), whole, `${why}, cut at ${cut}`)
    if (whole.rest === '') t.strictSame(read(text, everywhere(text), asked), whole, why)
  }
})

const token = fc
  .stringMatching(/^[A-Za-z][A-Za-z-]{0,12}$/)
  .filter((name) => !/^(content-length|transfer-enc|conn)/i.test(name))
const value = fc.stringMatching(/^(?:[!-~\xa1-\xff](?:[ -~\xa1-\xff]{0,20}[!-~\xa1-\xff])?)?$/)
const bodies = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 6 })
const cuts = fc.array(fc.nat(2000), { maxLength: 30 })

t.test('a well-formed response is read unchanged, in any pieces', async () => {
  const responses = fc.record({
    status: fc.integer({ min: 200, max: 599 }).filter((status) => status !== 204 && status !== 304),
    fields: fc.array(fc.tuple(token, value), { maxLength: 8 }),
    bodies,
    chunked: fc.boolean(),
    extension: fc.constantFrom('', ';a', ';a="b c"'),
    interim: fc.nat(2),
  })
  fc.assert(
    fc.property(responses, cuts, ({ status, fields, bodies, chunked, extension, interim }, cuts) => {
      const pieces = bodies.map((bytes) => Buffer.from(bytes).toString('latin1'))
      const body = pieces.join('')
      const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`
      const sent = chunked
        ? `${pieces.map((piece) => `${piece.length.toString(16)}${extension}\r\n${piece}\r\n`).join('')}0\r\n\r\n`
        : body
      const lines = [...fields.map(([name, value]) => `${name}: ${value}`), framing].map((line) => `${line}\r\n`)
      const text = `${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(interim)}HTTP/1.1 ${status} X\r\n${lines.join('')}\r\n${sent}`
      const found = read(
        text,
        cuts.filter((cut) => cut < text.length),
      )
      return (
        found.status === status &&
        found.body === body &&
        found.complete &&
        found.rest === '' &&
        JSON.stringify(found.fields?.slice(0, -2)) === JSON.stringify(fields.flat())
      )
    }),
  )
})

const FRAGMENTS = [
  OK,
  'HTTP/1.1 ',
  '204',
  '100 Continue',
  '\r\n',
  '\r',
  '\n',
  ' ',
  ':',
  ';',
  'Content-Length: ',
  '5',
].concat([
  '0',
  'ff',
  'Transfer-Encoding: chunked',
  'Connection: close',
  'hello',
  '\0',
  'X-A: b\r\n',
  '\r\n\r\n',
  '5\r\nhello\r\n',
])

t.test('any input has the same result in pieces and in one piece', async () => {
  const fragments = fc.constantFrom(...FRAGMENTS)
  const texts = fc.array(
    fc.oneof(
      fragments,
      fc.uint8Array({ maxLength: 3 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    ),
    { maxLength: 24 },
  )
  fc.assert(
    fc.property(texts, cuts, fc.boolean(), (parts, cuts, framed) => {
      const text = (framed ? OK : '') + parts.join('')
      const whole = read(text)
      const cut = read(
        text,
        cuts.filter((place) => place < text.length),
      )
      // Bytes after a complete response are left over whole, or as far as its piece goes.
      return 'fault' in whole || 'fault' in cut
        ? whole.fault === cut.fault
        : JSON.stringify({ ...whole, rest: '' }) === JSON.stringify({ ...cut, rest: '' })
    }),
    { numRuns: 2000 },
  )
})
