// What watching costs: metrics with labels, access log and traces at 1 %, as a share of the CPU of a request (10 KB page). The
// processes take turns within each round, and the lower quartile of the rounds counts: other work on the machine only adds CPU.
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cpuOf } from './cpu-of.mjs'
import { load, LOADER } from './load.mjs'
import { table } from './measure.mjs'
import { startOrigin } from './origin.mjs'
import { startEdged } from './proxies.mjs'

const ROUNDS = Number(process.argv[2] ?? 16)
const SECONDS = 2
const CONNECTIONS = 32
const SCRAPE_MS = 1000
const MAX_SHARE = 0.05

const lowerQuartile = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 4)]

const collector = createServer((request, response) => request.resume().on('end', () => response.end('{}')))
await once(collector.listen(0, '127.0.0.1'), 'listening')
const accessLog = 'access_log: { format: json, file: ./access.log }\n'
const traces = `telemetry: { otlp: "http://127.0.0.1:${collector.address().port}", sample: 0.01 }\n`
const ROWS = [
  ['nothing', '', false],
  ['access log', accessLog, false],
  ['traces at 1 %', traces, false],
  ['access log, traces, /metrics read every second', accessLog + traces, true],
]

const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
const origin = await startOrigin(folder)
const running = []
try {
  for (const [name, more, isScraped] of ROWS)
    running.push({ name, isScraped, proxy: await startEdged(origin.port, folder, more), samples: [] })
  for (const each of running) await measure(each)
  for (let round = 0; round < ROUNDS; round++) for (const each of running) each.samples.push(await measure(each))

  const [plain] = running
  const shareOf = ({ samples }) => lowerQuartile(samples) / lowerQuartile(plain.samples) - 1
  const counting = (await countingMicroseconds()) / lowerQuartile(plain.samples)
  console.log(
    `\n${origin.bytes} byte page, ${CONNECTIONS} connections of ${LOADER}, ${ROUNDS} rounds of ${SECONDS} s, lower quartiles\n`,
  )
  const percent = (share) => `${(100 * share).toFixed(1)} %`
  table([
    ...running.map((each) => ({
      'switched on': each.name,
      'CPU us per request': lowerQuartile(each.samples).toFixed(1),
      'more than nothing': percent(shareOf(each)),
    })),
    { 'switched on': 'counts by zone (always on)', 'more than nothing': percent(counting) },
  ])
  const all = shareOf(running.at(-1)) + counting
  console.log(`\ntogether ${percent(all)}, ${all <= MAX_SHARE ? 'within' : 'above'} ${percent(MAX_SHARE)}`)
} finally {
  for (const { proxy } of running) await proxy.stop()
  origin.stop()
  collector.close()
  rmSync(folder, { recursive: true, force: true })
}

/** Microseconds of CPU per request. */
async function measure({ proxy: { port, pid, admin }, isScraped }) {
  const scrape = async () => await (await fetch(`${admin}/metrics`)).text()
  const timer = isScraped ? setInterval(() => void scrape().catch(() => undefined), SCRAPE_MS) : undefined
  const before = cpuOf(pid)
  const { requests } = await load(port, { connections: CONNECTIONS, seconds: SECONDS, headers: [] })
  const used = cpuOf(pid) - before
  clearInterval(timer)
  return (used * 1e6) / requests
}

/** Microseconds to count one finished request by zone: in a loop, since the daemon cannot leave it out. */
async function countingMicroseconds() {
  const { ZoneMetrics } = await import('../../dist/src/edge/zone-metrics.js')
  const { openMetrics } = await import('../../dist/src/core/metrics.js')
  const metrics = new ZoneMetrics(openMetrics({ process: false }))
  const sentHeaders = ['Date', 'x', 'Cache-Control', 'x', 'Content-Type', 'text/html; charset=utf-8', 'Vary', 'accept']
  const exchange = { zone: { name: 'bench.test' }, status: 200, bytes: 10_000, cacheStatus: 'DYNAMIC', sentHeaders }
  const count = 1_000_000
  let used = 0
  for (let round = 0; round < 2; round++) {
    const before = process.cpuUsage()
    for (let i = 0; i < count; i++) metrics.finished(exchange)
    used = process.cpuUsage(before).user
  }
  return used / count
}
