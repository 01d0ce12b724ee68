import { readFileSync, rmSync, statSync, truncateSync, writeFileSync, appendFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SpoolFull } from '../../../pipelines/logpush/spool/types.js'
import { FaultyDisk } from '../../helpers/faulty-disk.js'
import { append, damaged, lines, numberIn, numbered, rest, segments, spoolFolder, spoolsIn } from './spool-helper.js'
import { testFolder } from '../../helpers/folder.js'

const numbersOf = (found: readonly string[]) => found.map(numberIn)

t.test('whatever a crash leaves of the last append is cut off, and all that was acknowledged is there', async (t) => {
  const folder = testFolder(t)
  const { spools, spool } = await spoolsIn(t, folder)
  await spool.cursor('job')
  await append(spool, [{ EdgeResponseBytes: 1 }, { EdgeResponseBytes: 2 }])
  const [path] = segments(folder)
  const acknowledged = statSync(path!).size
  await append(spool, [{ EdgeResponseBytes: 3 }])
  await spools.close()
  const whole = readFileSync(path!)
  for (const size of [acknowledged, acknowledged + 1, acknowledged + 20, acknowledged + 40, whole.length - 4]) {
    writeFileSync(path!, whole.subarray(0, size))
    if (size % 2 === 0) appendFileSync(path!, Buffer.alloc(5000))
    const { spools, spool, lost } = await spoolsIn(t, folder)
    t.strictSame(numbersOf(await lines(spool)), [1, 2])
    t.equal(statSync(path!).size, acknowledged)
    t.strictSame(await lost(), {})
    await append(spool, [{ EdgeResponseBytes: 4 }])
    t.strictSame(numbersOf(await lines(spool)), [1, 2, 4])
    await spools.close()
  }
})

t.test('damage in the middle costs what it touches, is set aside, and counted once', async (t) => {
  for (const where of ['the last segment', 'one before it']) {
    await t.test(where, async (t) => {
      const folder = testFolder(t)
      const limits = { bytes: 1e9, segmentBytes: where === 'the last segment' ? 1e6 : 8000 }
      const { spools, spool } = await spoolsIn(t, folder, { limits })
      await spool.cursor('job')
      for (let i = 0; i < 6; i++) await append(spool, numbered(i * 2, 2))
      await spools.close()
      const [path] = segments(folder)
      const bytes = readFileSync(path!)
      const hit = bytes.indexOf('"/xxx', bytes.indexOf('"/xxx') + 2500)
      bytes[hit] = 0xff
      writeFileSync(path!, bytes)
      for (const time of [1, 2]) {
        const { spools, spool, lost } = await spoolsIn(t, folder, { limits })
        const expected = [0, 1, 4, 5, 6, 7, 8, 9, 10, 11].map((position) => ({ position, number: position }))
        for (const _ of [1, 2]) {
          const found = (await rest(spool)).map(({ position, line }) => ({ position, number: numberIn(line) }))
          t.strictSame(found, expected)
        }
        t.equal(spool.end, 12)
        t.strictSame(await lost(), time === 1 ? { damage: 2 } : {})
        t.equal(damaged(folder).length, 1)
        await spools.close()
      }
    })
  }
})

t.test('records of a segment whose beginning is damaged are read all the same', async (t) => {
  const folder = testFolder(t)
  const { spools, spool } = await spoolsIn(t, folder)
  await spool.cursor('job')
  await append(spool, [{ EdgeResponseBytes: 1 }])
  await spools.close()
  const [path] = segments(folder)
  const bytes = readFileSync(path!)
  bytes[50] = 0
  writeFileSync(path!, bytes)
  const again = await spoolsIn(t, folder)
  t.strictSame(numbersOf(await lines(again.spool)), [1])
  t.strictSame(await again.lost(), { damage: 0 })
  await append(again.spool, [{ EdgeResponseBytes: 2 }])
  t.equal(segments(folder).length, 2)
  t.strictSame(numbersOf(await lines(again.spool)), [1, 2])
})

t.test('positions that a reader has passed are not given again when the disk has lost the records', async (t) => {
  const folder = testFolder(t)
  const { spools, spool } = await spoolsIn(t, folder)
  const cursor = await spool.cursor('job')
  await append(spool, numbered(0, 10))
  await cursor.save({ next: 8 })
  await spools.close()
  truncateSync(segments(folder)[0]!, 0)
  const again = await spoolsIn(t, folder)
  t.equal(again.spool.end, 8)
  await append(again.spool, [{ EdgeResponseBytes: 99 }])
  t.strictSame(
    (await rest(again.spool, 0)).map(({ position, line }) => [position, numberIn(line)]),
    [[8, 99]],
  )
  t.strictSame(await again.lost(), { damage: 0 }, 'the only reader has had them')
})

t.test('a missing segment is counted as a gap, and readers continue after it', async (t) => {
  const folder = testFolder(t)
  const limits = { bytes: 1e9, segmentBytes: 2000 }
  const { spools, spool } = await spoolsIn(t, folder, { limits })
  await spool.cursor('job')
  for (let i = 0; i < 5; i++) await append(spool, numbered(i * 2, 2))
  await spools.close()
  const [, second, , fourth] = segments(folder)
  rmSync(second!)
  // Where the frame with its two records begins.
  truncateSync(fourth!, readFileSync(fourth!).indexOf(Buffer.from([0xff, 0x45, 0x53, 1])))
  const again = await spoolsIn(t, folder, { limits })
  for (const _ of [1, 2]) t.strictSame(numbersOf(await lines(again.spool)), [0, 1, 4, 5, 8, 9])
  t.strictSame(await again.lost(), { damage: 4 })
})

t.test('writes that the disk accepts in small pieces are complete', async (t) => {
  const folder = testFolder(t)
  const faults = new FaultyDisk()
  const { spools, spool } = await spoolsIn(t, folder, { disk: faults.disk })
  await spool.cursor('job')
  faults.shortWrites = 700
  await append(spool, numbered(0, 20))
  await spools.close()
  const again = await spoolsIn(t, folder)
  t.equal((await lines(again.spool)).length, 20)
})

const FAULTS: [what: string, set: (faults: FaultyDisk, on: boolean) => void][] = [
  ['a full disk', (faults, on) => (faults.failWrites = on ? 'ENOSPC' : undefined)],
  ['a disk that fails to sync', (faults, on) => (faults.failSyncs = on ? 'EIO' : undefined)],
  [
    'a disk that can neither sync nor cut',
    (faults, on) => {
      faults.failSyncs = on ? 'EIO' : undefined
      faults.failTruncates = 'EIO'
    },
  ],
]
for (const [what, set] of FAULTS) {
  t.test(`${what}: nothing is acknowledged, and all goes on when it works again`, async (t) => {
    const folder = testFolder(t)
    const faults = new FaultyDisk()
    const { spools, spool } = await spoolsIn(t, folder, { disk: faults.disk })
    const cursor = await spool.cursor('job')
    await append(spool, numbered(0, 3))
    set(faults, true)
    const writer = spool.writer()
    for (const record of numbered(3, 3)) writer.add(Buffer.from(JSON.stringify(record)))
    t.equal(spools.unavailable, undefined)
    for (const _ of [1, 2]) await t.rejects(writer.commit(), SpoolFull)
    t.match(spools.unavailable, /^the log spool cannot write: /)
    t.equal(spool.end, 3)
    t.strictSame(numbersOf(await lines(spool)), [0, 1, 2])
    t.equal(writer.count, 3)
    set(faults, false)
    await writer.commit()
    t.equal(spools.unavailable, undefined)
    await append(spool, numbered(6, 2))
    t.strictSame(numbersOf(await lines(spool)), [0, 1, 2, 3, 4, 5, 6, 7])
    await cursor.save({ next: 1 })
    await spools.close()
    const again = await spoolsIn(t, folder)
    t.strictSame(numbersOf(await lines(again.spool, 0)), [0, 1, 2, 3, 4, 5, 6, 7])
    t.strictSame(await again.lost(), {})
  })
}

// A disk that was full of records stayed full when they had all been delivered: nothing could be written in their place.
t.test('on a full disk, what all readers have passed makes room', async (t) => {
  const folder = testFolder(t)
  const faults = new FaultyDisk()
  const { spools, spool } = await spoolsIn(t, folder, { disk: faults.disk })
  const cursor = await spool.cursor('job')
  const bytes = () => segments(folder).reduce((sum, path) => sum + statSync(path).size, 0)
  await append(spool, numbered(0, 100))
  await cursor.save({ next: 100 })
  faults.failWrites = 'ENOSPC'
  const writer = spool.writer()
  for (const record of numbered(100, 3)) writer.add(Buffer.from(JSON.stringify(record)))
  await t.rejects(writer.commit(), SpoolFull)
  await t.rejects(writer.commit(), SpoolFull)
  t.equal(bytes(), 0)
  t.equal(spool.end, 100)
  t.strictSame(await lines(spool, 100), [])
  faults.failWrites = undefined
  await writer.commit()
  await append(spool, numbered(103, 2))
  t.strictSame(numbersOf(await lines(spool, 100)), [100, 101, 102, 103, 104])
  await spools.close()
  const again = await spoolsIn(t, folder)
  t.strictSame(numbersOf(await lines(again.spool, 100)), [100, 101, 102, 103, 104])
  t.strictSame(await again.lost(), {})
})

t.test('a cursor whose last write was torn is what it was before', async (t) => {
  const folder = testFolder(t)
  const { spools, spool } = await spoolsIn(t, folder)
  const cursor = await spool.cursor('job')
  await append(spool, numbered(0, 9))
  for (const next of [3, 5, 7]) await cursor.save({ next })
  await spools.close()
  const path = join(spoolFolder(folder), 'cursors', 'job')
  const bytes = readFileSync(path)
  bytes[bytes.indexOf('"next":7') + 7] = 0x38
  writeFileSync(path, bytes)
  const again = await spoolsIn(t, folder)
  t.strictSame((await again.spool.cursor('job')).state, { next: 5 })
  await again.spools.close()
  writeFileSync(path, Buffer.alloc(8192))
  const third = await spoolsIn(t, folder)
  t.equal((await third.spool.cursor('job')).state.next, third.spool.start, 'one that is lost delivers again')
})

t.test('a failed read rejects, and a later one succeeds', async (t) => {
  const faults = new FaultyDisk()
  const { spool } = await spoolsIn(t, testFolder(t), { disk: faults.disk })
  await spool.cursor('job')
  await append(spool, numbered(0, 2))
  faults.failReads = 'EIO'
  await t.rejects(spool.frame(0), { code: 'EIO' })
  faults.failReads = undefined
  t.strictSame(numbersOf(await lines(spool)), [0, 1])
})
