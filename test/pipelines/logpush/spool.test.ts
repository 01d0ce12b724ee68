import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import t from 'tap'
import { dataset } from '../../../pipelines/records/fields/dataset.js'
import {
  BatchText,
  compileFilter,
  compileFormat,
  DATASETS,
  MalformedRecord,
  Scanner,
  type ScannedRecord,
} from '../../../pipelines/records/index.js'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import type { Disk } from '../../../src/disk/durable-write.js'
import { WriteHealth } from '../../../src/disk/write-health.js'
import { BlockCache } from '../../../pipelines/logpush/spool/block-cache.js'
import { Buffers } from '../../../pipelines/logpush/spool/buffers.js'
import { DurableSpool } from '../../../pipelines/logpush/spool/durable-spool.js'
import { DiskQuota } from '../../../pipelines/logpush/spool/disk-quota.js'
import { LossCounter } from '../../../pipelines/logpush/spool/loss-counter.js'
import { OpenFiles } from '../../../pipelines/logpush/spool/open-files.js'
import { SpoolFull } from '../../../pipelines/logpush/spool/types.js'
import { FaultyDisk } from '../../helpers/faulty-disk.js'
import { append, lines, numbered, numberIn, rest, segments, spoolsIn, ZONE } from './spool-helper.js'
import { testFolder } from '../../helpers/folder.js'

const DATASET = DATASETS.get('http_requests')!
const RAY = DATASET.places.get('RayID')!

t.test(
  'records come back with the places of their fields, for formats and filters as if they had been scanned',
  async (t) => {
    const { spool } = await spoolsIn(t, testFolder(t))
    await spool.cursor('job')
    const records = [
      '{"RayID":"a","EdgeStartTimestamp":1795266000123456789,"ClientRequestURI":"/\\u00e9\\"x","Unknown":[1]}',
      '{"EdgeResponseBytes":18446744073709551615,"RayID":"b","ResponseHeaders":{"a":\n1},"OriginDNSResponseTimeMs":1e21}',
      '{}',
      `{"RayID":"c","ClientRequestUserAgent":"${'ü'.repeat(20_000)}"}`,
      '{"RayID":null}',
    ]
    await append(spool, records)
    const format = compileFormat(DATASET, {
      output_type: 'csv',
      field_names: [...DATASET.names],
      timestamp_format: 'rfc3339ns',
    })
    const keeps = compileFilter(DATASET, '{"where":{"key":"RayID","operator":"in","value":["a","b","c"]}}')
    const [scanned, stored] = [new BatchText(format), new BatchText(format)]
    const scanner = new Scanner(DATASET)
    const frame = (await spool.frame(0))!
    for (const [index, line] of records.entries()) {
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

t.test('where only some fields are asked for, these are what they are', async (t) => {
  const { spool } = await spoolsIn(t, testFolder(t))
  await spool.cursor('job')
  const last = DATASET.names.length - 1
  const records = [
    `{"RayID":"a\\n","${DATASET.names[0]}":"first","${DATASET.names[last]}":"last","ClientIP":"192.0.2.1"}`,
    '{}',
    `{"RayID":"b","ClientRequestUserAgent":"${'ü'.repeat(20_000)}","${DATASET.names[last]}":"last"}`,
    // Values of the greatest length that needs no wide record, and values of all lengths.
    JSON.stringify(Object.fromEntries(DATASET.names.map((name) => [name, 'x'.repeat(16_381)]))),
    JSON.stringify(Object.fromEntries(DATASET.names.map((name, place) => [name, '\t'.repeat(place % 7)]))),
  ]
  await append(spool, records)
  const scanner = new Scanner(DATASET)
  const valueAt = ({ bytes, starts, ends, marks }: ScannedRecord, place: number) =>
    starts[place]! < 0 ? [] : [Buffer.from(bytes.subarray(starts[place], ends[place])).toString(), marks[place]]
  const all = DATASET.names.map((_, place) => place)
  const wanted = [[], [0], [last], [RAY], [0, RAY, last], all, all.filter((place) => place % 11 === 9)]
  for (const [position, line] of records.entries()) {
    const frame = (await spool.frame(position))!
    const scanned = scanner.scan(Buffer.from(line))
    for (const places of wanted) {
      const found = frame.record(position - frame.first, Int16Array.from(places))
      for (const place of places) t.strictSame(valueAt(found, place), valueAt(scanned, place))
    }
    frame.release()
  }
})

t.test('an invalid record is refused, and the others of the writer are kept', async (t) => {
  const { spool } = await spoolsIn(t, testFolder(t))
  await spool.cursor('job')
  const writer = spool.writer()
  writer.add(Buffer.from('{"RayID":"a"}'))
  t.throws(() => writer.add(Buffer.from('{"RayID":')), MalformedRecord)
  writer.add(Buffer.from('x{"RayID":"b"}'), 1)
  t.equal(writer.count, 2)
  await writer.commit()
  t.equal(writer.count, 0)
  t.strictSame(await lines(spool), ['{"RayID":"a"}', '{"RayID":"b"}'])
})

t.test('records, positions, cursors and the id are there after a start', async (t) => {
  const folder = testFolder(t)
  const { spools: before, spool } = await spoolsIn(t, folder)
  const cursor = await spool.cursor('job')
  await append(spool, [{ RayID: 'a' }, { RayID: 'b' }])
  await append(spool, [{ RayID: 'c' }])
  await cursor.save({ next: 1, batches: [[3, 'one']] })
  await before.close()
  const { spools: after, spool: again } = await spoolsIn(t, folder)
  t.equal(after.id, before.id)
  t.strictSame([...after.all()], [again])
  t.strictSame(again.cursors, ['job'])
  t.equal(again.end, 3)
  t.strictSame((await again.cursor('job')).state, { next: 1, batches: [[3, 'one']] })
  t.strictSame(await lines(again, 1), ['{"RayID":"b"}', '{"RayID":"c"}'])
})

t.test('a folder that is open cannot be opened again', async (t) => {
  const folder = testFolder(t)
  const { spools } = await spoolsIn(t, folder)
  await t.rejects(spoolsIn(t, folder), /in use by another process/)
  await spools.close()
  await spoolsIn(t, folder)
})

t.test('a damaged or missing lock is replaced, and the spools keep their id and records', async (t) => {
  const damages: [what: string, damage: (lock: string) => void][] = [
    ['every file overwritten', (lock) => {
      for (const name of readdirSync(lock)) writeFileSync(join(lock, name), Buffer.alloc(300, 7))
    }],
    ['CURRENT missing', (lock) => rmSync(join(lock, 'CURRENT'))],
    ['CURRENT without its end', (lock) => writeFileSync(join(lock, 'CURRENT'), 'MANIFEST-0')],
    ['CURRENT that names no file', (lock) => writeFileSync(join(lock, 'CURRENT'), 'MANIFEST-000999\n')],
    ['the manifest emptied', (lock) => {
      for (const name of readdirSync(lock)) if (name.startsWith('MANIFEST')) writeFileSync(join(lock, name), '')
    }],
    ['the log emptied', (lock) => {
      for (const name of readdirSync(lock)) if (name.endsWith('.log')) writeFileSync(join(lock, name), '')
    }],
    ['tables missing', (lock) => {
      for (const name of readdirSync(lock)) if (name.endsWith('.ldb')) rmSync(join(lock, name))
    }],
    ['the folder missing', (lock) => rmSync(lock, { recursive: true })],
  ] // prettier-ignore
  for (const [what, damage] of damages) {
    const folder = testFolder(t, { [what]: {} })
    for (const { isFirst } of [{ isFirst: true }, { isFirst: false }]) {
      const { spools, spool } = await spoolsIn(t, folder)
      await spool.cursor('job')
      await append(spool, [{ RayID: isFirst ? 'a' : 'b' }])
      const { id } = spools
      await spools.close()
      damage(join(folder, 'lock'))
      const { spools: after, spool: again } = await spoolsIn(t, folder)
      t.equal(after.id, id, what)
      t.equal(again.end, isFirst ? 1 : 2, what)
      await after.close()
    }
    t.notOk(existsSync(`${folder}.format-1`), 'nothing was converted')
  }
})

t.test('a lock that is damaged before a file named its id is replaced too', async (t) => {
  const folder = testFolder(t)
  const { spools, spool } = await spoolsIn(t, folder)
  const cursor = await spool.cursor('job')
  await append(spool, [{ RayID: 'a' }])
  await cursor.save({ next: 1, keep: 0, batches: [[1, 'one']] })
  await spools.close()
  rmSync(join(folder, 'identity'))
  rmSync(join(folder, 'lock'), { recursive: true })
  const { spool: again } = await spoolsIn(t, folder)
  t.strictSame(await lines(again), ['{"RayID":"a"}'])
  t.strictSame((await again.cursor('job')).state, { next: 1, keep: 0, batches: [[1, 'one']] })
})

t.test('a folder of a newer version is refused, and stays as it is', async (t) => {
  const folder = testFolder(t)
  const { spools, spool } = await spoolsIn(t, folder)
  await spool.cursor('job')
  await append(spool, [{ RayID: 'a' }])
  await spools.close()
  const format = async (value: string) => {
    const level = new ClassicLevel(join(folder, 'lock'))
    await level.put('format', value)
    await level.close()
  }
  await format('3')
  await t.rejects(spoolsIn(t, folder), /written by a newer edged \(format 3, not 2\); start that version/)
  await format('2')
  t.strictSame(await lines((await spoolsIn(t, folder)).spool), ['{"RayID":"a"}'])
})

t.test('readers wait for what comes', async (t) => {
  const { spool } = await spoolsIn(t, testFolder(t))
  await spool.cursor('job')
  const stop = new AbortController()
  const waiting = spool.waitFor(0, stop.signal)
  const beyond = spool.waitFor(1, stop.signal)
  await append(spool, [{ RayID: 'a' }])
  await waiting
  await spool.waitFor(0, stop.signal)
  stop.abort(new Error('enough'))
  await t.rejects(beyond, /enough/)
})

t.test('what every cursor has passed is deleted at once, and nothing else', async (t) => {
  const folder = testFolder(t)
  const limits = { bytes: 1e9, segmentBytes: 8000 }
  const { spools, spool } = await spoolsIn(t, folder, { limits })
  const [fast, slow] = [await spool.cursor('fast'), await spool.cursor('slow')]
  for (let i = 0; i < 12; i++) await append(spool, numbered(i * 2, 2))
  t.equal(segments(folder).length, 4)
  await fast.save({ next: 24 })
  t.equal(spool.start, 0)
  await slow.save({ next: 13, keep: 5, batches: [[13, 'again']] })
  t.equal(spool.start, 0, 'a batch that is under way is kept whole')
  await slow.save({ next: 13 })
  await spool.cursor('fast')
  t.equal(spool.start, 12)
  t.strictSame(
    (await lines(spool, 13)).map(numberIn),
    Array.from({ length: 11 }, (_, i) => i + 13),
  )
  await slow.remove()
  await spools.close()
  t.equal(segments(folder).length, 1)
})

t.test('without a cursor nothing is kept, and positions go on where they were', async (t) => {
  const folder = testFolder(t)
  const { spools, spool } = await spoolsIn(t, folder)
  await append(spool, numbered(0, 3))
  t.equal(spool.end, 0)
  const cursor = await spool.cursor('job')
  await append(spool, numbered(0, 3))
  await cursor.remove()
  t.strictSame(spool.cursors, [])
  await append(spool, numbered(3, 3))
  await spools.close()
  t.equal(segments(folder).length, 1)
  const again = await spoolsIn(t, folder)
  t.equal(again.spool.end, 3)
  t.strictSame(await lines(again.spool), [])
  t.equal((await again.spool.cursor('job')).state.next, 3)
  await append(again.spool, numbered(7, 1))
  t.strictSame(
    (await rest(again.spool)).map(({ position, line }) => [position, numberIn(line)]),
    [[3, 7]],
  )
  t.strictSame(await again.lost(), {})
})

t.test('at the limit senders are refused until room is made, and nothing undelivered goes', async (t) => {
  const { spool, lost } = await spoolsIn(t, testFolder(t), { limits: { bytes: 200_000, segmentBytes: 20_000 } })
  const cursor = await spool.cursor('job')
  let count = 0
  await t.rejects(async () => {
    for (;;) {
      await append(spool, numbered(count, 10))
      count += 10
    }
  }, SpoolFull)
  t.ok(count >= 130)
  t.equal((await lines(spool)).length, count)
  await cursor.save({ next: 100 })
  await append(spool, numbered(count, 10))
  t.strictSame(
    (await lines(spool, 100)).map(numberIn),
    Array.from({ length: count - 90 }, (_, i) => i + 100),
  )
  t.strictSame(await lost(), {})
})

t.test('records of the daemon make the oldest go, whichever spool has them, and the loss is counted', async (t) => {
  const folder = testFolder(t)
  let now = 1_795_266_000_000
  const clock = { ...systemClock, now: () => now++ }
  const limits = { bytes: 200_000, segmentBytes: 20_000 }
  const { spools, spool, lost } = await spoolsIn(t, folder, { limits, clock })
  const other = await spools.open('http_requests', { type: 'zone', id: 'other' })
  await other.cursor('job')
  await spool.cursor('done')
  const cursor = await spool.cursor('job')
  await append(other, numbered(0, 10))
  for (let i = 0; i < 100; i++) await append(spool, numbered(i * 5, 5), { whenFull: 'drop_oldest' })
  t.strictSame(await lines(other), [])
  const kept = (await lines(spool)).map(numberIn)
  t.equal(kept.at(-1), 499)
  t.equal(kept[0], spool.start)
  t.strictSame(await lost(), { limit: 10 + spool.start })
  await spools.close()
  const again = await spoolsIn(t, folder, { limits, clock })
  t.strictSame(await again.lost(), {}, 'not counted again')
  t.equal((await again.spool.cursor('job')).state.next, again.spool.start)
  t.ok(cursor.state.next > 0)
})

t.test('records that are too old go, with the segment that is written to', async (t) => {
  let now = 1_795_266_000_000
  let ticks: (() => void)[] = []
  const clock = {
    ...systemClock,
    now: () => now,
    monotonic: () => now,
    sleep: (_: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        ticks.push(resolve)
        signal?.addEventListener('abort', () => reject(signal.reason as Error))
      }),
  }
  const { spool, lost } = await spoolsIn(t, testFolder(t), { clock, limits: { bytes: 1e9, ageMs: 3_600_000 } })
  await spool.cursor('job')
  await append(spool, numbered(0, 3))
  const tick = async (ms: number) => {
    now += ms
    const before = ticks
    ticks = []
    for (const go of before) go()
    while (ticks.length === 0) await new Promise(setImmediate)
  }
  await tick(3_600_000)
  t.equal((await lines(spool)).length, 3)
  await tick(1)
  t.equal(spool.start, 3)
  t.strictSame(await lines(spool), [])
  t.strictSame(await lost(), { age: 3 })
})

t.test('records of an older version of a dataset have their fields in the places of now', async (t) => {
  const folder = testFolder(t)
  const faults = new FaultyDisk()
  const { disk } = faults
  const deps = () => {
    const losses = new LossCounter({ dataset: 'http_requests', scope: 'zone' }, { clock: systemClock, log: silentLog })
    const files = new OpenFiles(disk)
    t.teardown(() => files.close())
    return {
      disk,
      files,
      clock: systemClock,
      log: silentLog,
      cache: new BlockCache(),
      buffers: new Buffers(1000, 0),
      quota: new DiskQuota(1e9),
      losses,
      failed: () => undefined,
      health: new WriteHealth('the log spool', { disk, clock: systemClock, log: silentLog }),
      segmentBytes: 1e6,
    }
  }
  const older = dataset({ ...DATASET, fields: { RayID: 'string', Gone: 'string', ClientIP: 'string' } })
  const newer = dataset({ ...DATASET, fields: { ClientIP: 'string', New: 'int', RayID: 'string' } })
  const before = await DurableSpool.open(older, ZONE, folder, deps())
  await before.cursor('job')
  const long = 'x'.repeat(20_000)
  await append(before, [{ RayID: 'a', Gone: 'b', ClientIP: 'c' }, { ClientIP: long, Gone: 'b' }, {}])
  await before.close()
  const after = await DurableSpool.open(newer, ZONE, folder, deps())
  await append(after, [{ RayID: 'd', New: 1, ClientIP: 'e' }])
  t.strictSame(await lines(after), [
    '{"ClientIP":"c","RayID":"a"}',
    `{"ClientIP":"${long}"}`,
    '{}',
    '{"ClientIP":"e","New":1,"RayID":"d"}',
  ])
  await after.close()
})

t.test('readers of the same records share what is read', async (t) => {
  const folder = testFolder(t)
  const first = await spoolsIn(t, folder)
  await first.spool.cursor('job')
  for (let i = 0; i < 20; i++) await append(first.spool, numbered(i * 200, 200))
  await first.spools.close()
  const faults = new FaultyDisk()
  const { spool } = await spoolsIn(t, folder, { disk: faults.disk })
  const before = faults.reads
  await lines(spool)
  const one = faults.reads - before
  t.ok(one > 2)
  const all = await Promise.all(Array.from({ length: 8 }, () => lines(spool)))
  for (const found of all) t.strictSame([found.length, numberIn(found[3999]!)], [4000, 3999])
  t.ok(faults.reads - before <= 2 * one, 'eight more readers read it once more at most')
})

t.test('a frame can be looked at until it is released, however much is read meanwhile', async (t) => {
  const { spool } = await spoolsIn(t, testFolder(t))
  await spool.cursor('job')
  for (let i = 0; i < 40; i++) await append(spool, numbered(i * 1000, 1000))
  const kept = (await spool.frame(0))!
  const released = (await spool.frame(500))!
  released.release()
  released.release()
  t.throws(() => released.record(0), /released/)
  for (const _ of [1, 2]) await lines(spool)
  t.equal(numberIn(Buffer.from(kept.line(3)).toString()), 3)
  t.throws(() => kept.record(kept.count), RangeError)
})

t.test('many commits at once are all there, in the order of each writer', async (t) => {
  const { spool } = await spoolsIn(t, testFolder(t))
  await spool.cursor('job')
  const writer = async (first: number) => {
    for (let i = 0; i < 20; i++) await append(spool, numbered(first + i, 1))
  }
  await Promise.all(Array.from({ length: 50 }, (_, i) => writer(i * 1000)))
  const found = (await rest(spool)).map(({ position, line }) => ({ position, number: numberIn(line) }))
  t.strictSame(
    found.map(({ position }) => position),
    Array.from({ length: 1000 }, (_, i) => i),
  )
  for (let i = 0; i < 50; i++) {
    const own = found.map(({ number }) => number).filter((number) => Math.floor(number / 1000) === i)
    t.strictSame(
      own,
      Array.from({ length: 20 }, (_, n) => i * 1000 + n),
    )
  }
})

t.test('full frames are read from the disk once', async (t) => {
  const folder = testFolder(t)
  let read = 0
  const open: Disk['open'] = async (...args) => {
    const file = await fs.open(...args)
    const { read: original } = file
    file.read = async (...of: Parameters<typeof original>) => {
      const result = await original.apply(file, of)
      read += result.bytesRead
      return result
    }
    return file
  }
  const { spool } = await spoolsIn(t, folder, { disk: { ...fs, open } })
  await spool.cursor('job')
  await append(
    spool,
    Array.from({ length: 4000 }, (_, i) => ({ RayID: String(i), ClientRequestURI: '/'.repeat(400 + (i % 90)) })),
  )
  const before = read
  let frames = 0
  for (let at = 0; at < spool.end; frames++) {
    const frame = (await spool.frame(at))!
    at = frame.first + frame.count
    frame.release()
  }
  t.ok(frames > 6)
  t.ok(read - before < frames * 256 * 1024 * 1.2, `${read - before} bytes for ${frames} frames`)
})
