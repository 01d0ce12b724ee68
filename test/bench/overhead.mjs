// What watching costs: metrics with labels, access log, traces at 1 % and the history, as a share of the CPU of a request (10 KB page). One
// daemon, whose configuration is reloaded between measurements: two processes differ by more than what is measured. The lower
// quartile of the rounds counts, since other work on the machine only adds CPU.
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { finishedExchange } from './history-exchange.mjs'
import { load, LOADER } from './load.mjs'
import { sized, table } from './measure.mjs'
import { startOrigin } from './origin.mjs'
import { startEdged } from './proxies.mjs'

const ROUNDS = Number(process.argv[2] ?? sized(16, 1))
const WARM_UP_ROUNDS = sized(2, 0)
const SECONDS = sized(1, 0.2)
const CONNECTIONS = 32
const SCRAPE_MS = 1000
/** Until a reload is in force, and until buffered lines are written. */
const SETTLE_MS = 400
const MAX_SHARE = 0.05

const lowerQuartile = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 4)]

const collector = createServer((request, response) => request.resume().on('end', () => response.end('{}')))
await once(collector.listen(0, '127.0.0.1'), 'listening')
const accessLog = 'access_log: { format: json, file: ./access.log }\n'
const traces = `telemetry: { otlp: "http://127.0.0.1:${collector.address().port}", sample: 0.01 }\n`
const NO_HISTORY = 'history: false\n'
const ROWS = [
  ['nothing', NO_HISTORY, false],
  ['counts of the history', 'history: { requests: 0 }\n', false],
  ['history with the last requests', '', false],
  ['access log', NO_HISTORY + accessLog, false],
  ['traces at 1 %', NO_HISTORY + traces, false],
  ['access log, traces, /metrics read every second', NO_HISTORY + accessLog + traces, true],
].map(([name, more, isScraped]) => ({ name, more, isScraped, samples: [] }))

const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
const origin = await startOrigin(folder)
const proxy = await startEdged(origin.port, folder)
try {
  const file = join(
    folder,
    readdirSync(folder).find((name) => name.startsWith('edged-')),
    'edged.yaml',
  )
  const base = readFileSync(file, 'utf8')
  const measureWith = async (row) => {
    writeFileSync(file, base + row.more)
    process.kill(proxy.pid, 'SIGHUP')
    await wait(SETTLE_MS)
    return await measure(row)
  }
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++)
    for (const row of ROWS) {
      const sample = await measureWith(row)
      if (round >= 0) row.samples.push(sample)
    }

  const [plain] = ROWS
  const shareOf = ({ samples }) => lowerQuartile(samples) / lowerQuartile(plain.samples) - 1
  const counting = (await countingMicroseconds()) / lowerQuartile(plain.samples)
  const history = await historyMicroseconds()
  console.log(
    `\n${origin.bytes} byte page, ${CONNECTIONS} connections of ${LOADER}, ${ROUNDS} rounds of ${SECONDS} s, lower quartiles\n`,
  )
  const percent = (share) => `${(100 * share).toFixed(1)} %`
  table([
    ...ROWS.map((row) => ({
      'switched on': row.name,
      'CPU us per request': lowerQuartile(row.samples).toFixed(1),
      'more than nothing': percent(shareOf(row)),
    })),
    { 'switched on': 'counts by zone (always on)', 'more than nothing': percent(counting) },
    {
      'switched on': 'counts of the history, in a loop',
      'CPU us per request': `+${history.toFixed(2)}`,
      'more than nothing': percent(history / lowerQuartile(plain.samples)),
    },
  ])
  const all = shareOf(ROWS.at(-1)) + counting
  console.log(`\ntogether ${percent(all)}, ${all <= MAX_SHARE ? 'within' : 'above'} ${percent(MAX_SHARE)}`)
} finally {
  await proxy.stop()
  origin.stop()
  collector.close()
  rmSync(folder, { recursive: true, force: true })
}

/** Microseconds of CPU per request, all threads, with the writes that follow. */
async function measure({ isScraped }) {
  const scrape = async () => await (await fetch(`${proxy.admin}/metrics`)).text()
  const timer = isScraped ? setInterval(() => void scrape().catch(() => undefined), SCRAPE_MS) : undefined
  const before = threadsCpu()
  const { requests } = await load(proxy.port, { connections: CONNECTIONS, seconds: SECONDS, headers: [] })
  if (isScraped) await scrape()
  await wait(SETTLE_MS)
  const used = threadsCpu() - before
  clearInterval(timer)
  return used / requests
}

/** Microseconds of CPU of all threads of the daemon: finer than the ticks of `/proc/PID/stat`. */
function threadsCpu() {
  const nanoseconds = readdirSync(`/proc/${proxy.pid}/task`).map((thread) =>
    Number(readFileSync(`/proc/${proxy.pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
  )
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1000
}

/** Microseconds to count one finished request for the history: the difference of two measurements of a server is larger. */
async function historyMicroseconds() {
  const { HistoryCounter } = await import('../../dist/src/edge/history/counter.js')
  const { systemClock } = await import('../../dist/src/core/clock.js')
  const { silentLog } = await import('../../dist/src/core/log.js')
  const geo = { find: () => ({ city: undefined, asn: undefined, known: false }) }
  const counter = new HistoryCounter({ history: { add: async () => {} }, geo, clock: systemClock, log: silentLog })
  counter.isEnabled = true
  const zone = { id: 'bench', accountId: 'bench' }
  const exchanges = Array.from({ length: 20_000 }, (_, i) => finishedExchange(i, 1000, zone))
  const count = 1_000_000
  let used = 0
  for (let round = 0; round < 2; round++) {
    const before = process.cpuUsage()
    for (let i = 0; i < count; i++) counter.finished(exchanges[i % exchanges.length])
    used = process.cpuUsage(before).user
  }
  await counter.close()
  return used / count
}

/** Microseconds to count one finished request by zone: in a loop, since the daemon cannot leave it out. */
async function countingMicroseconds() {
  const { ZoneMetrics } = await import('../../dist/src/edge/serve/zone-metrics.js')
  const { openMetrics } = await import('../../dist/src/core/metrics/metrics.js')
  const metrics = new ZoneMetrics(openMetrics({ process: false }))
  const headers = ['Date', 'x', 'Cache-Control', 'x', 'Content-Type', 'text/html; charset=utf-8', 'Vary', 'accept']
  const sent = { status: 200, bodyBytes: 10_000, headers }
  const exchange = { zone: { name: 'bench.test' }, sent, caching: { status: 'DYNAMIC' } }
  const count = 1_000_000
  let used = 0
  for (let round = 0; round < 2; round++) {
    const before = process.cpuUsage()
    for (let i = 0; i < count; i++) metrics.finished(exchange)
    used = process.cpuUsage(before).user
  }
  return used / count
}
