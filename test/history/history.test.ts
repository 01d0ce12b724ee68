import { cpSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { silentLog } from '../../src/core/log.js'
import { SectionWriter } from '../../src/history/codec.js'
import { accountScope, History, type HistoryOptions } from '../../src/history/history.js'
import { BYTES, newRow, OTHER, placeOf, REQUESTS, TOTAL, type DimensionName } from '../../src/history/layout.js'
import type { HistoryPart } from '../../src/history/part.js'
import { planOf, readHistory, type HistoryQuery } from '../../src/history/query.js'
import { HandClock } from '../helpers/hand-clock.js'
import { testFolder } from '../helpers/folder.js'

const START = Date.parse('2026-11-21T12:00:00Z')
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const OPTIONS: HistoryOptions = { days: 30, bytes: 512e6 }

type Values = Partial<Record<DimensionName, Readonly<Record<string, number>>>>

/** Returns the counts of some requests: in all, and by the values of dimensions. */
function part(
  time: number,
  requests: number,
  { by = {}, zone = 'z1', account = 'a1' }: { by?: Values; zone?: string; account?: string } = {},
): HistoryPart {
  const writer = new SectionWriter()
  const section = new SectionWriter()
  const row = (count: number) => {
    const counts = newRow()
    counts[REQUESTS] = count
    counts[BYTES] = 100 * count
    return counts
  }
  section.row(OTHER, row(requests))
  writer.section(TOTAL, section.take())
  for (const [name, values] of Object.entries(by)) {
    for (const [key, count] of Object.entries(values)) section.row(key, row(count))
    writer.section(placeOf(name as DimensionName), section.take())
  }
  return { time: time - (time % 10_000), zone, account, cell: writer.take() }
}

async function opened(t: Test, options = OPTIONS, clock = new HandClock(START)) {
  const path = join(testFolder(t), 'history')
  const open = async (more = options): Promise<History> => await History.open(path, more, { clock, log: silentLog })
  const history = await open()
  t.teardown(async () => await history.close())
  return { path, clock, history, open }
}

async function ask(history: History, query: Partial<HistoryQuery> & Pick<HistoryQuery, 'since' | 'until'>) {
  const found = await readHistory(history, { scopes: ['z1'], ...query })
  return {
    ...found,
    requests: found.totals[REQUESTS],
    counts: found.points.map(({ row }) => row[REQUESTS]!),
    values: Object.fromEntries(found.groups.map(({ key, row }) => [key, row[REQUESTS]])),
    others: found.other[REQUESTS],
  }
}

t.test('counts are seen before they are written, afterwards, and after a restart', async (t) => {
  const { history, clock, open } = await opened(t)
  await history.add([part(START, 3, { by: { status: { 200: 2, 404: 1 } } })])
  await history.add([part(START, 1, { by: { status: { 200: 1 } } })])
  const range = { since: START - MINUTE, until: START + MINUTE }
  const expected = { requests: 4, values: { 200: 3, 404: 1 }, others: 0 }
  t.match(await ask(history, { ...range, by: 'status' }), expected)
  await clock.advance(12 * SECOND)
  await history.tick()
  t.match(await ask(history, { ...range, by: 'status' }), expected)
  await history.add([part(START + 10 * SECOND, 2)])
  await history.close()
  const again = await open()
  t.teardown(async () => await again.close())
  t.match(await ask(again, { ...range, by: 'status' }), { ...expected, requests: 6 })
  // The cell of the restart has counts of both.
  await again.add([part(START + 10 * SECOND, 5)])
  await clock.advance(20 * SECOND)
  await again.tick()
  const { requests, counts } = await ask(again, range)
  t.equal(requests, 11)
  t.same(counts.slice(6, 9), [4, 7, 0])
})

t.test('without a last write only the cells since then are lost', async (t) => {
  const { path, history, clock } = await opened(t)
  await history.add([part(START, 3)])
  await clock.advance(12 * SECOND)
  await history.tick()
  await history.add([part(START + 10 * SECOND, 1)])
  // As the files are when a process is killed.
  const copy = join(path, '../copy')
  cpSync(path, copy, { recursive: true })
  const killed = await History.open(copy, OPTIONS, { clock, log: silentLog })
  t.teardown(async () => await killed.close())
  t.equal((await ask(killed, { since: START - MINUTE, until: START + MINUTE })).requests, 3)
})

t.test('shorter periods become longer ones, without a request lost or counted twice', async (t) => {
  const { history, clock } = await opened(t)
  let sent = 0
  // 26 hours with requests every 10 minutes.
  for (let passed = 0; passed < 26 * HOUR; passed += 10 * MINUTE) {
    await history.add([part(clock.now(), 2, { by: { path: { '/a': 1, [`/${passed / HOUR}`]: 1 } } })])
    sent += 2
    await clock.advance(10 * MINUTE)
    await history.tick()
    if (passed % (5 * HOUR) === 0) {
      const { requests, values } = await ask(history, { since: START, until: clock.now(), by: 'path', limit: 1 })
      t.equal(requests, sent, `after ${passed / HOUR} h`)
      t.same(values, { '/a': sent / 2 })
    }
  }
  for (const step of [5 * MINUTE, HOUR, 6 * HOUR, DAY]) {
    const found = await ask(history, { since: START, until: clock.now(), step })
    t.equal(found.step, step)
    t.equal(found.requests, sent, `in steps of ${step / MINUTE} minutes`)
  }
  const hours = await ask(history, { since: START, until: START + 26 * HOUR, step: HOUR })
  t.same(new Set(hours.counts), new Set([12]))
})

t.test('a pause of the daemon is a gap, and costs no work for its minutes', async (t) => {
  const { history, clock, open } = await opened(t)
  await history.add([part(START, 1)])
  await clock.advance(15 * SECOND)
  await history.tick()
  await history.close()
  clock.move(40 * DAY)
  const later = await open()
  t.teardown(async () => await later.close())
  await later.tick()
  await later.add([part(clock.now(), 1)])
  await clock.advance(15 * SECOND)
  await later.tick()
  t.equal((await ask(later, { since: START - DAY, until: clock.now(), step: DAY })).requests, 2)
  const coverage = later.coverage(START - HOUR, clock.now())
  t.same(coverage, [
    { from: START, to: START + 15 * SECOND },
    { from: START + 15 * SECOND + 40 * DAY, to: clock.now() },
  ])
})

t.test('a clock that is set back adds to what is stored', async (t) => {
  const { history, clock } = await opened(t)
  await history.add([part(START, 1)])
  await clock.advance(3 * MINUTE)
  await history.tick()
  clock.jump(-3 * MINUTE)
  await history.add([part(clock.now(), 5)])
  await clock.advance(20 * SECOND)
  await history.tick()
  t.equal((await ask(history, { since: START, until: START + MINUTE, step: 10 * SECOND })).requests, 6)
  t.equal((await ask(history, { since: START, until: START + MINUTE, step: MINUTE })).requests, 6)
})

t.test('open cells with too many values can be read several times', async (t) => {
  const { history, clock } = await opened(t)
  const some = (from: number) => Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`/${from + i}`, 1]))
  for (const from of [0, 40, 80]) await history.add([part(START, 40, { by: { path: some(from) } })])
  const range = { since: START - MINUTE, until: START + MINUTE }
  const expected = { requests: 120, others: 70 }
  for (let round = 0; round < 3; round++) t.match(await ask(history, { ...range, by: 'path', limit: 100 }), expected)
  await clock.advance(12 * SECOND)
  await history.tick()
  t.match(await ask(history, { ...range, by: 'path', limit: 100 }), expected, 'on disk too')
})

t.test('the counts of an account are those of its zones', async (t) => {
  const { history } = await opened(t)
  await history.add([
    part(START, 3, { by: { host: { 'a.test': 3 } } }),
    part(START, 2, { zone: 'z2', by: { host: { 'b.test': 2 } } }),
    part(START, 9, { zone: 'other' }),
    part(START, 7, { zone: 'z3', account: 'a2' }),
  ])
  const range = { since: START - MINUTE, until: START + MINUTE }
  const whole = await ask(history, { ...range, scopes: [accountScope('a1')], by: 'zone' })
  t.match(whole, { requests: 14, values: { z1: 3, z2: 2, other: 9 } })
  const some = await ask(history, { ...range, scopes: ['z1', 'z2'], by: 'zone' })
  t.match(some, { requests: 5, values: { z1: 3, z2: 2 } })
  t.match(await ask(history, { ...range, scopes: ['z1', 'z2'], by: 'host' }), { values: { 'a.test': 3, 'b.test': 2 } })
})

t.test('groups have points, descriptions and a limit; a filter leaves one value', async (t) => {
  const { history } = await opened(t)
  const agents = { 'GPTBot\nOpenAI\nai_crawler': 4, 'ClaudeBot\nAnthropic\nai_crawler': 2, '': 1 }
  const by = { agent: agents, 'agent,path': { 'GPTBot\n/a': 3, 'GPTBot\n/b': 1, 'ClaudeBot\n/a': 2 } }
  await history.add([part(START, 10, { by })])
  const range = { since: START - MINUTE, until: START + MINUTE }
  const found = await ask(history, { ...range, by: 'agent', limit: 1 })
  t.match(found, { requests: 10, values: { 'GPTBot\nOpenAI\nai_crawler': 4 }, others: 3 })
  t.equal(found.groups[0]?.points.length, found.points.length)
  t.equal(found.groups[0]?.points.find(({ at }) => at === START)?.row[REQUESTS], 4)
  const filter = { dimension: 'agent', value: 'GPTBot' } as const
  t.match(await ask(history, { ...range, by: 'path', filter }), {
    requests: 4,
    values: { '/a': 3, '/b': 1 },
    others: 0,
  })
  t.match(await ask(history, { ...range, by: 'agent', filter }), { requests: 4, others: 0 })
  t.equal((await ask(history, { ...range, by: 'agent', groupPoints: false })).groups[0]?.points.length, 0)
})

t.test('steps fit the length of a query and what is kept', async (t) => {
  const { history, clock } = await opened(t)
  const now = clock.now()
  const step = (since: number, until = now, wanted?: number) =>
    planOf(history, { scopes: ['z1'], since, until, step: wanted }).step / SECOND
  t.equal(step(now - HOUR), 10)
  t.equal(step(now - DAY), 300)
  t.equal(step(now - 7 * DAY), 3600)
  t.equal(step(now - 30 * DAY), 21_600)
  t.equal(step(now - 90 * DAY), 86_400)
  t.equal(step(now - 400 * DAY), 172_800)
  t.equal(step(now - 10 * DAY, now - 10 * DAY + HOUR), 3600, 'only hours are kept of that time')
  t.equal(step(now - 2 * HOUR, now - HOUR), 60)
  t.equal(step(now - DAY, now, HOUR), 3600)
  t.equal(step(now - HOUR, now, 25 * SECOND), 30, 'days can be divided by it')
})

t.test('what is older than it is kept is deleted', async (t) => {
  const { history, clock } = await opened(t, { days: 2, bytes: 512e6 })
  await history.add([part(START, 1)])
  await clock.advance(5 * HOUR)
  await history.tick()
  const range = { since: START, until: START + MINUTE }
  t.equal((await ask(history, { ...range, step: 10 * SECOND })).step, MINUTE)
  await clock.advance(4 * DAY)
  await history.tick()
  const days = await ask(history, { since: START - DAY, until: clock.now(), step: DAY })
  t.equal(days.requests, 1, 'the day is kept')
  await clock.advance(DAY)
  for (let sweep = 0; sweep < 40; sweep++) {
    await clock.advance(10 * MINUTE)
    await history.tick()
  }
  const hours: number[] = []
  const hour = { from: START - HOUR, to: START + HOUR, step: HOUR }
  for await (const found of history.read('z1', TOTAL, hour)) hours.push(found.length)
  t.same(hours, [0])
})

t.test('beyond its size the history loses the oldest of the shortest periods first', async (t) => {
  const { history, clock } = await opened(t, { days: 30, bytes: 2e6 })
  const paths = (seed: number) =>
    Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`/${seed}-${Math.sin(seed * i)}`, i + 1]))
  let sent = 0
  for (let passed = 0; passed < 6 * HOUR; passed += 30 * SECOND) {
    await history.add([part(clock.now(), 1, { by: { path: paths(passed) } })])
    sent++
    await clock.advance(30 * SECOND)
    if (passed % (10 * MINUTE) === 0) await history.tick()
  }
  await history.configure({ days: 30, bytes: 100_000 })
  await history.tick()
  const range = { since: START, until: clock.now() }
  t.equal((await ask(history, { ...range, step: HOUR })).requests, sent, 'hours are kept')
  t.ok((await ask(history, { ...range, step: 5 * MINUTE })).step > 5 * MINUTE, 'minutes are not')
})

t.test('without days nothing is kept, and days can be switched on and off', async (t) => {
  const { history, clock, path } = await opened(t, { days: 0, bytes: 512e6 })
  t.notOk(history.isEnabled)
  await history.add([part(START, 1)])
  await history.tick()
  const range = { since: START - MINUTE, until: START + MINUTE }
  t.equal((await ask(history, range)).requests, 0)
  t.throws(() => readdirSync(path))
  t.same(history.coverage(range.since, range.until), [])
  await history.configure(OPTIONS)
  await history.add([part(START, 2)])
  t.equal((await ask(history, range)).requests, 2)
  await history.configure({ ...OPTIONS, days: 0 })
  t.equal((await ask(history, range)).requests, 0)
  await clock.advance(MINUTE)
  await history.configure(OPTIONS)
  t.equal((await ask(history, range)).requests, 2, 'it was kept')
})

t.test('a damaged folder does not keep the daemon from starting', async (t) => {
  const { history, open, path } = await opened(t)
  await history.add([part(START, 2)])
  await history.close()
  for (const name of readdirSync(path)) if (name !== 'LOCK') writeFileSync(join(path, name), 'not a database')
  const again = await open()
  t.teardown(async () => await again.close())
  t.ok(again.isEnabled)
  await again.add([part(START, 1)])
  t.equal((await ask(again, { since: START - MINUTE, until: START + MINUTE })).requests, 1)
})
