import { join } from 'node:path'
import t from 'tap'
import { testFolder } from '../../helpers/folder.js'
import { liveDaemon, until, ZONE } from '../../helpers/live-daemon.js'
import { NO_REDIS, redisServer } from '../../helpers/redis.js'

const PATH = `/zones/${ZONE}/edged/requests`
const KEY = 'ab'.repeat(32)

t.test('each machine shows the requests of all, also without the runtime of Workers', { skip: NO_REDIS }, async (t) => {
  const folder = testFolder(t, { redis: {}, first: {}, second: {} })
  const redis = await redisServer(join(folder, 'redis'))
  t.teardown(async () => await redis.kill())
  const machine = async (name: string) =>
    await liveDaemon(t, join(folder, name), {
      store: redis.url,
      secrets: { key: KEY },
      workers: { runtime: 'off' },
    })
  const [first, second] = [await machine('first'), await machine('second')]
  const one = await first.visit('/first')
  const two = await second.visit('/second')
  for (const live of [first, second]) {
    const { body } = await until(async () => {
      const page = await live.call('GET', PATH)
      return page.body.result.length >= 2 ? page : undefined
    })
    t.strictSame(body.result_info.coverage, { machines: 2, missing: [] })
    t.match((await live.call('GET', `${PATH}/${one.ray}`)).body.result, { path: '/first' })
    t.match((await live.call('GET', `${PATH}/${two.ray}`)).body.result, { path: '/second' })
    const rule = { phase: 'http_request_firewall_custom', expression: 'http.request.uri.path contains "s"' }
    const run = await live.call('POST', `/zones/${ZONE}/edged/rules/dry-run`, rule)
    t.match(run.body.result, { matched: 2, examined: 2, coverage: { machines: 2 } })
  }
  // A trial is a request of its own, which the machines show soon afterwards.
  for (const live of [first, second]) {
    const tried = await live.call('POST', `/zones/${ZONE}/edged/try`, { path: '/' })
    t.match(tried, { status: 200, body: { result: { status: 200 } } })
  }
  await second.close()
  const { body } = await until(async () => {
    const page = await first.call('GET', PATH)
    return page.body.result_info.coverage.missing.length === 0 ? page : undefined
  })
  t.match(body.result.at(-1), { path: '/first' }, 'a machine that was shut down is not asked')
  await first.close()
})
