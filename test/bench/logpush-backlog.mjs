// The daemon with 1 GB of log spool, with 1 and with 8 jobs: how long its start takes, its resident memory while the
// destinations are down and while it catches up, and the CPU seconds per million records of that.
//
//   npm run bench -- logpush-backlog [--megabytes 1024]
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { job, daemon } from './logpush-edged.mjs'
import { sized, table } from './measure.mjs'

const option = (name, fallback) =>
  process.argv.includes(name) ? Number(process.argv[process.argv.indexOf(name) + 1]) : fallback
const MEGABYTES = option('--megabytes', sized(1024, 16))
const DOWN_MS = sized(8000, 500)
const CHILD = fileURLToPath(new URL('./logpush-backlog-child.mjs', import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
const pause = async (ms) => await new Promise((resolve) => setTimeout(resolve, ms))

const bytesIn = (path) =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)

async function run(jobs) {
  rmSync(join(folder, 'data'), { recursive: true, force: true })
  const out = join(folder, 'out')
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out)
  let running = await daemon(folder, out)
  const emptyMs = running.startMs
  const made = []
  for (let n = 0; n < jobs; n++) made.push(await running.post('/logpush/jobs', JSON.stringify(job(out, n))))
  await running.stop()

  const spool = join(folder, 'data', 'spool')
  const records = Number(execFileSync(process.execPath, [CHILD, spool, String(MEGABYTES)], { encoding: 'utf8' }))
  const stored = Math.round(bytesIn(spool) / 2 ** 20)
  // No folder can be made where a file is: the destinations are down.
  for (let n = 0; n < jobs; n++) {
    rmSync(join(out, String(n)), { recursive: true, force: true })
    writeFileSync(join(out, String(n)), '')
  }

  running = await daemon(folder, out)
  const { startMs } = running
  const startCpu = running.cpu()
  await pause(DOWN_MS)
  const down = running.peakMb()
  if ((await running.behind()) < records * jobs) throw new Error('the destinations were not down')
  for (let n = 0; n < jobs; n++) rmSync(join(out, String(n)))
  running.forgetPeak()
  const before = running.cpu()
  // A change of its settings makes a job try again at once.
  for (const { id } of made) {
    const body = JSON.stringify({ max_upload_interval_seconds: 31 })
    await running.put(`/logpush/jobs/${id}`, body)
  }
  while ((await running.behind()) > 0) await pause(200)
  const row = {
    jobs,
    'spool, MiB': stored,
    'start, ms': Math.round(startMs),
    'start, CPU s': startCpu.toFixed(2),
    'with no spool, ms': Math.round(emptyMs),
    'RSS while down, MB': down,
    'while catching up, MB': running.peakMb(),
    'CPU s per million': (((running.cpu() - before) / records) * 1e6).toFixed(2),
  }
  await running.stop()
  return row
}

try {
  table([await run(1), await run(8)])
} finally {
  rmSync(folder, { recursive: true, force: true })
}
