import { once } from 'node:events'
import { Agent, get as httpGet, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import type { Emitter } from '../../../src/core/emit.js'
import { zoneTable } from '../../../src/edge/exchange/zones.js'
import { metric, proxyConfig, sendRaw, startOrigin, startProxy, testZone } from '../../helpers/proxy.js'
import { ruledZone } from '../../helpers/rules.js'
import { until } from '../../helpers/web.js'
import { HOST, page } from '../proxy-helper.js'

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

t.test('a client that reads nothing is disconnected', async (t) => {
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

t.test('a thousand concurrent requests get their responses', async (t) => {
  const { url } = await startOrigin(t, (request, response) => setTimeout(() => response.end(request.url), 20))
  const { port, metrics } = await startProxy(t, url)
  const agent = new Agent({ keepAlive: true, maxSockets: 1000 })
  const responses = await Promise.all(
    Array.from({ length: 1000 }, async (_, i) => {
      const request = httpGet({ port, agent, path: `/${i}`, headers: { host: 'example.test' } })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      let text = ''
      for await (const part of response) text += String(part)
      return response.statusCode === 200 && text === `/${i}`
    }),
  )
  agent.destroy()
  t.equal(responses.filter(Boolean).length, 1000)
  await until(async () => (await metric(metrics, 'edged_proxy_requests_total', { class: '2xx' })) === 1000)
  t.equal(await metric(metrics, 'edged_proxy_requests_in_flight'), 0)
})

t.test('the request of a client that leaves is cancelled at the origin', async (t) => {
  let asked = 0
  let gone = 0
  const { url } = await startOrigin(t, (request, response) => {
    asked++
    response.on('close', () => gone++)
    if (request.url === '/begun') response.write('x')
    request.on('error', () => undefined)
    request.resume()
  })
  const { port, metrics } = await startProxy(t, url)
  for (const [target, head] of [
    ['/silent', ''],
    ['/begun', ''],
    ['/upload', 'Content-Length: 100000\r\n'],
  ] as const) {
    const before = asked
    const socket = connect(port, '127.0.0.1')
    socket.write(`${page(head, head ? 'POST' : 'GET', target)}${head && 'x'.repeat(70_000)}`)
    await until(() => asked === before + 1)
    if (target === '/begun') await once(socket, 'data')
    socket.destroy()
    await until(() => gone === asked)
  }
  await until(async () => (await metric(metrics, 'edged_proxy_requests_in_flight')) === 0)
  t.equal(await metric(metrics, 'edged_proxy_requests_aborted_total'), 3)
  t.equal(await metric(metrics, 'edged_proxy_origin_errors_total', { kind: 'reset' }), 0)
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

t.test('a client rejected midway can send the rest and read the reason', async (t) => {
  const { url } = await startOrigin(t, (request, response) => {
    request.on('error', () => undefined)
    request.resume().on('end', () => response.end('ok'))
  })
  const bytes = 8_000_000
  const chunkOf = (size: number) => [Buffer.from(`${size.toString(16)}\r\n`), Buffer.alloc(size), Buffer.from('\r\n')]
  const chunks = Buffer.concat([...chunkOf(100_000), ...chunkOf(bytes), Buffer.from('0\r\n\r\n')])
  const send = async (port: number, head: string, body: Buffer) => {
    const socket = connect(port, '127.0.0.1')
    let result = ''
    let error: string | undefined
    socket.on('data', (part) => (result += String(part)))
    socket.on('error', (failure: NodeJS.ErrnoException) => (error = failure.code))
    socket.write(Buffer.concat([Buffer.from(page(head, 'POST')), body]))
    await new Promise((resolve) => socket.once('close', resolve))
    return { status: result.slice(9, 12), error }
  }
  const limited = await startProxy(t, url, { yaml: '{ limits: { body_bytes: 100KB } }' })
  t.same(await send(limited.port, 'Transfer-Encoding: chunked\r\n', chunks), { status: '413', error: undefined })
  const phase = 'http_request_firewall_custom'
  const blocked = await startProxy(t, [ruledZone(url, [{ phase, rules: [{ action: 'block' }] }])])
  const whole = await send(blocked.port, `Content-Length: ${bytes}\r\n`, Buffer.alloc(bytes))
  t.same(whole, { status: '403', error: undefined })
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

t.test('closing completes requests, and closes their connections', async (t) => {
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
  const result = await under
  t.match(result.text, /x{100}$/)
  t.match(result.text, /connection: close/)
  t.ok(result.closed)
  await closed
})

t.test('closing waits for a limited time', async (t) => {
  const { url } = await startOrigin(t, () => undefined)
  const proxy = await startProxy(t, url, { yaml: '{ drain_timeout: 50ms }' })
  const stuck = sendRaw(proxy.port, page())
  await until(async () => (await metric(proxy.metrics, 'edged_proxy_requests_in_flight')) === 1)
  await proxy.close()
  t.strictSame([(await stuck).status, (await stuck).closed], [0, true])
})

t.test('requests cut off by closing are recorded before it finishes, and not as origin errors', async (t) => {
  const { url } = await startOrigin(t, (request, response) => {
    if (request.url === '/half') response.write('half')
  })
  const statuses: unknown[] = []
  const emitter: Emitter = {
    wants: (dataset) => dataset === 'http_requests',
    emit: (_dataset, _scope, record) => void statuses.push(record.EdgeResponseStatus),
  }
  const proxy = await startProxy(t, url, { yaml: '{ drain_timeout: 50ms }', emitter })
  const waiting = sendRaw(proxy.port, page())
  const socket = connect(proxy.port, '127.0.0.1')
  const broken = new Promise((resolve) => {
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code))
    socket.once('end', () => resolve('complete'))
  })
  // Its end is the end of the connection.
  socket.write(`GET /half HTTP/1.0\r\n${HOST}\r\n`)
  let result = ''
  socket.on('data', (part) => (result += String(part)))
  await until(
    async () => result.endsWith('half') && (await metric(proxy.metrics, 'edged_proxy_requests_in_flight')) === 2,
  )
  await proxy.close()
  t.same(new Set(statuses), new Set([200, 499]))
  t.equal(await metric(proxy.metrics, 'edged_proxy_origin_errors_total', { kind: 'other' }), 0)
  t.equal(await broken, 'ECONNRESET')
  t.equal((await waiting).text, '')
})

t.test('a request that has arrived when closing begins gets its response', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('hello'))
  const proxy = await startProxy(t, url)
  const get = `GET / HTTP/1.1\r\n${HOST}\r\n`
  const sockets = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const socket = connect(proxy.port, '127.0.0.1')
      socket.write(get)
      await once(socket, 'data')
      return socket
    }),
  )
  const ends = sockets.map(async (socket) => {
    let text = ''
    socket.on('data', (chunk) => (text += String(chunk)))
    // A reset would be an error here.
    await once(socket, 'end')
    return text
  })
  // What is written before the proxy's process does anything else has arrived when it begins to close.
  for (const socket of sockets) socket.write(get)
  const closed = proxy.close()
  for (const text of await Promise.all(ends)) t.match(text, /^HTTP\/1\.1 200 [^]*connection: close\r\n[^]*hello$/)
  await closed
})

t.test('an idle connection is ended and not reset when it is closed', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end('hello'))
  const proxy = await startProxy(t, url)
  const socket = connect(proxy.port, '127.0.0.1')
  socket.write(`GET / HTTP/1.1\r\n${HOST}\r\n`)
  await once(socket, 'data')
  const closed = proxy.close()
  await once(socket, 'end')
  t.notOk(socket.errored)
  await closed
})
