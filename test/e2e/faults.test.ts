import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { originServer, until } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

const NO_PRLIMIT = spawnSync('prlimit', ['--version']).status === 0 ? false : 'prlimit is not installed'
const DESCRIPTORS_LEFT = 64

interface Answer {
  readonly status: number
  readonly text: string
}

/** Sends a request over the connections of an agent. */
async function send(agent: Agent, base: string, path: string, method = 'GET', body = ''): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', host: 'example.test' }
    const sent = request(base + path, { agent, method, headers, timeout: 30_000 }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode!, text }))
    })
    sent.on('error', reject)
    sent.on('timeout', () => sent.destroy(new Error('no response')))
    sent.end(body)
  })
}

async function startOrigin(t: Test): Promise<string> {
  const origin = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>page'))
  origin.keepAliveTimeout = 600_000
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  t.teardown(() => {
    origin.closeAllConnections()
    origin.close()
  })
  return `http://127.0.0.1:${(origin.address() as AddressInfo).port}`
}

function agentFor(t: Test): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  return agent
}

const CONTROL = { listen: '127.0.0.1:0', rate_limit: { requests: 0 } }
const SPACES = `/accounts/${ACCOUNT}/storage/kv/namespaces`
const SETTING = `/zones/${ZONE}/settings/content_converter`
const settingOf = (value: string) => JSON.stringify({ value })
const descriptorsOf = ({ pid }: Daemon): number => readdirSync(`/proc/${pid}/fd`).length

t.test(
  'without free descriptors, connections that exist are served, and all recovers',
  { skip: unbuilt || NO_PRLIMIT },
  async (t) => {
    const proxy = { limits: { connections_per_address: 10_000 } }
    const daemon = await startDaemon(t, configuration(await startOrigin(t), { processes: 1, proxy, control: CONTROL }))
    const [client, caller] = [agentFor(t), agentFor(t)]
    t.match(await send(client, daemon.proxy, '/'), { status: 200 })
    t.match(await send(caller, daemon.control, SETTING), { status: 200 })

    const limit = descriptorsOf(daemon) + DESCRIPTORS_LEFT
    t.equal(spawnSync('prlimit', ['--pid', String(daemon.pid), `--nofile=${limit}:`]).status, 0)
    const port = Number(new URL(daemon.proxy).port)
    const idle: Socket[] = []
    t.teardown(() => idle.forEach((socket) => socket.destroy()))
    for (let n = 0; n < DESCRIPTORS_LEFT * 2; n++) idle.push(connect(port, '127.0.0.1').on('error', () => undefined))
    await until(() => descriptorsOf(daemon) >= limit - 2)

    t.match(await send(client, daemon.proxy, '/'), { status: 200, text: /page/ }, 'an open connection is served')
    t.match(await send(caller, daemon.control, SETTING), { status: 200 }, 'and so is one of the API')
    const changed = await send(caller, daemon.control, SETTING, 'PATCH', settingOf('off'))
    t.ok([200, 503].includes(changed.status), `a change is confirmed or refused: ${changed.text}`)

    for (const socket of idle) socket.destroy()
    await until(async () => {
      const page = await send(new Agent(), daemon.proxy, '/').catch(() => ({ status: 0 }))
      return page.status === 200
    })
    t.match(await send(agentFor(t), daemon.control, SETTING, 'PATCH', settingOf('on')), { status: 200 })
    t.match(await send(agentFor(t), daemon.admin, '/readyz'), { status: 200 })
  },
)

const canMount = (): boolean => process.getuid?.() === 0 && spawnSync('unshare', ['-m', 'true']).status === 0

t.test(
  'a data folder that becomes read-only: the proxy serves, changes get 503 or 507, and all recovers',
  { skip: unbuilt || (!canMount() && 'not permitted to mount') },
  async (t) => {
    const folder = testFolder(t)
    const data = join(folder, 'data')
    const origin = await originServer(t, ({ url }, response) => {
      response.writeHead(200, { 'content-type': 'text/css', 'cache-control': 'max-age=600' })
      response.end(`page ${url} ${'x'.repeat(100_000)}`)
    })
    const config = configuration(origin, {
      cache: { memory: '1MB', disk: { folder: './data/files', bytes: '40MB' } },
      control: CONTROL,
      logpush: { destinations: { allow_file_under: [join(folder, 'logs')] } },
    })
    const daemon = await startDaemon(t, config, folder)
    const agent = agentFor(t)
    const call = async (method: string, path: string, body?: string) =>
      await send(agent, daemon.control, path, method, body)
    const space = JSON.parse((await call('POST', SPACES, '{"title":"a"}')).text) as { result: { id: string } }
    const value = `${SPACES}/${space.result.id}/values/key`
    const large = 'x'.repeat(300_000)
    t.match(await call('PUT', value, large), { status: 200 })
    const pages = async (from: number) => {
      for (let n = from; n < from + 20; n++)
        t.match(await send(agent, daemon.proxy, `/${n}.css`), { status: 200, text: new RegExp(`^page /${n}.css x`) })
    }
    await pages(0)

    // Open files stay writable; every file that is opened from now on is not.
    t.equal(spawnSync('mount', ['--bind', data, data]).status, 0)
    const unmount = () => spawnSync('umount', ['-l', data])
    t.teardown(unmount)
    t.equal(spawnSync('mount', ['-o', 'remount,ro,bind', data]).status, 0)

    let refused: Answer = { status: 200, text: '' }
    await until(async () => {
      refused = await call('PUT', value, `${large}${Math.random()}`)
      return refused.status !== 200
    })
    t.ok([503, 507].includes(refused.status), refused.text)
    t.match(refused.text, /read-only|EROFS/)
    await pages(10)
    t.match(await call('GET', SETTING), { status: 200 })
    const job = { dataset: 'dns_logs', destination_conf: `file://${folder}/logs`, enabled: true }
    const made = await call('POST', `/zones/${ZONE}/logpush/jobs`, JSON.stringify(job))
    t.equal(made.status, 200, made.text)
    const records = `/zones/${ZONE}/edged/records/dns_logs`
    const posted = await call('POST', records, '{"QueryName":"a"}\n')
    t.match(posted, { status: 503, text: /read-only/ }, 'the job has no place for them')
    t.equal(unmount().status, 0)
    const accepted = await call('POST', records, '{"QueryName":"a"}\n')
    t.match(accepted, { status: 202, text: /"messages":\[\]/ }, 'the job gets them, although it has not started yet')
    await until(async () => (await call('PUT', value, 'new')).status === 200)
    t.match(await call('GET', value), { status: 200, text: 'new' })
  },
)

t.test('a wall clock that jumps by 40 days and back', { skip: unbuilt }, async (t) => {
  const folder = testFolder(t)
  const preload = fileURLToPath(new URL('../helpers/shifted-date.mjs', import.meta.url))
  const arrived: string[] = []
  const daemon = await startDaemon(t, configuration(await startOrigin(t), { control: CONTROL }), folder, [
    '--import',
    preload,
  ])
  const agent = agentFor(t)
  const call = async (method: string, path: string, body?: string) =>
    await send(agent, daemon.control, path, method, body)
  const limit = {
    rules: [
      {
        action: 'block',
        expression: 'true',
        ratelimit: {
          characteristics: ['cf.colo.id', 'ip.src'],
          period: 3600,
          requests_per_period: 5,
          mitigation_timeout: 3600,
        },
      },
    ],
  }
  t.match(await call('PUT', `/zones/${ZONE}/rulesets/phases/http_ratelimit/entrypoint`, JSON.stringify(limit)), {
    status: 200,
  })
  const page = async () => (await send(agent, daemon.proxy, '/')).status
  for (let n = 0; n < 5; n++) await page()
  await until(async () => (await page()) === 429)

  for (const days of [40, -40, 0]) {
    writeFileSync(join(folder, 'shift'), String(days * 86_400_000))
    const wanted = new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
    await until(async () => {
      const changed = await call('PATCH', SETTING, settingOf(days < 0 ? 'off' : 'on'))
      t.equal(changed.status, 200, changed.text)
      return changed.text.includes(wanted) || days === 0
    })
    const status = await page()
    arrived.push(`${days}: ${status}`)
    t.match(await send(agent, daemon.admin, '/readyz'), { status: 200 })
  }
  t.comment(arrived.join(', '))
})
