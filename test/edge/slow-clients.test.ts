import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { metric, sendRaw, startOrigin, startProxy } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'
import { HOST, page } from './proxy-helper.js'

/** A client of its own address that sends this and reads nothing. */
function client(t: Test, port: number, bytes: string | Buffer, localAddress = '127.0.0.1'): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => undefined)
  socket.write(bytes)
  t.teardown(() => socket.destroy())
  return socket
}

const post = (length: number, head = '') => `POST /upload HTTP/1.1\r\n${HOST}${head}Content-Length: ${length}\r\n\r\n`

t.test('a request whose body does not arrive uses no connection to the origin', async (t) => {
  let requests = 0
  const { url, server } = await startOrigin(t, (request, response) => {
    requests++
    request.resume()
    request.on('end', () => response.end('ok'))
  })
  let connections = 0
  server.on('connection', () => connections++)
  const { port, metrics } = await startProxy(t, url, { yaml: '{ origin: { connections: 2 } }' })
  const silent = Array.from({ length: 20 }, () => client(t, port, post(100)))
  for (let i = 0; i < 20; i++) silent.push(client(t, port, `${post(100)}x`))
  await until(async () => (await metric(metrics, 'edged_proxy_requests_in_flight')) === 40)
  t.equal((await sendRaw(port, page())).status, 200)
  t.equal(requests, 1)
  t.equal(connections, 1)
  for (const [i, socket] of silent.entries()) socket.write('x'.repeat(i < 20 ? 100 : 99))
  await Promise.all(silent.map(async (socket) => await once(socket, 'readable')))
  t.match(String(silent[39]!.read()), /^HTTP\/1\.1 200 /, 'each is served when its body is there')
  await until(() => requests === 41)
})

t.test('a body arrives complete, in any pieces', async (t) => {
  const { url } = await startOrigin(t, (request, response) => {
    void (async () => {
      let text = ''
      for await (const part of request as AsyncIterable<Buffer>) text += part.toString('latin1')
      response.end(text)
    })()
  })
  for (const memory of ['128MB', '0B'])
    for (const size of [1, 65_535, 65_536, 65_537, 200_000]) {
      const { port } = await startProxy(t, url, { yaml: `{ buffer_memory: ${memory} }` })
      const body = Buffer.alloc(size, 'abcdefghij')
      const step = Math.max(1, Math.floor(size / 3))
      const parts = Array.from({ length: Math.ceil(size / step) }, (_, i) => body.subarray(i * step, (i + 1) * step))
      for (const head of ['', 'Expect: 100-continue\r\n']) {
        const { text } = await sendRaw(port, [post(size, `Connection: close\r\n${head}`), ...parts])
        t.ok(text.endsWith(`\r\n\r\n${body.toString()}`), `${size} bytes, memory ${memory}`)
      }
      const chunked = `POST / HTTP/1.1\r\n${HOST}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n`
      const chunks = parts.flatMap((part) => [`${part.length.toString(16)}\r\n`, part, '\r\n'])
      const { text } = await sendRaw(port, [chunked, ...chunks, '0\r\n\r\n'])
      t.ok(text.endsWith(body.toString()) || text.includes('chunked'), `${size} bytes in chunks`)
    }
})

t.test('a body in small parts of unknown length is sent on before its end', async (t) => {
  let got = ''
  const { url } = await startOrigin(t, (request) => request.on('data', (chunk) => (got += String(chunk))))
  const { port } = await startProxy(t, url, { yaml: '{ limits: { header_timeout: 80ms } }' })
  const head = `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`
  client(t, port, `${head}5\r\nhello\r\n`)
  await until(() => got === 'hello')
  t.pass('after some seconds')
})

t.test('a body that arrives too slowly gets 408, and its connection to the origin is closed', async (t) => {
  let closed = 0
  const { url } = await startOrigin(t, (request) => {
    request.on('error', () => closed++)
    request.resume()
  })
  const { port } = await startProxy(t, url)
  const socket = client(t, port, `${post(1_000_000)}${'x'.repeat(65_536)}`)
  const drip = setInterval(() => socket.write('x'), 500)
  t.teardown(() => clearInterval(drip))
  const [response] = (await once(socket, 'data')) as [Buffer]
  t.match(String(response), /^HTTP\/1\.1 408 /)
  await until(() => closed === 1)
})

t.test('a client that reads nothing is disconnected, no matter what it sends', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end(Buffer.alloc(64 * 1024 * 1024)))
  const { port, metrics } = await startProxy(t, url, { yaml: '{ limits: { write_timeout: 200ms } }' })
  const socket = client(t, port, `GET / HTTP/1.1\r\n${HOST}\r\n`)
  const sending = setInterval(() => socket.write('G'), 20)
  t.teardown(() => clearInterval(sending))
  await until(async () => (await metric(metrics, 'edged_proxy_requests_aborted_total')) === 1)
  t.equal(await metric(metrics, 'edged_proxy_requests_in_flight'), 0)
})

t.test('clients that read nothing leave the origin to others', async (t) => {
  const { url } = await startOrigin(t, (request, response) =>
    response.end(request.url === '/large' ? Buffer.alloc(64 * 1024 * 1024) : 'quick'),
  )
  const { port } = await startProxy(t, url, { yaml: '{ origin: { connections: 16 } }' })
  const large = `GET /large HTTP/1.1\r\n${HOST}\r\n`
  const slow = Array.from({ length: 40 }, () => client(t, port, large))
  await once(slow[0]!, 'readable')
  const other = client(t, port, page(), '127.0.0.2')
  const [result] = (await once(other, 'data')) as [Buffer]
  t.match(String(result), /^HTTP\/1\.1 200 /)
})

// Eight addresses took all connections, and it takes seconds to see which clients are slow: another address waited 7 s.
t.test('clients of eight addresses that read nothing leave the origin to others', async (t) => {
  let begun = 0
  const { url } = await startOrigin(t, (request, response) => {
    if (request.url === '/large') begun++
    response.end(request.url === '/large' ? Buffer.alloc(8 * 1024 * 1024) : 'quick')
  })
  const { port, metrics } = await startProxy(t, url, { yaml: '{ origin: { connections: 64 } }' })
  const large = `GET /large HTTP/1.1\r\n${HOST}\r\n`
  for (let i = 0; i < 120; i++) client(t, port, large, `127.0.0.${10 + (i % 8)}`)
  await until(async () => (await metric(metrics, 'edged_proxy_requests_in_flight')) === 120)
  await until(() => begun > 32)
  const started = performance.now()
  const other = client(t, port, page(), '127.0.0.2')
  const [result] = (await once(other, 'data')) as [Buffer]
  t.match(String(result), /^HTTP\/1\.1 200 /)
  t.ok(performance.now() - started < 2000, `after ${Math.round(performance.now() - started)} ms`)
  t.ok(begun < 64, `${begun} of 64 connections`)
})

t.test('the end of a response is read ahead, so that a slow client occupies no connection', async (t) => {
  const size = 8 * 1024 * 1024
  let done = 0
  const { url } = await startOrigin(t, (request: IncomingMessage, response) => {
    response.on('finish', () => done++)
    if (request.url === '/length') response.setHeader('content-length', size)
    for (let at = 0; at < size; at += 65_536) response.write(Buffer.alloc(65_536, at >> 16))
    response.end()
  })
  for (const target of ['/length', '/chunked']) {
    const { port, metrics } = await startProxy(t, url, { yaml: '{ origin: { connections: 1 } }' })
    const socket = client(t, port, page('', 'GET', target))
    let got = 0
    // The client stops when what is left fits into the buffers on the way.
    while (got < size - 2_000_000) got += ((await once(socket, 'data')) as [Buffer])[0].length
    socket.pause()
    t.equal((await sendRaw(port, page('', 'HEAD'))).status, 200, 'the only connection is free')
    const hash: Buffer[] = []
    socket.on('data', (chunk: Buffer) => hash.push(chunk))
    socket.resume()
    await once(socket, 'end')
    const rest = Buffer.concat(hash)
    t.ok(got + rest.length > size)
    await until(async () => (await metric(metrics, 'edged_proxy_buffer_bytes')) === 0)
  }
  t.ok(done > 0)
})

t.test('205 has no body', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => {
    response.statusCode = 205
    response.setHeader('content-length', 5)
    response.end('hello')
  })
  const { port } = await startProxy(t, url)
  const { text } = await sendRaw(port, `GET / HTTP/1.1\r\n${HOST}\r\n${page()}`)
  t.equal(text.match(/HTTP\/1\.1 205 Reset Content\r\n/g)?.length, 2)
  t.equal(text.match(/\r\ncontent-length: 0\r\n/g)?.length, 2)
  t.notMatch(text, /hello/)
})
