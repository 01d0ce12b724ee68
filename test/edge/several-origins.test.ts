import { createServer } from 'node:http'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { metric, sendRaw, startOrigin, startProxy, startRawOrigin, testZone } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'
import { page } from './proxy-helper.js'

/** Starts origins that respond with their letter. */
async function letters(t: Test, ...names: string[]): Promise<string[]> {
  return await Promise.all(
    names.map(async (name) => (await startOrigin(t, (_, response) => response.end(`from ${name}`))).url),
  )
}

/** An origin that nothing listens on. */
async function closed(t: Test): Promise<string> {
  const { url, server } = await startOrigin(t, () => {})
  await new Promise((resolve) => server.close(resolve))
  return url
}

const bodyOf = (text: string): string => text.slice(text.lastIndexOf('from'))

t.test('requests are spread over the origins of a zone and counted by origin', async (t) => {
  const [a, b] = await letters(t, 'a', 'b')
  const { port, metrics } = await startProxy(t, [testZone([{ url: a, weight: 2 }, { url: b }])])
  let all = ''
  for (let i = 0; i < 6; i++) all += bodyOf((await sendRaw(port, page())).text).at(-1)
  t.equal(all, 'abaaba')
  const labels = (origin: string | undefined) => ({ zone: 'example.test', origin: origin!, class: '2xx' })
  t.equal(await metric(metrics, 'edged_origin_requests_total', labels(a)), 4)
  t.equal(await metric(metrics, 'edged_origin_requests_total', labels(b)), 2)
  t.equal(await metric(metrics, 'edged_origin_requests_in_flight', { zone: 'example.test', origin: a! }), 0)
})

t.test('a request that its origin refused goes to another one, with its body', async (t) => {
  const refused = await closed(t)
  const { url } = await startOrigin(t, (request, response) => {
    let got = ''
    request.on('data', (part) => (got += String(part)))
    request.on('end', () => response.end(`from ${request.method} ${got}`))
  })
  const { port, metrics } = await startProxy(t, [testZone([{ url: refused, weight: 1000 }, { url }])])
  t.match((await sendRaw(port, page())).text, /200 OK[^]*from GET/)
  const post = await sendRaw(port, `${page('Content-Length: 5\r\n', 'POST')}hello`)
  t.match(post.text, /200 OK[^]*from POST hello/, 'nothing of it had been sent')
  await sendRaw(port, page())
  const origin = { zone: 'example.test', origin: refused }
  t.equal(await metric(metrics, 'edged_origin_up', origin), 0, 'down after three failures')
  t.equal(await metric(metrics, 'edged_origin_retries_total', origin), 3)
  t.match((await sendRaw(port, page())).status, 200)
  t.equal(await metric(metrics, 'edged_origin_retries_total', origin), 3, 'not asked any more')
})

t.test('a POST of which a byte was sent is never sent again', async (t) => {
  let breaks = 0
  const breaking = await startRawOrigin(t, (socket) =>
    socket.once('data', () => {
      breaks++
      socket.destroy()
    }),
  )
  let reached = 0
  const { url } = await startOrigin(t, (_, response) => {
    reached++
    response.end('from b')
  })
  const { port } = await startProxy(t, [testZone([{ url: breaking, weight: 1000 }, { url }])])
  t.equal((await sendRaw(port, `${page('Content-Length: 2\r\n', 'POST')}ab`)).status, 502)
  t.equal((await sendRaw(port, page('', 'DELETE'))).status, 502)
  t.same([breaks, reached], [2, 0])
  t.equal((await sendRaw(port, page())).status, 200, 'a GET is')
  t.same([breaks, reached], [3, 1])
})

t.test('a response that has begun is never replaced', async (t) => {
  const half = await startRawOrigin(t, (socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')),
  )
  const [b] = await letters(t, 'b')
  const { port } = await startProxy(t, [testZone([{ url: half, weight: 1000 }, { url: b }])])
  t.match((await sendRaw(port, page())).text, /half$/)
})

t.test('without another origin, or with retries: 0, a failure is the response', async (t) => {
  const [b] = await letters(t, 'b')
  for (const zone of [
    testZone([{ url: await closed(t) }]),
    testZone([{ url: await closed(t), weight: 1000 }, { url: b }], 'retries: 0'),
  ])
    t.equal((await sendRaw((await startProxy(t, [zone])).port, page())).status, 502)
})

t.test('an origin with a limit of connections leaves further requests to others', async (t) => {
  const waiting: (() => void)[] = []
  const { url } = await startOrigin(t, (_, response) => waiting.push(() => response.end('from a')))
  const [b] = await letters(t, 'b')
  const { port } = await startProxy(t, [testZone([{ url, weight: 1000, connections: 1 }, { url: b }])])
  const first = sendRaw(port, page())
  await until(async () => waiting.length === 1)
  for (let i = 0; i < 3; i++) t.match((await sendRaw(port, page())).text, /from b$/)
  waiting[0]!()
  t.match((await first).text, /from a$/)
})

t.test('active checks take an origin out of use and back', async (t) => {
  let status = 500
  const { url } = await startOrigin(t, (request, response) => {
    if (request.url === '/healthz') response.writeHead(status).end('x'.repeat(100_000))
    else response.end('from a')
  })
  const [b] = await letters(t, 'b')
  const health =
    'health: { path: /healthz, interval: 10ms, timeout: 5s, healthy_after: 1, unhealthy_after: 2, status: "200" }'
  const { port, metrics } = await startProxy(t, [testZone([{ url }, { url: b, backup: true }], health)])
  const up = () => metric(metrics, 'edged_origin_up', { zone: 'example.test', origin: url })
  await until(async () => (await up()) === 0)
  t.match((await sendRaw(port, page())).text, /from b$/)
  status = 200
  await until(async () => (await up()) === 1)
  t.match((await sendRaw(port, page())).text, /from a$/)
})

t.test('an origin can be a unix socket; the Host field stays that of the client', async (t) => {
  const path = join(tmpdir(), `edged-${process.pid}-${Math.random().toString(36).slice(2)}.sock`)
  const server = createServer((request, response) => response.end(`from ${request.headers.host} ${request.url}`))
  await new Promise<void>((resolve) => void server.listen(path, resolve))
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    await rm(path, { force: true })
  })
  const { port } = await startProxy(t, [testZone(`unix:${path}`)])
  for (let i = 0; i < 3; i++) t.match((await sendRaw(port, page('', 'GET', '/a?b'))).text, /from example\.test \/a\?b$/)
  t.equal((await sendRaw((await startProxy(t, [testZone('unix:/nowhere/x.sock')])).port, page())).status, 502)
})

t.test('a client that leaves frees its place at the origin', async (t) => {
  const { url } = await startOrigin(t, () => {})
  const { port, metrics } = await startProxy(t, [testZone([{ url }, { url: await closed(t), backup: true }])])
  const inFlight = () => metric(metrics, 'edged_origin_requests_in_flight', { zone: 'example.test', origin: url })
  const left = sendRaw(port, page(), { patience: 200 })
  await until(async () => (await inFlight()) === 1)
  await left
  await until(async () => (await inFlight()) === 0)
})
