import t from 'tap'
import type { Limit } from '../../../src/rules/limit.js'
import { Limiter } from '../../../src/rules/limits/limiter.js'
import { RedisCounters } from '../../../src/store/redis/counters.js'
import { testFolder } from '../../helpers/folder.js'
import { NO_REDIS, redisServer } from '../../helpers/redis.js'

t.test('two limiters on one Redis share a limit', { skip: NO_REDIS }, async (t) => {
  const redis = await redisServer(testFolder(t))
  const counters = [await RedisCounters.open(redis.url), await RedisCounters.open(redis.url)] as const
  t.teardown(async () => {
    for (const one of counters) one.close()
    await redis.kill()
  })
  const clock = { now: () => 1_700_000_000_000, monotonic: () => 0, sleep: async () => {} }
  const limit: Limit = { id: 'r1', periodMs: 60_000, threshold: 5, mitigationMs: 0 }
  const [one, two] = [new Limiter({ clock }), new Limiter({ clock })] as const
  const exchange = async () => {
    await one.exchange(counters[0])
    await two.exchange(counters[1])
    await one.exchange(counters[0])
  }
  await exchange()
  for (let i = 0; i < 3; i++) for (const limiter of [one, two]) limiter.count(limit, 'é \r\n key')
  t.equal(one.over(limit, 'é \r\n key'), false)
  await exchange()
  t.equal(two.over(limit, 'é \r\n key'), true)

  one.reset(limit, 'é \r\n key')
  await exchange()
  two.count(limit, 'é \r\n key')
  await exchange()
  t.equal(two.over(limit, 'é \r\n key'), false, 'a count that starts again does so for both')

  await redis.kill()
  one.count(limit, 'b', 6)
  await t.rejects(one.exchange(counters[0]))
  t.equal(one.over(limit, 'b'), true, 'without Redis each machine goes by its own count')
})
