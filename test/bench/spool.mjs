// The durable spool of log push: CPU seconds per million records of 2.2 KB appended (scanned, packed, synced) and read
// again for one job and for eight (filter, 12 fields as CSV, two of five hosts kept, without gzip); microseconds of
// `emit` on the request path and of an event afterwards; and how long a start takes with 1 GB of spool.
//
//   npm run bench -- spool [--records 100000] [--megabytes 1024]
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SpoolEmitter } from '../../dist/pipelines/logpush/emitter.js'
import { openSpools } from '../../dist/pipelines/logpush/spool/index.js'
import { BatchText, compileFilter, compileFormat } from '../../dist/pipelines/records/index.js'
import { systemClock } from '../../dist/src/core/clock.js'
import { silentLog } from '../../dist/src/core/log.js'
import { dataset, FIELDS, HOSTS, lines } from './log-records.mjs'
import { cpuSeconds, sized, table } from './measure.mjs'

const option = (name, fallback) =>
  process.argv.includes(name) ? Number(process.argv[process.argv.indexOf(name) + 1]) : fallback
const RECORDS = option('--records', sized(100_000, 5000))
const MEGABYTES = option('--megabytes', sized(1024, 32))
const MADE = sized(10_000, 5000)
const ZONE = { type: 'zone', id: '9f1839b6152d298aca64c4e906b6d074' }
const COMMIT_BYTES = 256 * 1024

const input = lines(MADE)
const folder = mkdtempSync(join(tmpdir(), 'edged-spool-'))
const open = () => openSpools(folder, { clock: systemClock, log: silentLog, limits: { bytes: 1e11 } })

// The daemon's timers do not keep a process alive.
const alive = setInterval(() => undefined, 1000)
let spools = await open()
let spool = await spools.open('http_requests', ZONE)
await spool.cursor('job')

/** Appends as one sender does: commits one after the other. */
async function append(count) {
  const writer = spool.writer()
  for (let done = 0, start = 0; done < count; done++) {
    const end = input.indexOf(10, start)
    writer.add(input, start, end)
    start = end + 1 === input.length ? 0 : end + 1
    if (writer.size >= COMMIT_BYTES) await writer.commit()
  }
  await writer.commit()
}

const keeps = compileFilter(
  dataset,
  JSON.stringify({ where: { key: 'ClientRequestHost', operator: 'in', value: HOSTS.slice(0, 2) } }),
)
const format = compileFormat(dataset, { output_type: 'csv', field_names: FIELDS, timestamp_format: 'rfc3339' })

/** One job over all that there is. */
async function read() {
  const batch = new BatchText(format)
  for (let at = 0; at < RECORDS;) {
    const frame = await spool.frame(at)
    for (let i = 0; i < frame.count; i++) {
      const record = frame.record(i)
      if (keeps(record)) batch.add(record)
    }
    if (batch.size > 1e6) batch.close()
    at = frame.first + frame.count
    frame.release()
  }
}

const bytesIn = (path) =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)

try {
  await append(MADE)
  await spools.close()
  rmSync(folder, { recursive: true })
  spools = await open()
  spool = await spools.open('http_requests', ZONE)
  await spool.cursor('job')

  const perMillion = (seconds) => ((seconds / RECORDS) * 1e6).toFixed(2)
  const appended = await cpuSeconds(() => append(RECORDS))
  const packed = Math.round(bytesIn(folder) / RECORDS)
  await read()
  const one = await cpuSeconds(read)
  const eight = await cpuSeconds(() => Promise.all(Array.from({ length: 8 }, read)))
  console.log(`${RECORDS} records of ${Math.round(input.length / MADE)} bytes, ${packed} in the spool`)
  table([
    { run: 'appended', 'CPU s per million': perMillion(appended) },
    { run: 'read by one job', 'CPU s per million': perMillion(one) },
    { run: 'read by eight jobs', 'CPU s per million': perMillion(eight), 'x one job': (eight / one).toFixed(2) },
  ])

  const emitter = new SpoolEmitter({ spools, clock: systemClock, log: silentLog })
  await emitter.want([{ dataset: 'http_requests', scope: ZONE }])
  const events = Array.from({ length: 4000 }, (_, i) => {
    const start = i * Math.floor(input.length / MADE)
    const from = input.lastIndexOf(10, start) + 1
    return JSON.parse(input.toString('utf8', from, input.indexOf(10, from)))
  })
  let queued = 0
  const worked = await cpuSeconds(async () => {
    for (let round = 0; round < 10; round++) {
      const from = performance.now()
      for (const event of events) emitter.emit('http_requests', ZONE, event)
      queued += performance.now() - from
      while (spool.end < RECORDS + (round + 1) * events.length)
        await spool.waitFor(spool.end, AbortSignal.timeout(10_000))
    }
  })
  await emitter.close()
  const count = events.length * 10
  console.log(
    `emit ${((queued * 1000) / count).toFixed(2)} us, CPU until durable ${((worked * 1e6) / count).toFixed(1)} us`,
  )

  while (bytesIn(folder) < MEGABYTES * 2 ** 20) await append(MADE)
  const end = spool.end
  await spools.close()
  const from = performance.now()
  spools = await open()
  spool = await spools.open('http_requests', ZONE)
  const took = performance.now() - from
  if (spool.end !== end) throw new Error(`${end} records were there, ${spool.end} are`)
  console.log(`start with ${Math.round(bytesIn(folder) / 2 ** 20)} MiB of spool: ${Math.round(took)} ms`)
  console.log(`largest RSS ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB`)
} finally {
  clearInterval(alive)
  await spools.close()
  rmSync(folder, { recursive: true, force: true })
}
