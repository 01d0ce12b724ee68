// The daemon with 1 and with 8 jobs on one dataset: records in through the API, 12 of 75 fields as CSV, gzip, files out.
// The 8 jobs are the same but for their destinations, or each has a filter and fields of its own. CPU seconds per million
// from the first request to the last delivery, and the largest RSS. Takes 4 minutes: jobs wait for their interval.
//
//   npm run bench -- logpush-daemon [--records 200000]
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unlike } from './log-job.mjs'
import { line } from './log-records.mjs'
import { daemon, job } from './logpush-edged.mjs'
import { sized, table } from './measure.mjs'

const option = (name, fallback) =>
  process.argv.includes(name) ? Number(process.argv[process.argv.indexOf(name) + 1]) : fallback
const RECORDS = option('--records', sized(200_000, 10_000))
/** Share of the records that a run does not wait for. In the short form, the last batch would wait for its interval. */
const LEFT = sized(0, 0.9)
const BATCHES = sized({}, { max_upload_records: 1000 })
const CHUNK = 2000

const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))

async function ingest(running) {
  for (let from = 0; from < RECORDS; from += CHUNK) {
    const count = Math.min(CHUNK, RECORDS - from)
    const body = Array.from({ length: count }, (_, i) => line(from + i)).join('')
    await running.post('/edged/records/http_requests', body, 'application/x-ndjson')
  }
}

async function run(what, jobs, of = () => ({})) {
  rmSync(join(folder, 'data'), { recursive: true, force: true })
  const out = join(folder, 'out')
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out)
  const running = await daemon(folder, out)
  for (let n = 0; n < jobs; n++)
    await running.post('/logpush/jobs', JSON.stringify({ ...job(out, n), ...BATCHES, ...of(n) }))
  const before = running.cpu()
  await ingest(running)
  const taken = running.cpu()
  while ((await running.behind()) > LEFT * RECORDS * jobs) await new Promise((resolve) => setTimeout(resolve, 500))
  const cpu = running.cpu()
  const row = {
    jobs: what,
    'CPU s per million': (((cpu - before) / RECORDS) * 1e6).toFixed(2),
    'until all was accepted': (((taken - before) / RECORDS) * 1e6).toFixed(2),
    'largest RSS, MB': running.peakMb(),
  }
  await running.stop()
  return { row, cost: cpu - before }
}

if (!existsSync('/proc/self/stat')) throw new Error('needs /proc')
try {
  const none = await run('none', 0)
  const one = await run('1', 1)
  const alike = await run('8, the same', 8)
  const different = await run('8, each with its own filter and fields', 8, unlike)
  console.log(`\n${RECORDS} records of 2.2 KB through the API of the built daemon\n`)
  table([none.row, one.row, alike.row, different.row])
  const times = ({ cost }) => `${(cost / one.cost).toFixed(2)}x`
  console.log(`\n8 jobs cost ${times(alike)} one job where they are the same, ${times(different)} where they differ`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
