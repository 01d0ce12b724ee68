import { spawnSync } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { startOrigin } from '../helpers/proxy.js'
import { tlsFile } from '../helpers/tls.js'
import { until } from '../helpers/web.js'
import { ACCOUNT, CLI, configuration, startDaemon, TOKEN, unbuilt, type Daemon } from './daemon.js'

const options = { skip: unbuilt }

interface Zone {
  readonly name: string
  readonly origins: readonly { readonly url: string; readonly state: string; readonly up: boolean | null }[]
}

async function status({ admin }: Daemon): Promise<{ zones: Zone[]; listeners: Record<string, string> }> {
  return (await (await fetch(`${admin}/status`)).json()) as { zones: Zone[]; listeners: Record<string, string> }
}

async function stateOf(daemon: Daemon, name: string): Promise<string> {
  const { zones } = await status(daemon)
  return zones
    .find((zone) => zone.name === name)!
    .origins.map(({ state, up }) => `${state} ${up}`)
    .join()
}

async function get({ proxy }: Daemon, host: string): Promise<{ status: number | undefined; body: string }> {
  const sent = request(proxy, { headers: { host } }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode, body: await text(response) }
}

/** Returns a free port: a reload cannot name port 0 for what `edged doctor` reads from the file. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

for (const processes of [1, 2]) {
  t.test(`a reload adds the sample site, ${processes} process(es)`, options, async (t) => {
    const { url } = await startOrigin(t, (_request, response) => response.end('own'))
    const config = configuration(url, { processes }) as { zones: object[] }
    const daemon = await startDaemon(t, config)
    const added = ['1', '2'].map((digit) => ({
      id: digit.repeat(32),
      account: ACCOUNT,
      name: `demo-${digit}.test`,
      origin: 'demo',
    }))
    for (const zones of [added.slice(0, 1), added]) {
      await daemon.reload({ ...config, zones: [...config.zones, ...zones] })
      for (const { name } of zones)
        t.match(await get(daemon, name), { status: 200, body: /<html/ }, `${name} of ${zones.length}`)
    }
    t.match(await get(daemon, 'example.test'), { status: 200, body: 'own' })
    t.match((await status(daemon)).zones[1]!.origins[0]!.url, /^http:\/\/127\.0\.0\.1:\d+$/)
    await daemon.reload(config)
    t.equal((await get(daemon, 'demo-1.test')).status, 404)
    await daemon.reload({ ...config, zones: added })
    t.match(await get(daemon, 'demo-2.test'), { status: 200, body: /<html/ }, 'again')
  })

  t.test(`an origin is unknown until it is asked, ${processes} process(es)`, options, async (t) => {
    const { url } = await startOrigin(t, (_request, response) => response.end('own'))
    const health = { path: '/', interval: '100ms', timeout: '20s' }
    const checked = { id: '3'.repeat(32), account: ACCOUNT, name: 'checked.test', origin: url, health }
    const config = configuration(url, { processes }) as { zones: object[] }
    const daemon = await startDaemon(t, { ...config, zones: [...config.zones, checked] })
    const created = await fetch(`${daemon.control}/zones`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'empty.test', account: { id: ACCOUNT } }),
    })
    t.equal(created.status, 200)
    t.equal(await stateOf(daemon, 'example.test'), 'unknown null')
    t.equal(await stateOf(daemon, 'empty.test'), 'missing null')
    await until(async () => (await stateOf(daemon, 'checked.test')) === 'up true')
    const overview = (await (
      await fetch(`${daemon.control}/accounts/${ACCOUNT}/edged/overview`, {
        headers: { authorization: `Bearer ${TOKEN}` },
      })
    ).json()) as { result: { zones: Zone[] } }
    t.match(
      overview.result.zones.find(({ name }) => name === 'example.test')!.origins,
      [{ state: 'unknown', up: null }],
      'on the dashboard too',
    )
    t.match(edged('status', daemon), new RegExp(`${url}: unknown \\(not asked yet\\)[^]* no origin`))
    t.equal((await get(daemon, 'example.test')).body, 'own')
    await until(async () => (await stateOf(daemon, 'example.test')) === 'up true')
  })

  t.test(`a TLS listener that a reload added belongs to the daemon, ${processes} process(es)`, options, async (t) => {
    const folder = testFolder(t)
    const limits = { connections: 100 }
    const config = configuration('demo', { processes, proxy: { limits } })
    const daemon = await startDaemon(t, config, folder)
    const listen = `127.0.0.1:${await freePort()}`
    const tls = { listen, certificates: [{ cert_file: tlsFile('cert.pem'), key_file: tlsFile('key.pem') }] }
    const before = new URL(daemon.admin).host
    await daemon.reload({ ...config, proxy: { limits, tls }, admin: { listen: before } })
    t.equal((await status(daemon)).listeners['proxy_tls'], `https://${listen}`)
    const found = JSON.parse(edgedDoctor(t, folder)) as { check: string; level: string; message: string }[]
    t.match(
      found.find(({ message }) => message.startsWith('proxy.tls.listen')),
      { level: 'ok', message: `proxy.tls.listen: ${listen} is used by the running daemon (process ${daemon.pid})` },
    )
  })
}

function edged(command: string, { admin }: Daemon): string {
  const args = [CLI, command, '--admin', new URL(admin).host]
  return spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 }).stdout
}

function edgedDoctor(t: Test, folder: string): string {
  const args = [CLI, 'doctor', '--json', '-c', join(folder, 'edged.yaml')]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 })
  t.equal(stderr, '')
  return stdout
}
