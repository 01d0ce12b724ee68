// The daemon with 1 and with 8 jobs on one dataset: records in through the API, 12 of 75 fields as CSV, gzip 6, files out.
// CPU seconds per million from the first request to the last delivery, and the largest RSS.
//
//   npm run bench -- logpush-daemon [--records 200000]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { table } from './measure.mjs'
import { FILTER, OUTPUT } from './log-job.mjs'
import { line } from './log-records.mjs'

const option = (name, fallback) =>
  process.argv.includes(name) ? Number(process.argv[process.argv.indexOf(name) + 1]) : fallback
const RECORDS = option('--records', 200_000)
const CHUNK = 2000
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const TOKEN = 'token-of-the-benchmark-of-log-push'
const CLI = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))
/** Of a clock tick in /proc, in seconds. */
const TICK = 0.01

const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))

async function daemon(out) {
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
  const child = spawn(process.execPath, [CLI, 'serve', '-c', file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ready = await new Promise((resolve) => {
    createInterface({ input: child.stdout }).on('line', (text) => {
      if (text.includes('"event":"ready"')) resolve(JSON.parse(text))
    })
  })
  const proc = (name) => readFileSync(`/proc/${child.pid}/${name}`, 'utf8')
  return {
    cpu() {
      const [user, system] = proc('stat').split(') ')[1].split(' ').slice(11, 13).map(Number)
      return (user + system) * TICK
    },
    peakMb: () => Math.round(Number(/VmHWM:\s+(\d+)/.exec(proc('status'))[1]) / 1024),
    async post(path, body, type = 'application/json') {
      const answer = await fetch(`${ready.control}/zones/${ZONE}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': type },
        body,
      })
      const text = await answer.text()
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text.slice(0, 300)}`)
      return JSON.parse(text).result
    },
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

async function ingest(running) {
  for (let from = 0; from < RECORDS; from += CHUNK) {
    const count = Math.min(CHUNK, RECORDS - from)
    const body = Array.from({ length: count }, (_, i) => line(from + i)).join('')
    await running.post('/edged/records/http_requests', body, 'application/x-ndjson')
  }
}

const job = (out, n) =>
  JSON.stringify({
    name: `job ${n}`,
    dataset: 'http_requests',
    enabled: true,
    destination_conf: `file://${out}/${n}?gzip=true`,
    filter: JSON.stringify(FILTER),
    output_options: OUTPUT,
    max_upload_interval_seconds: 30,
  })

async function run(jobs) {
  rmSync(join(folder, 'data'), { recursive: true, force: true })
  const out = join(folder, `out-${jobs}`)
  mkdirSync(out)
  const running = await daemon(out)
  for (let n = 0; n < jobs; n++) await running.post('/logpush/jobs', job(out, n))
  const before = running.cpu()
  await ingest(running)
  const taken = running.cpu()
  while ((await running.behind()) > 0) await new Promise((resolve) => setTimeout(resolve, 500))
  const cpu = running.cpu()
  const row = {
    jobs,
    'CPU s per million': (((cpu - before) / RECORDS) * 1e6).toFixed(2),
    'until all was accepted': (((taken - before) / RECORDS) * 1e6).toFixed(2),
    'largest RSS, MB': running.peakMb(),
  }
  await running.stop()
  return { row, cost: cpu - before }
}

if (!existsSync('/proc/self/stat')) throw new Error('needs /proc')
try {
  const none = await run(0)
  const one = await run(1)
  const eight = await run(8)
  console.log(`\n${RECORDS} records of 2.2 KB through the API of the built daemon\n`)
  table([none.row, one.row, eight.row])
  console.log(`\n8 jobs cost ${(eight.cost / one.cost).toFixed(2)}x one job`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
