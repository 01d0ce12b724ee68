// One run of the benchmark `logpush`, in a process of its own; tells on file descriptor 3 what it took.
import { createReadStream, createWriteStream, rmSync, writeSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { csvOf, FILTER, KEPT, OUTPUT, unlike } from './log-job.mjs'

const [what, ...args] = process.argv.slice(2)

const taken = (before) => {
  const { user, system } = process.cpuUsage(before)
  return { cpu: (user + system) / 1e6, rss: process.resourceUsage().maxRSS * 1.024 }
}
const tell = (result) => void writeSync(3, JSON.stringify(result))

const RUNS = {
  /** JSON.parse of each line, string formatting, gzip 6, one file. */
  async baseline(input, output) {
    async function* lines() {
      let rest = Buffer.alloc(0)
      for await (const chunk of createReadStream(input, { highWaterMark: 1 << 20 })) {
        const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
        const parts = []
        let start = 0
        for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
          const record = JSON.parse(bytes.toString('utf8', start, end))
          if (KEPT.has(record.ClientRequestHost)) parts.push(csvOf(record))
          start = end + 1
        }
        rest = bytes.subarray(start)
        yield parts.join('')
      }
    }
    await pipeline(lines, createGzip({ level: 6 }), createWriteStream(output))
    tell(taken())
  },

  async run(file) {
    process.on('exit', () => tell(taken()))
    process.argv = [process.argv[0], 'edged', 'run', file]
    await import('../../dist/src/cli.js')
  },

  /** Jobs that have all records in their spool already. */
  async spool(input, folder, jobs, differ) {
    const { holdHeap } = await import('../../dist/src/core/memory/heap-size.js')
    // As the daemon does, before most is loaded.
    holdHeap()
    const { openSpools } = await import('../../dist/pipelines/logpush/spool/index.js')
    const { systemClock: clock } = await import('../../dist/src/core/clock.js')
    const { silentLog: log } = await import('../../dist/src/core/log.js')
    const { cursorOf, runJobs, ZONE } = await import('./run-jobs.mjs')
    rmSync(folder, { recursive: true, force: true })
    const spools = await openSpools(folder, { clock, log, limits: { bytes: 1e11 } })
    const spool = await spools.open('http_requests', ZONE)
    for (let job = 1; job <= Number(jobs); job++) await spool.cursor(cursorOf(job))
    const writer = spool.writer()
    let kept = 0
    let rest = Buffer.alloc(0)
    for await (const chunk of createReadStream(input, { highWaterMark: 1 << 18 })) {
      const bytes = Buffer.concat([rest, chunk])
      let start = 0
      for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
        writer.add(bytes, start, end)
        if (/"ClientRequestHost":"[ab]\.example/.test(bytes.latin1Slice(start, end))) kept++
        start = end + 1
      }
      rest = bytes.subarray(start)
      await writer.commit()
    }
    const settings = { filter: JSON.stringify(FILTER), output_options: OUTPUT }
    const of = (id) => ({ ...settings, ...(differ && unlike(id - 1)) })
    const { cpu, main, seconds, records } = await runJobs({ spools, spool, folder, jobs: Number(jobs), of })
    if (!differ && records !== kept * Number(jobs)) throw new Error('not all were delivered')
    await spools.close()
    tell({ ...taken(), cpu, main, seconds })
  },
}
await RUNS[what](...args)
