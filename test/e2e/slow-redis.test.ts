import { join } from 'node:path'
import t from 'tap'
import { finding, instance, ndjson } from '../control/webhooks/helper.js'
import { testFolder } from '../helpers/folder.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { tcpGate } from '../helpers/tcp-gate.js'
import { originServer } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

const SETTING = `/zones/${ZONE}/settings/content_converter`
const FINDINGS = `/accounts/${ACCOUNT}/data-security/posture/findings?per_page=100`
const CONCURRENT = 40
/** Of each piece of data in each direction: a change takes at least twice as long. */
const DELAY_MS = 1000

async function call(daemon: Daemon, method: string, path: string, body?: unknown) {
  const type = typeof body === 'string' ? 'application/x-ndjson' : 'application/json'
  const response = await fetch(`${daemon.control}${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, ...(body !== undefined && { 'content-type': type }) },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { status: response.status, result: ((await response.json()) as { result: unknown }).result }
}

t.test(
  'with a slow Redis changes take longer, requests to sites do not wait, and confirmed changes are in force everywhere',
  { skip: unbuilt || NO_REDIS, timeout: 200_000 },
  async (t) => {
    const folder = testFolder(t, { redis: {}, one: {}, two: {} })
    const redis = await redisServer(join(folder, 'redis'))
    t.teardown(async () => await redis.kill())
    const gate = await tcpGate(t, redis.port)
    const origin = await originServer(t, (_, response) => response.end('page'))
    const config = (port: number) =>
      configuration(origin, {
        store: `redis://127.0.0.1:${port}/0`,
        secrets: { key: 'ab'.repeat(32) },
        control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
      })
    const one = await startDaemon(t, config(gate.port), join(folder, 'one'))
    const two = await startDaemon(t, config(redis.port), join(folder, 'two'))
    gate.delayMs = DELAY_MS

    let isConfirmed = false
    const change = call(one, 'PATCH', SETTING, { value: 'off' }).finally(() => (isConfirmed = true))
    const page = await fetch(one.proxy)
    t.match(
      { status: page.status, text: await page.text(), isConfirmed },
      { status: 200, text: 'page', isConfirmed: false },
    )
    t.match(await change, { status: 200 })
    t.match(await call(two, 'GET', SETTING), { status: 200, result: { value: 'off' } })
    t.match(await call(one, 'GET', SETTING), { status: 200, result: { value: 'off' } })

    const posts = Array.from({ length: CONCURRENT }, async (_, n) => {
      const lines = ndjson(finding(`f${n}`, [instance(`i${n}`)]))
      return (await call(one, 'POST', `/accounts/${ACCOUNT}/edged/findings`, lines)).status
    })
    t.strictSame(await Promise.all(posts), Array<number>(CONCURRENT).fill(202), 'concurrent changes wait together')
    const found = (await call(two, 'GET', FINDINGS)).result as unknown[]
    t.equal(found.length, CONCURRENT, 'the other machine has all that was confirmed')

    one.signal('SIGKILL')
    await one.ended
    gate.delayMs = 0
    const again = await startDaemon(t, config(gate.port), join(folder, 'one'))
    t.equal(((await call(again, 'GET', FINDINGS)).result as unknown[]).length, CONCURRENT)
    t.match(await call(again, 'GET', SETTING), { status: 200, result: { value: 'off' } })
  },
)
