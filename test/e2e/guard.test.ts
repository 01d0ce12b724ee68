import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { until } from '../helpers/web.js'
import { configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

const run = promisify(execFile)
const BROWSER = ['chromium', 'chromium-browser', 'google-chrome'].find(
  (name) => spawnSync(name, ['--version']).status === 0,
)

async function startOrigin(t: Test): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end('<!doctype html><title>Home</title><p id="reached">the origin</p>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function setRules(t: Test, { control }: Daemon, phase: string, rules: object[]): Promise<void> {
  const response = await fetch(`${control}/zones/${ZONE}/rulesets/phases/${phase}/entrypoint`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ rules }),
  })
  t.equal(response.status, 200)
}

t.test(
  'a real browser passes the challenge by itself',
  { skip: unbuilt || (BROWSER ? false : 'no Chromium here') },
  async (t) => {
    const folder = testFolder(t, { browser: {} })
    const daemon = await startDaemon(t, configuration(await startOrigin(t)), folder)
    await setRules(t, daemon, 'http_request_firewall_custom', [{ action: 'managed_challenge', expression: 'true' }])
    t.equal((await fetch(`${daemon.proxy}/page`, { headers: { accept: 'text/html' } })).status, 403)
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${folder}/browser`]
    const { stdout } = await run(
      BROWSER!,
      [...flags, '--virtual-time-budget=30000', '--dump-dom', `${daemon.proxy}/page`],
      {
        timeout: 150_000,
      },
    )
    t.match(stdout, 'id="reached"')
  },
)

t.test('two daemons on one Redis share a limit', { skip: unbuilt || NO_REDIS }, async (t) => {
  const folder = testFolder(t, { redis: {}, one: {}, two: {} })
  const redis = await redisServer(`${folder}/redis`)
  t.teardown(async () => await redis.kill())
  const secrets = { key: 'a1'.repeat(32) }
  const config = configuration(await startOrigin(t), { store: redis.url, secrets })
  const one = await startDaemon(t, config, `${folder}/one`)
  const two = await startDaemon(t, config, `${folder}/two`)
  const ratelimit = {
    characteristics: ['ip.src', 'cf.colo.id'],
    period: 3600,
    requests_per_period: 20,
    mitigation_timeout: 600,
  }
  await setRules(t, one, 'http_ratelimit', [
    { action: 'block', expression: 'http.request.uri.path eq "/limited"', ratelimit },
  ])
  await setRules(t, one, 'http_request_firewall_custom', [
    { action: 'block', expression: 'http.request.uri.path eq "/known"' },
  ])
  const status = async ({ proxy }: Daemon, path = '/limited') => (await fetch(`${proxy}${path}`)).status
  await until(async () => (await status(two, '/known')) === 403)

  for (let i = 0; i < 10; i++) t.strictSame([await status(one), await status(two)], [200, 200])
  // Alone, each would let ten more pass.
  for (const daemon of [one, two]) {
    let passed = 0
    while ((await status(daemon)) === 200 && passed < 10) {
      passed++
      await new Promise((resolve) => setTimeout(resolve, 1000))
    }
    t.ok(passed < 10, `${passed} more passed`)
  }
})
