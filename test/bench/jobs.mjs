// The jobs of log push on a spool of 2.2 KB records: filter (two of five hosts kept), 12 fields as CSV, batches, gzip at
// its default level and the cursor, beside JSON.parse, string formatting and gzip of the same lines without any spool. CPU seconds per million
// records over all threads and of the main thread; the largest resident memory; how long the event loop was held at most.
//
//   npm run bench -- jobs [--records 200000]
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { csvOf, KEPT } from './log-job.mjs'
import { lines } from './log-records.mjs'
import { cpuSeconds, inChild, sized, table } from './measure.mjs'

const option = process.argv.indexOf('--records')
const RECORDS = option < 0 ? sized(200_000, 10_000) : Number(process.argv[option + 1])
const MADE = 5000

/** What a few lines of JavaScript do. */
async function baseline() {
  const input = lines(MADE).toString().trimEnd().split('\n')
  for (let done = 0; done < RECORDS; done += MADE) {
    const out = []
    for (const line of input) {
      const record = JSON.parse(line)
      if (KEPT.has(record.ClientRequestHost)) out.push(csvOf(record))
    }
    await promisify(gzip)(out.join(''), { level: 6 })
  }
}

const folder = mkdtempSync(join(tmpdir(), 'edged-jobs-'))
const rows = []
const run = async (name, jobs, maxBytes, what = 'run', encoding = 'gzip') => {
  const copy = join(folder, 'run')
  cpSync(join(folder, 'full'), copy, { recursive: true })
  const result = await inChild('jobs-child.mjs', [what, copy, jobs, maxBytes, encoding].map(String))
  rmSync(copy, { recursive: true })
  if (result.failed !== undefined) throw new Error(result.failed)
  rows.push({
    what: name,
    'CPU s per M': result.perMillion.toFixed(2),
    'of main thread': result.mainPerMillion.toFixed(2),
    'peak RSS MB': result.rss.toFixed(0),
    'loop held, ms': result.late.toFixed(0),
    'k records/s': (RECORDS / result.seconds / 1000).toFixed(0),
  })
  return { cpu: result.perMillion, main: result.mainPerMillion, seconds: result.seconds }
}
try {
  const filled = await inChild('jobs-child.mjs', ['fill', join(folder, 'full'), String(RECORDS)])
  if (filled.failed !== undefined) throw new Error(filled.failed)
  const seconds = await cpuSeconds(baseline)
  const none = { 'of main thread': '', 'peak RSS MB': '', 'loop held, ms': '', 'k records/s': '' }
  rows.push({
    what: 'JSON.parse, string formatting, gzip 6',
    'CPU s per M': ((seconds / RECORDS) * 1e6).toFixed(2),
    ...none,
  })
  const one = await run('1 job', 1, 0)
  await run('1 job, batches of up to 1 GB', 1, 1_000_000_000)
  const alike = await run('8 jobs, the same', 8, 0)
  await run('8 jobs, the same, batches of up to 1 GB', 8, 1_000_000_000)
  const different = await run('8 jobs, each with its own filter and fields', 8, 0, 'differ')
  const onePlain = await run('1 job, not compressed', 1, 0, 'run', 'plain')
  const differentPlain = await run('8 jobs that differ, not compressed', 8, 0, 'differ', 'plain')
  table(rows)
  const times = (cost, of = one) => `${(cost.cpu / of.cpu).toFixed(2)}x`
  console.log(`8 jobs cost ${times(alike)} one job where they are the same, ${times(different)} where they differ`)
  const time = (different.seconds / one.seconds).toFixed(2)
  const main = (different.main / one.main).toFixed(2)
  const gzip = (different.cpu - differentPlain.cpu) / different.cpu
  console.log(
    `where they differ: ${time}x the elapsed time on ${availableParallelism()} cores, ${main}x the time of the main thread, ` +
      `which is the elapsed time if cores are free; ${times(differentPlain, onePlain)} without gzip, ` +
      `which is ${(gzip * 100).toFixed(0)} % of their CPU and runs in other threads`,
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
