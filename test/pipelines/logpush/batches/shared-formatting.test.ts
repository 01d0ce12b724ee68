import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { crc32, gunzipSync, inflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { compileJob } from '../../../../pipelines/logpush/settings/compiled-job.js'
import { joinedCrc } from '../../../../pipelines/logpush/batches/crc.js'
import { DEFLATE_END, Deflater } from '../../../../pipelines/logpush/batches/deflater.js'
import { SharedFormatting, type Shared } from '../../../../pipelines/logpush/batches/shared-formatting.js'
import { Buffers } from '../../../../pipelines/logpush/spool/buffers.js'
import { BatchBuffer } from '../../../../pipelines/logpush/batches/batch-buffer.js'
import { batchesOf } from '../batches-helper.js'
import { Bench } from '../jobs-helper.js'
import { append, spoolsIn } from '../spool-helper.js'
import { testFolder } from '../../../helpers/folder.js'

const pieces = fc.string({ unit: fc.constantFrom('$', '{', '}', 'x', '\n'), maxLength: 3 })
const settings = fc.record({
  dataset: fc.constant('http_requests'),
  filter: fc.constantFrom(
    '',
    '{"where":{"key":"EdgeResponseStatus","operator":"lt","value":300}}',
    '{"where":{"key":"EdgeResponseStatus","operator":"eq","value":1}}',
  ),
  output_options: fc.record({
    output_type: fc.constantFrom('ndjson', 'csv'),
    field_names: fc.constantFrom(['RayID'], ['ClientRequestURI', 'EdgeResponseStatus']),
    batch_prefix: pieces,
    batch_suffix: pieces,
    record_prefix: pieces,
    record_suffix: pieces,
    record_delimiter: pieces,
    'CVE-2021-44228': fc.boolean(),
  }),
})

t.test('what jobs share is what each of them makes alone, wherever they begin and batches end', async (t) => {
  const folder = testFolder(t)
  const { spool } = await spoolsIn(t, join(folder, 'spool'))
  const staging = await BatchBuffer.open(join(folder, 'staging'))
  await spool.cursor('job')
  for (const [from, count] of [
    [0, 40],
    [40, 1],
    [41, 30],
  ] as const)
    await append(
      spool,
      Array.from({ length: count }, (_, i) => ({
        RayID: `$${from + i}{`,
        EdgeResponseStatus: [200, 404][i % 2],
        ClientRequestURI: '/'.repeat(((from + i) * 7) % 50),
      })),
    )
  const job = fc.record({
    from: fc.nat(70),
    bytes: fc.integer({ min: 1, max: 3000 }),
    records: fc.integer({ min: 1, max: 60 }),
  })
  await fc.assert(
    fc.asyncProperty(settings, fc.array(job, { minLength: 2, maxLength: 3 }), async (settings, jobs) => {
      const compiled = compileJob(settings, 'seed')
      const sharing = new SharedFormatting()
      const members = jobs.map(() => sharing.join('spool', compiled.recipe!))
      const alone = await Promise.all(jobs.map(async (of) => await batchesOf(spool, compiled, staging, of)))
      const together = await Promise.all(
        jobs.map(async (of, i) => await batchesOf(spool, compiled, staging, { ...of, shared: members[i]! })),
      )
      if (!isDeepStrictEqual(together, alone)) throw new Error('batches differ')
    }),
    { numRuns: 60 },
  )
})

t.test('jobs that are out of step compress their batches once', async (t) => {
  const folder = testFolder(t)
  const { spool } = await spoolsIn(t, join(folder, 'spool'))
  const staging = await BatchBuffer.open(join(folder, 'staging'))
  await spool.cursor('job')
  const record = (i: number) => ({ RayID: String(i), ClientRequestURI: `/${String(i).repeat(30)}` })
  await append(
    spool,
    Array.from({ length: 12_000 }, (_, i) => record(i)),
  )
  const job = compileJob({ dataset: 'http_requests', output_options: { field_names: ['ClientRequestURI'] } }, 'seed')
  const limits = { bytes: Infinity, records: Infinity }
  const alone = [
    await batchesOf(spool, job, staging, { from: 0, ...limits }),
    await batchesOf(spool, job, staging, { from: 3000, ...limits }),
  ]
  const sharing = new SharedFormatting()
  const [first, second] = [sharing.join('spool', job.recipe!), sharing.join('spool', job.recipe!)]
  const counted = (shared: Shared, made: string[]): Shared => ({
    ...shared,
    alone: false,
    deflated: async (id, deflate) =>
      await shared.deflated(id, async () => {
        made.push(id)
        return await deflate()
      }),
  })
  const own: string[] = []
  const others: string[] = []
  const together = [
    await batchesOf(spool, job, staging, { from: 0, ...limits, shared: counted(first, own) }),
    await batchesOf(spool, job, staging, { from: 3000, ...limits, shared: counted(second, others) }),
  ]
  t.strictSame(together, alone)
  t.ok(own.length > 5)
  t.equal(others.length, 1, 'the piece with which its batch begins')
  const texts = together.map(([batch]) => gunzipSync(batch!.bytes).toString())
  t.equal(texts[1], texts[0]!.slice(-texts[1]!.length))
  second.leave()
  t.ok(first.alone)
})

t.test('pieces of a stream are the same whatever was compressed before them', async (t) => {
  const deflater = new Deflater(new Buffers(8 * 1024, 2))
  const texts = Array.from({ length: 20 }, (_, i) =>
    Buffer.from(
      randomBytes(i * 500)
        .toString('hex')
        .repeat(1 + (i % 5)),
    ),
  )
  const made = await Promise.all(texts.map(async (text) => await deflater.deflate(text, 5)))
  for (const [i, text] of [...texts.entries()].toReversed()) t.strictSame(await deflater.deflate(text, 5), made[i])
  const stream = Buffer.concat([...made.map(({ bytes }) => bytes), DEFLATE_END])
  t.ok(inflateRawSync(stream).equals(Buffer.concat(texts)))
  let crc = 0
  for (const piece of made) crc = joinedCrc(crc, piece.crc, piece.length)
  t.equal(crc, crc32(Buffer.concat(texts)))
})

t.test('two jobs with the same settings deliver the same, each to its destination', async (t) => {
  const bench = await Bench.open(t)
  await bench.job(1)
  await bench.write(...Array.from({ length: 10 }, (_, i) => ({ RayID: `r${i}` })))
  await bench.job(2, { to: 'test://b' })
  await bench.write(...Array.from({ length: 10 }, (_, i) => ({ RayID: `r${i + 10}` })))
  const [a, b] = [bench.sink('test://a'), bench.sink('test://b')]
  await bench.clock.until(() => a.text.includes('"r19"') && b.text.includes('"r19"'))
  const text = (from: number) => Array.from({ length: 20 - from }, (_, i) => `"r${i + from}"\n`).join('')
  t.strictSame([a.text, b.text], [text(0), text(10)])
})
