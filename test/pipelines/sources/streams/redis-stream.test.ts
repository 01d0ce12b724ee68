import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t from 'tap'
import { testFolder } from '../../../helpers/folder.js'
import { NO_REDIS, redisServer } from '../../../helpers/redis.js'
import { lines, recordOf, sourceRun } from '../source-helper.js'

t.test('a run goes on after its stream or all data was deleted, and after a restart', { skip: NO_REDIS }, async (t) => {
  const folder = testFolder(t, { redis: {} })
  const server = await redisServer(join(folder, 'redis'))
  t.teardown(() => server.kill())
  const client = new Redis(server.url)
  client.on('error', () => undefined)
  t.teardown(() => client.disconnect())
  const { run, stop, stats, messages } = sourceRun(folder, { redis_stream: server.url, key: 's' })
  const running = run()
  const deliver = async (id: string) => {
    const count = stats.read + 1
    await client.xadd('s', '*', 'record', recordOf(id))
    // Pending entries are acknowledged before the run ends.
    while (stats.read < count || (await pending(client)) > 0) await setTimeout(20)
  }
  await deliver('a')
  await client.del('s')
  await deliver('b')
  await client.flushall()
  await deliver('c')
  await server.kill()
  await server.start()
  await deliver('d')
  stop()
  t.match(await running, { end: 'done' })
  t.strictSame(lines(folder), ['a', 'b', 'c', 'd'].map((id) => `"${id}",200`)) // prettier-ignore
  t.match(messages[0], /cannot read the stream s of 127\.0\.0\.1:\d+: .*; trying again$/)
  t.match(messages[1], /entries of the stream s of \S+ may have been deleted before they were read/)
  t.match(messages[2], /reading the stream s of 127\.0\.0\.1:\d+ again$/)
  t.match(stats, { losses: 2, lost: 0 }, 'the stream and all data were deleted')
})

/** Returns how many entries are not acknowledged; 1 without a group. */
const pending = async (client: Redis): Promise<number> =>
  await client.xpending('s', 'edged').then(
    ([count]) => Number(count),
    () => 1,
  )
