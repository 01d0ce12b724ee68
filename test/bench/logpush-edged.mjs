// A daemon of the built product for benchmarks of log push, and what it takes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { FILTER, OUTPUT } from './log-job.mjs'

export const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const TOKEN = 'token-of-the-benchmark-of-log-push'
const CLI = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))
/** Of a clock tick in /proc, in seconds. */
const TICK = 0.01

/** What the job `n` is: two of five hosts, 12 fields as CSV, gzip, each to a folder of its own below `out`. */
export const job = (out, n) => ({
  name: `job ${n}`,
  dataset: 'http_requests',
  enabled: true,
  destination_conf: `file://${out}/${n}?gzip=true`,
  filter: JSON.stringify(FILTER),
  output_options: OUTPUT,
  max_upload_interval_seconds: 30,
})

/** Starts a daemon with its data below `folder`, which may write files below `out`. */
export async function daemon(folder, out) {
  const listen = { listen: '127.0.0.1:0' }
  const config = {
    data: join(folder, 'data'),
    proxy: listen,
    control: { ...listen, rate_limit: { requests: 0 } },
    admin: listen,
    accounts: [{ id: ACCOUNT, name: 'Bench' }],
    zones: [{ id: ZONE, account: ACCOUNT, name: 'example.test', origin: 'http://127.0.0.1:9' }],
    tokens: [{ name: 'bench', token: TOKEN, permissions: ['*'] }],
    logpush: { jobs_per_scope: 16, destinations: { allow_file_under: [out] } },
  }
  const file = join(folder, 'edged.json')
  writeFileSync(file, JSON.stringify(config))
  const began = performance.now()
  const child = spawn(process.execPath, [CLI, 'serve', '-c', file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ready = await new Promise((resolve) => {
    createInterface({ input: child.stdout }).on('line', (text) => {
      if (text.includes('"event":"ready"')) resolve(JSON.parse(text))
    })
  })
  const proc = (name) => readFileSync(`/proc/${child.pid}/${name}`, 'utf8')
  const called = async (method, path, body, type) => {
    const sent = { headers: { authorization: `Bearer ${TOKEN}`, 'content-type': type }, body }
    const response = await fetch(`${ready.control}/zones/${ZONE}${path}`, { method, ...sent })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`)
    return JSON.parse(text).result
  }
  return {
    startMs: performance.now() - began,
    cpu() {
      const [user, system] = proc('stat').split(') ')[1].split(' ').slice(11, 13).map(Number)
      return (user + system) * TICK
    },
    peakMb: () => Math.round(Number(/VmHWM:\s+(\d+)/.exec(proc('status'))[1]) / 1024),
    /** The peak is counted anew. */
    forgetPeak: () => writeFileSync(`/proc/${child.pid}/clear_refs`, '5'),
    post: async (path, body, type = 'application/json') => await called('POST', path, body, type),
    put: async (path, body) => await called('PUT', path, body, 'application/json'),
    /** Records that any job has yet to deliver. */
    async behind() {
      const text = await (await fetch(`${ready.admin}/metrics`)).text()
      const lines = text.split('\n').filter((each) => each.startsWith('edged_logpush_lag_records{'))
      return lines.reduce((sum, each) => sum + Number(each.split(' ').at(-1)), 0)
    },
    async stop() {
      child.kill()
      await once(child, 'exit')
    },
  }
}
