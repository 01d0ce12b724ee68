// Requests through the proxy to a hello Worker, beside the same Worker in workerd without the daemon and in miniflare; start and
// memory of 1, 100 and 300 scripts; time from an upload to the first response of the new version.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findWorkerd } from '../../dist/src/workers/runtime/binary.js'
import { load, LOADER } from './load.mjs'
import { digits, median, sized, table } from './measure.mjs'
import { accepting, freePort } from './ports.mjs'
import { runtimeProcesses, startWorkersDaemon } from './workers-daemon.mjs'

const ROUNDS = Number(process.argv[2] ?? sized(3, 1))
const SECONDS = sized(2, 0.2)
const CONNECTIONS = 16
const MAX_SECONDS = 230
const UPLOADS = sized(15, 2)
const SCRIPTS = sized([1, 100, 300], [1, 3])
const CONCURRENT_UPLOADS = 32
/** More scripts are not uploaded after this time. */
const MAX_UPLOAD_SECONDS = 150
const SCRIPT_BYTES = 15_000
const HELLO = "export default { fetch() { return new Response('hello') } }"
const MINIFLARE = fileURLToPath(new URL('../peers/node_modules/miniflare/dist/src/index.js', import.meta.url))

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

/** Starts the hello Worker in workerd alone. */
async function direct() {
  const port = await freePort()
  const file = join(folder, 'hello.capnp')
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
  return { port, stop: () => child.kill('SIGKILL') }
}

async function throughput() {
  const daemon = await startWorkersDaemon(folder)
  await daemon.upload('hello', HELLO)
  await daemon.domain('hello', 'bench.test')
  const alone = await direct()
  const servers = [
    { name: 'workerd alone', port: alone.port },
    { name: 'edged', port: daemon.port },
  ]
  let miniflare
  if (existsSync(MINIFLARE)) {
    const { Miniflare } = await import(MINIFLARE)
    miniflare = new Miniflare({ modules: true, script: HELLO, compatibilityDate: '2026-01-01', port: await freePort() })
    servers.push({ name: 'miniflare', port: Number((await miniflare.ready).port) })
  } else console.log('miniflare: not installed (npm install --prefix test/peers)')
  for (const server of servers) {
    server.samples = []
    await load(server.port, { connections: CONNECTIONS, seconds: SECONDS / 2, headers: [] })
  }
  for (let round = 0; round < ROUNDS; round++)
    for (const { port, samples } of servers)
      samples.push(await load(port, { connections: CONNECTIONS, seconds: SECONDS, headers: [] }))
  const of = (samples, key) => median(samples.map((sample) => sample[key]))
  const base = of(servers[0].samples, 'requests')
  console.log(
    `\na hello Worker, ${CONNECTIONS} connections of ${LOADER}, ${ROUNDS} rounds of ${SECONDS} s in turn, medians\n`,
  )
  table(
    servers.map(({ name, samples }) => ({
      server: name,
      'requests/s': Math.round(of(samples, 'requests') / SECONDS),
      'of workerd alone': (of(samples, 'requests') / base).toFixed(2),
      'p50 ms': digits(of(samples, 'p50'), 2),
      'p99 ms': digits(of(samples, 'p99'), 2),
    })),
  )
  const memory = runtimeProcesses(daemon.child.pid).map(({ mebibytes }) => `${Math.round(mebibytes)} MiB`)
  console.log(`\nruntime processes of edged afterwards: ${memory.join(', ')}`)
  await miniflare?.dispose()
  alone.stop()
  await daemon.stop()
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
