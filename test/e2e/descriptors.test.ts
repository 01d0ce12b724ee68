import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { configuration, startDaemon, unbuilt, type Daemon } from './daemon.js'

const LIMIT = 256
const IDLE_PER_ADDRESS = 300
/** Runs a command that can open 256 files. */
const FEW_DESCRIPTORS = ['sh', '-c', `ulimit -n ${LIMIT}; exec "$@"`, 'sh']
const NO_LIMITS = process.platform !== 'linux' && 'needs the limits of Linux'

/** Opens idle connections from an address. Resolves when each is open or closed. */
async function idle(t: Test, proxy: string, localAddress: string): Promise<void> {
  const { hostname: host, port } = new URL(proxy)
  const sockets: Socket[] = []
  t.teardown(() => sockets.forEach((socket) => socket.destroy()))
  const settled = Array.from({ length: IDLE_PER_ADDRESS }, async () => {
    const socket = connect({ host, port: Number(port), localAddress })
    sockets.push(socket)
    socket.on('error', () => undefined)
    await Promise.race([once(socket, 'connect'), once(socket, 'close')])
  })
  await Promise.all(settled)
}

/** Returns status and body of a GET, or the code of the error. */
async function get(url: string, localAddress = '127.0.0.1', host = 'example.test'): Promise<string> {
  const sent = request(url, { headers: { host }, localAddress, agent: false, timeout: 5000 }).end()
  sent.once('timeout', () => sent.destroy(new Error('timeout')))
  try {
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return `${response.statusCode} ${(await text(response)).slice(0, 5)}`
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code ?? error)
  }
}

const probe = async ({ admin }: Daemon, path: string): Promise<string> =>
  await get(admin + path, '127.0.0.1', '127.0.0.1')

const events = ({ lines }: Daemon, name: string): Record<string, unknown>[] =>
  lines.filter((line) => line.includes(`"event":"${name}"`)).map((line) => JSON.parse(line) as Record<string, unknown>)

for (const processes of [1, 2]) {
  t.test(
    `idle connections use up no descriptors of others, ${processes} process(es)`,
    { skip: unbuilt || NO_LIMITS },
    async (t) => {
      const daemon = await startDaemon(t, configuration('demo', { processes }), testFolder(t), [], FEW_DESCRIPTORS)
      const limited = events(daemon, 'descriptors_limited')
      t.match(limited, [
        { level: 'warn', descriptors: LIMIT, msg: /ulimit -n or LimitNOFILE to \d+, or lower these options/ },
      ])
      t.equal(limited.length, 1, 'one warning')
      await Promise.all(['127.0.0.1', '127.0.0.2'].map(async (address) => await idle(t, daemon.proxy, address)))
      t.equal(await probe(daemon, '/livez'), '200 ok\n')
      t.equal(await probe(daemon, '/readyz'), '200 ok\n')
      for (let n = 0; n < 20; n++) t.equal(await get(daemon.proxy, '127.0.0.3'), '200 <!doc', 'another client')
      t.ok((await daemon.metric('edged_proxy_connections'))! > 0)
      t.same(events(daemon, 'descriptors_exhausted'), [])
    },
  )
}
