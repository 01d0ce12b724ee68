// The jobs of log push on a spool of 2.2 KB records: filter (two of five hosts kept), 12 fields as CSV, batches, gzip 6 and
// the cursor, beside JSON.parse, string formatting and gzip 6 of the same lines without any spool. CPU seconds per million
// records over all threads; the largest resident memory; how long the event loop was held at most.
//
//   npm run bench -- jobs [--records 200000]
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { FIELDS, HOSTS, lines } from './log-records.mjs'
import { cpuSeconds, inChild, table } from './measure.mjs'

const option = process.argv.indexOf('--records')
const RECORDS = option < 0 ? 200_000 : Number(process.argv[option + 1])
const MADE = 5000
const kept = new Set(HOSTS.slice(0, 2))

/** What a few lines of JavaScript do. */
async function baseline() {
  const input = lines(MADE).toString().trimEnd().split('\n')
  for (let done = 0; done < RECORDS; done += MADE) {
    const out = []
    for (const line of input) {
      const record = JSON.parse(line)
      if (!kept.has(record.ClientRequestHost)) continue
      const cells = FIELDS.map((name) => {
        const value = record[name]
        if (name === 'EdgeStartTimestamp') return `"${new Date(value / 1e6).toISOString().slice(0, 19)}Z"`
        return typeof value === 'string' ? `"${value.replaceAll('"', '""')}"` : String(value ?? '')
      })
      out.push(cells.join(','))
    }
    await promisify(gzip)(out.join('\n'), { level: 6 })
  }
}

const folder = mkdtempSync(join(tmpdir(), 'edged-jobs-'))
const rows = []
const run = async (name, jobs, maxBytes) => {
  const copy = join(folder, 'run')
  cpSync(join(folder, 'full'), copy, { recursive: true })
  const result = await inChild('jobs-child.mjs', ['run', copy, jobs, maxBytes].map(String))
  rmSync(copy, { recursive: true })
  if (result.failed !== undefined) throw new Error(result.failed)
  rows.push({
    what: name,
    'CPU s per M': result.perMillion.toFixed(2),
    'peak RSS MB': result.rss.toFixed(0),
    'loop held, ms': result.late.toFixed(0),
    'k records/s': (RECORDS / result.seconds / 1000).toFixed(0),
  })
}
try {
  const filled = await inChild('jobs-child.mjs', ['fill', join(folder, 'full'), String(RECORDS)])
  if (filled.failed !== undefined) throw new Error(filled.failed)
  const seconds = await cpuSeconds(baseline)
  const none = { 'peak RSS MB': '', 'loop held, ms': '', 'k records/s': '' }
  rows.push({
    what: 'JSON.parse, string formatting, gzip 6',
    'CPU s per M': ((seconds / RECORDS) * 1e6).toFixed(2),
    ...none,
  })
  await run('1 job', 1, 0)
  await run('1 job, batches of up to 1 GB', 1, 1_000_000_000)
  await run('8 jobs', 8, 0)
  await run('8 jobs, batches of up to 1 GB', 8, 1_000_000_000)
  table(rows)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
