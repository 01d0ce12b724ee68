import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import type { ResponseSink, Stage } from '../../src/edge/exchange/response.js'
import { zoneTable } from '../../src/edge/exchange/zones.js'
import { metric, sendRaw, startOrigin, startProxy, startRawOrigin, testZone } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'
import { HOST, page, echo, echoed, values } from './proxy-helper.js'

t.test('the origin gets the request unchanged, without the fields of the connection', async (t) => {
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
  t.strictSame(values(got, 'host'), ['example.test:8080'])
  t.strictSame(values(got, 'x-one'), ['1', '2'])
  t.strictSame(values(got, 'cookie'), ['a=b'])
  // The origin echoes in UTF-8 the character that represents the byte.
  t.strictSame(values(got, 'x-latin'), ['\xc3\xa4'])
  for (const name of ['keep-alive', 'te', 'trailer', 'upgrade', 'http2-settings', 'x-secret'])
    t.strictSame(values(got, name), [], name)
  t.strictSame(values(got, 'proxy-authorization'), [])
  t.strictSame(values(got, 'proxy-connection'), [])
  t.strictSame(values(got, 'connection'), ['keep-alive'])
  t.strictSame(values(got, 'x-forwarded-for'), ['192.0.2.7, 127.0.0.1'])
  t.strictSame(values(got, 'x-forwarded-proto'), ['http'])
  t.strictSame(values(got, 'x-forwarded-host'), ['example.test:8080'])
  t.strictSame(values(got, 'via'), ['1.0 fred, 1.1 edged'])
  t.strictSame(values(got, 'cf-connecting-ip'), ['127.0.0.1'])
  t.match(text, new RegExp(`\r\ncf-ray: ${values(got, 'cf-ray')[0]}\r\n`), 'one ray id for origin and client')
})

t.test('trusted proxies report the client address', async (t) => {
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

t.test('the client gets the response unchanged, without the fields of the connection', async (t) => {
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

t.test('HEAD, 204 and 304 have no body, and retain the fields about it', async (t) => {
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

t.test('the proxy itself responds to OPTIONS *', async (t) => {
  const { port } = await startProxy(t, 'http://127.0.0.1:1')
  for (const target of ['*', 'http://example.test'])
    t.match((await sendRaw(port, page('', 'OPTIONS', target))).text, /^HTTP\/1\.1 204 [^]*\r\nallow: GET, /)
})

t.test('the host of an absolute target replaces that of the Host field', async (t) => {
  const seen: (string | undefined)[] = []
  const { url } = await startOrigin(t, ({ url: target, headers, rawHeaders }, response) => {
    const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length
    seen.push(`${hosts} ${headers.host} ${String(headers['x-forwarded-host'])} ${target}`)
    response.end('x')
  })
  const { port } = await startProxy(t, url)
  for (const target of ['http://example.test/a?b', 'HTTP://EXAMPLE.test:81'])
    t.match(
      (await sendRaw(port, `GET ${target} HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n`)).text,
      /^HTTP\/1\.1 200 /,
    )
  t.strictSame(seen, ['1 example.test example.test /a?b', '1 example.test:81 example.test:81 /'])
})

t.test('an OPTIONS request goes as many hops as it says', async (t) => {
  const seen: (string | undefined)[] = []
  const { url } = await startOrigin(t, ({ headers }, response) => {
    seen.push(headers['max-forwards'] as string | undefined)
    response.end('from the origin')
  })
  const { port } = await startProxy(t, url)
  const ask = async (hops: string, method = 'OPTIONS') =>
    (await sendRaw(port, page(`Max-Forwards: ${hops}\r\n`, method))).text
  t.match(await ask('0'), /^HTTP\/1\.1 204 [^]*\r\nallow: GET, /)
  for (const hops of ['1', '10', 'x']) t.match(await ask(hops), /from the origin/)
  t.match(await ask('0', 'GET'), /from the origin/, 'counts for OPTIONS only')
  t.strictSame(seen, ['0', '9', 'x', '0'])
})

t.test('connections are reused on both sides', async (t) => {
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

t.test('pipelined requests reach the origin sequentially', async (t) => {
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

t.test('the proxy sends 100 Continue before it uses a connection to the origin', async (t) => {
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
  const down = await sendRaw(port, `${head}hello`)
  t.match(down.text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 502 /)
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
    const result = once(request, 'response') as Promise<[IncomingMessage]>
    const sending = (async () => {
      for (let sent = 0; sent < SIZE; sent += chunk.length) if (!request.write(chunk)) await once(request, 'drain')
      request.end()
    })()
    const [response] = await result
    let size = 0
    for await (const part of response) size += (part as Buffer).length
    await sending
    t.equal(size, SIZE)
  }
})

t.test('HTTP/1.0 gets a response that it understands', async (t) => {
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

t.test('interim responses of the origin are forwarded, up to a limit and not to HTTP/1.0', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.on('data', () =>
      socket.write(
        'HTTP/1.1 100 Continue\r\n\r\n' +
          'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nConnection: X-Own\r\nX-Own: 1\r\nContent-Length: 5\r\n\r\n'.repeat(
            20,
          ) +
          'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      ),
    )
  })
  const { port } = await startProxy(t, origin)
  const { text } = await sendRaw(port, page())
  const hint = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'
  t.ok(text.startsWith(hint.repeat(16)))
  t.match(text.slice(16 * hint.length), /^HTTP\/1\.1 200 [^]*\r\n\r\nok$/)
  t.match((await sendRaw(port, page().replace('HTTP/1.1', 'HTTP/1.0'))).text, /^HTTP\/1\.1 200 /)
})

t.test('an unknown host is a 404', async (t) => {
  const { port } = await startProxy(t, 'http://127.0.0.1:1')
  t.equal((await sendRaw(port, page().replace('example.test', 'other.test'))).status, 404)
})

t.test('a request in a loop is a 508', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('ok'))
  const proxy = await startProxy(t, url)
  proxy.zones.current = zoneTable([testZone(proxy.url)])
  t.equal((await sendRaw(proxy.port, page())).status, 508)
})

t.test('a stage sees every response of the origin and its end', async (t) => {
  const events: string[] = []
  const { url } = await startOrigin(t, (request, response) => {
    if (request.url === '/never') response.write('x')
    else response.end(echo(request))
  })
  const { port } = await startProxy(t, url, {
    stages: [
      (exchange, next): ResponseSink => {
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

t.test('a stage that throws fails its own request only', async (t) => {
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

t.test('a response that would mislead the client is not sent', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => {
    response.setHeader('content-length', 5)
    response.end('hello')
  })
  const changed = (change: (next: ResponseSink) => Partial<ResponseSink>): Stage => {
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
