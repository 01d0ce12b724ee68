import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Ruleset } from '../../src/core/model/ruleset.js'
import { testFolder } from '../helpers/folder.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { until } from '../helpers/web.js'
import { configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

const CLIENTS = 32
const KILLS = Number(process.env['EDGED_KILLS'] ?? 4)

/** What one client was reported: the last change of its ruleset that was acknowledged, and the one that may be under way. */
interface Reported {
  id: string
  acknowledged: number
  asked: number
}

async function call(daemon: Daemon, method: string, path: string, body?: object) {
  const response = await fetch(`${daemon.control}/zones/${ZONE}/rulesets${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, result: ((await response.json()) as { result: Ruleset }).result }
}

/** Changes that were acknowledged. */
const changes = (clients: readonly Reported[]): number =>
  clients.reduce((sum, { acknowledged }) => sum + acknowledged, 0)

/** A ruleset whose every part tells which change it is of: a torn one would show two numbers. */
const numbered = (n: number): object => ({
  description: `change ${n}`,
  rules: ['a', 'b', 'c'].map((ref) => ({
    ref,
    action: 'log',
    expression: `http.request.uri.path eq "/${n}"`,
    description: `change ${n}`,
  })),
})

/** Changes one ruleset over and over, until the daemon is gone. */
async function write(daemon: Daemon, reported: Reported): Promise<void> {
  try {
    if (reported.id === '') {
      const shape = { name: 'mine', kind: 'custom', phase: 'http_request_firewall_custom', ...numbered(0) }
      const { status, result } = await call(daemon, 'POST', '', shape)
      if (status === 200) reported.id = result.id
    }
    for (;;) {
      const next = reported.asked + 1
      reported.asked = next
      const { status } = await call(daemon, 'PUT', `/${reported.id}`, numbered(next))
      if (status !== 200) return
      reported.acknowledged = next
    }
  } catch {
    // The daemon is gone, as it was to be.
  }
}

async function check(t: Test, daemon: Daemon, clients: readonly Reported[]): Promise<void> {
  let wrong = 0
  for (const { id, acknowledged, asked } of clients) {
    if (id === '') continue
    const { status, result } = await call(daemon, 'GET', `/${id}`)
    const found = Number(result?.description.split(' ')[1])
    const whole = result?.rules.every(
      (rule) => rule.description === `change ${found}` && rule.expression.endsWith(`"/${found}"`),
    )
    if (status === 200 && found >= acknowledged && found <= asked && whole) continue
    wrong++
    t.fail('a ruleset is as it was acknowledged', { id, acknowledged, asked, found, status })
  }
  t.equal(wrong, 0, `${changes(clients)} acknowledged changes are there, none is torn`)
}

async function loop(
  t: Test,
  folder: string,
  store: string,
  between: () => Promise<void> = async () => {},
): Promise<void> {
  const config = configuration('http://127.0.0.1:9', {
    store,
    control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
  })
  const clients: Reported[] = Array.from({ length: CLIENTS }, () => ({ id: '', acknowledged: 0, asked: 0 }))
  for (let kill = 0; kill < KILLS; kill++) {
    const daemon = await startDaemon(t, config, folder)
    await check(t, daemon, clients)
    const before = changes(clients)
    const writing = clients.map((reported) => write(daemon, reported))
    await until(() => changes(clients) >= before + CLIENTS)
    await wait(Math.random() * 700)
    daemon.signal('SIGKILL')
    await Promise.all([...writing, daemon.ended])
    await between()
  }
  await check(t, await startDaemon(t, config, folder), clients)
  t.ok(changes(clients) >= KILLS * CLIENTS)
}

t.test(
  'kill -9 while 32 clients write: nothing acknowledged is lost',
  { skip: unbuilt, timeout: 600_000 },
  async (t) => {
    await loop(t, testFolder(t), 'embedded')
  },
)

t.test('the same with Redis, which is killed too', { skip: unbuilt || NO_REDIS, timeout: 600_000 }, async (t) => {
  const folder = testFolder(t, { redis: {}, edged: {} })
  const redis = await redisServer(join(folder, 'redis'))
  t.teardown(async () => await redis.kill())
  await loop(t, join(folder, 'edged'), redis.url, async () => {
    await redis.kill()
    await redis.start()
  })
})
