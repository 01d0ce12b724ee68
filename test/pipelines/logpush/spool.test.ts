import t, { type Test } from 'tap'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import { zone } from '../../../src/core/scope.js'
import { openSpools, type SpoolsOptions } from '../../../pipelines/logpush/spool/index.js'
import type { Spool } from '../../../pipelines/logpush/spool.js'
import {
  BatchText,
  compileFilter,
  compileFormat,
  DATASETS,
  MalformedRecord,
  Scanner,
} from '../../../pipelines/records/index.js'

const DATASET = DATASETS.get('http_requests')!
const ZONE = zone('9f1839b6152d298aca64c4e906b6d074')
const RAY = DATASET.places.get('RayID')!

async function spoolsIn(t: Test, folder: string, options: Partial<SpoolsOptions> = {}) {
  const spools = await openSpools(folder, { clock: systemClock, log: silentLog, limits: { bytes: 1e10 }, ...options })
  t.teardown(() => spools.close())
  return spools
}

async function append(spool: Spool, ...records: (string | object)[]): Promise<void> {
  const writer = spool.writer()
  for (const record of records) writer.add(Buffer.from(typeof record === 'string' ? record : JSON.stringify(record)))
  await writer.commit()
}

/** Everything from a position on, as JSON texts. */
async function rest(spool: Spool, from = spool.start): Promise<string[]> {
  const lines: string[] = []
  for (let at = from; ;) {
    const frame = await spool.frame(at)
    if (frame === undefined) return lines
    for (let i = Math.max(0, at - frame.first); i < frame.count; i++) lines.push(Buffer.from(frame.line(i)).toString())
    at = frame.first + frame.count
  }
}

t.test(
  'records come back with the places of their fields, for formats and filters as if they had been scanned',
  async (t) => {
    const spools = await spoolsIn(t, t.testdir())
    const spool = await spools.open('http_requests', ZONE)
    await spool.cursor('job')
    const lines = [
      '{"RayID":"a","EdgeStartTimestamp":1795266000123456789,"ClientRequestURI":"/\\u00e9\\"x","Unknown":[1]}',
      '{"EdgeResponseBytes":18446744073709551615,"RayID":"b","ResponseHeaders":{"a":\n1},"OriginDNSResponseTimeMs":1e21}',
      '{}',
      `{"RayID":"c","ClientRequestUserAgent":"${'ü'.repeat(20_000)}"}`,
      '{"RayID":null}',
    ]
    await append(spool, ...lines)
    const format = compileFormat(DATASET, {
      output_type: 'csv',
      field_names: [...DATASET.names],
      timestamp_format: 'rfc3339ns',
    })
    const keeps = compileFilter(DATASET, '{"where":{"key":"RayID","operator":"in","value":["a","b","c"]}}')
    const [scanned, stored] = [new BatchText(format), new BatchText(format)]
    const scanner = new Scanner(DATASET)
    const frame = (await spool.frame(0))!
    for (const [index, line] of lines.entries()) {
      const one = scanner.scan(Buffer.from(line))
      const other = frame.record(index)
      t.equal(keeps(other), keeps(one))
      scanned.add(one)
      stored.add(other)
    }
    t.equal(Buffer.from(stored.close()).toString(), Buffer.from(scanned.close()).toString())
    t.equal(Buffer.from(frame.line(1)).toString().includes('18446744073709551615'), true)
    t.equal(frame.record(2).starts[RAY], -1)
    t.equal(await spool.frame(5), undefined)
  },
)

t.test('a record that is none is refused, and the others of the writer stay', async (t) => {
  const spools = await spoolsIn(t, t.testdir())
  const spool = await spools.open('http_requests', ZONE)
  await spool.cursor('job')
  const writer = spool.writer()
  writer.add(Buffer.from('{"RayID":"a"}'))
  t.throws(() => writer.add(Buffer.from('{"RayID":')), MalformedRecord)
  writer.add(Buffer.from('x{"RayID":"b"}'), 1)
  t.equal(writer.count, 2)
  await writer.commit()
  t.equal(writer.count, 0)
  t.strictSame(await rest(spool), ['{"RayID":"a"}', '{"RayID":"b"}'])
})

t.test('records, positions, cursors and the id are there after a start', async (t) => {
  const folder = t.testdir()
  const before = await spoolsIn(t, folder)
  const spool = await before.open('http_requests', ZONE)
  const cursor = await spool.cursor('job')
  await append(spool, { RayID: 'a' }, { RayID: 'b' })
  await append(spool, { RayID: 'c' })
  await cursor.save({ next: 1, open: { first: 1, end: 3, name: 'one' } })
  await before.close()
  const after = await spoolsIn(t, folder)
  t.equal(after.id, before.id)
  const again = await after.open('http_requests', ZONE)
  t.strictSame([...after.all()], [again])
  t.strictSame(again.cursors, ['job'])
  t.equal(again.end, 3)
  t.strictSame((await again.cursor('job')).state, { next: 1, open: { first: 1, end: 3, name: 'one' } })
  t.strictSame(await rest(again, 1), ['{"RayID":"b"}', '{"RayID":"c"}'])
})

t.test('a folder that is open cannot be opened again', async (t) => {
  const folder = t.testdir()
  const spools = await spoolsIn(t, folder)
  await t.rejects(spoolsIn(t, folder), /in use by another process/)
  await spools.close()
  await spoolsIn(t, folder)
})

t.test('readers wait for what comes', async (t) => {
  const spools = await spoolsIn(t, t.testdir())
  const spool = await spools.open('http_requests', ZONE)
  await spool.cursor('job')
  const stop = new AbortController()
  const waiting = spool.waitFor(0, stop.signal)
  const beyond = spool.waitFor(1, stop.signal)
  await append(spool, { RayID: 'a' })
  await waiting
  await spool.waitFor(0, stop.signal)
  stop.abort(new Error('enough'))
  await t.rejects(beyond, /enough/)
})
