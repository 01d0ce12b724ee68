import fc from 'fast-check'
import t from 'tap'
import { compileJob } from '../../../pipelines/logpush/settings/compiled-job.js'
import {
  cursorAt,
  positionOf,
  type SpoolPosition,
  type Lines,
  type Reader,
} from '../../../pipelines/logpush/spool/position.js'
import { openReader } from '../../../pipelines/logpush/reader.js'
import type { Frame, Spool } from '../../../pipelines/logpush/spool/types.js'
import { DATASETS, Scanner } from '../../../pipelines/records/index.js'
import { Bench, transient, ZONE } from './jobs-helper.js'

const DATASET = DATASETS.get('http_requests')!
const JOB = compileJob({ dataset: 'http_requests', output_options: { merge_subrequests: true } }, '1')
const RAY = DATASET.places.get('RayID')!
const SUBREQUESTS = DATASET.places.get('Subrequests')!

/** A frame's records, as rays and their parents, and how long after the one before it was accepted. */
interface Given {
  readonly afterMs: number
  readonly records: readonly (readonly [ray: number, parent: number])[]
}

function framesOf(given: readonly Given[]): Frame[] {
  const scanner = new Scanner(DATASET)
  let first = 0
  let acceptedAt = 0
  return given.map(({ afterMs, records }) => {
    const lines = records.map(([ray, parent], at) =>
      // Parents are the rays below 10, so that records find each other.
      Buffer.from(
        JSON.stringify({ RayID: ray < 10 ? `p${ray}` : `c${first + at}`, ParentRayID: ray < 10 ? '00' : `p${parent}` }),
      ),
    )
    acceptedAt += afterMs
    const frame: Frame = {
      first,
      count: lines.length,
      acceptedAt,
      record: (index) => scanner.scan(lines[index]!),
      line: (index) => lines[index]!,
      addLine: (index, output) => output.append(lines[index]!),
      release: () => {},
    }
    first += lines.length
    return frame
  })
}

/** So much of a spool as a reader needs; `shown` frames are in it. */
const spoolOf = (frames: readonly Frame[], shown: () => number): Spool =>
  ({
    dataset: 'http_requests',
    scope: ZONE,
    frame: async (position: number) => frames.slice(0, shown()).find(({ first, count }) => first + count > position),
  }) as unknown as Spool

const textOf = (lines: Lines, index: number): string => {
  const { bytes, starts, ends } = lines.record(index, JOB.writes)
  const value = (place: number) =>
    starts[place]! < 0 ? '' : Buffer.from(bytes.subarray(starts[place], ends[place])).toString()
  return value(RAY) + value(SUBREQUESTS)
}

/** All that a reader gives now, and at which places. */
async function drain(reader: Reader, dueMs: number, lines: { place: SpoolPosition; text: string }[]): Promise<void> {
  for (;;) {
    const got = (await reader.next()) ?? reader.due(dueMs)
    if (got === undefined) return
    for (let index = got.begin; index < got.count; index++)
      lines.push({ place: got.place(index), text: textOf(got, index) })
    reader.at(got, got.count)
  }
}

const GIVEN = fc.array(
  fc.record({
    afterMs: fc.integer({ min: 0, max: 200_000 }),
    records: fc.array(fc.tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 12 })), {
      minLength: 1,
      maxLength: 12,
    }),
  }),
  { minLength: 1, maxLength: 8 },
)

t.test('a reader that opens at any place goes on as the one before it would have', async (t) => {
  await fc.assert(
    fc.asyncProperty(GIVEN, fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }), async (given, looks) => {
      const frames = framesOf(given)
      let shown = 0
      const spool = spoolOf(frames, () => shown)
      const lines: { place: SpoolPosition; text: string }[] = []
      const reader = await openReader(spool, JOB, { position: 0, skip: 0 })
      const ends: { place: SpoolPosition; at: number }[] = []
      for (const [index, frame] of frames.entries()) {
        // Between two frames the reader may look for what is due: never for times that the next frame comes before.
        if (looks[index] && index > 0)
          await drain(reader, (frame.acceptedAt + frames[index - 1]!.acceptedAt) / 2, lines)
        shown = index + 1
        await drain(reader, 0, lines)
        ends.push({ place: reader.place, at: lines.length })
      }
      await drain(reader, Infinity, lines)
      for (const { place, at } of [...lines.map(({ place }, at) => ({ place, at })), ...ends]) {
        const again: { place: SpoolPosition; text: string }[] = []
        const stored = positionOf(JSON.parse(JSON.stringify(cursorAt(place))))
        await drain(await openReader(spool, JOB, stored), Infinity, again)
        const [found, wanted] = [again, lines.slice(at)].map((all) => JSON.stringify(all.map(({ text }) => text)))
        if (found !== wanted) throw new Error(`from ${JSON.stringify(place)}: ${found}; not ${wanted}`)
      }
    }),
    { numRuns: 100 },
  )
  t.pass('at each place of 100 spools')
})

const MERGED = { field_names: ['RayID'], record_prefix: '', record_suffix: '\n', merge_subrequests: true }
const child = (RayID: string, ParentRayID: string) => ({ RayID, ParentRayID })
const parent = (RayID: string) => ({ RayID, ParentRayID: '00' })
const mergedText = (ray: string, ...children: string[]) =>
  `"RayID":"${ray}","Subrequests":[${children.map((each) => `{"RayID":"${each}"}`).join(',')}]\n`

t.test('subrequests that wait for their parents outlive restarts, and nothing is sent twice', async (t) => {
  const bench = await Bench.open(t)
  const sink = bench.sink()
  await bench.job(1, { output_options: MERGED })
  await bench.write(child('c1', 'p1'), parent('p0'), child('c2', 'p2'))
  await bench.clock.until(() => sink.arrived.length === 1)
  t.equal(sink.text, mergedText('p0'))
  await bench.restart()
  await bench.write(child('c3', 'p1'), parent('p1'), child('late', 'p1'), parent('p3'))
  await bench.clock.until(() => sink.arrived.length === 2)
  t.equal(sink.arrived[1]!.text, mergedText('p1', 'c1', 'c3') + mergedText('p3'))
  await bench.restart()
  for (const ray of ['c2', 'late']) {
    await bench.clock.until(() => sink.text.includes(mergedText(ray)), { step: 1000, most: 1000 })
    await bench.restart()
  }
  await bench.clock.pass(600_000, 1000)
  t.equal(sink.attempts.length, 4)
})

t.test('a batch of merged subrequests is made again after a restart, wherever it begins and ends', async (t) => {
  const bench = await Bench.open(t)
  const sink = bench.sink()
  // Five lines fit; the records of one parent, and those that are late, go beyond the end of a batch.
  sink.limits = { records: 5 }
  const lost = new Set<string>()
  sink.response = ({ name }) => {
    if (lost.has(name)) return
    lost.add(name)
    throw transient()
  }
  await bench.job(1, { output_options: MERGED })
  const family = Array.from({ length: 60 }, (_, i) => child(`c${i}`, 'p'))
  const orphans = Array.from({ length: 7 }, (_, i) => child(`o${i}`, 'nobody'))
  await bench.write(...family, ...orphans.slice(0, 4))
  await bench.write(parent('p'), parent('q'))
  await bench.clock.pass(20_000)
  await bench.write(...orphans.slice(4))
  let restarts = 0
  while (lost.size < 4 || sink.arrived.length < 4) {
    const failed = sink.attempts.length + 1
    await bench.clock.until(() => sink.attempts.length >= failed, { step: 1000 })
    if (restarts++ < 8) await bench.restart()
  }
  await bench.clock.pass(600_000, 1000)
  const lines = sink.text.split('\n').slice(0, -1)
  const joined = mergedText('p', ...family.slice(0, 50).map(({ RayID }) => RayID))
  const own = [...family.slice(50), parent('q'), ...orphans].map(({ RayID }) => mergedText(RayID))
  t.strictSame(
    lines,
    [joined, ...own].map((line) => line.trimEnd()),
  )
  for (const name of new Set(sink.names)) {
    const [first, ...again] = sink.attempts.filter((attempt) => attempt.name === name)
    for (const attempt of again) t.strictSame(attempt, first)
  }
  t.equal(new Set(sink.names).size, sink.names.length)
})
