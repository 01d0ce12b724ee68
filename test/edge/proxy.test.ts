import { once } from 'node:events'
import { Agent, get as httpGet, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { silentLog } from '../../src/core/log.js'
import type { AnswerSink, Stage } from '../../src/edge/answer.js'
import { zoneTable } from '../../src/edge/zones.js'
import { metric, proxyConfig, sendRaw, startOrigin, startProxy, startRawOrigin, testZone } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'

const HOST = 'Host: example.test\r\n'
const LAST = 'Connection: close\r\n'
const page = (head = '', method = 'GET', target = '/') => `${method} ${target} HTTP/1.1\r\n${HOST}${LAST}${head}\r\n`

/** An origin that answers with what it got. */
const echo = (request: IncomingMessage) =>
  JSON.stringify({ line: `${request.method} ${request.url}`, raw: request.rawHeaders })

interface Echo {
  line: string
  raw: string[]
}
const echoed = (text: string): Echo =>
  JSON.parse(text.slice(text.indexOf('{"line"'), text.lastIndexOf('}') + 1)) as Echo
const values = ({ raw }: Echo, name: string): string[] =>
  raw.filter((_, i) => i % 2 === 1 && raw[i - 1]!.toLowerCase() === name)

t.test('the origin gets the request as it came, without what belongs to the connection', async (t) => {
  const { url } = await startOrigin(t, (request, response) => response.end(echo(request)))
  const { port } = await startProxy(t, url)
  const { text } = await sendRaw(
    port,
    `GET /a%2fb/../c?x=1&y=%20 HTTP/1.1\r\nHost: Example.test:8080\r\nX-One: 1\r\nx-one: 2\r\nCookie: a=b\r\n` +
      'Connection: close, X-Secret, Cookie2\r\nKeep-Alive: 5\r\nTE: trailers\r\nTrailer: x\r\nUpgrade: h2c\r\n' +
      'HTTP2-Settings: AAMAAABkAAQAAP__\r\nProxy-Authorization: x\r\nProxy-Connection: keep-alive\r\nX-Secret: 1\r\n' +
      'X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil.test\r\nVia: 1.0 fred\r\n' +
      'CF-Ray: made-up\r\nCF-Connecting-IP: 192.0.2.9\r\nX-Latin: \xe4\r\n\r\n',
  )
  const got = echoed(text)
  t.equal(got.line, 'GET /a%2fb/../c?x=1&y=%20')
  t.strictSame(values(got, 'host'), ['Example.test:8080'])
  t.strictSame(values(got, 'x-one'), ['1', '2'])
  t.strictSame(values(got, 'cookie'), ['a=b'])
  // The origin echoes in UTF-8 the character that stands for the byte.
  t.strictSame(values(got, 'x-latin'), ['\xc3\xa4'])
  for (const name of ['keep-alive', 'te', 'trailer', 'upgrade', 'http2-settings', 'x-secret'])
    t.strictSame(values(got, name), [], name)
  t.strictSame(values(got, 'proxy-authorization'), [])
  t.strictSame(values(got, 'proxy-connection'), [])
  t.strictSame(values(got, 'connection'), ['keep-alive'])
  t.strictSame(values(got, 'x-forwarded-for'), ['192.0.2.7, 127.0.0.1'])
  t.strictSame(values(got, 'x-forwarded-proto'), ['http'])
  t.strictSame(values(got, 'x-forwarded-host'), ['Example.test:8080'])
  t.strictSame(values(got, 'via'), ['1.0 fred, 1.1 edged'])
  t.strictSame(values(got, 'cf-connecting-ip'), ['127.0.0.1'])
  t.match(text, new RegExp(`\r\ncf-ray: ${values(got, 'cf-ray')[0]}\r\n`), 'one ray id for origin and client')
})

t.test('trusted proxies say who the visitor is', async (t) => {
  const { url } = await startOrigin(t, (request, response) => response.end(echo(request)))
  const { port } = await startProxy(t, url, { yaml: '{ trusted_proxies: [127.0.0.0/8, 10.0.0.0/8, "2001:db8::/32"] }' })
  for (const [forwardedFor, visitor] of [
    ['192.0.2.1', '192.0.2.1'],
    ['6.6.6.6, 192.0.2.1, 10.1.2.3', '192.0.2.1'],
    ['192.0.2.1:4711, 10.1.2.3', '192.0.2.1'],
    ['2001:DB9::7, [2001:db8::1]:443', '2001:db9::7'],
    ['::ffff:192.0.2.5', '192.0.2.5'],
    ['10.0.0.1, 10.0.0.2', '10.0.0.1'],
    ['unknown, 10.0.0.2', '10.0.0.2'],
    ['192.0.2.1,, 10.0.0.2', '10.0.0.2'],
    ['rubbish', '127.0.0.1'],
  ] as const) {
    const { text } = await sendRaw(port, page(`X-Forwarded-For: ${forwardedFor}\r\nX-Forwarded-Proto: HTTPS\r\n`))
    t.strictSame(values(echoed(text), 'cf-connecting-ip'), [visitor], forwardedFor)
    t.strictSame(values(echoed(text), 'x-forwarded-proto'), ['https'])
  }
})

t.test('the client gets the answer as it came, without what belongs to the connection', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.on('data', () =>
      socket.write(
        'HTTP/1.1 203 Whatever\r\nX-One: 1\r\nx-one: 2\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Latin: \xe4\r\n' +
          'Connection: keep-alive, X-Secret\r\nX-Secret: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: x\r\n' +
          'Upgrade: h2\r\nTrailer: X-Sum\r\nCF-Ray: made-up\r\nTransfer-Encoding: chunked\r\n\r\n' +
          '5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n',
        'latin1',
      ),
    )
  })
  const { port } = await startProxy(t, origin)
  const { text } = await sendRaw(port, page())
  t.match(text, /^HTTP\/1\.1 203 /)
  t.match(text, /\r\nX-One: 1\r\nx-one: 2\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Latin: \xe4\r\n/)
  t.notMatch(text, /secret|keep-alive|proxy-auth|upgrade|trailer|x-sum|made-up/i)
  t.match(text, /\r\n5\r\nhello\r\n0\r\n\r\n$/, 'chunked again, trailers dropped')
  const old = await sendRaw(port, `GET / HTTP/1.0\r\n${HOST}\r\n`)
  t.notMatch(old.text, /transfer-encoding/i)
  t.match(old.text, /\r\n\r\nhello$/, 'HTTP/1.0 knows no chunks')
})

t.test('HEAD, 204 and 304 have no body, and keep what they say about it', async (t) => {
  const { url } = await startOrigin(t, (request, response) => {
    const status = Number(request.url?.slice(1) ?? 200)
    response.writeHead(status, status === 204 ? {} : { 'content-length': 5, etag: '"x"' })
    response.end(request.method === 'HEAD' || status !== 200 ? undefined : 'hello')
  })
  const { port } = await startProxy(t, url)
  const head = await sendRaw(port, page('', 'HEAD', '/200'))
  t.match(head.text, /content-length: 5\r\n/i)
  t.match(head.text, /\r\n\r\n$/)
  t.match(
    (await sendRaw(port, page('', 'GET', '/304'))).text,
    /^HTTP\/1\.1 304 [^]*content-length: 5\r\n[^]*\r\n\r\n$/i,
  )
  const empty = await sendRaw(port, page('', 'GET', '/204'))
  t.match(empty.text, /^HTTP\/1\.1 204 [^]*\r\n\r\n$/)
  t.notMatch(empty.text, /content-length|transfer-encoding/i)
  const missing = await sendRaw(port, page('', 'HEAD').replace('example.test', 'other.test'))
  t.match(missing.text, /^HTTP\/1\.1 404 [^]*content-length: \d+\r\n[^]*\r\n\r\n$/)
})

t.test('OPTIONS * is answered by the proxy itself', async (t) => {
  const { port } = await startProxy(t, 'http://127.0.0.1:1')
  for (const target of ['*', 'http://example.test'])
    t.match((await sendRaw(port, page('', 'OPTIONS', target))).text, /^HTTP\/1\.1 204 [^]*\r\nallow: GET, /)
})

t.test('connections are kept on both sides', async (t) => {
  let connections = 0
  const { url, server } = await startOrigin(t, (_request, response) => response.end('x'))
  server.on('connection', () => connections++)
  const { port } = await startProxy(t, url)
  const { text } = await sendRaw(port, [`GET / HTTP/1.1\r\n${HOST}\r\n`.repeat(20), page()])
  t.equal(text.split('HTTP/1.1 200').length - 1, 21)
  t.ok(connections <= 2, `${connections} connections for 21 requests`)
  const old = await sendRaw(port, [
    `GET / HTTP/1.0\r\n${HOST}Connection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n${HOST}\r\n`,
  ])
  t.equal(old.text.split('HTTP/1.1 200').length - 1, 2, 'HTTP/1.0 where it asks for it')
})

t.test('requests sent without waiting reach the origin one after the other', async (t) => {
  let running = 0
  let most = 0
  const { url } = await startOrigin(t, (request, response) => {
    most = Math.max(most, ++running)
    request.resume().on('end', () => {
      setTimeout(() => {
        running--
        response.end(request.url)
      }, 2)
    })
  })
  const { port } = await startProxy(t, url)
  const several = Array.from({ length: 30 }, (_, i) => `POST /${i} HTTP/1.1\r\n${HOST}Content-Length: 3\r\n\r\nabc`)
  const { text } = await sendRaw(port, several.join('') + page('', 'GET', '/last'))
  t.strictSame(
    [...text.matchAll(/\r\n\/(\d+|last)/g)].map(([, name]) => name),
    [...Array.from({ length: 30 }, (_, i) => `${i}`), 'last'],
  )
  t.equal(most, 1)
})

t.test('the proxy asks for the body only when the origin is there', async (t) => {
  const { url } = await startOrigin(t, (request, response) => {
    let size = 0
    request
      .on('data', (chunk: Buffer) => (size += chunk.length))
      .on('end', () => response.end(`${echo(request)} ${size}`))
  })
  const { port, zones } = await startProxy(t, url)
  const head = page('Expect: 100-continue\r\nContent-Length: 5\r\n', 'POST')
  const socket = connect(port, '127.0.0.1')
  socket.write(head)
  t.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 100 Continue\r\n\r\n$/)
  socket.write('hello')
  const text = String((await once(socket, 'data'))[0])
  t.match(text, /^HTTP\/1\.1 200 /)
  t.match(text, / 5$/m)
  t.strictSame(values(echoed(text), 'expect'), [])
  zones.current = zoneTable([testZone('http://127.0.0.1:1')])
  const down = await sendRaw(port, head)
  t.equal(down.status, 502)
  t.notMatch(down.text, /100 Continue/)
})

t.test('large bodies stream both ways, with and without a length', async (t) => {
  const SIZE = 48 * 1024 * 1024
  const { url } = await startOrigin(t, (request, response) => {
    if (request.headers['content-length']) response.setHeader('content-length', request.headers['content-length'])
    request.pipe(response)
  })
  const { port } = await startProxy(t, url)
  const chunk = Buffer.alloc(65_536, 'x')
  for (const headers of [{ 'content-length': SIZE }, {}]) {
    const request = httpRequest({ port, method: 'POST', headers: { host: 'example.test', ...headers } })
    const answer = once(request, 'response') as Promise<[IncomingMessage]>
    const sending = (async () => {
      for (let sent = 0; sent < SIZE; sent += chunk.length) if (!request.write(chunk)) await once(request, 'drain')
      request.end()
    })()
    const [response] = await answer
    let size = 0
    for await (const part of response) size += (part as Buffer).length
    await sending
    t.equal(size, SIZE)
  }
})

t.test('a slow reader makes the origin wait', async (t) => {
  let written = 0
  const { url } = await startOrigin(t, (_request, response) => {
    const chunk = Buffer.alloc(65_536)
    const more = () => {
      while (written < 512 * 1024 * 1024) {
        written += chunk.length
        if (!response.write(chunk)) return
      }
    }
    response.on('drain', more)
    more()
  })
  const { port } = await startProxy(t, url)
  const before = process.memoryUsage().arrayBuffers
  const socket = connect(port, '127.0.0.1')
  socket.write(page())
  await once(socket, 'readable')
  socket.pause()
  let last = -1
  await until(async () => {
    const same = written === last
    last = written
    await wait(50)
    return same
  })
  t.ok(written < 64 * 1024 * 1024, `${written} bytes left the origin`)
  t.ok(process.memoryUsage().arrayBuffers - before < 32 * 1024 * 1024)
  socket.destroy()
})

t.test('a client that takes nothing is disconnected', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end(Buffer.alloc(64 * 1024 * 1024)))
  const { port, metrics } = await startProxy(t, url, { yaml: '{ limits: { write_timeout: 100ms } }' })
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(page())
  await once(socket, 'readable')
  await until(async () => (await metric(metrics, 'edged_proxy_requests_aborted_total')) === 1)
  t.equal(await metric(metrics, 'edged_proxy_requests_in_flight'), 0)
  socket.destroy()
})

t.test('a thousand requests at once', async (t) => {
  const { url } = await startOrigin(t, (request, response) => setTimeout(() => response.end(request.url), 20))
  const { port, metrics } = await startProxy(t, url)
  const agent = new Agent({ keepAlive: true, maxSockets: 1000 })
  const answers = await Promise.all(
    Array.from({ length: 1000 }, async (_, i) => {
      const request = httpGet({ port, agent, path: `/${i}`, headers: { host: 'example.test' } })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      let text = ''
      for await (const part of response) text += String(part)
      return response.statusCode === 200 && text === `/${i}`
    }),
  )
  agent.destroy()
  t.equal(answers.filter(Boolean).length, 1000)
  await until(async () => (await metric(metrics, 'edged_proxy_requests_total', { class: '2xx' })) === 1000)
  t.equal(await metric(metrics, 'edged_proxy_requests_in_flight'), 0)
})

t.test('a client that leaves takes its request back from the origin', async (t) => {
  let asked = 0
  let gone = 0
  const { url } = await startOrigin(t, (request, response) => {
    asked++
    response.on('close', () => gone++)
    if (request.url === '/begun') response.write('x')
    request.on('error', () => undefined)
  })
  const { port, metrics } = await startProxy(t, url)
  for (const [target, head] of [
    ['/silent', ''],
    ['/begun', ''],
    ['/upload', 'Content-Length: 100\r\n'],
  ] as const) {
    const before = asked
    const socket = connect(port, '127.0.0.1')
    socket.write(`${page(head, head ? 'POST' : 'GET', target)}${head && 'abc'}`)
    await until(() => asked === before + 1)
    if (target === '/begun') await once(socket, 'data')
    socket.destroy()
    await until(() => gone === asked)
  }
  await until(async () => (await metric(metrics, 'edged_proxy_requests_in_flight')) === 0)
  t.equal(await metric(metrics, 'edged_proxy_requests_aborted_total'), 3)
  t.equal(await metric(metrics, 'edged_proxy_origin_errors_total', { kind: 'reset' }), 0)
})

t.test('an origin that dies midway breaks the transfer', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.on('data', (data) => {
      const [, how] = /GET \/(\w+)/.exec(String(data)) ?? []
      const framing = how === 'chunked' ? 'Transfer-Encoding: chunked' : how === 'length' ? 'Content-Length: 9' : 'X: y'
      socket.write(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n${how === 'chunked' ? '5\r\n' : ''}hello`)
      setTimeout(() => (how === 'open' ? socket.resetAndDestroy() : socket.end()), 20)
    })
  })
  const { port } = await startProxy(t, origin)
  for (const target of ['/chunked', '/length', '/open']) {
    const code = await new Promise<string | undefined>((resolve) => {
      const failed = (error: NodeJS.ErrnoException) => resolve(error.code)
      const request = httpGet({ port, path: target, headers: { host: 'example.test' } }, (response) => {
        response.resume().on('error', failed)
        response.on('end', () => resolve('complete'))
      })
      request.on('error', failed)
    })
    t.equal(code, 'ECONNRESET', target)
  }
})

t.test('an origin that cannot be used is a 502, and says nothing about itself', async (t) => {
  const answers: Record<string, string> = {
    nothing: '',
    rubbish: 'SSH-2.0-OpenSSH_9.2\r\n',
    zero: 'HTTP/1.1 000 Bad\r\n\r\n',
    high: 'HTTP/1.1 999 Bad\r\nContent-Length: 0\r\n\r\n',
    lengths: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!',
    length: 'HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello',
    both: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    coding: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    nul: 'HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 0\r\n\r\n',
    control: 'HTTP/1.1 200 OK\r\nX-A: a\x01b\r\nContent-Length: 0\r\n\r\n',
    name: 'HTTP/1.1 200 OK\r\nX A: b\r\nContent-Length: 0\r\n\r\n',
    return: 'HTTP/1.1 200 OK\r\nX-A: a\rX-B: b\r\nContent-Length: 0\r\n\r\n',
    switch: 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
    large: `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(70_000)}\r\n\r\n`,
  }
  const origin = await startRawOrigin(t, (socket) => {
    socket.on('data', (data) => socket.end(answers[/GET \/(\w+)/.exec(String(data))?.[1] ?? ''] ?? '', 'latin1'))
  })
  const { port, zones } = await startProxy(t, origin)
  for (const name of Object.keys(answers)) {
    const { status, text } = await sendRaw(port, page('', 'GET', `/${name}`))
    t.equal(status, 502, name)
    t.notMatch(text, /127\.0\.0\.1|undici|node|llhttp|stack|SSH/i, name)
    t.match(text, /\r\ncf-ray: [0-9a-f]{16}\r\n/)
  }
  zones.current = zoneTable([testZone('http://127.0.0.1:1')])
  const down = await sendRaw(port, page('Accept: application/json\r\n'))
  t.equal(down.status, 502)
  t.match(down.text, /content-type: application\/json/)
  zones.current = zoneTable([testZone('http://does-not-exist.invalid')])
  t.equal((await sendRaw(port, page())).status, 502)
})

t.test('interim answers of the origin stay behind', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.on('data', () =>
      socket.write('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'),
    )
  })
  const { port } = await startProxy(t, origin)
  t.match((await sendRaw(port, page())).text, /^HTTP\/1\.1 200 [^]*\r\n\r\nok$/)
})

t.test('an unknown host is a 404', async (t) => {
  const { port } = await startProxy(t, 'http://127.0.0.1:1')
  t.equal((await sendRaw(port, page().replace('example.test', 'other.test'))).status, 404)
})

t.test('slow origins are a 504', async (t) => {
  const { url } = await startOrigin(t, (request, response) => {
    if (request.url === '/half') response.write('x')
  })
  const { port, zones } = await startProxy(t, url, {
    yaml: '{ origin: { headers_timeout: 150ms, connect_timeout: 200ms } }',
  })
  t.equal((await sendRaw(port, page())).status, 504)
  const patient = await startProxy(t, url, { yaml: '{ origin: { body_timeout: 150ms } }' })
  const half = await sendRaw(patient.port, page('', 'GET', '/half'))
  t.equal(half.status, 200)
  t.notMatch(half.text, /\r\n0\r\n\r\n$/, 'cut, not finished')
  t.ok(half.closed)
  // A backlog that is full: connections to it are neither accepted nor refused.
  zones.current = zoneTable([testZone('http://192.0.2.1:81')])
  const unreachable = await sendRaw(port, page())
  t.ok([502, 504].includes(unreachable.status), 'no route, or no answer')
})

t.test('too many requests for one origin are a 503', async (t) => {
  const waiting: (() => void)[] = []
  const { url } = await startOrigin(t, (_request, response) => waiting.push(() => response.end('x')))
  const { port, metrics } = await startProxy(t, url, { yaml: '{ origin: { connections: 2, waiting: 1 } }' })
  const three = [1, 2, 3].map(async () => await sendRaw(port, page()))
  await until(async () => (await metric(metrics, 'edged_proxy_requests_in_flight')) === 3)
  const fourth = await sendRaw(port, page())
  t.equal(fourth.status, 503)
  t.match(fourth.text, /\r\nretry-after: \d+\r\n/)
  for (let done = 0; done < 3; done++) {
    await until(() => waiting.length > 0)
    waiting.shift()?.()
  }
  t.strictSame(
    (await Promise.all(three)).map(({ status }) => status),
    [200, 200, 200],
  )
})

t.test('a request does not wait for a connection for ever', async (t) => {
  let asked = 0
  const { url } = await startOrigin(t, () => asked++)
  const { port } = await startProxy(t, url, { yaml: '{ origin: { connections: 1, waiting_timeout: 10ms } }' })
  const stuck = connect(port, '127.0.0.1')
  stuck.write(page())
  await until(() => asked === 1)
  t.equal((await sendRaw(port, page())).status, 503)
  stuck.destroy()
})

t.test('a stale connection is tried again once, where that is safe', async (t) => {
  let requests = 0
  const origin = await startRawOrigin(t, (socket) => {
    let first = true
    socket.on('data', () => {
      requests++
      // The second request on a connection meets a closing one.
      if (first) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      else socket.destroy()
      first = false
    })
  })
  const { port, metrics } = await startProxy(t, origin)
  t.equal((await sendRaw(port, page())).status, 200)
  t.equal((await sendRaw(port, page())).status, 200)
  t.equal(await metric(metrics, 'edged_proxy_origin_retries_total'), 1)
  t.equal(requests, 3)
  t.equal((await sendRaw(port, page('Content-Length: 2\r\n', 'POST') + 'ab')).status, 502, 'a POST is not repeated')
  t.equal(requests, 4)
})

t.test('bodies beyond the limit are a 413, announced or not', async (t) => {
  let complete = 0
  const { url } = await startOrigin(t, (request, response) => {
    request.on('error', () => undefined)
    request.resume().on('end', () => {
      complete++
      response.end('ok')
    })
  })
  const { port } = await startProxy(t, url, { yaml: '{ limits: { body_bytes: 10B } }' })
  const send = async (head: string, body: string) => (await sendRaw(port, [page(head, 'POST'), body])).status
  t.equal(await send('Content-Length: 10\r\n', '0123456789'), 200)
  t.equal(await send('Content-Length: 11\r\n', '0123456789a'), 413)
  t.equal(await send('Transfer-Encoding: chunked\r\n', 'a\r\n0123456789\r\n0\r\n\r\n'), 200)
  t.equal(await send('Transfer-Encoding: chunked\r\n', '6\r\n012345\r\n5\r\n56789\r\n0\r\n\r\n'), 413)
  t.equal(complete, 2)
})

t.test('slow requests are a 408', async (t) => {
  const { url } = await startOrigin(t, (request, response) => {
    request.on('error', () => undefined)
    request.resume().on('end', () => response.end('ok'))
  })
  const { port } = await startProxy(t, url, { yaml: '{ limits: { header_timeout: 150ms, request_timeout: 300ms } }' })
  const head = await sendRaw(port, 'GET / HTTP/1.1\r\nHost: exam')
  t.equal(head.status, 408)
  t.ok(head.closed)
  const body = await sendRaw(port, page('Content-Length: 10\r\n', 'POST') + 'abc')
  t.equal(body.status, 408)
  t.ok(body.closed)
  const second = await sendRaw(port, [`GET / HTTP/1.1\r\n${HOST}\r\n`, 'GET / HTTP'])
  t.match(second.text, /^HTTP\/1\.1 200 [^]*HTTP\/1\.1 408 /)
  const silent = await sendRaw(port, '')
  t.strictSame([silent.text, silent.closed], ['', true], 'one that says nothing is told nothing')
})

t.test('connections are limited, in all and for one address', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('ok'))
  for (const yaml of ['{ limits: { connections: 3 } }', '{ limits: { connections_per_address: 3 } }']) {
    const { port, metrics } = await startProxy(t, url, { yaml })
    const held = await Promise.all(
      [1, 2, 3].map(async () => {
        const socket = connect(port, '127.0.0.1')
        await once(socket, 'connect')
        return socket
      }),
    )
    await until(async () => (await metric(metrics, 'edged_proxy_connections')) === 3)
    const fourth = await sendRaw(port, page())
    t.strictSame([fourth.status, fourth.closed], [0, true])
    held[0]?.destroy()
    await until(async () => (await metric(metrics, 'edged_proxy_connections')) === 2)
    t.equal((await sendRaw(port, page())).status, 200)
    for (const socket of held) socket.destroy()
  }
})

t.test('new options and zones take effect without dropping a request', async (t) => {
  const waiting: (() => void)[] = []
  const slow = await startOrigin(t, (_request, response) => waiting.push(() => response.end('old')))
  const fresh = await startOrigin(t, (_request, response) => response.end('new'))
  const proxy = await startProxy(t, slow.url)
  const { port, zones } = proxy
  const old = sendRaw(port, page())
  await until(() => waiting.length === 1)
  zones.current = zoneTable([testZone(fresh.url)])
  await proxy.reconfigure({
    ...proxyConfig('{ limits: { body_bytes: 1B }, origin: { connections: 1 } }'),
    listen: '127.0.0.1:0',
  })
  t.equal(proxy.port, port, 'same address')
  t.match((await sendRaw(port, page())).text, /new$/)
  t.equal((await sendRaw(port, page('Content-Length: 2\r\n', 'POST'))).status, 413)
  await proxy.reconfigure({ ...proxyConfig(), listen: 'localhost:0' })
  t.not(proxy.port, port, 'another address')
  t.match((await sendRaw(proxy.port, page())).text, /new$/)
  waiting[0]?.()
  t.match((await old).text, /old$/)
  await t.rejects(proxy.reconfigure({ ...proxyConfig(), listen: '192.0.2.1:1' }))
  t.match((await sendRaw(proxy.port, page())).text, /new$/, 'still serving')
})

t.test('closing lets requests finish, and ends connections with them', async (t) => {
  const waiting: (() => void)[] = []
  const { url } = await startOrigin(t, (_request, response) => waiting.push(() => response.end('x'.repeat(100))))
  const proxy = await startProxy(t, url)
  const idle = connect(proxy.port, '127.0.0.1')
  await once(idle, 'connect')
  const under = sendRaw(proxy.port, `GET / HTTP/1.1\r\n${HOST}\r\n`)
  await until(() => waiting.length === 1)
  const closed = proxy.close()
  await once(idle, 'close')
  t.equal((await sendRaw(proxy.port, page())).status, 0, 'nobody listens')
  waiting[0]?.()
  const answer = await under
  t.match(answer.text, /x{100}$/)
  t.match(answer.text, /connection: close/)
  t.ok(answer.closed)
  await closed
})

t.test('closing does not wait for ever', async (t) => {
  const { url } = await startOrigin(t, () => undefined)
  const proxy = await startProxy(t, url, { yaml: '{ drain_timeout: 50ms }' })
  const stuck = sendRaw(proxy.port, page())
  await until(async () => (await metric(proxy.metrics, 'edged_proxy_requests_in_flight')) === 1)
  await proxy.close()
  t.strictSame([(await stuck).status, (await stuck).closed], [0, true])
})

t.test('a request that goes round in circles is a 508', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('ok'))
  const proxy = await startProxy(t, url)
  proxy.zones.current = zoneTable([testZone(proxy.url)])
  t.equal((await sendRaw(proxy.port, page())).status, 508)
})

t.test('a stage sees every answer of the origin and its end', async (t) => {
  const events: string[] = []
  const { url } = await startOrigin(t, (request, response) => {
    if (request.url === '/never') response.write('x')
    else response.end(echo(request))
  })
  const { port } = await startProxy(t, url, {
    stages: [
      (exchange, next): AnswerSink => {
        exchange.headers.push('x-stage', exchange.host)
        return {
          head: (status, headers) => next.head(status, [...headers, 'x-seen', String(status)]),
          data: (chunk) => next.data(chunk),
          end: () => {
            events.push('end')
            next.end()
          },
          fail: (error) => {
            events.push('fail')
            next.fail(error)
          },
          onDrain: (listener) => next.onDrain(listener),
        }
      },
    ],
  })
  const { text } = await sendRaw(port, page())
  t.match(text, /\r\nx-seen: 200\r\n/)
  t.strictSame(values(echoed(text), 'x-stage'), ['example.test'])
  const socket = connect(port, '127.0.0.1')
  socket.write(page('', 'GET', '/never'))
  await once(socket, 'data')
  socket.destroy()
  await until(() => events.length === 2)
  t.strictSame(events, ['end', 'fail'])
})

t.test('a stage that throws spoils its own request only', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('ok'))
  const { port, metrics } = await startProxy(t, url, {
    stages: [
      (exchange, next) => {
        if (exchange.target === '/early') throw new Error('early fault')
        const head = (): never => {
          throw new Error('late fault')
        }
        return exchange.target === '/late'
          ? {
              head,
              data: () => true,
              end: () => next.end(),
              fail: (error) => next.fail(error),
              onDrain: () => undefined,
            }
          : next
      },
    ],
  })
  const early = await sendRaw(port, page('', 'GET', '/early'))
  t.equal(early.status, 500)
  t.notMatch(early.text, /early fault/)
  const late = await sendRaw(port, page('', 'GET', '/late'))
  t.equal(late.status, 502)
  t.notMatch(late.text, /late fault/)
  t.equal((await sendRaw(port, page())).status, 200)
  t.equal(await metric(metrics, 'edged_proxy_requests_in_flight'), 0)
})

t.test('an answer that would lead the client astray is not sent', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => {
    response.setHeader('content-length', 5)
    response.end('hello')
  })
  const changed = (change: (next: AnswerSink) => Partial<AnswerSink>): Stage => {
    return (_exchange, next) => ({
      head: (status, headers) => next.head(status, headers),
      data: (chunk) => next.data(chunk),
      end: () => next.end(),
      fail: (error) => next.fail(error),
      onDrain: (listener) => next.onDrain(listener),
      ...change(next),
    })
  }
  const field = (name: string, value: string) =>
    changed((next) => ({ head: (status, headers) => next.head(status, [...headers, name, value]) }))
  for (const stage of [field('x-a', 'a\r\nx-b: b'), field('x-a: a\r\nx-b', 'b'), field('x-a', '\u{1f600}')]) {
    const { port } = await startProxy(t, url, { stages: [stage] })
    const { status, text } = await sendRaw(port, page())
    t.equal(status, 502)
    t.notMatch(text, /x-a|x-b/)
  }
  const longer = await startProxy(t, url, {
    stages: [changed((next) => ({ data: (chunk) => next.data(Buffer.concat([chunk, chunk])) }))],
  })
  const long = await sendRaw(longer.port, [`GET / HTTP/1.1\r\n${HOST}\r\n`])
  t.ok(long.closed)
  t.notMatch(long.text, /hellohello/)
  const shorter = await startProxy(t, url, {
    stages: [changed((next) => ({ data: (chunk) => next.data(chunk.subarray(1)) }))],
  })
  t.ok((await sendRaw(shorter.port, `GET / HTTP/1.1\r\n${HOST}\r\n`)).closed)
  const own = await startProxy(t, url, { stages: [field('Transfer-Encoding', 'chunked')] })
  const { text } = await sendRaw(own.port, page())
  t.notMatch(text, /transfer-encoding/i)
  t.match(text, /\r\nconnection: close\r\n\r\nhello$/)
})

t.test('a client that sends no more has left', async (t) => {
  const { url } = await startOrigin(t, () => undefined)
  const { port, metrics } = await startProxy(t, url)
  const half = async (text: string) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    let got = ''
    socket.on('data', (chunk) => (got += chunk.toString('latin1')))
    socket.on('error', () => undefined)
    socket.end(text)
    await once(socket, 'close')
    return got
  }
  t.equal(await half(''), '', 'one that says nothing')
  t.match(await half('GET / HTTP/1.1\r\nHost'), /^HTTP\/1\.1 400 /)
  t.equal(await half(page()), '')
  await until(async () => (await metric(metrics, 'edged_proxy_connections')) === 0)
  t.equal(await metric(metrics, 'edged_proxy_requests_in_flight'), 0)
  t.equal(await metric(metrics, 'edged_proxy_requests_aborted_total'), 1)
})

t.test('an idle connection is closed in time', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('ok'))
  const { port } = await startProxy(t, url, { yaml: '{ limits: { keep_alive_timeout: 80ms } }' })
  const { text, closed } = await sendRaw(port, `GET / HTTP/1.1\r\n${HOST}\r\n`)
  t.match(text, /^HTTP\/1\.1 200 [^]*\r\nconnection: keep-alive\r\n/)
  t.ok(closed)
})

t.test('HTTP/1.0 gets what it understands', async (t) => {
  const { url } = await startOrigin(t, (request, response) => {
    if (request.url === '/length') response.setHeader('content-length', 5)
    response.write('hel')
    setTimeout(() => response.end('lo'), 5)
  })
  const { port } = await startProxy(t, url, { yaml: '{ limits: { keep_alive_timeout: 200ms } }' })
  const old = (target: string, method = 'GET') =>
    `${method} ${target} HTTP/1.0\r\n${HOST}Connection: keep-alive\r\n\r\n`
  const known = await sendRaw(port, [old('/length'), old('/length', 'HEAD'), old('/length')])
  t.equal(known.text.split('\r\nconnection: keep-alive\r\n').length - 1, 3)
  const { text, closed } = await sendRaw(port, [old('/'), old('/')])
  t.match(text, /\r\nconnection: close\r\n\r\nhello$/)
  t.ok(closed)
  t.notMatch(text, /transfer-encoding/)
})

t.test('each failed request leaves one line, with its ray id and without its secrets', async (t) => {
  const lines: string[] = []
  const log = Object.assign(Object.create(silentLog) as typeof silentLog, {
    warn: (line: object) => lines.push(JSON.stringify(line)),
  })
  const { port } = await startProxy(t, 'http://127.0.0.1:1', { log })
  const { text } = await sendRaw(port, page('Authorization: Bearer sesame\r\n', 'GET', '/x?token=sesame'))
  t.equal(lines.length, 1)
  t.match(JSON.parse(lines[0]!), { event: 'request_failed', status: 502, kind: 'refused', host: 'example.test' })
  t.ok(text.includes((JSON.parse(lines[0]!) as { ray: string }).ray))
  t.notMatch(lines[0], /sesame/)
})
