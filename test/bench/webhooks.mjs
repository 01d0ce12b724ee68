// Webhooks: durable accepts from 64 callers and deliveries per CPU-second to a local TLS receiver, beside BullMQ with got.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, hasPackage } from './ports.mjs'
import { inChild, median, sized, table } from './measure.mjs'

const COUNT = Number(process.argv[2] ?? sized(20_000, 200))
const ROUNDS = Number(process.argv[3] ?? sized(3, 1))
const WEBHOOKS = 16
const CLIENTS = 64

const receiver = fork(new URL('./webhooks-receiver.mjs', import.meta.url))
const [{ port }] = await once(receiver, 'message')

const folder = mkdtempSync(join(tmpdir(), 'edged-bench-redis-'))
const redisPort = await freePort()
// As safe as the embedded store: on disk before the answer.
const safe = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '']
const redis = spawn('redis-server', ['--port', redisPort, '--bind', '127.0.0.1', '--dir', folder, ...safe], {
  stdio: 'ignore',
})
const installed = await Promise.race([
  once(redis, 'error').then(() => false),
  new Promise((done) => setTimeout(done, 1000, true)),
])

const isCompared = installed && hasPackage('bullmq') && hasPackage('got')
if (!isCompared) console.log(`${installed ? 'BullMQ and got' : 'redis-server'}: not installed`)

const args = [port, COUNT, WEBHOOKS, CLIENTS].map(String)
const env = { ...process.env, REDIS_PID: String(redis.pid) }
const RUNS = {
  'edged, embedded': () => inChild('./webhooks-edged.mjs', ['embedded', ...args]),
  ...(installed && {
    'edged, Redis': () => inChild('./webhooks-edged.mjs', [`redis://127.0.0.1:${redisPort}/1`, ...args], { env }),
  }),
  ...(isCompared && {
    'BullMQ + got': () => inChild('./webhooks-bullmq.mjs', [String(redisPort), ...args], { env }),
  }),
}
const found = new Map(Object.keys(RUNS).map((name) => [name, []]))
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, run] of Object.entries(RUNS)) {
    const result = await run()
    if (result.failed === undefined) found.get(name).push(result)
    else console.error(`${name}: ${result.failed}`)
  }
}
console.log(
  `\n${COUNT} deliveries of 1.4 KB to ${WEBHOOKS} webhooks, median of ${ROUNDS}; CPU of the sending process alone\n`,
)
const of = (name, key) => Math.round(median((found.get(name) ?? []).map((result) => result[key])))
table(
  Object.keys(RUNS).map((name) => ({
    sender: name,
    [`accepts/s, ${CLIENTS} callers`]: of(name, 'accepts'),
    'accepts per CPU-s': of(name, 'acceptCpu'),
    'with the CPU of Redis': of(name, 'acceptAllCpu'),
    'deliveries per CPU-s': of(name, 'deliveries'),
    'deliveries/s': of(name, 'each'),
  })),
)
if (isCompared) {
  const ratio = (name) => (of(name, 'deliveries') / of('BullMQ + got', 'deliveries')).toFixed(2)
  const accepts = (name) => (of(name, 'acceptAllCpu') / of('BullMQ + got', 'acceptAllCpu')).toFixed(2)
  console.log(
    `\nper CPU-second against BullMQ + got: deliveries embedded ${ratio('edged, embedded')}x, Redis ${ratio('edged, Redis')}x;` +
      ` accepts with the CPU of the store embedded ${accepts('edged, embedded')}x, Redis ${accepts('edged, Redis')}x`,
  )
}
receiver.disconnect()
if (installed) redis.kill()
rmSync(folder, { recursive: true, force: true })
