import fc from 'fast-check'
import t, { type Test } from 'tap'
import { metric, sendRaw, startOrigin, startProxy } from '../../helpers/proxy.js'

const HOST = 'Host: example.test\r\n'
const get = (head: string) => `GET / HTTP/1.1\r\n${head}\r\n`
const post = (head: string, body = '') => `POST / HTTP/1.1\r\n${HOST}${head}\r\n${body}`
const chunked = (body: string) => post('Transfer-Encoding: chunked\r\n', body)

/** Responses of the proxy to invalid requests, and why they are invalid. */
const REFUSED: readonly (readonly [why: string, bytes: string, status: number])[] = [
  // Request line
  ['HTTP/0.9', 'GET /\r\n\r\n', 400],
  ['HTTP/0.9 with fields', `GET /\r\n${HOST}\r\n`, 400],
  ['HTTP/0.9 with a space', 'GET / \r\n\r\n', 400],
  ['no target', `GET HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['two spaces after the method', `GET  / HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['two spaces before the version', `GET /  HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['tab after the method', `GET\t/ HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['tab before the version', `GET /\tHTTP/1.1\r\n${HOST}\r\n`, 400],
  ['space behind the version', `GET / HTTP/1.1 \r\n${HOST}\r\n`, 400],
  ['space before the method', ` GET / HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['space in the target', `GET /a b HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['lower-case protocol', `GET / http/1.1\r\n${HOST}\r\n`, 400],
  ['another protocol', `GET / HTTPS/1.1\r\n${HOST}\r\n`, 400],
  ['protocol of another service', `GET / ICE/1.0\r\n${HOST}\r\n`, 400],
  ['version 1.2', `GET / HTTP/1.2\r\n${HOST}\r\n`, 505],
  ['version 2.0', `GET / HTTP/2.0\r\n${HOST}\r\n`, 505],
  ['version 1.10', `GET / HTTP/1.10\r\n${HOST}\r\n`, 400],
  ['version 1.', `GET / HTTP/1.\r\n${HOST}\r\n`, 400],
  ['version 1,1', `GET / HTTP/1,1\r\n${HOST}\r\n`, 400],
  ['preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
  ['unknown method', `BREW / HTTP/1.1\r\n${HOST}\r\n`, 501],
  ['lower-case method', `get / HTTP/1.1\r\n${HOST}\r\n`, 501],
  ['method with a control character', `G\x01T / HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['method with a bracket', `G(T / HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['endless method', `${'A'.repeat(100)} / HTTP/1.1\r\n${HOST}\r\n`, 501],
  ['TLS instead of HTTP', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
  ['many empty lines', `${'\r\n'.repeat(50)}${get(HOST)}`, 400],
  ['bare line feeds before the request', `\n\n${get(HOST)}`, 400],
  ['bare carriage return before the request', `\r${get(HOST)}`, 400],
  // Targets
  ['fragment', `GET /a#b HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['control character in the target', `GET /a\x01b HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['NUL in the target', `GET /a\0b HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['DEL in the target', `GET /a\x7fb HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['bytes above ASCII in the target', `GET /\xc3\xa4 HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['relative target', `GET a/b HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['authority as target', `GET example.test:80 HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['asterisk for GET', `GET * HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['absolute target, unknown host', `GET http://unknown.invalid/ HTTP/1.1\r\n${HOST}\r\n`, 404],
  ['absolute target, two Host fields', `GET http://example.test/ HTTP/1.1\r\n${HOST}${HOST}\r\n`, 400],
  ['absolute target with a user', `GET http://u@example.test/ HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['absolute target, other scheme', `GET ftp://example.test/ HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['absolute target without a host', `GET http:///x HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['absolute target, no Host', 'GET http://example.test/ HTTP/1.1\r\n\r\n', 400],
  // Methods
  ['CONNECT', `CONNECT example.test:443 HTTP/1.1\r\n${HOST}\r\n`, 405],
  ['CONNECT with a path', `CONNECT / HTTP/1.1\r\n${HOST}\r\n`, 405],
  ['TRACE', `TRACE / HTTP/1.1\r\n${HOST}\r\n`, 405],
  // Host
  ['no Host', get('Accept: */*\r\n'), 400],
  ['no Host in HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n', 400],
  ['empty Host', get('Host:\r\n'), 400],
  ['two Hosts', get(`${HOST}Host: other.test\r\n`), 400],
  ['two equal Hosts', get(`${HOST}hOST: example.test\r\n`), 400],
  ['Host with a space', get('Host: example.test other\r\n'), 400],
  ['Host with a tab', get('Host: example.test\tother\r\n'), 400],
  ['Host with a slash', get('Host: example.test/x\r\n'), 400],
  ['Host with a user', get('Host: user@example.test\r\n'), 400],
  ['Host with a comma', get('Host: example.test,other.test\r\n'), 400],
  ['Host with a query', get('Host: example.test?x\r\n'), 400],
  ['Host with a fragment', get('Host: example.test#x\r\n'), 400],
  ['Host with a backslash', get('Host: example.test\\x\r\n'), 400],
  ['Host with a percent sign', get('Host: example%2etest\r\n'), 400],
  ['Host with a word for a port', get('Host: example.test:http\r\n'), 400],
  ['Host with two ports', get('Host: example.test:80:81\r\n'), 400],
  ['Host with a long port', get('Host: example.test:808080\r\n'), 400],
  ['Host with bytes above ASCII', get('Host: ex\xe4mple.test\r\n'), 400],
  ['Host as a URL', get('Host: http://example.test\r\n'), 400],
  ['Host with an open bracket', get('Host: [::1\r\n'), 400],
  // Field lines
  ['space before the colon', get(`${HOST}Accept : x\r\n`), 400],
  ['tab before the colon', get(`${HOST}Accept\t: x\r\n`), 400],
  ['space before the colon of Host', get('Host : example.test\r\n'), 400],
  ['space before the colon of Content-Length', post('Content-Length : 5\r\n', 'hello'), 400],
  ['space before the colon of Transfer-Encoding', post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n'), 400],
  ['no colon', get(`${HOST}Accept\r\n`), 400],
  ['no name', get(`${HOST}: x\r\n`), 400],
  ['space before the first name', get(` Host: example.test\r\n`), 400],
  ['folded field', get(`${HOST}X-A: a\r\n b\r\n`), 400],
  ['field folded with a tab', get(`${HOST}X-A: a\r\n\tb\r\n`), 400],
  ['folded Transfer-Encoding', post('Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n'), 501],
  ['NUL in a value', get(`${HOST}X-A: a\0b\r\n`), 400],
  ['control character in a value', get(`${HOST}X-A: a\x0bb\r\n`), 400],
  ['DEL in a value', get(`${HOST}X-A: a\x7fb\r\n`), 400],
  ['bare carriage return in a value', get(`${HOST}X-A: a\rb\r\n`), 400],
  ['bare carriage return that hides a field', get(`${HOST}X-A: a\rX-B: b\r\n`), 400],
  ['two carriage returns', get(`${HOST}X-A: a\r\r\n`), 400],
  ['bare line feed after a field', `GET / HTTP/1.1\r\nHost: example.test\nX-A: b\r\n\r\n`, 400],
  ['bare line feed after the request line', `GET / HTTP/1.1\n${HOST}\r\n`, 400],
  ['bare line feeds only', 'GET / HTTP/1.1\nHost: example.test\n\n', 400],
  ['bare line feed at the end of the head', `GET / HTTP/1.1\r\n${HOST}\n`, 400],
  ['bracket in a name', get(`${HOST}X(A: b\r\n`), 400],
  ['NUL in a name', get(`${HOST}X\0A: b\r\n`), 400],
  ['bytes above ASCII in a name', get(`${HOST}X\xe4: b\r\n`), 400],
  ['too many fields', get(HOST + 'X-A: b\r\n'.repeat(128)), 431],
  ['a large field', get(`${HOST}X-A: ${'a'.repeat(17_000)}\r\n`), 431],
  ['a long target and fields', `GET /${'a'.repeat(16_370)} HTTP/1.1\r\n${HOST}X-A: 1\r\n\r\n`, 431],
  ['a long target', `GET /${'a'.repeat(17_000)} HTTP/1.1\r\n${HOST}\r\n`, 414],
  ['a large name', get(`${HOST}${'a'.repeat(17_000)}: a\r\n`), 431],
  // Length
  ['length with a sign', post('Content-Length: +5\r\n', 'hello'), 400],
  ['negative length', post('Content-Length: -5\r\n', 'hello'), 400],
  ['two numbers', post('Content-Length: 5 5\r\n', 'hello'), 400],
  ['list of lengths', post('Content-Length: 5, 5\r\n', 'hello'), 400],
  ['hexadecimal length', post('Content-Length: 0x5\r\n', 'hello'), 400],
  ['length with letters behind', post('Content-Length: 5a\r\n', 'hello'), 400],
  ['length with a fraction', post('Content-Length: 5.0\r\n', 'hello'), 400],
  ['empty length', post('Content-Length:\r\n', 'hello'), 400],
  ['huge length', post('Content-Length: 99999999999999999999\r\n', 'hello'), 400],
  ['repeated length', post('Content-Length: 5\r\nContent-Length: 5\r\n', 'hello'), 400],
  ['two lengths', post('Content-Length: 5\r\ncontent-length: 6\r\n', 'hello!'), 400],
  ['length in full-width digits', post('Content-Length: \xef\xbc\x95\r\n', 'hello'), 400],
  // Transfer coding
  ['coding besides chunked', post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'), 501],
  ['chunked not last', post('Transfer-Encoding: chunked, gzip\r\n', '0\r\n\r\n'), 501],
  ['identity', post('Transfer-Encoding: identity\r\n'), 501],
  ['chunked twice', post('Transfer-Encoding: chunked, chunked\r\n', '0\r\n\r\n'), 501],
  ['repeated Transfer-Encoding', post('Transfer-Encoding: chunked\r\n'.repeat(2), '0\r\n\r\n'), 400],
  ['quoted coding', post('Transfer-Encoding: "chunked"\r\n', '0\r\n\r\n'), 501],
  ['misspelt coding', post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'), 501],
  ['coding with a parameter', post('Transfer-Encoding: chunked;q=1\r\n', '0\r\n\r\n'), 501],
  ['coding behind a vertical tab', post('Transfer-Encoding: \x0bchunked\r\n', '0\r\n\r\n'), 400],
  ['empty coding', post('Transfer-Encoding:\r\n', '0\r\n\r\n'), 501],
  ['length and coding', post('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'), 400],
  ['coding and length', post('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', '0\r\n\r\n'), 400],
  ['coding in HTTP/1.0', `POST / HTTP/1.0\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
  // Chunks
  ['size with a sign', chunked('+5\r\nhello\r\n0\r\n\r\n'), 400],
  ['size with 0x', chunked('0x5\r\nhello\r\n0\r\n\r\n'), 400],
  ['negative size', chunked('-5\r\nhello\r\n0\r\n\r\n'), 400],
  ['empty size', chunked('\r\nhello\r\n0\r\n\r\n'), 400],
  ['size of letters', chunked('xyz\r\nhello\r\n0\r\n\r\n'), 400],
  ['space before the size', chunked(' 5\r\nhello\r\n0\r\n\r\n'), 400],
  ['space behind the size', chunked('5 \r\nhello\r\n0\r\n\r\n'), 400],
  ['overflowing size', chunked('10000000000000005\r\nhello\r\n0\r\n\r\n'), 413],
  ['gigantic size', chunked('fffffffffffff\r\nhello'), 413],
  ['bare line feed behind the size', chunked('5\nhello\r\n0\r\n\r\n'), 400],
  ['bare line feed behind a chunk', chunked('5\r\nhello\n0\r\n\r\n'), 400],
  ['chunk longer than its size', chunked('5\r\nhello!\r\n0\r\n\r\n'), 400],
  ['chunk shorter than its size', chunked('6\r\nhello\r\n0\r\n\r\n'), 400],
  ['control character in an extension', chunked('5;a=\x01\r\nhello\r\n0\r\n\r\n'), 400],
  ['bare line feed in an extension', chunked('5;a\nb\r\nhello\r\n0\r\n\r\n'), 400],
  ['endless extension', chunked(`5;${'a'.repeat(5000)}\r\nhello\r\n0\r\n\r\n`), 413],
  ['length behind the body', chunked('0\r\nContent-Length: 5\r\n\r\n'), 400],
  ['coding behind the body', chunked('0\r\nTransfer-Encoding: chunked\r\n\r\n'), 400],
  ['folded trailer', chunked('0\r\nX-A: a\r\n b\r\n\r\n'), 400],
  ['trailer with a space before its colon', chunked('0\r\nX-A : a\r\n\r\n'), 400],
  ['expectation that nobody can meet', post('Expect: coffee\r\nContent-Length: 5\r\n', 'hello'), 417],
]

/** An origin that remembers which complete requests reached it. */
async function watchedOrigin(t: Test) {
  const reached: string[] = []
  const { url } = await startOrigin(t, (request, response) => {
    request.on('error', () => undefined)
    request.resume()
    request.on('end', () => {
      reached.push(`${request.method} ${request.url}`)
      response.end('from the origin')
    })
  })
  return { url, reached }
}

t.test('malformed and ambiguous requests are rejected, reach no origin and end their connection', async (t) => {
  const { url, reached } = await watchedOrigin(t)
  const { port, metrics } = await startProxy(t, url)
  for (const [why, bytes, status] of REFUSED) {
    // Bytes after a rejected request must not be read as another one.
    const response = await sendRaw(port, bytes + get(HOST))
    t.equal(response.status, status, why)
    t.ok(response.closed, `${why}: connection closed`)
    t.equal(response.text.split('HTTP/1.1 ').length, 2, `${why}: one answer`)
    t.match(response.text, /\r\ncf-ray: [0-9a-f]{16}\r\n/, `${why}: ray id`)
    t.match(response.text, /\r\nconnection: close\r\n/i, `${why}: says that it closes`)
  }
  t.strictSame(reached, [])
  t.equal(await metric(metrics, 'edged_proxy_requests_in_flight'), 0)
  t.equal(await metric(metrics, 'edged_proxy_requests_rejected_total'), REFUSED.length)
})

t.test('a byte at a time makes no difference', async (t) => {
  const { url, reached } = await watchedOrigin(t)
  const { port } = await startProxy(t, url)
  for (const [why, bytes, status] of REFUSED) {
    if (bytes.length > 200) continue
    const response = await sendRaw(port, (bytes + get(HOST)).split(''))
    t.equal(response.status, status, why)
    t.ok(response.closed, `${why}: connection closed`)
  }
  t.strictSame(reached, [])
})

t.test('the response to a rejected request follows those before it', async (t) => {
  const { url, reached } = await watchedOrigin(t)
  const { port } = await startProxy(t, url)
  const { text, closed } = await sendRaw(port, get(HOST) + get(HOST) + get('Host: a/b\r\n') + get(HOST))
  t.strictSame(
    [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
    ['200', '200', '400'],
  )
  t.ok(closed)
  t.strictSame(reached, ['GET /', 'GET /'])
})

t.test('methods that are not allowed come with those that are', async (t) => {
  const { url } = await watchedOrigin(t)
  const { port } = await startProxy(t, url)
  for (const line of ['TRACE /', 'CONNECT example.test:443'])
    t.match((await sendRaw(port, `${line} HTTP/1.1\r\n${HOST}\r\n`)).text, /\r\nallow: GET, HEAD, POST, /)
})

t.test('odd but proper requests pass', async (t) => {
  const { url, reached } = await watchedOrigin(t)
  const { port } = await startProxy(t, url)
  const passing: readonly (readonly [string, string])[] = [
    ['an empty line before the request', `\r\n${get(HOST)}`],
    ['no space after the colon', get('Host:example.test\r\n')],
    ['spaces and tabs around a value', get('Host: \t example.test \t \r\n')],
    ['a name in capitals', get('HOST: EXAMPLE.TEST\r\n')],
    ['a port', get('Host: example.test:8080\r\n')],
    ['a trailing dot', get('Host: example.test.\r\n')],
    ['an empty value', get(`${HOST}X-A:\r\n`)],
    ['bytes above ASCII in a value', get(`${HOST}X-A: \xe4\xff\r\n`)],
    ['a length with leading zeros', post('Content-Length: 005\r\n', 'hello')],
    ['a length of zero', post('Content-Length: 0\r\n')],
    ['a coding in capitals', post('Transfer-Encoding: CHUNKED\r\n', '0\r\n\r\n')],
    ['a chunk extension', chunked('5;a=b;c="d e"\r\nhello\r\n0\r\n\r\n')],
    ['chunk sizes with capitals and zeros', chunked('00A\r\n0123456789\r\n000\r\n\r\n')],
    ['trailers', chunked('5\r\nhello\r\n0\r\nX-A: b\r\n\r\n')],
    ['an absolute target', `GET http://EXAMPLE.test HTTP/1.1\r\n${HOST}\r\n`],
    ['an absolute target with a query', `GET http://example.test?a HTTP/1.1\r\n${HOST}\r\n`],
    ['a GET with a body', `GET / HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhello`],
    ['HTTP/1.0', `GET / HTTP/1.0\r\n${HOST}\r\n`],
    ['a target of two slashes', `GET //other.test/ HTTP/1.1\r\n${HOST}\r\n`],
  ]
  for (const [why, bytes] of passing) {
    const { status } = await sendRaw(port, [bytes.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')])
    t.equal(status, 200, why)
  }
  t.equal(reached.length, passing.length)
  t.ok(reached.includes('GET /?a'), 'the authority of an absolute target is taken off')
  t.ok(reached.includes('GET //other.test/'))
})

/** Parts of requests, combined at random. */
const PIECES = [
  ['GET', 'POST', ' ', '  ', '/', 'HTTP/1.1', 'HTTP/1.0', '\r\n', '\r\n\r\n', '\n', '\r', '\0', '\t', ':', ','],
  ['Host', ': ', 'example.test', 'Content-Length', 'Transfer-Encoding', 'chunked', '5', '0', 'hello', '+', ';'],
  ['Connection', 'close', 'Upgrade', 'h2c', 'GET / HTTP/1.1\r\nHost: example.test\r\n\r\n', '5\r\nhello\r\n'],
  ['POST / HTTP/1.1\r\nHost: example.test\r\n', 'Transfer-Encoding: chunked\r\n', 'Content-Length: 5\r\n', '\xff'],
].flat()

t.test('for any bytes, the origin sees only what a strict reader sees', async (t) => {
  const seen: string[] = []
  const { url } = await startOrigin(t, (request, response) => {
    if (request.url !== '/' || request.headers.host !== 'example.test') seen.push(`${request.method} ${request.url}`)
    request.on('error', () => undefined)
    request.resume().on('end', () => response.end('ok'))
  })
  const { port } = await startProxy(t, url)
  const piece = fc.constantFrom(...PIECES)
  const bytes = fc.oneof(
    fc.array(piece, { minLength: 1, maxLength: 25 }).map((pieces) => pieces.join('')),
    fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array).toString('latin1')),
    fc
      .tuple(fc.constantFrom(...REFUSED.map(([, bytes]) => bytes)), fc.nat(300), piece)
      .map(([bytes, at, piece]) => bytes.slice(0, at) + piece + bytes.slice(at)),
  )
  await fc.assert(
    fc.asyncProperty(bytes, async (bytes) => {
      await sendRaw(port, bytes, { patience: 30 })
    }),
    { numRuns: 400 },
  )
  t.strictSame(seen, [])
  t.equal((await sendRaw(port, get(`${HOST}Connection: close\r\n`))).status, 200, 'still serving')
})
