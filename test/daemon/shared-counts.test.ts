import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { silentLog } from '../../src/core/log.js'
import { CountFile } from '../../src/daemon/processes/count-file.js'
import { RestartDelays } from '../../src/daemon/processes/restart-delays.js'
import { SharedCounts } from '../../src/daemon/processes/shared-counts.js'
import type { Limit } from '../../src/rules/limit.js'
import { Limiter } from '../../src/rules/limits/limiter.js'
import { testFolder } from '../helpers/folder.js'
import { HandClock } from '../helpers/hand-clock.js'

const LIMIT: Limit = { id: 'rule', periodMs: 60_000, threshold: 100, mitigationMs: 0 }

/** Counts a request and returns whether it passes. */
const passes = (limiter: Limiter, limit: Limit, key = 'a'): boolean => {
  limiter.count(limit, key)
  return !limiter.over(limit, key, 0, true)
}

t.test('limiters that share a file count as one', (t) => {
  const clock = new HandClock()
  const shared = new SharedCounts(testFolder(t), silentLog)
  t.teardown(() => shared.close())
  const files = [1, 2, 3].map(() => new CountFile(shared.counts.segments, silentLog))
  t.teardown(() => files.forEach((file) => file.close()))
  const limiters = files.map((log) => new Limiter({ clock, log }))
  const daemon = new Limiter({ clock, log: shared.counts })
  let passed = 0
  for (let i = 0; i < 300; i++) passed += Number(passes(limiters[(i * 7) % 3]!, LIMIT))
  t.equal(passed, 100)
  t.ok(limiters.every((limiter) => limiter.over(LIMIT, 'a')))

  const state = daemon.state()
  const late = new CountFile(shared.counts.segments, silentLog)
  t.teardown(() => late.close())
  const limiter = new Limiter({ clock, log: late })
  limiter.restore(structuredClone(state))
  t.notOk(passes(limiter, LIMIT), 'one that begins later has the counts')
  limiters[0]!.reset(LIMIT, 'a')
  t.ok(passes(limiter, LIMIT), 'a reset applies to all')
  t.end()
})

t.test('a mitigation of one limiter holds in all', (t) => {
  const clock = new HandClock()
  const path = join(testFolder(t), 'counts')
  const files = [1, 2].map(() => new CountFile([{ path, position: 0 }], silentLog))
  t.teardown(() => files.forEach((file) => file.close()))
  const [one, two] = files.map((log) => new Limiter({ clock, log }))
  const limit = { ...LIMIT, threshold: 1, periodMs: 10_000, mitigationMs: 600_000 }
  t.ok(passes(one!, limit))
  t.notOk(passes(one!, limit))
  clock.move(60_000)
  t.notOk(passes(two!, limit), 'although the period is over')
  t.end()
})

t.test('a cut line and foreign text in the file spoil no count', (t) => {
  const clock = new HandClock()
  const path = join(testFolder(t), 'counts')
  const files = [1, 2].map(() => new CountFile([{ path, position: 0 }], silentLog))
  t.teardown(() => files.forEach((file) => file.close()))
  const [one, two] = files.map((log) => new Limiter({ clock, log }))
  const limit = { ...LIMIT, threshold: 3 }
  t.ok(passes(one!, limit, 'é\n\ud800'))
  appendFileSync(path, '\n["cut off",1,{"type":"cou')
  t.ok(passes(two!, limit, 'é\n\ud800'))
  appendFileSync(path, `\n${'x'.repeat(200_000)}\n`)
  t.ok(passes(one!, limit, 'é\n\ud800'))
  t.notOk(passes(two!, limit, 'é\n\ud800'))
  t.end()
})

t.test('a change to another file loses no count', async (t) => {
  const clock = new HandClock()
  const shared = new SharedCounts(testFolder(t), silentLog)
  t.teardown(() => shared.close())
  const files = [1, 2].map(() => new CountFile(shared.counts.segments, silentLog))
  t.teardown(() => files.forEach((file) => file.close()))
  const limiters = files.map((log) => new Limiter({ clock, log }))
  let passed = 0
  const count = (times: number): void => {
    for (let i = 0; i < times; i++) passed += Number(passes(limiters[i % 2]!, LIMIT))
  }
  count(40)
  await shared.rotate({
    use: async (path) => {
      // They change one after the other, and count in between.
      for (const file of files) {
        count(10)
        file.use(path)
      }
      count(10)
    },
    forget: async (path) => {
      for (const file of files) {
        count(10)
        file.forget(path)
      }
    },
  })
  t.equal(shared.counts.segments.length, 1)
  count(100)
  t.equal(passed, 100)
})

t.test('a process is replaced immediately, a crash loop more slowly', (t) => {
  const clock = new HandClock()
  const delays = new RestartDelays(clock)
  const served = (): number => {
    delays.served(1)
    return delays.ended(1)
  }
  t.same([served(), served(), served(), served(), served()], [0, 0, 0, 250, 250])
  clock.move(60_000)
  t.equal(served(), 0)
  t.same(
    Array.from({ length: 11 }, () => delays.ended(1)),
    [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000],
  )
  t.equal(delays.ended(2), 100, 'each process has a delay of its own')
  t.end()
})
