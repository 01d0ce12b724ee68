// The API of the built daemon at 10 and at 10,000 stored rulesets: requests per second and p99; start-up and memory.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { sized, table } from './measure.mjs'

/** Rulesets of the second measurement. */
const MANY = sized(10_000, 50)
const SECONDS = sized(3, 0.3)
const TOKEN = 'bench-token-with-every-permission'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const CLI = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
const CONFIG = `data: ./data
log: { level: warn }
proxy: { listen: "127.0.0.1:0" }
control:
  listen: "127.0.0.1:0"
  rate_limit: { requests: 0 }
  quotas: { rulesets_per_scope: 100000 }
admin: { listen: "127.0.0.1:0" }
accounts: [{ id: 023e105f4ecef8ad9ca31a8372d0c353, name: Bench }]
zones:
  - { id: ${ZONE}, account: 023e105f4ecef8ad9ca31a8372d0c353, name: bench.test, origin: "http://127.0.0.1:9" }
tokens: [{ name: bench, token: ${TOKEN}, permissions: ["*"] }]
`

async function start() {
  writeFileSync(join(folder, 'edged.yaml'), CONFIG.replace('level: warn', 'level: info'))
  const began = performance.now()
  const child = spawn(process.execPath, [CLI, 'serve', '-c', join(folder, 'edged.yaml')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface(child.stdout)
  for await (const line of lines) {
    if (!line.includes('"event":"ready"')) continue
    child.stdout.resume()
    const ms = performance.now() - began
    const memory = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1e3
    return { base: JSON.parse(line).control, child, ms, memory }
  }
  throw new Error('the daemon did not start')
}

async function stop({ child }) {
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}

async function send(base, method, path, body) {
  const response = await fetch(`${base}/zones/${ZONE}${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const json = await response.json()
  if (!response.ok) throw new Error(JSON.stringify(json.errors[0]))
  return json.result
}

const ruleset = (rules) => ({
  name: 'Bench',
  kind: 'custom',
  phase: 'http_request_firewall_custom',
  rules: Array.from({ length: rules }, (_, i) => ({
    action: 'block',
    expression: `http.host eq "host${i}.test" and starts_with(http.request.uri.path, "/path/${i}")`,
    description: `rule ${i}`,
  })),
})

/** Runs `work` for `seconds` with a number of clients. */
async function measured(clients, seconds, work) {
  const times = []
  const until = performance.now() + seconds * 1000
  const client = async () => {
    while (performance.now() < until) {
      const began = performance.now()
      await work()
      times.push(performance.now() - began)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  times.sort((a, b) => a - b)
  return { perSecond: Math.round(times.length / seconds), p99: times[Math.floor(times.length * 0.99)].toFixed(1) }
}

const rows = []
try {
  let daemon = await start()
  let stored = 0
  for (const wanted of [10, MANY]) {
    const fill = async () => {
      while (stored < wanted) {
        stored++
        if (stored % 1000 === 0) console.log(`${stored} rulesets stored`)
        await send(daemon.base, 'POST', '/rulesets', ruleset(20))
      }
    }
    await Promise.all(Array.from({ length: 16 }, fill))
    const { id } = await send(daemon.base, 'POST', '/rulesets', ruleset(100))
    const SCENES = {
      'GET one ruleset': () => send(daemon.base, 'GET', `/rulesets/${id}`),
      'PATCH the setting': () => send(daemon.base, 'PATCH', '/settings/content_converter', { value: 'on' }),
      'POST 100 rules': async () => {
        const made = await send(daemon.base, 'POST', '/rulesets', ruleset(100))
        await fetch(`${daemon.base}/zones/${ZONE}/rulesets/${made.id}`, {
          method: 'DELETE',
          headers: { authorization: `Bearer ${TOKEN}` },
        })
      },
    }
    for (const [scene, work] of Object.entries(SCENES)) {
      await measured(8, SECONDS / 3, work)
      const { perSecond, p99 } = await measured(8, SECONDS, work)
      rows.push({ 'stored rulesets': wanted, request: scene, 'requests/s': perSecond, 'p99 ms': p99 })
    }
  }
  await stop(daemon)
  daemon = await start()
  const full = { ms: daemon.ms, memory: daemon.memory }
  await stop(daemon)
  rmSync(join(folder, 'data'), { recursive: true })
  daemon = await start()
  console.log('\n8 clients on one connection each, embedded store, every write durable (POST includes its DELETE)\n')
  table(rows)
  console.log(`\nstart with ${MANY} rulesets of 20 rules: ${full.ms.toFixed(0)} ms, ${full.memory.toFixed(0)} MB`)
  console.log(`start with nothing stored:              ${daemon.ms.toFixed(0)} ms, ${daemon.memory.toFixed(0)} MB`)
  await stop(daemon)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
