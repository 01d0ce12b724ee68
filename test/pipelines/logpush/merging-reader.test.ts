import fc from 'fast-check'
import t from 'tap'
import { compileJob } from '../../../pipelines/logpush/compiled-job.js'
import { cursorAt, placeOf, type Place } from '../../../pipelines/logpush/place.js'
import { openReader, type Lines, type Reader } from '../../../pipelines/logpush/reader.js'
import type { Frame, Spool } from '../../../pipelines/logpush/spool.js'
import { DATASETS, Scanner } from '../../../pipelines/records/index.js'
import { ZONE } from './jobs-helper.js'

const DATASET = DATASETS.get('http_requests')!
const JOB = compileJob({ dataset: 'http_requests', output_options: { merge_subrequests: true } }, '1')
const RAY = DATASET.places.get('RayID')!
const MERGED = DATASET.places.get('Subrequests')!

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
  const { bytes, starts, ends } = lines.record(index)
  const value = (place: number) =>
    starts[place]! < 0 ? '' : Buffer.from(bytes.subarray(starts[place], ends[place])).toString()
  return value(RAY) + value(MERGED)
}

/** All that a reader gives now, and at which places. */
async function drain(reader: Reader, dueMs: number, lines: { place: Place; text: string }[]): Promise<void> {
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
      const lines: { place: Place; text: string }[] = []
      const reader = await openReader(spool, JOB, { position: 0, skip: 0 })
      const ends: { place: Place; at: number }[] = []
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
        const again: { place: Place; text: string }[] = []
        const stored = placeOf(JSON.parse(JSON.stringify(cursorAt(place))))
        await drain(await openReader(spool, JOB, stored), Infinity, again)
        const [found, wanted] = [again, lines.slice(at)].map((all) => JSON.stringify(all.map(({ text }) => text)))
        if (found !== wanted) throw new Error(`from ${JSON.stringify(place)}: ${found}; not ${wanted}`)
      }
    }),
    { numRuns: 100 },
  )
  t.pass('at each place of 100 spools')
})
