// One run of the jobs of log push in a process of its own: jobs-child.mjs fill FOLDER RECORDS, or
// run FOLDER JOBS BYTES, or differ FOLDER JOBS BYTES; with `plain` behind them batches are not compressed.
import { systemClock } from '../../dist/src/core/clock.js'
import { holdHeap } from '../../dist/src/core/memory/heap-size.js'
import { silentLog as log } from '../../dist/src/core/log.js'
import { FILTER, OUTPUT, unlike } from './log-job.mjs'
import { lines } from './log-records.mjs'

// As the daemon does, before most is loaded.
holdHeap()
const { openSpools } = await import('../../dist/pipelines/logpush/spool/index.js')
const { cursorOf, LATER, runJobs, ZONE } = await import('./run-jobs.mjs')

const [what, folder, ...rest] = process.argv.slice(2)
const encoding = rest.at(-1) === 'plain' ? 'identity' : 'gzip'
const numbers = rest.filter((text) => text !== 'plain')
const MAX_JOBS = 8
const clock = what === 'fill' ? systemClock : LATER
const COMMIT_BYTES = 256 * 1024
const MADE = 5000

const spools = await openSpools(`${folder}/spool`, { clock, log, limits: { bytes: 1e11 } })
const spool = await spools.open('http_requests', ZONE)

async function fill(records) {
  for (let job = 1; job <= MAX_JOBS; job++) await spool.cursor(cursorOf(job))
  const input = lines(MADE)
  const writer = spool.writer()
  for (let done = 0, start = 0; done < records; done++) {
    const end = input.indexOf(10, start)
    writer.add(input, start, end)
    start = end + 1 === input.length ? 0 : end + 1
    if (writer.size >= COMMIT_BYTES) await writer.commit()
  }
  await writer.commit()
  return {}
}

async function run(jobs, maxBytes) {
  let late = 0
  const large = maxBytes > 0 ? { max_upload_bytes: maxBytes, max_upload_records: 0 } : {}
  const settings = { filter: JSON.stringify(FILTER), output_options: OUTPUT, ...large }
  const { cpu, main, seconds, sent } = await runJobs({
    spools,
    spool,
    folder,
    jobs,
    of: (id) => ({ ...settings, ...(what === 'differ' && unlike(id - 1)) }),
    encoding,
    tick: (ms) => (late = Math.max(late, ms)),
  })
  const perMillion = (cpu * 1e6) / spool.end
  const mainPerMillion = (main * 1e6) / spool.end
  return { perMillion, mainPerMillion, seconds, late, rss: process.resourceUsage().maxRSS / 1024, sent }
}

const result = what === 'fill' ? await fill(...numbers.map(Number)) : await run(...numbers.map(Number))
await spools.close()
process.send(result)
