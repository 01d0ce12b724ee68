// HTTP, HTTPS over HTTP/1.1 and HTTP/2, and new TLS connections: CPU of the proxy alone, beside nginx and Caddy.
import { execFile } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { promisify } from 'node:util'
import { cpuOf } from './cpu-of.mjs'
import { median, sized, table } from './measure.mjs'
import { installed } from './ports.mjs'
import { PROXIES, startEdged } from './proxies.mjs'

const run = promisify(execFile)
const ROUNDS = sized(3, 1)
/** Whole seconds: openssl takes no others. */
const SECONDS = sized(2, 1)
/** Each process compiles its own hot code: two processes need twice the requests of one. */
const WARM_UP_ROUNDS = sized(2, 0)
/** CPU per request of two processes, as a multiple of one. With two cores, requests per second would show the load generator. */
const MAX_RATIO = 1.1
const TWO = 'edged, 2 processes'
const SERVERS = {
  edged: async (origin, folder) => await startEdged(origin, folder),
  [TWO]: async (origin, folder) => await startEdged(origin, folder, 'processes: 2\n'),
  nginx: PROXIES.nginx,
  caddy: PROXIES.caddy,
}

/** How to send each kind of load to a proxy: the number of requests or connections, and times in milliseconds. */
const LOADS = {
  HTTP: async ({ port }, folder) => await h2load(port, folder, ['--h1', '-c32'], 'http'),
  'HTTPS, HTTP/1.1': async ({ tlsPort }, folder) => await h2load(tlsPort, folder, ['--h1', '-c32']),
  'HTTPS, HTTP/2': async ({ tlsPort }, folder) => await h2load(tlsPort, folder, ['-c8', '-m4']),
  'new TLS connections': async ({ tlsPort }) => await handshakes(tlsPort),
}

/** Prints a table with one row for each kind of load and proxy. */
export async function protocols(origin, folder) {
  if (!installed('h2load')) {
    console.log('\nh2load is not installed (Debian: nghttp2-client): no HTTPS rows')
    return
  }
  const running = []
  try {
    for (const [name, start] of Object.entries(SERVERS)) {
      const proxy = await start(origin.port, folder)
      if (proxy) running.push({ name, proxy })
    }
    const rows = []
    const ratios = []
    for (const [load, send] of Object.entries(LOADS)) {
      const samples = new Map(running.map(({ name }) => [name, []]))
      for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++)
        for (const { name, proxy } of running) {
          if (round < -1 && !name.startsWith('edged')) continue
          const sample = await measure(proxy, async () => await send(proxy, folder))
          if (round >= 0) samples.get(name).push(sample)
        }
      const of = (name, key) => median(samples.get(name).map((sample) => sample[key]))
      const ours = of('edged', 'microseconds')
      ratios.push(`${load} ${(of(TWO, 'microseconds') / ours).toFixed(2)}`)
      for (const { name } of running)
        rows.push({
          load,
          proxy: name,
          'CPU us each': of(name, 'microseconds').toFixed(1),
          "edged's is": `${(ours / of(name, 'microseconds')).toFixed(2)} of it`,
          'per second': Math.round(of(name, 'count') / SECONDS),
          'p50 ms': of(name, 'p50')?.toFixed(2),
          'p99 ms': of(name, 'p99')?.toFixed(2),
        })
    }
    console.log(`\n${origin.bytes} byte page of ${origin.server}, ${ROUNDS} rounds of ${SECONDS} s, medians\n`)
    table(rows)
    console.log(`\nCPU of 2 processes as a multiple of one, asked at most ${MAX_RATIO}: ${ratios.join(', ')}`)
  } finally {
    for (const { proxy } of running) await proxy.stop()
  }
}

async function measure({ pid }, send) {
  const before = cpuOf(pid)
  const sample = await send()
  return { ...sample, microseconds: ((cpuOf(pid) - before) * 1e6) / sample.count }
}

/** Sends requests to a port for the time of one round: { count, p50, p99 }, times in milliseconds. */
export async function h2load(port, folder, options, scheme = 'https') {
  const log = `${folder}/h2load.log`
  const to = ['--connect-to', `127.0.0.1:${port}`, `${scheme}://bench.test:${port}/`]
  const { stdout } = await run('h2load', ['-t1', `-D${SECONDS}`, `--log-file=${log}`, ...options, ...to])
  const [, failed, errored] = /(\d+) failed, (\d+) errored/.exec(stdout)
  if (Number(failed) + Number(errored) > 0) throw new Error(`h2load: ${failed} requests failed, ${errored} had errors`)
  // Columns: start, status, microseconds.
  const lines = readFileSync(log, 'utf8').trim().split('\n')
  rmSync(log)
  const times = lines.map((line) => Number(line.split('\t')[2]) / 1000).sort((a, b) => a - b)
  const at = (share) => times[Math.floor(times.length * share)]
  return { count: times.length, p50: at(0.5), p99: at(0.99) }
}

/** Full handshakes one after the other, by two clients. */
async function handshakes(port) {
  const client = async () => {
    const { stdout } = await run('openssl', ['s_time', '-new', '-connect', `127.0.0.1:${port}`, '-time', `${SECONDS}`])
    return Number(/(\d+) connections in \d+ real seconds/.exec(stdout)[1])
  }
  const [first, second] = await Promise.all([client(), client()])
  return { count: first + second }
}
