// One run of the benchmark `logpush`, in a process of its own; tells on file descriptor 3 what it took.
import { createReadStream, createWriteStream, rmSync, writeSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { csvOf, FILTER, KEPT, OUTPUT } from './log-job.mjs'
import { dataset } from './log-records.mjs'

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
  async spool(input, folder, jobs) {
    const { openSpools } = await import('../../dist/pipelines/logpush/spool/index.js')
    const { compileJob } = await import('../../dist/pipelines/logpush/compiled-job.js')
    const { run } = await import('../../dist/pipelines/run/run.js')
    const { Tally } = await import('../../dist/pipelines/sources/tally.js')
    const { systemClock: clock } = await import('../../dist/src/core/clock.js')
    const { silentLog: log } = await import('../../dist/src/core/log.js')
    rmSync(folder, { recursive: true, force: true })
    const spools = await openSpools(folder, { clock, log, limits: { bytes: 1e11 } })
    const spool = await spools.open('http_requests', { type: 'zone', id: 'z' })
    const cursors = []
    for (let job = 0; job < Number(jobs); job++) cursors.push(await spool.cursor(`job-${job}`))
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
    const job = compileJob({ dataset: dataset.name, filter: FILTER, output_options: OUTPUT }, 'bench')
    const nowhere = { encoding: 'gzip', limits: {}, daily: false, async write() {}, async check() {}, async close() {} }
    const alive = setInterval(() => {}, 1 << 30)
    const before = process.cpuUsage()
    const tallies = await Promise.all(
      cursors.map(async (cursor, index) => {
        const tally = new Tally(() => {})
        const over = (position) => position >= spool.end
        const input = { id: spools.id, spool, cursor, over, endless: false, stop() {}, failed: new Promise(() => {}) }
        await run({
          name: `job-${index}`,
          job,
          input,
          sink: nowhere,
          aside: undefined,
          folder: `${folder}/state-${index}`,
          retryForMs: 0,
          tally,
          failing: () => {},
          stop: new AbortController().signal,
          clock,
          log,
        })
        return tally
      }),
    )
    const result = taken(before)
    clearInterval(alive)
    if (tallies.some(({ delivered }) => delivered !== kept)) throw new Error('not all were delivered')
    await spools.close()
    tell(result)
  },
}
await RUNS[what](...args)
