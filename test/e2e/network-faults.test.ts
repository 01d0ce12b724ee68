import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { testFolder } from '../helpers/folder.js'
import { tcpGate } from '../helpers/tcp-gate.js'
import { originServer, until } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, unbuilt } from './daemon.js'

const isRoot = process.getuid?.() === 0
const NO_MOUNT = isRoot && spawnSync('unshare', ['-m', 'true']).status === 0 ? false : 'not permitted to mount'
/** Replaces the hosts file and the name servers of a command. */
const NAMES = 'mount --bind "$1" /etc/hosts && mount --bind "$2" /etc/resolv.conf && shift 2 && exec "$@"'
/** An address is used for 5 s before it is looked up again. */
const FRESH_MS = 5000

async function get(base: string, host: string): Promise<{ status: number; text: string }> {
  const sent = request(base, { headers: { host } }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode!, text: await text(response) }
}

const zone = (name: string, where: object) => ({
  id: Buffer.from(name).toString('hex').padEnd(32, '0'),
  account: ACCOUNT,
  name,
  ...where,
})

t.test(
  'without name servers an origin keeps its last address, and one whose name is not known yet gets 502',
  { skip: unbuilt || NO_MOUNT },
  async (t) => {
    const folder = testFolder(t)
    const [hosts, servers] = [join(folder, 'hosts'), join(folder, 'resolv.conf')]
    writeFileSync(hosts, '127.0.0.1 known.test other.test\n')
    writeFileSync(servers, 'nameserver 127.0.0.99\noptions timeout:1 attempts:1\n')
    // Each request needs a connection, and so an address.
    const closing = { connection: 'close' }
    const { port } = new URL(await originServer(t, (_, response) => response.writeHead(200, closing).end('page')))
    const zones = [
      zone('a.test', { origin: `http://known.test:${port}` }),
      zone('b.test', { origin: `http://other.test:${port}` }),
    ]
    const within = ['unshare', '-m', 'sh', '-c', NAMES, 'sh', hosts, servers]
    const daemon = await startDaemon(t, configuration('', { zones }), folder, [], within)
    t.match(await get(daemon.proxy, 'a.test'), { status: 200, text: 'page' })

    writeFileSync(hosts, '')
    const start = performance.now()
    t.match(await get(daemon.proxy, 'b.test'), { status: 502, text: /address of the origin server could not be found/ })
    await until(() => daemon.lines.some((line) => /other\.test/.test(line) && /EAI_AGAIN|ENOTFOUND/.test(line)))
    t.pass('the log has the name')
    const statuses = new Set<number>()
    await until(async () => {
      statuses.add((await get(daemon.proxy, 'a.test')).status)
      return performance.now() - start > FRESH_MS
    })
    statuses.add((await get(daemon.proxy, 'a.test')).status)
    t.strictSame([...statuses], [200], 'the last address is used after a lookup failed')

    writeFileSync(hosts, '127.0.0.1 known.test other.test\n')
    await until(async () => (await get(daemon.proxy, 'b.test')).status === 200)
  },
)

t.test('an origin that vanished without closing its connections', { skip: unbuilt }, async (t) => {
  const server = new URL(await originServer(t, (_, response) => response.end('page')))
  const gates = [await tcpGate(t, Number(server.port)), await tcpGate(t, Number(server.port))] as const
  const url = ({ port }: { port: number }) => `http://127.0.0.1:${port}`
  const origins = gates.map((gate) => ({ url: url(gate) }))
  const zones = [zone('a.test', { origin: url(gates[0]) }), zone('b.test', { origins })]
  const proxy = { origin: { headers_timeout: '1s', keep_alive_timeout: '1h' } }
  const daemon = await startDaemon(t, configuration('', { zones, proxy }))
  for (const host of ['a.test', 'b.test', 'b.test']) t.match(await get(daemon.proxy, host), { status: 200 })

  for (const gate of gates) gate.vanish()
  t.match(await get(daemon.proxy, 'a.test'), { status: 504 }, 'a request on a connection that is half open')
  t.match(await get(daemon.proxy, 'a.test'), { status: 200 }, 'the next one has a new connection')
  gates[0].fault = 'freeze'
  await until(async () => {
    await get(daemon.proxy, 'b.test')
    return daemon.lines.some((line) => line.includes('origin_down'))
  })
  await until(async () => (await get(daemon.proxy, 'b.test')).status === 200)
  t.pass('after failures only the other origin of a zone is used')
  gates[0].fault = undefined
  t.match(await get(daemon.proxy, 'a.test'), { status: 200 })
})

t.test('an origin that breaks and recovers again and again', { skip: unbuilt }, async (t) => {
  const server = new URL(
    await originServer(t, (_, response) => response.writeHead(200, { connection: 'close' }).end('page')),
  )
  const [flapping, steady] = [await tcpGate(t, Number(server.port)), await tcpGate(t, Number(server.port))]
  const url = ({ port }: { port: number }) => `http://127.0.0.1:${port}`
  const zones = [
    zone('a.test', { origin: url(flapping) }),
    zone('b.test', { origins: [{ url: url(flapping) }, { url: url(steady) }] }),
  ]
  const proxy = { origin: { headers_timeout: '5s', keep_alive_timeout: '1h' } }
  const daemon = await startDaemon(t, configuration('', { zones, proxy }))
  const statuses = async (host: string) => {
    const all = await Promise.all(Array.from({ length: 10 }, async () => await get(daemon.proxy, host)))
    return [...new Set(all.map(({ status }) => status))]
  }
  for (let n = 0; n < 5; n++) {
    t.strictSame(await statuses('a.test'), [200], 'a zone with this origin alone: served as soon as it works')
    t.strictSame(await statuses('b.test'), [200])
    flapping.fault = 'reset'
    await until(async () => (await statuses('b.test')).join() === '200')
    t.strictSame(await statuses('a.test'), [502])
    flapping.fault = undefined
    await until(async () => (await statuses('a.test')).join() === '200')
  }
  const changes = daemon.lines.filter((line) => line.includes('"origin_')).length
  t.ok(changes <= 20, `${changes} log lines about its state`)
})

t.test('a client that vanished in the middle of a response or of a request', { skip: unbuilt }, async (t) => {
  const origin = await originServer(t, (_, response) => response.end(Buffer.alloc(50_000_000)))
  const limits = { write_timeout: '1s', header_timeout: '1s', keep_alive_timeout: '1s' }
  const daemon = await startDaemon(t, configuration(origin, { proxy: { limits } }))
  const gate = await tcpGate(t, Number(new URL(daemon.proxy).port))
  const clients = ['GET / HTTP/1.1\r\nhost: example.test\r\n\r\n', 'GET / HTTP/1.1\r\nhost: exam', ''].map((sent) => {
    const client = connect(gate.port, '127.0.0.1').on('error', () => undefined)
    client.write(sent)
    return client
  })
  t.teardown(() => clients.forEach((client) => client.destroy()))
  await once(clients[0]!, 'data')
  const open = async () => (await daemon.metric('edged_proxy_connections'))!
  await until(async () => (await open()) === clients.length)
  gate.vanish()
  await until(async () => (await open()) === 0)
  t.pass('its connections are closed by timeouts')
})
