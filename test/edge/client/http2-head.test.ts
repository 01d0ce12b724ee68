import t from 'tap'
import { readHttp2Head } from '../../../src/edge/client/http2-head.js'

const LIMITS = { header_bytes: 1000, header_count: 10, body_bytes: 50 }
const PSEUDO = [':method', 'GET', ':scheme', 'https', ':path', '/', ':authority', 'example.test']

/** Reads a head with other pseudo fields and further fields. */
const read = (pseudo: Readonly<Record<string, string>>, ...fields: string[]) => {
  const first = PSEUDO.map((text, i) => (i % 2 === 1 ? (pseudo[PSEUDO[i - 1]!] ?? text) : text))
  return readHttp2Head([...first, ...fields], LIMITS)
}

// Versions of nghttp2 differ in what they let through.
t.test('what could be read in two ways as text is rejected', (t) => {
  const rejected: [what: string, pseudo: Readonly<Record<string, string>>, fields: string[], status: number][] = [
    ['a line feed in a value', {}, ['x-a', 'b\nc: d'], 400],
    ['a NUL in a value', {}, ['x-a', 'b\0'], 400],
    ['a line feed in a name', {}, ['x-a: b\r\nc', 'd'], 400],
    ['a capital in a name', {}, ['X-a', 'b'], 400],
    ['an empty name', {}, ['', 'b'], 400],
    ['two hosts', {}, ['host', 'example.test', 'host', 'example.test'], 400],
    ['another host', {}, ['host', 'other.test'], 400],
    ['another port', {}, ['host', 'example.test:80'], 400],
    ['another label', {}, ['host', 'example.test..'], 400],
    ['two ports', {}, ['host', 'example.test:443:443'], 400],
    ['an empty host', {}, ['host', ''], 400],
    ['an empty authority', { ':authority': '' }, ['host', 'example.test'], 400],
    ['two lengths', {}, ['content-length', '1', 'content-length', '1'], 400],
    ['a length with a sign', {}, ['content-length', '+1'], 400],
    ['a length that is too large', {}, ['content-length', '51'], 413],
    ['a transfer coding', {}, ['transfer-encoding', 'chunked'], 400],
    ['a connection', {}, ['connection', 'x-a'], 400],
    ['an upgrade', {}, ['upgrade', 'websocket'], 400],
    ['te', {}, ['te', 'gzip'], 400],
    ['a space in the path', { ':path': '/a HTTP/1.1' }, [], 400],
    ['a line feed in the path', { ':path': '/\r\nhost:b' }, [], 400],
    ['an empty path', { ':path': '' }, [], 400],
    ['an unknown method', { ':method': 'GET /' }, [], 501],
    ['too many bytes', {}, ['x-a', 'b'.repeat(1000)], 431],
    ['too many fields', {}, Array.from({ length: 14 }, () => 'a'), 431],
  ]
  for (const [what, pseudo, fields, status] of rejected) t.match(read(pseudo, ...fields), { status }, what)
  t.end()
})

t.test('a head becomes that of the same request in HTTP/1.1', (t) => {
  const head = read({ ':path': '/a?b' }, 'host', 'EXAMPLE.test', 'cookie', 'a=1', 'x-a', ' b ', 'cookie', 'c=2')
  t.match(head, {
    request: {
      method: 'GET',
      target: '/a?b',
      httpVersion: '2',
      rawHeaders: ['host', 'example.test', 'x-a', 'b', 'cookie', 'a=1; c=2'],
    },
  })
  t.end()
})

// A client that spelt one of them otherwise was rejected, although both name one host.
t.test(':authority and Host may be two spellings of one host', (t) => {
  const spellings: [authority: string, host: string][] = [
    ['EXAMPLE.test', 'example.Test'],
    ['example.test', 'example.test:443'],
    ['example.test:443', 'Example.test'],
    ['example.test.', 'example.test'],
    ['example.test:00443', 'example.test.:443'],
    ['example.test:8443', 'EXAMPLE.test.:08443'],
    ['[::A]:443', '[::a]'],
  ]
  for (const [authority, host] of spellings)
    t.match(
      read({ ':authority': authority }, 'host', host),
      { request: { rawHeaders: ['host', authority] } },
      `${authority} and ${host}`,
    )
  t.end()
})
