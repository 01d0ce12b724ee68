// Writes of a ruleset of 1,000 rules on the built daemon: time of each, and the longest turn of the event loop in it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { median, sized, table } from './measure.mjs'

const RULES = sized(1000, 100)
const ROUNDS = sized(10, 1)
const TOKEN = 'bench-token-with-every-permission'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const CLI = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))
const PROBE = new URL('./loop-probe.mjs', import.meta.url).href
const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
const CONFIG = `data: ./data
proxy: { listen: "127.0.0.1:0" }
control: { listen: "127.0.0.1:0", rate_limit: { requests: 0 } }
admin: { listen: "127.0.0.1:0" }
accounts: [{ id: 023e105f4ecef8ad9ca31a8372d0c353, name: Bench }]
zones:
  - { id: ${ZONE}, account: 023e105f4ecef8ad9ca31a8372d0c353, name: bench.test, origin: "http://127.0.0.1:9" }
tokens: [{ name: bench, token: ${TOKEN}, permissions: ["*"] }]
`

const AGENTS = 'http.user_agent contains "agent" and len(http.user_agent) gt 3 and ip.src ne 192.0.2.1'
/** Kinds of rules, by the phase of their ruleset. */
const KINDS = {
  'a filter of 8 comparisons': {
    phase: 'http_request_firewall_custom',
    rule: (i) => ({
      action: 'block',
      expression:
        `http.host eq "host${i}.test" and starts_with(http.request.uri.path, "/path/${i}") and ` +
        `http.request.method in {"GET" "POST"} and ${AGENTS} and not http.request.uri.query contains "q${i}" and ` +
        `http.cookie matches "(?i)session-${i}=[0-9a-f]{8,}"`,
    }),
  },
  '8 expressions in each rule': {
    phase: 'http_request_late_transform',
    rule: (i) => ({
      action: 'rewrite',
      expression: `http.host eq "host${i}.test"`,
      action_parameters: {
        headers: Object.fromEntries(
          [1, 2, 3, 4, 5, 6, 7].map((n) => [
            `x-${n}`,
            { operation: 'set', expression: `concat("r${i}-${n}", lower(http.request.uri.path))` },
          ]),
        ),
      },
    }),
  },
  'Unicode classes': {
    phase: 'http_request_firewall_custom',
    rule: (i) => ({
      action: 'block',
      expression: `http.request.uri.path matches "(?u)^/${i}/\\p{L}+[\\p{Greek}\\p{N}]*\\w+$" and http.user_agent matches "(?iu)\\p{Lu}+${i}"`,
    }),
  },
}

writeFileSync(join(folder, 'edged.yaml'), CONFIG)
const daemon = spawn(process.execPath, ['--import', PROBE, CLI, 'serve', '-c', join(folder, 'edged.yaml')], {
  stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
})

async function base() {
  for await (const line of createInterface(daemon.stdout)) {
    if (!line.includes('"event":"ready"')) continue
    daemon.stdout.resume()
    return JSON.parse(line).control
  }
  throw new Error('the daemon did not start')
}

async function longestTurn() {
  daemon.send('read')
  const [longest] = await once(daemon, 'message')
  return longest
}

const rows = []
try {
  const control = await base()
  const send = async (method, path, body) => {
    const text = body && JSON.stringify(body)
    await longestTurn()
    const began = performance.now()
    const response = await fetch(`${control}/zones/${ZONE}${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(text && { body: text }),
    })
    const answer = await response.text()
    const ms = performance.now() - began
    if (!response.ok) throw new Error(answer.slice(0, 500))
    return { answer, ms, turn: await longestTurn() }
  }
  const note = (kind, write, times) =>
    rows.push({
      rules: kind,
      write,
      'median ms': median(times.map(({ ms }) => ms)).toFixed(0),
      'worst ms': Math.max(...times.map(({ ms }) => ms)).toFixed(0),
      'longest turn ms': median(times.map(({ turn }) => turn.elapsed)).toFixed(0),
      worst: Math.max(...times.map(({ turn }) => turn.elapsed)).toFixed(0),
      'longest turn CPU ms': median(times.map(({ turn }) => turn.cpu)).toFixed(0),
      'worst CPU': Math.max(...times.map(({ turn }) => turn.cpu)).toFixed(0),
    })
  for (const [kind, { phase, rule }] of Object.entries(KINDS)) {
    const path = `/rulesets/phases/${phase}/entrypoint`
    const rules = (round) => Array.from({ length: RULES }, (_, i) => rule(i + round * RULES))
    const puts = []
    for (let round = 0; round < ROUNDS; round++) puts.push(await send('PUT', path, { rules: rules(round) }))
    note(kind, `PUT of ${RULES} rules`, puts)
    const { result } = JSON.parse(puts.at(-1).answer)
    const patches = []
    for (let round = 0; round < ROUNDS; round++) {
      const { expression } = rule(round + 1e6)
      patches.push(await send('PATCH', `/rulesets/${result.id}/rules/${result.rules[round * 90].id}`, { expression }))
    }
    note(kind, 'PATCH of one', patches)
    const reads = []
    for (let round = 0; round < ROUNDS; round++) reads.push(await send('GET', `/rulesets/${result.id}`))
    note(kind, 'GET', reads)
  }
  table(rows)
} finally {
  daemon.disconnect()
  daemon.kill('SIGTERM')
  await once(daemon, 'exit')
  rmSync(folder, { recursive: true, force: true })
}
