// An installation as it grows: processes and machines, zones, changes between machines, servers of the log spool.
// Daemons take turns within each round, and the lower quartile of the rounds counts: other work on the machine only adds CPU.
//
//   npm run bench -- scale [processes] [zones] [changes] [spool]
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { register } from 'tsx/esm/api'
import { cpuOf } from './cpu-of.mjs'
import { load, LOADER } from './load.mjs'
import { SHORT, sized, table } from './measure.mjs'
import { startOrigin } from './origin.mjs'

register()
const { ACCOUNT, configuration, startDaemon, TOKEN, ZONE } = await import('../e2e/daemon.ts')
const { redisServer, NO_REDIS } = await import('../helpers/redis.ts')

const SECONDS = sized(2, 0.2)
const CONNECTIONS = 32
const RULES_PER_ZONE = 5
const CHANGES = sized(150, 5)
/** Zones of the daemons that are compared. */
const ZONES = sized([1, 100, 10_000], [1, 5, 20])
/** Difference of CPU per request between one zone and 10,000. */
const MAX_GROWTH = 0.1

const cpu = (daemons) => daemons.reduce((sum, { pid }) => sum + cpuOf(pid), 0)
const rss = (pid) => Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024)
const sorted = (samples, key) => samples.map((sample) => sample[key]).sort((a, b) => a - b)
const quartile = (samples, key) => sorted(samples, key)[Math.floor(samples.length / 4)]
const best = (samples, key) => sorted(samples, key).at(-1)

const PARTS = { processes, zones, changes, spool }
const wanted = process.argv.slice(2)
for (const [name, run] of Object.entries(PARTS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const folder = mkdtempSync(join(tmpdir(), 'edged-scale-'))
  const teardowns = []
  const owner = { teardown: (work) => void teardowns.push(work), testdir: () => folder }
  try {
    const began = performance.now()
    await run(owner, folder)
    console.log(`(${name}: ${Math.round((performance.now() - began) / 1000)} s)`)
  } finally {
    for (const work of teardowns.toReversed()) await work()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Requests per second and CPU with one and two processes, on one and two machines that share a Redis. */
async function processes(owner, folder) {
  if (NO_REDIS) return console.log(`processes: ${NO_REDIS}`)
  const origin = await originOf(owner, folder)
  const rows = []
  for (const machines of [1, 2])
    for (const count of [1, 2]) {
      const redis = await redisOf(owner, folder, `redis-${machines}-${count}`)
      const daemons = await Promise.all(
        Array.from({ length: machines }, async (_, n) =>
          start(owner, folder, `machine-${machines}-${count}-${n}`, {
            store: redis.url,
            processes: count,
            zones: [zone(ZONE, 'bench.test', origin)],
          }),
        ),
      )
      rows.push({ name: `${machines} x ${count}`, machines, count, daemons, samples: [] })
    }
  const measure = async ({ daemons }) => {
    const before = cpu(daemons)
    const loads = await Promise.all(
      daemons.map(
        async ({ port }) => await load(port, { connections: CONNECTIONS / daemons.length, seconds: SECONDS }),
      ),
    )
    const requests = loads.reduce((sum, each) => sum + each.requests, 0)
    return {
      requests: requests / SECONDS,
      microseconds: ((cpu(daemons) - before) * 1e6) / requests,
      p99: Math.max(...loads.map(({ p99 }) => p99)),
    }
  }
  await rounds(rows, measure, sized(3, 1))
  console.log(
    `\n10 KB page, ${CONNECTIONS} connections of ${LOADER}, which shares ${availableParallelism()} cores with the origin and edged\n`,
  )
  table(
    rows.map(({ machines, count, samples }) => ({
      machines,
      'proxy processes each': count,
      'requests/s': Math.round(best(samples, 'requests')),
      'CPU us per request': quartile(samples, 'microseconds').toFixed(1),
      'requests per CPU-second': Math.round(1e6 / quartile(samples, 'microseconds')),
      'p99 ms': quartile(samples, 'p99').toFixed(2),
    })),
  )
}

/**
 * CPU per request with 1, 100 and 10,000 zones, each with a ruleset. Zones share no connections to origins, so requests
 * through all of them in turn open connections unless each zone gets one every few seconds. That is a row of its own.
 */
async function zones(owner, folder) {
  const origin = await originOf(owner, folder)
  const rows = []
  for (const count of ZONES) {
    const ids = Array.from({ length: count }, (_, n) => n.toString(16).padStart(32, '0'))
    const began = performance.now()
    const daemon = await start(owner, folder, `zones-${count}`, {
      store: 'memory',
      zones: ids.map((id, n) => ({
        ...zone(id, `z${n}.bench.test`, origin),
        hostnames: [`z${n}.bench.test`, ...(n === 0 ? ['bench.test'] : [])],
      })),
    })
    const started = performance.now() - began
    const left = [...ids]
    const client = async () => {
      for (let id = left.pop(); id !== undefined; id = left.pop())
        await daemon.call('PUT', `/zones/${id}/rulesets/phases/http_request_firewall_custom/entrypoint`, rulesOf(id))
    }
    await Promise.all(Array.from({ length: 16 }, client))
    rows.push({ count, started, made: performance.now() - began - started, daemons: [daemon], samples: [] })
  }
  const loads = {
    'through one of them': () => ({}),
    'to all in turn, blocked by the last rule': (hosts) => ({ hosts, path: '/blocked', status: 403 }),
    'through all, most to few of them': (hosts) => ({ hosts, skewed: true }),
    'through all in turn': (hosts) => ({ hosts }),
    'through all in turn, connections open': (hosts) => ({ hosts, warm: true }),
  }
  const cells = rows.flatMap((row) => Object.keys(loads).map((name) => ({ ...row, name, samples: [] })))
  const measure = async ({ count, name, daemons }) => {
    const [{ port }] = daemons
    const { warm = false, ...of } = loads[name](count)
    // Each zone needs a request before its connection is closed again.
    if (warm) await load(port, { connections: CONNECTIONS, seconds: SECONDS, ...of })
    const before = cpu(daemons)
    const { requests, p99 } = await load(port, { connections: CONNECTIONS, seconds: SECONDS / 2, ...of })
    return { microseconds: ((cpu(daemons) - before) * 1e6) / requests, p99 }
  }
  await rounds(cells, measure, sized(5, 1))
  const used = ({ samples }) => quartile(samples, 'microseconds')
  const first = (name) => cells.find((cell) => cell.name === name)
  console.log(`\n${RULES_PER_ZONE} firewall rules in each zone\n`)
  table(
    cells
      .toSorted((a, b) => a.name.localeCompare(b.name))
      .map((cell) => ({
        requests: cell.name,
        zones: cell.count,
        'CPU us per request': used(cell).toFixed(1),
        'x one zone': (used(cell) / used(first(cell.name))).toFixed(2),
        'p99 ms': quartile(cell.samples, 'p99').toFixed(2),
      })),
  )
  console.log()
  table(
    rows.map(({ count, started, made, daemons }) => ({
      zones: count,
      'start ms': Math.round(started),
      'ms per PUT of a ruleset': (made / count).toFixed(1),
      'RSS MB': rss(daemons[0].pid),
    })),
  )
  const growth = used(cells.at(-Object.keys(loads).length)) / used(cells[0]) - 1
  const limit = `${MAX_GROWTH * 100} %`
  console.log(
    `\n${ZONES.at(-1)} zones: ${(growth * 100).toFixed(1)} % more through one, ${growth <= MAX_GROWTH ? 'within' : 'above'} ${limit}`,
  )
  if (growth > MAX_GROWTH && !SHORT) process.exitCode = 1
}

/** Time until a change by the API of one machine is in force on it and on another one. */
async function changes(owner, folder) {
  if (NO_REDIS) return console.log(`changes: ${NO_REDIS}`)
  const origin = await originOf(owner, folder)
  const redis = await redisOf(owner, folder, 'redis')
  const config = { store: redis.url, zones: [zone(ZONE, 'bench.test', origin)] }
  const [one, two] = await Promise.all(['one', 'two'].map(async (name) => start(owner, folder, name, config)))
  let version = 0
  const seen = async ({ proxy }, wantedVersion) => {
    for (;;) {
      const { headers } = await fetch(`${proxy}/`, { method: 'HEAD', headers: { 'x-for': 'bench.test' } })
      if (Number(headers.get('x-version')) >= wantedVersion) return
    }
  }
  const change = async () => {
    const now = ++version
    const set = { headers: { 'x-version': { operation: 'set', value: String(now) } } }
    const rules = [{ action: 'rewrite', expression: 'true', action_parameters: set }]
    const from = performance.now()
    await one.call('PUT', `/zones/${ZONE}/rulesets/phases/http_response_headers_transform/entrypoint`, { rules })
    const confirmed = performance.now()
    const [here, there] = await Promise.all(
      [one, two].map(async (daemon) => {
        await seen(daemon, now)
        return performance.now()
      }),
    )
    return { confirmed: confirmed - from, here: here - confirmed, there: there - confirmed, total: there - from }
  }
  const rows = []
  for (const [name, busy] of [
    ['idle', []],
    ['both under load', [one, two]],
  ]) {
    await change()
    const done = new AbortController()
    const loading = busy.map(async ({ port }) => {
      while (!done.signal.aborted) await load(port, { connections: 4, seconds: SECONDS / 2 })
    })
    const samples = []
    for (let n = 0; n < CHANGES; n++) samples.push(await change())
    done.abort()
    await Promise.all(loading)
    const at = (key, share) => {
      const sorted = samples.map((sample) => sample[key]).sort((a, b) => a - b)
      return sorted[Math.floor(sorted.length * share)].toFixed(1)
    }
    for (const [key, title] of [
      ['confirmed', 'until the API responded'],
      ['here', 'from there until in force on this machine'],
      ['there', 'from there until in force on the other machine'],
      ['total', 'request until in force on the other machine'],
    ])
      rows.push({ machines: name, time: title, 'p50 ms': at(key, 0.5), 'p99 ms': at(key, 0.99) })
  }
  console.log(`\n${CHANGES} changes of a ruleset; "in force" includes the request that shows it\n`)
  table(rows)
}

async function spool(owner, folder) {
  const { spoolScale } = await import('./scale-spool.mjs')
  await spoolScale(owner, folder, start)
}

/** Starts a daemon in a folder of its own below `folder`. */
async function start(owner, folder, name, more) {
  const own = join(folder, name)
  mkdirSync(own)
  const daemon = await startDaemon(
    owner,
    configuration('http://127.0.0.1:9', {
      secrets: { key: 'ab'.repeat(32) },
      control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
      workers: { runtime: 'off' },
      ...more,
    }),
    own,
  )
  const call = async (method, path, body, type = 'application/json') => {
    const response = await fetch(daemon.control + path, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': type },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`)
    return text
  }
  return { ...daemon, port: Number(new URL(daemon.proxy).port), call }
}

function zone(id, name, origin) {
  return { id, account: ACCOUNT, name, hostnames: [name, ...(id === ZONE ? ['127.0.0.1'] : [])], origin }
}

async function originOf(owner, folder) {
  const origin = await startOrigin(folder)
  owner.teardown(() => origin.stop())
  return `http://127.0.0.1:${origin.port}`
}

async function redisOf(owner, folder, name) {
  mkdirSync(join(folder, name))
  const redis = await redisServer(join(folder, name))
  owner.teardown(async () => await redis.kill())
  return redis
}

/** Rules that are different in each zone, and one for `/blocked`. */
function rulesOf(id) {
  const expressions = Array.from(
    { length: RULES_PER_ZONE - 1 },
    (_, n) => `starts_with(http.request.uri.path, "/${id}/${n}") and http.user_agent contains "bot-${n}"`,
  )
  expressions.push('http.request.uri.path eq "/blocked"')
  return { rules: expressions.map((expression) => ({ action: 'block', expression })) }
}

async function rounds(rows, measure, count) {
  for (const row of rows) await measure(row)
  for (let round = 0; round < count; round++) for (const row of rows) row.samples.push(await measure(row))
}
