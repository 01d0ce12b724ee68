import { get as httpGet } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { silentLog } from '../../src/core/log.js'
import { zoneTable } from '../../src/edge/exchange/zones.js'
import { metric, sendRaw, startOrigin, startProxy, startRawOrigin, testZone } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'
import { page } from './proxy-helper.js'

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

t.test('a broken request does not lose the response before it on the connection', async (t) => {
  const whole = 'w'.repeat(200_000)
  const { url } = await startOrigin(t, (request, response) => {
    if (request.url === '/whole') response.end(whole)
    else response.writeHead(200, { 'content-length': 9 }).write('half', () => response.destroy())
  })
  const { port, metrics } = await startProxy(t, url)
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET /whole HTTP/1.1\r\nHost: example.test\r\n\r\n${page('', 'GET', '/half')}`)
  await until(async () => (await metric(metrics, 'edged_proxy_origin_errors_total', { kind: 'reset' })) === 1)
  let text = ''
  socket.on('data', (part) => (text += String(part)))
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('close', resolve))
  t.ok(text.includes(`\r\n\r\n${whole}HTTP/1.1 200 OK`))
  t.match(text, /half$/)
})

t.test('an origin that cannot be used is a 502 that reveals nothing about it', async (t) => {
  const responses: Record<string, string> = {
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
    socket.on('data', (data) => socket.end(responses[/GET \/(\w+)/.exec(String(data))?.[1] ?? ''] ?? '', 'latin1'))
  })
  const { port, zones } = await startProxy(t, origin)
  for (const name of Object.keys(responses)) {
    const { status, text } = await sendRaw(port, page('', 'GET', `/${name}`))
    t.equal(status, 502, name)
    t.notMatch(text, /127\.0\.0\.1|undici|node|llhttp|stack|SSH/i, name)
    t.match(text, /\r\ncf-ray: [0-9a-f]{16}\r\n/)
  }
  zones.current = zoneTable([testZone('http://127.0.0.1:1')])
  const down = await sendRaw(port, page('Accept: application/json\r\n'))
  t.equal(down.status, 502)
  t.match(down.text, /content-type: application\/json/)
  t.match(down.text, '"zone":"example.test"')
  zones.current = zoneTable([testZone('http://does-not-exist.invalid')])
  t.equal((await sendRaw(port, page())).status, 502)
})

t.test('the response of an origin that closes during an upload is forwarded', async (t) => {
  const hangsUp = (response: string) =>
    startRawOrigin(t, (socket) => {
      socket.once('data', () => {
        socket.pause()
        if (response === '') socket.destroy()
        else socket.write(response, () => socket.destroy())
      })
    })
  const upload = ['POST / HTTP/1.1\r\nHost: example.test\r\nContent-Length: 8000000\r\n\r\n', Buffer.alloc(8_000_000)]
  const origin = await hangsUp('HTTP/1.1 413 Too Much\r\nContent-Length: 8\r\n\r\ntoo much')
  const { port, zones } = await startProxy(t, origin)
  for (let i = 0; i < 5; i++) t.match((await sendRaw(port, upload)).text, /^HTTP\/1\.1 413 [^]*\r\n\r\ntoo much$/)
  zones.current = zoneTable([testZone(await hangsUp(''))])
  t.equal((await sendRaw(port, upload)).status, 502)
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
  // A backlog that is full: connections to it are neither accepted nor rejected.
  zones.current = zoneTable([testZone('http://192.0.2.1:81')])
  const unreachable = await sendRaw(port, page())
  t.ok([502, 504].includes(unreachable.status), 'no route, or no answer')
})

t.test('too many requests for one origin are a 503', async (t) => {
  const waiting: (() => void)[] = []
  const { url } = await startOrigin(t, (_request, response) => waiting.push(() => response.end('x')))
  const { port, metrics } = await startProxy(t, url, { yaml: '{ origin: { connections: 2, queue_size: 1 } }' })
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

t.test('a request waits for a connection for a limited time', async (t) => {
  let asked = 0
  const { url } = await startOrigin(t, () => asked++)
  const { port } = await startProxy(t, url, { yaml: '{ origin: { connections: 1, queue_timeout: 10ms } }' })
  const stuck = connect(port, '127.0.0.1')
  stuck.write(page())
  await until(() => asked === 1)
  t.equal((await sendRaw(port, page())).status, 503)
  stuck.destroy()
})

t.test('a request on a stale connection is repeated once, if that is safe', async (t) => {
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
