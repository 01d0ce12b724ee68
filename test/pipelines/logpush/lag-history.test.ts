import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LagHistory } from '../../../pipelines/logpush/lag-history.js'
import type { Progress, Watched } from '../../../pipelines/logpush/monitor.js'
import { silentLog } from '../../../src/core/log.js'
import { testFolder } from '../../helpers/folder.js'
import { MovedClock } from '../../helpers/moved-clock.js'

const MINUTE = 60_000
const START = '2026-11-21T10:15:00.000Z'

const job = (name: string, progress: () => Partial<Progress>): Watched =>
  ({
    kind: 'job',
    name,
    progress: () => ({ lagRecords: 0, lagSeconds: 0, inFlight: 0, ...progress() }),
  }) as unknown as Watched

t.test('a point has the highest lag of five minutes, and points are kept over a restart', async (t) => {
  const clock = new MovedClock(START)
  const path = join(testFolder(t), 'logs', 'lag.ndjson')
  let lag = { lagRecords: 10, lagSeconds: 1 }
  const deps = { path, watched: () => [job('1', () => lag)], clock, log: silentLog }
  const history = await LagHistory.open(deps)
  const name = { kind: 'job', name: '1' } as const
  await clock.pass(MINUTE)
  lag = { lagRecords: 70, lagSeconds: 40 }
  await clock.pass(MINUTE)
  lag = { lagRecords: 5, lagSeconds: 2 }
  await clock.pass(4 * MINUTE, 5000)
  const points = [
    { at: Date.parse(START), records: 70, seconds: 40 },
    { at: Date.parse(START) + 5 * MINUTE, records: 5, seconds: 2 },
  ]
  t.strictSame(history.points(name, 0), points)
  t.strictSame(history.points(name, Date.parse(START) + 5 * MINUTE), points.slice(1))
  t.strictSame(history.points({ kind: 'pipeline', name: '1' }, 0), [])
  await history.close()
  appendFileSync(path, '{"at":17,"lags"')
  const again = await LagHistory.open(deps)
  t.strictSame(again.points(name, 0), points)
  await clock.pass(25 * 60 * MINUTE, 30_000)
  const kept = again.points(name, 0)
  t.equal(kept.length, 288, 'a day')
  t.equal(kept[0]!.at, Date.parse(START) + (25 * 60 + 6 - ((25 * 60 + 6) % 5) - 287 * 5) * MINUTE)
  await again.close()
  t.ok(readFileSync(path, 'utf8').split('\n').length < 600)
})

t.test('there are points of a limited number of jobs, and none of a job that ended a day ago', async (t) => {
  const clock = new MovedClock(START)
  const path = join(testFolder(t), 'lag.ndjson')
  let jobs = Array.from({ length: 1001 }, (_, at) => job(String(at), () => ({ lagRecords: at })))
  const history = await LagHistory.open({ path, watched: () => jobs, clock, log: silentLog })
  t.teardown(async () => await history.close())
  t.equal(history.points({ kind: 'job', name: '999' }, 0)[0]?.records, 999)
  t.strictSame(history.points({ kind: 'job', name: '1000' }, 0), [])
  jobs = jobs.slice(1000)
  await clock.pass(25 * 60 * MINUTE, 30_000)
  t.strictSame(history.points({ kind: 'job', name: '999' }, 0), [])
  t.equal(history.points({ kind: 'job', name: '1000' }, 0).at(-1)?.records, 1000)
})
