import * as fs from 'node:fs/promises'
import { appendFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { newestFirst, type Range } from '../../../src/edge/records/requests/newest.js'
import { removeOldRequests } from '../../../src/edge/records/requests/old-requests.js'
import { Ring } from '../../../src/edge/records/requests/ring.js'
import { SEGMENT_RECORDS, segmentsIn } from '../../../src/edge/records/requests/segments.js'
import { StoredRequests } from '../../../src/edge/records/requests/stored-requests.js'
import { zoneTable } from '../../../src/edge/exchange/zones.js'
import { systemClock } from '../../../src/core/clock.js'
import { Geo } from '../../../src/edge/exchange/geo.js'
import { testFolder } from '../../helpers/folder.js'

const START = Date.parse('2026-11-21T12:00:00Z')
const EVER = { since: 0, until: Infinity }
const rayAt = (i: number) => i.toString(16).padStart(16, '0')
const record = (i: number, more = {}) =>
  `${JSON.stringify({ at: START + i, ray: rayAt(i), ...more, method: 'GET', path: `/${i}`, request: [], response: [] })}\n`
const batch = (from: number, records: number, more = {}) => ({
  lines: Buffer.from(Array.from({ length: records }, (_, i) => record(from + i, more)).join('')),
  records,
})

async function rays(folder: string, range: Range = EVER): Promise<number[]> {
  const found: number[] = []
  for await (const { ray } of newestFirst(folder, range)) found.push(parseInt(ray, 16))
  return found
}
const down = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, i) => from - i)
const stored = (folder: string) =>
  new StoredRequests({ folder, zones: { current: zoneTable([]) }, fields: { clock: systemClock, geo: new Geo() } })

t.test('records are read newest first, in open and closed segments', async (t) => {
  const folder = testFolder(t)
  const ring = new Ring(join(folder, 'zone'), 0, fs)
  await ring.append(batch(0, SEGMENT_RECORDS), 100_000, START)
  await ring.append(batch(SEGMENT_RECORDS, 5, { n: 3 }), 100_000, START + SEGMENT_RECORDS)
  await ring.close()
  const segments = await segmentsIn(join(folder, 'zone'))
  t.strictSame(
    segments.map(({ closed }) => closed),
    [{ from: START, to: START + SEGMENT_RECORDS - 1, records: SEGMENT_RECORDS, isSampled: false }, undefined],
  )
  const all = await rays(join(folder, 'zone'))
  t.strictSame(all, down(SEGMENT_RECORDS + 4, 0))
  t.strictSame(await rays(join(folder, 'zone'), { since: START + 3, until: START + 6 }), [5, 4, 3])
  t.strictSame(
    (await rays(join(folder, 'zone'), { ...EVER, after: { at: START + 9999, ray: rayAt(9999) } })).slice(0, 2),
    [9998, 9997],
  )
  const log = stored(folder)
  t.equal((await log.find('zone', rayAt(77)))?.at, START + 77)
  t.equal((await log.find('zone', rayAt(SEGMENT_RECORDS + 2)))?.at, START + SEGMENT_RECORDS + 2)
  t.equal(await log.find('zone', rayAt(1_000_000)), undefined)
  t.equal(await log.find('zone', 'no ray'), undefined)
  t.strictSame(await log.kept('zone'), { from: START, isSampled: true })
  t.strictSame(await log.kept('another'), { from: undefined, isSampled: false })
})

t.test('only the last segments are kept', async (t) => {
  const folder = testFolder(t)
  const ring = new Ring(folder, 0, fs)
  for (let i = 0; i < 4; i++) await ring.append(batch(i * SEGMENT_RECORDS, SEGMENT_RECORDS), 20_000, START + i)
  await ring.append(batch(4 * SEGMENT_RECORDS, 1), 20_000, START + 5)
  await ring.close()
  t.strictSame(await rays(folder), down(4 * SEGMENT_RECORDS, 2 * SEGMENT_RECORDS))
  t.equal(readdirSync(folder).length, 5, 'two segments with their lists, and the open one')
})

t.test('a process goes on with its segment after a restart, and after a crash in a line', async (t) => {
  const folder = testFolder(t)
  const first = new Ring(folder, 0, fs)
  await first.append(batch(0, 3), 100_000, START)
  await first.close()
  const [segment] = await segmentsIn(folder)
  appendFileSync(segment!.path, record(3).slice(0, 40))
  const second = new Ring(folder, 0, fs)
  await second.append(batch(4, 2), 100_000, START + 9)
  await second.release()
  await second.append(batch(6, 1), 100_000, START + 10)
  await second.close()
  t.equal((await segmentsIn(folder)).length, 1)
  t.strictSame(await rays(folder), [6, 5, 4, 2, 1, 0])
})

t.test('segments of several processes are one list', async (t) => {
  const folder = testFolder(t)
  const rings = [new Ring(folder, 1, fs), new Ring(folder, 2, fs)]
  for (let i = 0; i < 40; i++) await rings[i % 2]!.append(batch(i, 1), 100_000, START)
  for (const ring of rings) await ring.close()
  t.equal((await segmentsIn(folder)).length, 2)
  t.strictSame(await rays(folder), down(39, 0))
})

t.test('a day ends a segment', async (t) => {
  const folder = testFolder(t)
  const ring = new Ring(folder, 0, fs)
  await ring.append(batch(0, 1), 100_000, START)
  await ring.append(batch(1, 1), 100_000, START + 86_400_001)
  await ring.close()
  t.equal((await segmentsIn(folder)).length, 2)
})

t.test('what is not to be kept is deleted', async (t) => {
  const folder = testFolder(t)
  const zone = join(folder, 'zone')
  for (const process of [0, 7]) {
    const ring = new Ring(zone, process, fs)
    await ring.append(batch(process, 1), 100_000, START)
    await ring.close()
  }
  const kept = { requests: 100_000, days: 30, isWriting: (process: number) => process === 0, now: START + 1000 }
  await removeOldRequests(folder, kept)
  t.strictSame(
    (await segmentsIn(zone)).filter((one) => one.closed !== undefined).map(({ process }) => process),
    [7],
    'the segment of a process that does not exist is closed',
  )
  t.strictSame(await rays(zone), [7, 0])
  await removeOldRequests(folder, { ...kept, now: START + 31 * 86_400_000 })
  t.strictSame(await rays(zone), [0])
  await removeOldRequests(folder, { ...kept, requests: 0 })
  t.strictSame(readdirSync(folder), [], 'with nothing to keep, no folder is left')
})

t.test('damaged segments and foreign files do not hide the others', async (t) => {
  const folder = testFolder(t)
  const ring = new Ring(folder, 0, fs)
  await ring.append(batch(0, 2), 100_000, START)
  await ring.close()
  writeFileSync(join(folder, `${START}-${START + 50}-${START}-3-10.z`), 'no compressed bytes')
  writeFileSync(join(folder, 'notes.txt'), 'hello')
  const [open] = (await segmentsIn(folder)).filter(({ closed }) => !closed)
  appendFileSync(
    open!.path,
    '{"something":"else"}\nnot json at all, and longer than a record would be at its beginning\n',
  )
  t.strictSame(await rays(folder), [1, 0])
})
