// CPU per request of the proxy process alone (user and system, children included), 10 KB page, interleaved rounds.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cpuOf } from './cpu-of.mjs'
import { load, LOADER } from './load.mjs'
import { digits, median, sized, table } from './measure.mjs'
import { protocols } from './protocols.mjs'
import { startOrigin } from './origin.mjs'
import { PROXIES } from './proxies.mjs'

const ROUNDS = Number(process.argv[2] ?? sized(5, 1))
const SECONDS = sized(2, 0.2)
const CONNECTIONS = 32
const MARKDOWN = 'Accept: text/markdown, text/html, */*'

async function measure({ port, pid }, headers) {
  const before = cpuOf(pid)
  const sample = await load(port, { connections: CONNECTIONS, seconds: SECONDS, headers })
  return { ...sample, microseconds: ((cpuOf(pid) - before) * 1e6) / sample.requests }
}

const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
const origin = await startOrigin(folder)
const running = []
try {
  for (const [name, start] of Object.entries(PROXIES)) {
    const proxy = await start(origin.port, folder)
    if (!proxy) console.log(`${name}: not installed`)
    else running.push({ name, proxy, headers: [], samples: [] })
  }
  // In a process of its own, so that what one row leaves to be collected is not counted in another.
  const proxy = await PROXIES.edged(origin.port, folder)
  running.push({ name: 'edged, answered in Markdown', proxy, headers: [MARKDOWN], samples: [] })
  for (const { proxy, headers } of running) await measure(proxy, headers)
  for (let round = 0; round < ROUNDS; round++)
    for (const { proxy, headers, samples } of running) samples.push(await measure(proxy, headers))

  const of = (samples, key) => median(samples.map((sample) => sample[key]))
  const ours = of(running[0].samples, 'microseconds')
  console.log(
    `\n${origin.bytes} byte page of ${origin.server}, ${CONNECTIONS} connections of ${LOADER}, ${ROUNDS} rounds of ${SECONDS} s, medians\n`,
  )
  table(
    running.map(({ name, samples }) => ({
      proxy: name,
      'CPU us per request': of(samples, 'microseconds').toFixed(1),
      "edged's pass-through is": `${(ours / of(samples, 'microseconds')).toFixed(2)} of it`,
      'requests per CPU-second': Math.round(1e6 / of(samples, 'microseconds')),
      'requests/s': Math.round(of(samples, 'requests') / SECONDS),
      'p50 ms': digits(of(samples, 'p50'), 2),
      'p99 ms': digits(of(samples, 'p99'), 2),
    })),
  )
  for (const { proxy } of running.splice(0)) await proxy.stop()
  await protocols(origin, folder)
} finally {
  for (const { proxy } of running) await proxy.stop()
  origin.stop()
  rmSync(folder, { recursive: true, force: true })
}
