import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { ACCOUNT, SKIP, workersDaemon } from './runtime-helper.js'

const skip = { skip: SKIP }

/** An origin whose WebSockets send one message and never close. Returns its URL. */
async function origin(t: Test): Promise<string> {
  const open = new Set<Socket>()
  const server = createServer((request, response) => response.end(`origin ${String(request.headers['cf-worker'])}`))
  server.on('upgrade', (request, socket: Socket) => {
    const key = `${request.headers['sec-websocket-key'] ?? ''}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(key).digest('base64')
    open.add(socket)
    socket.on('error', () => undefined)
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
    )
    socket.write(Buffer.from([0x81, 2, 0x68, 0x69]))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('a Worker on a route passes requests and WebSockets on to the origin of the zone', skip, async (t) => {
  const daemon = await workersDaemon(t, { origin: await origin(t) })
  await daemon.upload('pass', 'export default { fetch: (request) => fetch(request) }')
  const route = { pattern: 'example.test/*', script: 'pass' }
  t.equal((await daemon.zone('POST', '/workers/routes', route)).status, 200)
  t.equal((await daemon.get('example.test')).text, 'origin example.test')
  const client = new WebSocket(daemon.daemon.proxy.replace('http', 'ws'), { headers: { host: 'example.test' } })
  const [message] = (await once(client, 'message')) as [Buffer]
  t.equal(message.toString(), 'hi')
  client.terminate()
  await once(client, 'close')
  await daemon.restart()
  t.pass('a peer that does not close its side does not keep the daemon from ending')
})

t.test('a Worker opens a WebSocket to another one, and not to a private address', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const code = `export default { async fetch(request) {
    if (request.headers.get('upgrade')) {
      const [client, server] = Object.values(new WebSocketPair())
      server.accept()
      server.addEventListener('message', ({ data }) => server.send('echo ' + data))
      return new Response(null, { status: 101, webSocket: client })
    }
    const { webSocket, status } = await fetch(new URL(request.url).searchParams.get('to'), { headers: { upgrade: 'websocket' } })
    if (!webSocket) return new Response(String(status))
    webSocket.accept()
    const received = new Promise((resolve) => webSocket.addEventListener('message', ({ data }) => resolve(data)))
    webSocket.send('hello')
    return new Response(await received)
  } }`
  await daemon.upload('one', code)
  await daemon.upload('two', code)
  await daemon.domain('one')
  await daemon.domain('two')
  t.equal((await daemon.get('one.example.test', '/?to=http://two.example.test/')).text, 'echo hello')
  t.equal((await daemon.get('one.example.test', `/?to=${daemon.daemon.admin}/`)).text, '403')
})

t.test('a Worker does not reach the origin of a zone of another account', skip, async (t) => {
  const neighbor = await origin(t)
  const daemon = await workersDaemon(t, { neighbor })
  await daemon.upload('app', `export default { fetch: () => fetch('http://other.test/') }`)
  await daemon.domain('app')
  t.equal((await daemon.get('other.test')).text, 'origin undefined', 'a client does')
  t.notMatch((await daemon.get('app.example.test')).text, 'origin')
})

t.test('a Worker does not reach a private origin that the API gave its zone', skip, async (t) => {
  const url = await origin(t)
  const daemon = await workersDaemon(t, { more: `egress: { allow_cidrs: ["127.0.0.1/32:${new URL(url).port}"] }` })
  const made = await daemon.call('POST', '/zones', {
    name: 'api.test',
    account: { id: ACCOUNT },
    edged: { origin: url },
  })
  t.equal(made.status, 200)
  await daemon.upload('pass', 'export default { fetch: (request) => fetch(request) }')
  const route = { pattern: 'api.test/*', script: 'pass' }
  t.equal((await daemon.call('POST', `/zones/${made.body.result.id}/workers/routes`, route)).status, 200)
  t.equal((await daemon.get('api.test')).text, 'origin api.test', 'while the configuration allows the address')
  // The address is checked when a connection is opened, as a name may lead to another one by then.
  await daemon.restart('')
  t.match(await daemon.get('api.test'), { status: 403, text: /not allowed/ })
  const client = new WebSocket(daemon.daemon.proxy.replace('http', 'ws'), { headers: { host: 'api.test' } })
  const status = await new Promise((resolve) => {
    client.once('open', () => resolve(101))
    client.once('unexpected-response', (_request, response) => resolve(response.statusCode))
  })
  t.equal(status, 403)
  client.on('error', () => undefined).terminate()
})

t.test('Workers that call each other in a circle get error 1019', skip, async (t) => {
  const daemon = await workersDaemon(t)
  for (const [name, other] of [
    ['one', 'two'],
    ['two', 'one'],
  ] as const) {
    await daemon.upload(name, `export default { fetch: () => fetch('http://${other}.example.test/') }`)
    await daemon.domain(name)
  }
  t.match(await daemon.get('one.example.test'), { status: 508, text: 'error code: 1019\n' })
  t.match(await daemon.get('two.example.test'), { status: 508 }, 'the calls of the first request have ended')
})

t.test('a service binding has properties, and bindings to nothing name themselves', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const bindings = [
    { name: 'SELF', type: 'service', service: 'app', entrypoint: 'Api', props: { tenant: 'a' } },
    { name: 'DB', type: 'd1', id: '4f2e4a1c-3c5e-4c8e-9c0a-0a1b2c3d4e5f' },
    { name: 'AI', type: 'ai' },
    { name: 'SQL', type: 'hyperdrive', id: '0a1b2c3d4e5f4f2e4a1c3c5e4c8e9c0a' },
  ]
  const { messages } = await daemon.upload(
    'app',
    `import { WorkerEntrypoint } from 'cloudflare:workers'
    export class Api extends WorkerEntrypoint { tenant() { return this.ctx.props.tenant } }
    const text = (run) => Promise.resolve().then(run).catch(({ message }) => message)
    export default { async fetch(request, { SELF, DB, AI, SQL }) {
      return Response.json([await SELF.tenant(), ...(await Promise.all([() => DB.prepare('select 1').all(), () => AI.run('x'),
        () => AI.models.list(), () => new URL(SQL.connectionString)].map(text)))])
    } }`,
    { bindings },
  )
  t.same(
    messages.map(({ code }: { code: number }) => code),
    [10900, 10000, 10000],
    'no line of the runtime about itself',
  )
  await daemon.domain('app')
  t.same(JSON.parse((await daemon.get('app.example.test')).text), [
    'a',
    'binding DB (d1) names a database that does not exist',
    'binding AI (ai) is not available on this server',
    'binding AI (ai) is not available on this server',
    'binding SQL (hyperdrive) names a configuration that does not exist',
  ])
})

t.test('every compatibility date up to today is accepted', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const today = new Date().toISOString().slice(0, 10)
  const modules = [{ name: 'lib/text.txt', body: 'text', type: 'text/plain' }]
  const code = `import text from './lib/text.txt'
    export default { fetch: () => new Response(text) }`
  for (const date of ['2021-11-02', '2026-11-16', today]) {
    const metadata = { compatibility_date: date }
    await daemon.upload('app', code, metadata, modules)
    if (date !== today) continue
    await daemon.domain('app')
    t.equal((await daemon.get('app.example.test')).text, 'text')
  }
  const { status, body } = await daemon.tryUpload('app', code, { compatibility_date: '2998-01-01' }, modules)
  t.match([status, body.errors], [400, [{ code: 10021, message: /in the future: "2998-01-01"/ }]])
})
