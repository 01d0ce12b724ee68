// One run of the jobs of log push in a process of its own: jobs-child.mjs fill FOLDER RECORDS, or
// run FOLDER JOBS BYTES, or differ FOLDER JOBS BYTES.
import { setTimeout as wait } from 'node:timers/promises'
import { startLogpush } from '../../dist/pipelines/logpush/runner.js'
import { openSpools } from '../../dist/pipelines/logpush/spool/index.js'
import { readConfig } from '../../dist/src/config/load.js'
import { systemClock } from '../../dist/src/core/clock.js'
import { silentLog as log } from '../../dist/src/core/log.js'
import { openMetrics } from '../../dist/src/core/metrics.js'
import { LOGPUSH_JOBS } from '../../dist/src/core/model/logpush-job.js'
import { openStore } from '../../dist/src/store/index.js'
import { FILTER, OUTPUT, unlike } from './log-job.mjs'
import { lines } from './log-records.mjs'

const [what, folder, ...numbers] = process.argv.slice(2)
const ZONE = { type: 'zone', id: '9f1839b6152d298aca64c4e906b6d074' }
const MOST_JOBS = 8
// An hour later: the last batch does not wait for its interval.
const clock = what === 'fill' ? systemClock : { ...systemClock, now: () => Date.now() + 3_600_000 }
const COMMIT_BYTES = 256 * 1024
const MADE = 5000

const spools = await openSpools(`${folder}/spool`, { clock, log, limits: { bytes: 1e11 } })
const spool = await spools.open('http_requests', ZONE)

async function fill(records) {
  for (let job = 1; job <= MOST_JOBS; job++) await spool.cursor(`job-${job}`)
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
  const { logpush: options } = readConfig('', 'bench.yaml', {})
  const store = await openStore('memory', { folder: '', log })
  const value = (id) => ({
    id,
    dataset: 'http_requests',
    enabled: true,
    kind: '',
    destination_conf: { sealed: 'file:///bench' },
    filter: JSON.stringify(FILTER),
    output_options: OUTPUT,
    ...(what === 'differ' && unlike(id - 1)),
    ...(maxBytes > 0 && { max_upload_bytes: maxBytes, max_upload_records: 0 }),
  })
  for (let id = 1; id <= jobs; id++)
    await store.batch([{ kind: LOGPUSH_JOBS, scope: ZONE, id: String(id), value: value(id) }])
  let sent = 0
  const sink = {
    encoding: 'gzip',
    limits: {},
    daily: false,
    async write({ body }) {
      for await (const piece of body.read()) sent += piece.length
    },
    async close() {},
  }
  const vault = { open: (sealed) => sealed }
  const before = process.cpuUsage()
  const began = performance.now()
  const logpush = await startLogpush({
    store,
    vault,
    spools,
    open: () => sink,
    options: () => options,
    folder: `${folder}/batches`,
    clock,
    log,
    metrics: openMetrics({ process: false }),
  })
  const cursors = await Promise.all(Array.from({ length: jobs }, (_, i) => spool.cursor(`job-${i + 1}`)))
  let late = 0
  while (cursors.some(({ state }) => state.next < spool.end)) {
    const at = performance.now()
    await wait(10)
    late = Math.max(late, performance.now() - at - 10)
  }
  const { user, system } = process.cpuUsage(before)
  const result = {
    perMillion: (user + system) / spool.end,
    seconds: (performance.now() - began) / 1000,
    late,
    rss: process.resourceUsage().maxRSS / 1024,
    sent,
  }
  await logpush.close()
  return result
}

const result = what === 'fill' ? await fill(...numbers.map(Number)) : await run(...numbers.map(Number))
await spools.close()
process.send(result)
