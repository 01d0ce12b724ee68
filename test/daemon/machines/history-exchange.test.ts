import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t from 'tap'
import { silentLog } from '../../../src/core/log.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { HistoryExchange } from '../../../src/daemon/machines/history-exchange.js'
import { SectionWriter } from '../../../src/history/codec.js'
import { History } from '../../../src/history/history.js'
import { newRow, OTHER, REQUESTS, TOTAL } from '../../../src/history/layout.js'
import { readHistory } from '../../../src/history/query.js'
import { HandClock } from '../../helpers/hand-clock.js'
import { testFolder } from '../../helpers/folder.js'
import { NO_REDIS, redisServer } from '../../helpers/redis.js'

const START = Date.parse('2026-11-21T12:00:00Z')

function part(requests: number, zone = 'z1') {
  const writer = new SectionWriter()
  const section = new SectionWriter()
  const row = newRow()
  row[REQUESTS] = requests
  section.row(OTHER, row)
  writer.section(TOTAL, section.take())
  return { time: START, zone, account: 'a1', cell: writer.take() }
}

t.test(
  'each machine has the counts of all, once, also after a restart and without Redis for a while',
  { skip: NO_REDIS },
  async (t) => {
    const folder = testFolder(t)
    mkdirSync(join(folder, 'redis'))
    const server = await redisServer(join(folder, 'redis'))
    t.teardown(async () => await server.kill())
    const clock = new HandClock(START)

    const machine = async (name: string) => {
      const history = await History.open(join(folder, name), { days: 30, bytes: 1e9 }, { clock, log: silentLog })
      const redis = new Redis(server.url, { enableOfflineQueue: false, lazyConnect: true, maxRetriesPerRequest: 0 })
      redis.on('error', () => undefined)
      await redis.connect()
      const add = async (parts: Parameters<History['addForeign']>[0]) => await history.addForeign(parts)
      const exchange = new HistoryExchange({
        redis,
        machine: name,
        add,
        place: history.foreignPlace,
        clock,
        log: silentLog,
        metrics: openMetrics(),
      })
      history.publish((parts) => exchange.publish(parts))
      return {
        history,
        exchange,
        redis,
        requests: async () => {
          const found = await readHistory(history, { scopes: ['z1'], since: START - 60_000, until: START + 600_000 })
          return found.totals[REQUESTS]
        },
        close: async () => {
          await exchange.close()
          await history.close()
        },
      }
    }

    const one = await machine('one')
    let two = await machine('two')
    t.teardown(async () => await Promise.all([one.close(), two.close()]))
    await one.history.add([part(3)])
    await two.history.add([part(4), part(100, 'z2')])
    for (let round = 0; round < 2; round++) for (const { exchange } of [one, two]) await exchange.tick()
    t.equal(await one.requests(), 7)
    t.equal(await two.requests(), 7)

    await two.close()
    await one.history.add([part(5)])
    await one.exchange.tick()
    two = await machine('two')
    await two.exchange.tick()
    t.equal(await two.requests(), 12, 'only the later counts were added')

    await server.kill()
    await one.history.add([part(8)])
    await t.rejects(one.exchange.tick())
    t.equal(await one.requests(), 20, 'a machine has its own counts at once')
    await server.start()
    for (const { redis } of [one, two])
      while (redis.status !== 'ready') await new Promise((resolve) => setTimeout(resolve, 5))
    await one.exchange.tick()
    await two.exchange.tick()
    t.equal(await two.requests(), 20)
    t.ok((await two.redis.xlen('edged:history')) > 0)
  },
)
