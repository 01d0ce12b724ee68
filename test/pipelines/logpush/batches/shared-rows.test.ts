import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { BatchBuffer } from '../../../../pipelines/logpush/batches/batch-buffer.js'
import { compileJob, type CompiledJob, type JobSettings } from '../../../../pipelines/logpush/settings/compiled-job.js'
import { SharedFilters } from '../../../../pipelines/logpush/batches/shared-filters.js'
import { SharedRows } from '../../../../pipelines/logpush/batches/shared-rows.js'
import type { Frame, Spool } from '../../../../pipelines/logpush/spool/types.js'
import { testFolder } from '../../../helpers/folder.js'
import { batchesOf } from '../batches-helper.js'
import { append, spoolsIn } from '../spool-helper.js'

const FIELDS = ['RayID', 'EdgeStartTimestamp', 'ClientRequestURI', 'RequestHeaders', 'EdgeResponseStatus']
const LIMITS = { from: 0, bytes: Infinity, records: Infinity }

const record = (i: number) => ({
  RayID: String(i),
  EdgeStartTimestamp: 1_700_000_000_000_000_000n + BigInt(i),
  EdgeResponseStatus: [200, 404, null][i % 3],
  ...(i % 4 > 0 && { ClientRequestURI: '/"$\\{é'.repeat(i % 50) }),
  ...(i % 5 > 0 && { RequestHeaders: { a: '"', b: [i, '\n'] } }),
})

const lines = (count: number) => Array.from({ length: count }, (_, i) => jsonOf(record(i)))
// Integers beyond 2^53 as digits.
const jsonOf = (value: object) =>
  JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? `#${each}` : each)).replace(/"#(\d+)"/g, '$1')

async function filled(t: Test, count: number) {
  const folder = testFolder(t)
  const { spool } = await spoolsIn(t, join(folder, 'spool'))
  const staging = await BatchBuffer.open(join(folder, 'staging'))
  await spool.cursor('job')
  await append(spool, lines(count))
  return { spool, staging }
}

const STYLES = fc.constantFrom(
  { output_type: 'ndjson' },
  { output_type: 'csv', timestamp_format: 'rfc3339' },
  { output_type: 'ndjson', stringify_object: true, field_delimiter: ' ; ' },
  { output_type: 'csv', field_delimiter: '' },
)
const NAMES = fc.uniqueArray(fc.constantFrom(...FIELDS), { minLength: 2 })
const around = fc.constantFrom('', '$', '{', '\n')

const status = (value: number) => ({ where: { key: 'EdgeResponseStatus', operator: 'lt', value } })
const OWN = fc.record({
  filter: fc.constantFrom(status(300), status(500), status(100), ''),
  names: NAMES,
  options: fc.record({
    record_prefix: around,
    record_suffix: around,
    record_delimiter: around,
    'CVE-2021-44228': fc.boolean(),
  }),
  from: fc.nat(90),
  bytes: fc.integer({ min: 1, max: 4000 }),
})

t.test('jobs that share rows and filters send what each of them sends alone', async (t) => {
  const { spool, staging } = await filled(t, 100)
  await fc.assert(
    fc.asyncProperty(STYLES, fc.array(OWN, { minLength: 2, maxLength: 4 }), async (style, jobs) => {
      const compiled = jobs.map(({ filter, names, options }) =>
        compileJob(
          { dataset: 'http_requests', filter, output_options: { ...style, ...options, field_names: names } },
          'seed',
        ),
      )
      const limits = jobs.map(({ from, bytes }) => ({ from, bytes, records: Infinity }))
      const alone = await Promise.all(compiled.map(async (job, i) => await batchesOf(spool, job, staging, limits[i]!)))
      const sharing = new SharedRows()
      const rows = compiled.map((job) => sharing.join('spool', job))
      const sharedFilters = new SharedFilters()
      const filters = compiled.map((job) => sharedFilters.join('spool', job))
      const together = await Promise.all(
        compiled.map(
          async (job, i) => await batchesOf(spool, job, staging, { ...limits[i]!, rows: rows[i], filter: filters[i] }),
        ),
      )
      if (!isDeepStrictEqual(together, alone)) throw new Error('batches differ')
      // The others go on with other rows.
      rows[0]?.leave()
      const later = await batchesOf(spool, compiled[1]!, staging, { ...limits[1]!, rows: rows[1] })
      if (!isDeepStrictEqual(later, alone[1])) throw new Error('batches differ after a job left')
    }),
    { numRuns: 40 },
  )
})

const settings = (names: readonly string[], filter: unknown = ''): JobSettings => ({
  dataset: 'http_requests',
  filter,
  output_options: { field_names: names },
})

/** Sends with jobs, one after the other; returns how often each of them read a record to write it itself. */
async function ownReads(spool: Spool, staging: BatchBuffer, jobs: readonly CompiledJob[], sharing: SharedRows) {
  const rows = jobs.map((job) => sharing.join('spool', job))
  const reads: number[] = []
  for (const [index, job] of jobs.entries()) {
    let count = 0
    const counted = (frame: Frame): Frame => ({
      ...frame,
      first: frame.first,
      count: frame.count,
      acceptedAt: frame.acceptedAt,
      record(at, places) {
        if (places !== job.looks) count++
        return frame.record(at, places)
      },
      line: (at) => frame.line(at),
      addLine: (at, output) => frame.addLine(at, output),
      release: () => frame.release(),
    })
    const frame = async (position: number) => {
      const found = await spool.frame(position)
      return found && counted(found)
    }
    await batchesOf({ end: spool.end, frame, waitFor: async () => {} }, job, staging, { ...LIMITS, rows: rows[index] })
    reads.push(count)
  }
  return reads
}

t.test('the fields of a record are written once for jobs that differ', async (t) => {
  const { spool, staging } = await filled(t, 300)
  const jobs = [FIELDS, FIELDS.toReversed(), FIELDS.slice(1)].map((names) => compileJob(settings(names), 'seed'))
  t.strictSame(await ownReads(spool, staging, jobs, new SharedRows()), [300, 0, 0])
})

t.test('a job that is alone, or has little in common with others, shares nothing', async (t) => {
  const { spool, staging } = await filled(t, 20)
  const sharing = new SharedRows()
  const [one, other] = [compileJob(settings(FIELDS), 'seed'), compileJob(settings(['RayID']), 'seed')]
  t.strictSame(await ownReads(spool, staging, [one, other], sharing), [20, 20])
  t.equal(sharing.join('spool', one)!.begin((await spool.frame(0))!), false, 'the same job twice')
  t.equal(
    sharing.join('spool', compileJob({ ...settings([]), output_options: { record_template: '{{.RayID}}' } }, 's')),
    undefined,
  )
})

t.test('jobs that keep different records stop sharing', async (t) => {
  const { spool, staging } = await filled(t, 150)
  const filters = [status(300), { where: { key: 'EdgeResponseStatus', operator: 'geq', value: 400 } }]
  const jobs = filters.map((filter) => compileJob(settings(FIELDS, filter), 'seed'))
  const sharing = new SharedRows({ judgedFields: 300 })
  const rows = jobs.map((job) => sharing.join('spool', job)!)
  const frame = (await spool.frame(0))!
  t.ok(rows[0]!.begin(frame))
  for (const [index, job] of jobs.entries()) await batchesOf(spool, job, staging, { ...LIMITS, rows: rows[index]! })
  t.notOk(rows[0]!.begin(frame))
})

t.test('rows of many frames take bounded memory', async (t) => {
  const { spool } = await filled(t, 10)
  const sharing = new SharedRows()
  const jobs = [FIELDS, FIELDS.slice(1)].map((names) => compileJob(settings(names), 'seed'))
  const [rows] = jobs.map((job) => sharing.join('spool', job)!)
  const frame = (await spool.frame(0))!
  for (let first = 0; first < 2000; first++) rows!.begin({ ...frame, first, count: 20_000, acceptedAt: 0 })
  t.ok(sharing.size < 8 * 2 ** 20, `${sharing.size} bytes`)
  t.equal(rows!.begin({ first: 0, count: 2 ** 20 } as Frame), false, 'too many records')
})

/** Reads of the records of a frame, under any position. */
function countedReads(frame: Frame) {
  const counted = {
    reads: 0,
    at: (first: number): Frame => ({
      first,
      count: frame.count,
      acceptedAt: 0,
      record(at, places) {
        counted.reads++
        return frame.record(at, places)
      },
      line: (at) => frame.line(at),
      addLine: (at, output) => frame.addLine(at, output),
      release() {},
    }),
  }
  return counted
}

t.test('filters of jobs that are near each other are evaluated together', async (t) => {
  const { spool } = await filled(t, 30)
  const jobs = Array.from({ length: 20 }, (_, n) => compileJob(settings(FIELDS, status(200 + n * 20)), 'seed'))
  const sharing = new SharedFilters()
  const filters = jobs.map((job) => sharing.join('spool', job)!)
  const frame = (await spool.frame(0))!
  const alone = jobs.map(({ keeps, looks }) =>
    Array.from({ length: 30 }, (_, at) => Number(keeps(frame.record(at, looks)))),
  )
  t.ok(new Set(alone.map(String)).size > 1)
  const counted = countedReads(frame)
  const kept = (first: number, of = filters) => {
    counted.reads = 0
    return of.map((each) => [...each.kept(counted.at(first))!])
  }
  t.strictSame(kept(0), alone)
  t.equal(counted.reads, 20 * 30, 'nothing is known of the others yet')
  t.strictSame(kept(30), alone)
  t.equal(counted.reads, 2 * 30, 'sixteen filters together, then four')
  const [far, ...others] = filters
  kept(100_000, [far!])
  t.equal(counted.reads, 30)
  t.strictSame(kept(60, others), alone.slice(1))
  t.equal(counted.reads, 2 * 30)
  t.strictSame(kept(60, [far!]), alone.slice(0, 1), 'a filter that was far away is evaluated when it is asked')
  t.equal(counted.reads, 30)
  for (const each of filters) each.leave()
})

t.test('a filter that two jobs have is evaluated once for each record', async (t) => {
  const { spool } = await filled(t, 30)
  const filter = status(300)
  const jobs = [filter, filter, status(500)].map((each) => compileJob(settings(FIELDS, each), 'seed'))
  const sharing = new SharedFilters()
  const filters = jobs.map((job) => sharing.join('spool', job)!)
  const frame = (await spool.frame(0))!
  const counted = countedReads(frame)
  const kept = filters.map((each) => [...each.kept(counted.at(0))!])
  t.equal(counted.reads, 60)
  t.strictSame(
    kept[0],
    Array.from({ length: 30 }, (_, i) => Number(i % 3 === 0)),
  )
  t.strictSame(kept[1], kept[0])
  t.strictSame(
    kept[2],
    Array.from({ length: 30 }, (_, i) => Number(i % 3 !== 2)),
  )
  for (let first = 1; first < 200; first++) filters[0]!.kept(counted.at(first))
  t.strictSame([...filters[1]!.kept(counted.at(0))!], kept[0], 'after it was forgotten')
  t.equal(sharing.join('spool', compileJob({ dataset: 'any' }, 'seed')), undefined)
})
