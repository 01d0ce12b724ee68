import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { ResponseWriter } from '../../../src/edge/client/response-writer.js'
import { responseFields } from '../../../src/edge/exchange/response-fields.js'
import { unreadResponse, withLines } from '../../../src/edge/exchange/unread-response.js'
import { ResponseReader, type UnreadHead } from '../../../src/http/response-reader.js'

/*
 * A response is forwarded as the text of its head if nothing needs the list of its fields. Both ways have to give the same
 * bytes.
 */

const LIMITS = { header_bytes: 65_536, header_count: 100, body_bytes: 0 }
const ASKED = { method: 'GET', httpVersion: '1.1', keepAlive: true } as const
const EXTRAS = { close: false, clock: { now: () => 0 }, rayId: '0123456789abcdef', keepAliveMs: 75_000 }
const VARY = ['vary', 'accept']
const DYNAMIC = ['cf-cache-status', 'DYNAMIC']

/** Reads a head that arrives in pieces. */
function read(text: string, cut = text.length): UnreadHead | undefined {
  const reader = new ResponseReader(LIMITS)
  reader.expect('GET', false)
  reader.scan(Buffer.from(text.slice(0, cut), 'latin1'))
  if (cut < text.length) reader.scan(Buffer.from(text.slice(cut), 'latin1'))
  return reader.head
}

/** Returns what a writer sends. */
function sent(write: (writer: ResponseWriter) => void): string {
  const stream = new PassThrough()
  const writer = new ResponseWriter(stream as unknown as Socket, () => undefined)
  write(writer)
  // Sends what is staged. Without a body the end adds nothing.
  writer.end()
  return (stream.read() as Buffer | null)?.toString('latin1') ?? ''
}

/** Compares both ways. Returns whether the text of the head is forwarded. */
function compare(t: Test, head: UnreadHead): boolean {
  const response = unreadResponse(head)
  if (!response) return false
  const fields = responseFields(head.status, head.fields)
  t.strictSame(response.fields(), fields, 'the same fields')
  for (const added of [[], VARY, [...DYNAMIC, ...VARY]]) {
    const listed = sent((writer) =>
      writer.head({ ...ASKED, method: 'HEAD' }, head.status, [...fields, ...added], EXTRAS),
    )
    const unread = sent((writer) =>
      writer.headLines({ ...ASKED, method: 'HEAD' }, head.status, withLines(response, added), EXTRAS),
    )
    t.match(unread, /^HTTP\/1\.1 \d{3} /)
    t.equal(unread, listed, 'the same text')
  }
  const first = (name: string) =>
    fields[fields.findIndex((field, i) => i % 2 === 0 && field.toLowerCase() === name) + 1]
  const names = fields.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase())
  t.equal(response.hasVary, names.includes('vary'))
  t.equal(response.isDated, names.includes('date'))
  t.equal(
    response.hasCacheField,
    CACHE_FIELDS.some((name) => names.includes(name)),
  )
  t.equal(response.contentType, names.includes('content-type') ? first('content-type') : undefined)
  t.equal(response.length, names.includes('content-length') ? Number(first('content-length')) : undefined)
  return true
}

const cased = (name: string) =>
  fc
    .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
    .map((upper) => name.replaceAll(/[a-z]/g, (letter, at: number) => (upper[at] ? letter.toUpperCase() : letter)))
const CACHE_FIELDS = ['cf-cache-status', 'cloudflare-cdn-cache-control']
const NAMES = (
  'cf-cache-status cloudflare-cdn-cache-control te date vary cf-ray server trailer upgrade connection keep-alive content-type proxy-connection transfer-encoding ' +
  'proxy-authenticate etag set-cookie x_a x-named close'
).split(' ')
const VALUE = fc.constantFrom('a', '', 'keep-alive', 'close', 'x-named', 'close, X-Named', 'text/html', 'é\xff', 'a\tb')
const LINE = fc
  .tuple(
    fc.constantFrom(...NAMES).chain(cased),
    fc.constantFrom(' ', ' ', ' ', ' ', '', '  ', '\t'),
    VALUE,
    fc.constantFrom('', '', '', '', '', ' ', '\t'),
  )
  .map((parts) => {
    const [name, before, value, after] = parts
    return `${name}:${before}${value}${after}\r\n`
  })
const HEAD = fc
  .tuple(
    fc.constantFrom('1.1', '1.0'),
    fc.constantFrom('200 OK', '200', '204 No Content', '205 Reset Content', '304 Not Modified', '404 ', '503 \xe9'),
    fc.constantFrom('', 'Content-Length: 12\r\n', 'content-length: 007\r\n', 'Transfer-Encoding: chunked\r\n'),
    fc.array(LINE, { maxLength: 6 }),
  )
  .map((parts) => {
    const [version, status, framing, lines] = parts
    return `HTTP/${version} ${status}\r\n${lines.join('')}${framing}\r\n`
  })

t.test('a head that is forwarded as text has the bytes of its list of fields', async (t) => {
  let unread = 0
  fc.assert(
    fc.property(HEAD, fc.nat(), (text, cut) => {
      const head = read(text, cut % (text.length + 1))
      if (head && compare(t, head)) unread++
    }),
    { numRuns: 2000 },
  )
  t.ok(unread > 100, 'many heads are forwarded as text', { unread })
})

const LINES = [
  'Server: nginx/1.22.1',
  'Date: Sat, 28 Nov 2026 12:00:00 GMT',
  'Content-Type: text/html; charset=utf-8',
  'Content-Length: 12',
  'Connection: keep-alive',
  'ETag: "6a4f1c30-27d8"',
  'Empty: ',
]

t.test('the head of a usual origin is forwarded as text, cut anywhere', async (t) => {
  const text = `HTTP/1.1 200 OK\r\n${LINES.join('\r\n')}\r\n\r\n`
  for (let cut = 0; cut < text.length; cut++) t.ok(compare(t, read(text, cut)!))
})

const LISTED: readonly (readonly [why: string, line: string, status?: string])[] = [
  ['no space is before the value', 'A:b'],
  ['two spaces are before the value', 'A:  b'],
  ['a space is after the value', 'A: b '],
  ['Connection names a field', 'Connection: a'],
  ['its status has no length', 'A: b', '204 No Content'],
  ['its status has another length', 'A: b', '205 Reset Content'],
]

for (const [why, line, status = '200 OK'] of LISTED) {
  t.test(`a response is forwarded from its list of fields: ${why}`, async (t) => {
    t.equal(unreadResponse(read(`HTTP/1.1 ${status}\r\n${line}\r\nB: c\r\n\r\n`)!), undefined)
  })
}
