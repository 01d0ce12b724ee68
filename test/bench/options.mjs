// What options of a zone cost: finding the place of a path among 100 `paths`, and the CPU of a request with `paths`, with
// `compress` where nothing is compressed, and with 100 rules in the file beside the same rules by API. One daemon, whose
// configuration is reloaded between measurements. The lower quartile of the rounds counts.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { cpuOf } from './cpu-of.mjs'
import { load, LOADER } from './load.mjs'
import { cpuSeconds, sized, table } from './measure.mjs'
import { startOrigin } from './origin.mjs'
import { mixedRules, startEdged, TOKEN, ZONE } from './proxies.mjs'

const ROUNDS = Number(process.argv[2] ?? sized(12, 1))
const WARM_UP_ROUNDS = sized(2, 0)
const SECONDS = sized(1, 0.2)
const CONNECTIONS = 32
const FINDS = sized(2_000_000, 20_000)
const ENTRIES = 100
/** Without escapes and dot segments, whose decoding takes the same time for one entry. */
const MAX_FIND_US = 1
/** Until a reload and the work that follows it are over. */
const SETTLE_MS = sized(1500, 400)
const WARM_UP_SECONDS = sized(0.5, 0.1)
const PHASE = 'http_request_firewall_custom'

const lowerQuartile = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 4)]

await finding()
await requests()

/** Time to find the place of a path. */
async function finding() {
  const { placesOf } = await import('../../dist/src/edge/exchange/paths.js')
  const SHAPES = {
    prefixes: (i) => `/part-${i}/*`,
    'exact paths': (i) => `/part-${i}/page.html`,
    endings: (i) => `*.type${i}`,
    'a third of each': (i) => [`/part-${i}/*`, `/part-${i}/page.html`, `*.type${i}`][i % 3],
  }
  const TARGETS = {
    'the first': '/part-0/page.html?a=1',
    'the last': `/part-${ENTRIES - 1}/page.html`,
    none: '/other/deep/path/of/the/site/index.html?query=of&some=length',
    'none, encoded': '/other/%64eep/../path/index.html',
  }
  const rest = { name: 'rest' }
  const rows = []
  let slowest = 0
  for (const [shape, patternOf] of Object.entries(SHAPES)) {
    const places = placesOf(
      Array.from({ length: ENTRIES }, (_, i) => [patternOf(i), { name: i }]),
      rest,
    )
    const row = { [`${ENTRIES} paths`]: shape }
    for (const [name, target] of Object.entries(TARGETS)) {
      const find = () => {
        for (let i = 0; i < FINDS; i++) places.find(target)
      }
      await cpuSeconds(find)
      const us = ((await cpuSeconds(find)) * 1e6) / FINDS
      if (!name.includes('encoded')) slowest = Math.max(slowest, us)
      row[`us, ${name}`] = us.toFixed(3)
    }
    rows.push(row)
  }
  table(rows)
  console.log(`\nat most ${slowest.toFixed(2)} us, ${slowest <= MAX_FIND_US ? 'within' : 'above'} ${MAX_FIND_US} us`)
}

/** CPU of the daemon for a request, by options of the zone. */
async function requests() {
  const zone = (members) =>
    Object.entries(members)
      .map(([name, value]) => `    ${name}: ${JSON.stringify(value)}\n`)
      .join('')
  const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
  const origin = await startOrigin(folder)
  const paths = Array.from({ length: ENTRIES }, (_, i) =>
    i === ENTRIES - 1
      ? { path: '/*', origin: `http://127.0.0.1:${origin.port}` }
      : { path: `/part-${i}/*`, origin: 'http://127.0.0.1:1' },
  )
  // The phase in the file, even empty, keeps the rules of the API out of force.
  const none = { rules: { [PHASE]: [] } }
  const ROWS = [
    ['nothing', none],
    [`paths of ${ENTRIES} entries, the last is used`, { ...none, paths }],
    ['compress, clients that accept nothing', { ...none, compress: true }],
    ['100 rules in the file', { rules: { [PHASE]: mixedRules(100) } }],
    ['100 rules by API', {}],
  ].map(([name, members]) => ({ name, more: zone(members), samples: [] }))

  const proxy = await startEdged(origin.port, folder)
  try {
    const response = await fetch(`${proxy.control}/zones/${ZONE}/rulesets/phases/${PHASE}/entrypoint`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ rules: mixedRules(100) }),
    })
    if (!response.ok) throw new Error(await response.text())
    const made = readdirSync(folder).find((name) => name.startsWith('edged-'))
    const file = join(folder, made, 'edged.yaml')
    const base = readFileSync(file, 'utf8')
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++)
      for (const { more, samples } of ROWS) {
        writeFileSync(file, base + more)
        process.kill(proxy.pid, 'SIGHUP')
        await wait(SETTLE_MS)
        await load(proxy.port, { connections: CONNECTIONS, seconds: WARM_UP_SECONDS })
        const before = cpuOf(proxy.pid)
        const { requests: count } = await load(proxy.port, { connections: CONNECTIONS, seconds: SECONDS })
        if (round >= 0) samples.push(((cpuOf(proxy.pid) - before) * 1e6) / count)
      }
    const [plain] = ROWS
    console.log(
      `\n${origin.bytes} byte page, ${CONNECTIONS} connections of ${LOADER}, ${ROUNDS} rounds of ${SECONDS} s, lower quartiles\n`,
    )
    table(
      ROWS.map(({ name, samples }) => ({
        zone: name,
        'CPU us per request': lowerQuartile(samples).toFixed(1),
        'more than nothing': `${(100 * (lowerQuartile(samples) / lowerQuartile(plain.samples) - 1)).toFixed(1)} %`,
      })),
    )
  } finally {
    await proxy.stop()
    origin.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
