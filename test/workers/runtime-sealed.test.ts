import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { SKIP, workersDaemon } from './runtime-helper.js'

const skip = { skip: SKIP }

/** Starts a TCP server that calls `serve` for each connection, and returns its port. */
async function tcpServer(t: Test, serve: (socket: Socket) => void): Promise<number> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => socket.destroy())
    serve(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

t.test('a script reads secrets of a store, and sees a new value', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const { body: store } = await daemon.api('POST', '/secrets_store/stores', { name: 'main' })
  const { body: made } = await daemon.api('POST', `/secrets_store/stores/${store.result.id}/secrets`, [
    { name: 'key', value: 'hush', scopes: ['workers'] },
    { name: 'other', value: 'x', scopes: ['dex'] },
  ])
  const bound = (name: string, secret: string) => ({
    name,
    type: 'secrets_store_secret',
    store_id: store.result.id,
    secret_name: secret,
  })
  await daemon.upload(
    'app',
    `export default { async fetch(request, env) {
      return Response.json(await Promise.all([env.KEY, env.OTHER, env.NONE].map((one) => one.get().catch((error) => error.message))))
    } }`,
    { bindings: [bound('KEY', 'key'), bound('OTHER', 'other'), bound('NONE', 'none')] },
  )
  await daemon.domain('app')
  const run = async () => JSON.parse((await daemon.get('app.example.test')).text) as unknown
  t.same(await run(), ['hush', 'Secret "other" not found', 'Secret "none" not found'])
  const secret = `/secrets_store/stores/${store.result.id}/secrets/${made.result[0].id}`
  t.equal((await daemon.api('PATCH', secret, { value: 'new' })).status, 200)
  for (let tries = 0; tries < 500 && ((await run()) as string[])[0] !== 'new'; tries++) await sleep(20)
  t.match(await run(), ['new'])
})

t.test('a script connects to a database, and not to private addresses', skip, async (t) => {
  const port = await tcpServer(t, (socket) => socket.pipe(socket))
  const daemon = await workersDaemon(t, { more: `egress: { allow_cidrs: ["127.0.0.1/32:${port}"] }` })
  const create = async (name: string, at: number) => {
    const origin = { scheme: 'postgres', host: '127.0.0.1', port: at, database: 'shop', user: 'u', password: 'p w' }
    const { status, body } = await daemon.api('POST', '/hyperdrive/configs', { name, origin })
    t.equal(status, 200, JSON.stringify(body))
    return body.result.id as string
  }
  const [open, closed] = [await create('open', port), await create('closed', port + 1)]
  await daemon.upload(
    'app',
    `import { connect } from 'cloudflare:sockets'
    export default { async fetch(request, env) {
      const database = env[new URL(request.url).pathname.slice(1)]
      const url = new URL(database.connectionString)
      const login = [url.protocol, decodeURIComponent(url.password), database.user, database.database]
      try {
        const socket = connect({ hostname: database.host, port: database.port })
        const writer = socket.writable.getWriter()
        await writer.write(new TextEncoder().encode('hello'))
        const { value } = await socket.readable.getReader().read()
        return Response.json([...login, value ? new TextDecoder().decode(value) : 'closed'])
      } catch (error) { return Response.json([...login, 'failed']) }
    } }`,
    {
      bindings: [
        { name: 'OPEN', type: 'hyperdrive', id: open },
        { name: 'CLOSED', type: 'hyperdrive', id: closed },
      ],
    },
  )
  await daemon.domain('app')
  const run = async (name: string) => {
    const { text } = await daemon.get('app.example.test', `/${name}`)
    return JSON.parse(text) as unknown[]
  }
  t.same(await run('OPEN'), ['postgres:', 'p w', 'u', 'shop', 'hello'])
  t.match((await run('CLOSED')).at(-1), /^(?:closed|failed)$/)
})
