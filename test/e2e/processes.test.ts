import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { Agent, createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { startOrigin } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

const options = { skip: unbuilt, timeout: 600_000 }

/** Connections that are opened for each check: enough for both processes to get some. */
const CONNECTIONS = 24

interface Outcome {
  readonly status: number
  readonly text: string
}

/** Sends one request, on a connection of its own unless `agent` says otherwise. */
async function get(
  { proxy }: Daemon,
  path: string,
  agent: Agent | false = false,
  host = 'example.test',
): Promise<Outcome> {
  const sent = request(`${proxy}${path}`, { agent, headers: { host } })
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }
}

/** Statuses that new connections get for a host. */
async function hosted(daemon: Daemon, host: string): Promise<number[]> {
  const found = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => (await get(daemon, '/', false, host)).status),
  )
  return [...new Set(found)]
}

const many = async (daemon: Daemon, path: string, count = CONNECTIONS): Promise<Outcome[]> =>
  await Promise.all(Array.from({ length: count }, async () => await get(daemon, path)))

const statuses = async (daemon: Daemon, path: string): Promise<number[]> => [
  ...new Set((await many(daemon, path)).map(({ status }) => status)),
]

async function put({ control }: Daemon, path: string, body: object): Promise<void> {
  const response = await fetch(`${control}/zones/${ZONE}/${path}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(await response.text())
}

const putRules = async (daemon: Daemon, phase: string, rules: readonly object[]): Promise<void> =>
  await put(daemon, `rulesets/phases/${phase}/entrypoint`, { rules })

/** Process ids of the current proxy processes, by number. */
function processes({ lines }: Daemon): Map<number, number> {
  const found = new Map<number, number>()
  for (const line of lines) {
    if (!line.includes('"event":"proxy_process_')) continue
    const { event, process, pid } = JSON.parse(line) as { event: string; process: number; pid: number }
    if (event === 'proxy_process_started') found.set(process, pid)
    else if (found.get(process) === pid) found.delete(process)
  }
  return found
}

/** Kills one process and waits until another one has its number. */
async function killOne(daemon: Daemon, number: number): Promise<void> {
  const pid = processes(daemon).get(number)!
  process.kill(pid, 'SIGKILL')
  await until(() => ![undefined, pid].includes(processes(daemon).get(number)))
}

async function start(t: Test, more: object = {}, folder = testFolder(t)): Promise<Daemon> {
  const { url } = await startOrigin(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' }).end('hello')
  })
  return await startDaemon(t, configuration(url, { processes: 2, ...more }), folder)
}

/** Modules that a module imports, and those that it loads later. */
const IMPORTS = /^(?:import|export)\b[^'"]*?["']([^"'\n]+)["'];?$|\bimport\("(\.\/[\w-]+\.js)"\)/gm

t.test('the build joins the code of the programs to a few modules', options, (t) => {
  const folder = new URL('../../dist/src/', import.meta.url)
  const manifest = readFileSync('package.json', 'utf8')
  const { dependencies } = JSON.parse(manifest) as { dependencies: object }
  for (const program of ['cli.js', 'main.js', 'thread.js']) {
    const modules = new Set([program])
    const others = new Set<string>()
    for (const module of modules) {
      const code = readFileSync(new URL(module, folder), 'utf8')
      t.ok(existsSync(new URL(`${module}.map`, folder)), `stack traces name the sources of ${module}`)
      for (const [, source = '', name = source] of code.matchAll(IMPORTS))
        if (name.startsWith('./')) modules.add(name.slice(2))
        else if (name in dependencies) others.add(name)
    }
    t.ok(modules.size < 200, `${program}: ${modules.size} modules`)
    t.strictSame([...others], program === 'cli.js' ? ['classic-level'] : [], 'packages are joined too')
  }
  t.end()
})

t.test('a change by the API is in force in all processes when the API responds', options, async (t) => {
  const daemon = await start(t)
  t.equal(processes(daemon).size, 2)
  for (let round = 0; round < 4; round++) {
    const path = `/blocked-${round}`
    await putRules(daemon, 'http_request_firewall_custom', [
      { action: 'block', expression: `http.request.uri.path eq "${path}"` },
    ])
    t.same(await statuses(daemon, path), [403], path)
    t.same(await statuses(daemon, '/'), [200])
  }
  await killOne(daemon, 1)
  t.same(await statuses(daemon, '/blocked-3'), [403], 'a new process has the rules')

  const { customHostnames } = new Cloudflare({ apiToken: TOKEN, baseURL: daemon.control, maxRetries: 0 })
  const created = await customHostnames.create({ zone_id: ZONE, hostname: 'shop.customer.test', ssl: {} })
  t.same(await hosted(daemon, 'shop.customer.test'), [200])
  await customHostnames.delete(created.id, { zone_id: ZONE })
  t.same(await hosted(daemon, 'shop.customer.test'), [404])
})

t.test('a purge removes a response from the caches of all processes before the API responds', options, async (t) => {
  let served = 0
  const origin = await startOrigin(t, (_request, response) => {
    response.setHeader('cache-control', 'max-age=600')
    response.end(String(++served))
  })
  const daemon = await startDaemon(t, configuration(origin.url, { processes: 2 }))
  for (let round = 0; round < 3; round++) {
    // A static file is cached by default.
    await many(daemon, '/site.css')
    const newest = served
    const purged = await fetch(`${daemon.control}/zones/${ZONE}/purge_cache`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ purge_everything: true }),
    })
    t.equal(purged.status, 200)
    const after = await many(daemon, '/site.css')
    t.ok(
      after.every(({ text }) => Number(text) > newest),
      'nothing is served from before the purge',
    )
  }
  t.ok(served < 3 * 2 * CONNECTIONS, 'responses came from the caches')
})

t.test('rate limits are exact over all processes, and a new process has the counts', options, async (t) => {
  const daemon = await start(t)
  const allowed = 100
  const ratelimit = { characteristics: ['cf.colo.id', 'ip.src'], requests_per_period: allowed, mitigation_timeout: 600 }
  const rule = { action: 'block', expression: 'true', ratelimit: { ...ratelimit, period: 600 } }
  await putRules(daemon, 'http_ratelimit', [rule])
  let passed = 0
  const burst = async (): Promise<void> => {
    for (const { status } of await many(daemon, '/', 3 * CONNECTIONS)) passed += Number(status === 200)
  }
  await burst()
  t.equal(passed, 3 * CONNECTIONS, 'below the limit')
  // Both are replaced: only the counts that the daemon has remain.
  for (const number of [1, 2]) await killOne(daemon, number)
  for (let round = 0; round < 3; round++) await burst()
  t.ok(Math.abs(passed - allowed) <= allowed * 0.02, `${passed} of ${allowed} passed`)
})

t.test(
  'log records of all processes are delivered; a killed process loses none that it has sent',
  options,
  async (t) => {
    const folder = testFolder(t)
    const out = join(folder, 'out')
    await mkdir(out)
    const daemon = await start(t, { logpush: { destinations: { allow_file_under: [out] } } }, folder)
    const { jobs } = new Cloudflare({ apiToken: TOKEN, baseURL: daemon.control, maxRetries: 0 }).logpush
    await jobs.create({ zone_id: ZONE, dataset: 'http_requests', destination_conf: `file://${out}`, enabled: true })
    let sent = 0
    const send = async (): Promise<void> => {
      sent += (await many(daemon, '/', 4 * CONNECTIONS)).length
      await until(async () => (await daemon.metric('edged_logpush_records_read_total{job="1"}')) === sent)
    }
    await send()
    for (const number of [1, 2]) {
      await killOne(daemon, number)
      await send()
    }
    t.equal(await daemon.metric('edged_logpush_records_read_total{job="1"}'), sent)
  },
)

t.test('a killed process ends its own connections only, and is replaced', options, async (t) => {
  const daemon = await start(t)
  const outcomes = { failed: 0, served: 0 }
  const stop = new AbortController()
  const failedOn = new Set<number>()
  const client = async (index: number): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!stop.signal.aborted) {
      try {
        const { status } = await get(daemon, '/', agent)
        if (status === 200) outcomes.served++
        else outcomes.failed++
      } catch {
        outcomes.failed++
        failedOn.add(index)
      }
    }
    agent.destroy()
  }
  const clients = Array.from({ length: CONNECTIONS }, (_, index) => client(index))
  const kills = 2
  let before = await daemon.metric('edged_proxy_requests_total{class="2xx"}')
  for (let kill = 0; kill < kills; kill++) {
    const { served } = outcomes
    await until(() => outcomes.served > served + 200)
    await killOne(daemon, 1 + (kill % 2))
    const now = await daemon.metric('edged_proxy_requests_total{class="2xx"}')
    t.ok(now! >= before!, 'the sum of a metric does not decrease')
    before = now
  }
  const { served } = outcomes
  await until(() => outcomes.served > served + 200)
  stop.abort()
  await Promise.all(clients)
  // Each kill ends at most the request in progress of each connection of that process.
  t.ok(outcomes.failed <= kills * CONNECTIONS, `${outcomes.failed} requests failed, ${outcomes.served} were served`)
  t.equal(await daemon.metric('edged_proxy_process_restarts_total'), kills)
  t.equal(await daemon.metric('edged_proxy_processes'), 2)
})

t.test('the status shows origins as the processes see them', options, async (t) => {
  const { url, server } = await startOrigin(t, (_request, response) => void response.end('hello'))
  const zone = { id: ZONE, account: ACCOUNT, name: 'example.test', origins: [{ url }] }
  const health = { path: '/', interval: '100ms', timeout: '20s', healthy_after: 1, unhealthy_after: 1 }
  const daemon = await startDaemon(t, {
    processes: 2,
    accounts: [{ id: ACCOUNT, name: 'Example' }],
    zones: [{ ...zone, health }],
  })
  const isUp = async (): Promise<boolean | null | undefined> => {
    const { zones } = (await (await fetch(`${daemon.admin}/status`)).json()) as {
      zones: { origins: { up: boolean | null }[] }[]
    }
    return zones[0]?.origins[0]?.up
  }
  await until(async () => (await isUp()) === true)
  server.close()
  server.closeAllConnections()
  await until(async () => (await isUp()) === false)
})

t.test('a reload is applied by all processes or by none', options, async (t) => {
  const folder = testFolder(t)
  const { url } = await startOrigin(t, (_request, response) => void response.end('hello'))
  const config = configuration(url, { processes: 2 }) as { zones: object[] }
  const daemon = await startDaemon(t, config, folder)
  const [zone] = config.zones
  const other = { ...zone, id: '0'.repeat(32), name: 'other.test', hostnames: ['other.test'] }
  t.same(await hosted(daemon, 'other.test'), [404])
  await daemon.reload({ ...config, zones: [zone, other] })
  t.same(await hosted(daemon, 'other.test'), [200])

  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  await daemon.reload({ ...config, proxy: { listen: `127.0.0.1:${port}` } }, 'reload_failed')
  t.match(daemon.lines.join('\n'), /already|in use/)
  t.same(await hosted(daemon, 'other.test'), [200], 'the zones of the last valid configuration')
  await killOne(daemon, 1)
  t.same(await hosted(daemon, 'other.test'), [200], 'a new process has them too')
})

t.test('SIGTERM completes the requests of all processes before the daemon exits', options, async (t) => {
  const waiting: (() => void)[] = []
  const { url } = await startOrigin(t, (incoming, response) => {
    if (incoming.url === '/slow') waiting.push(() => void response.end('late'))
    else response.end()
  })
  const daemon = await startDaemon(t, configuration(url, { processes: 2 }))
  const slow = many(daemon, '/slow')
  await until(() => waiting.length === CONNECTIONS)
  daemon.signal('SIGTERM')
  await until(async () => {
    try {
      return (await fetch(`${daemon.admin}/readyz`)).status === 503
    } catch {
      return false
    }
  })
  // No listener accepts connections any more.
  await until(async () => {
    try {
      await get(daemon, '/')
      return false
    } catch {
      return true
    }
  })
  for (const finish of waiting) finish()
  t.same(new Set((await slow).map(({ status, text }) => `${status} ${text}`)), new Set(['200 late']))
  t.equal(await daemon.ended, 0)
})

t.test('a process that cannot start ends the start of the daemon', options, async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  const config = configuration('http://127.0.0.1:9', { processes: 2, proxy: { listen: `127.0.0.1:${port}` } })
  await t.rejects(startDaemon(t, config), /proxy\.listen: 127\.0\.0\.1:\d+ is already in use/)
})
