// Requests through the proxy to a hello Worker, in one and in two processes, beside the same Worker in workerd alone, behind nginx,
// behind a pass-through of bytes and in miniflare: CPU of all processes for each request; start and memory of 1, 100 and 300
// scripts; time from an upload to the first response of the new version.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findWorkerd } from '../../dist/src/workers/runtime/binary.js'
import { cpuOfTree } from './cpu-of.mjs'
import { load, LOADER } from './load.mjs'
import { digits, median, sized, table } from './measure.mjs'
import { accepting, freePort } from './ports.mjs'
import { PROXIES } from './proxies.mjs'
import { runtimeProcesses, startWorkersDaemon } from './workers-daemon.mjs'

const ROUNDS = Number(process.argv[2] ?? sized(5, 1))
/** The first ones compile the code of the daemon, and are not counted. */
const WARM_UP_ROUNDS = sized(3, 0)
const SECONDS = sized(2, 0.2)
const CONNECTIONS = 16
const MAX_SECONDS = 300
const UPLOADS = sized(15, 2)
const SCRIPTS = sized([1, 100, 300], [1, 3])
const CONCURRENT_UPLOADS = 32
/** More scripts are not uploaded after this time. */
const MAX_UPLOAD_SECONDS = 150
const SCRIPT_BYTES = 15_000
const HELLO = "export default { fetch() { return new Response('hello') } }"
const MINIFLARE = fileURLToPath(new URL('../peers/node_modules/miniflare/dist/src/index.js', import.meta.url))

const SERVERS = {
  'workerd alone': async () => await direct('alone'),
  edged: async () => await behindEdged('one-'),
  'edged, 2 processes': async () => await behindEdged('two-', 'processes: 2\n'),
  'nginx before workerd': behindNginx,
  'node:net before workerd': behindBytes,
  miniflare: inMiniflare,
}

const binary = findWorkerd()
if (binary === undefined) {
  console.error('the npm package workerd is not installed')
  process.exit(1)
}
setTimeout(() => {
  console.error(`not finished after ${MAX_SECONDS} s`)
  process.exit(1)
}, MAX_SECONDS * 1000).unref()

const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
await throughput()
await uploads()
await scripts()
process.exit(0)

/** Starts the hello Worker in workerd alone. `name` is the one of its configuration. */
async function direct(name) {
  const port = await freePort()
  const file = join(folder, `${name}.capnp`)
  writeFileSync(
    file,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "hello", worker = (modules = [(name = "index.js", esModule = ${JSON.stringify(HELLO)})], compatibilityDate = "2026-01-01"))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "hello")],
);`,
  )
  const child = spawn(binary, ['serve', file, 'config'], { stdio: 'ignore' })
  process.on('exit', () => child.kill('SIGKILL'))
  await accepting(port)
  return { port, pids: [child.pid], stop: () => child.kill('SIGKILL') }
}

/** Starts the daemon with the hello Worker. */
async function behindEdged(name, more) {
  const daemon = await startWorkersDaemon(mkdtempSync(join(folder, name)), more)
  await daemon.upload('hello', HELLO)
  await daemon.domain('hello', 'bench.test')
  return { port: daemon.port, pids: [daemon.child.pid], stop: () => daemon.stop() }
}

/** Starts nginx before a workerd of its own. */
async function behindNginx() {
  const behind = await direct('nginx')
  const nginx = await PROXIES.nginx(behind.port, folder)
  if (!nginx) return behind.stop()
  return { port: nginx.port, pids: [...behind.pids, nginx.pid], stop: () => (behind.stop(), nginx.stop()) }
}

/** Starts a pass-through of bytes in Node.js before a workerd of its own. */
async function behindBytes() {
  const behind = await direct('bytes')
  const child = fork(new URL('./net-child.mjs', import.meta.url), [String(behind.port)])
  const [{ port }] = await once(child, 'message')
  return { port, pids: [...behind.pids, child.pid], stop: () => (behind.stop(), child.disconnect()) }
}

/** Miniflare runs in this process, whose CPU is not only its own. */
async function inMiniflare() {
  if (!existsSync(MINIFLARE)) return console.log('miniflare: not installed (npm install --prefix test/peers)')
  const { Miniflare } = await import(MINIFLARE)
  const miniflare = new Miniflare({
    modules: true,
    script: HELLO,
    compatibilityDate: '2026-01-01',
    port: await freePort(),
  })
  return { port: Number((await miniflare.ready).port), pids: [], stop: () => miniflare.dispose() }
}

/** Sends requests for one round. CPU is of all processes of the server, in microseconds for each request. */
async function measure({ port, pids }) {
  const used = () => pids.flatMap(cpuOfTree)
  const before = new Map(used().map(({ pid, seconds }) => [pid, seconds]))
  const sample = await load(port, { connections: CONNECTIONS, seconds: SECONDS, headers: [] })
  const cpu = { runtime: 0, proxy: 0 }
  for (const { pid, name, seconds } of used())
    cpu[name === 'workerd' ? 'runtime' : 'proxy'] += ((seconds - (before.get(pid) ?? 0)) * 1e6) / sample.requests
  return { ...sample, ...cpu, both: cpu.runtime + cpu.proxy }
}

async function throughput() {
  const servers = []
  for (const [name, start] of Object.entries(SERVERS)) {
    const server = await start()
    if (server) servers.push({ name, server, samples: [] })
  }
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++)
    for (const { server, samples } of servers) {
      const sample = await measure(server)
      if (round >= 0) samples.push(sample)
    }
  const of = (samples, key) => median(samples.map((sample) => sample[key]))
  const base = servers[0].samples
  console.log(
    `\na hello Worker, ${CONNECTIONS} connections of ${LOADER}, ${ROUNDS} rounds of ${SECONDS} s in turn, medians\n`,
  )
  table(
    servers.map(({ name, server: { pids }, samples }) => {
      const cpu = (key) => (pids.length > 0 ? of(samples, key).toFixed(1) : '-')
      return {
        server: name,
        'CPU us of all processes': cpu('both'),
        'of the runtime': cpu('runtime'),
        'of the proxy': cpu('proxy'),
        'workerd alone is':
          pids.length > 0
            ? `${median(samples.map(({ both }, round) => base[round].both / both)).toFixed(2)} of it`
            : '-',
        'requests/s': Math.round(of(samples, 'requests') / SECONDS),
        'p50 ms': digits(of(samples, 'p50'), 2),
        'p99 ms': digits(of(samples, 'p99'), 2),
      }
    }),
  )
  const { server } = servers.find(({ name }) => name === 'edged')
  const memory = runtimeProcesses(server.pids[0]).map(({ mebibytes }) => `${Math.round(mebibytes)} MiB`)
  console.log(`\nruntime processes of edged afterwards: ${memory.join(', ')}`)
  for (const { server } of servers) await server.stop()
}

/** The text of a response of bench.test. */
async function read(port) {
  return await new Promise((resolve, reject) => {
    get({ port, headers: { host: 'bench.test' } }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve(text))
    }).on('error', reject)
  })
}

async function uploads() {
  const daemon = await startWorkersDaemon(folder)
  await daemon.upload('hello', HELLO)
  await daemon.domain('hello', 'bench.test')
  const times = []
  for (let n = 0; n < UPLOADS; n++) {
    const began = performance.now()
    await daemon.upload('hello', HELLO.replace('hello', `version ${n}`))
    const answered = performance.now()
    for (; (await read(daemon.port)) !== `version ${n}`;);
    times.push({ upload: answered - began, first: performance.now() - began })
  }
  const of = (key) => median(times.map((time) => time[key])).toFixed(0)
  console.log(
    `\n${UPLOADS} uploads, medians: response ${of('upload')} ms, first request to the new version ${of('first')} ms`,
  )
  await daemon.stop()
}

async function scripts() {
  const code = `${HELLO}\n// ${'x'.repeat(SCRIPT_BYTES)}`
  const rows = []
  let daemon = await startWorkersDaemon(folder)
  let uploaded = 1
  for (const count of SCRIPTS) {
    if (performance.now() > MAX_UPLOAD_SECONDS * 1000) {
      console.log(`${count} scripts: left out, because this machine is too slow or too busy`)
      break
    }
    const left = Array.from({ length: count - uploaded }, (_, i) => `script-${uploaded + i}`)
    const client = async () => {
      for (let name = left.pop(); name !== undefined; name = left.pop()) {
        const { status } = await daemon.upload(name, code)
        if (status !== 200) throw new Error(`upload: ${status}`)
      }
    }
    await Promise.all(Array.from({ length: CONCURRENT_UPLOADS }, client))
    uploaded = count
    await daemon.stop()
    daemon = await startWorkersDaemon(folder)
    const memory = runtimeProcesses(daemon.child.pid).reduce((sum, { mebibytes }) => sum + mebibytes, 0)
    rows.push({ scripts: count, 'daemon ready ms': Math.round(daemon.readyMs), 'runtime MiB': Math.round(memory) })
  }
  console.log(`\nstart of the daemon with scripts of ${SCRIPT_BYTES / 1000} kB in one account\n`)
  table(rows)
  await daemon.stop()
}
