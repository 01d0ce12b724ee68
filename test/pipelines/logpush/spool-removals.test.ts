import * as fs from 'node:fs/promises'
import t from 'tap'
import type { Disk } from '../../../src/disk/durable-write.js'
import { FaultyDisk } from '../../helpers/faulty-disk.js'
import { testFolder } from '../../helpers/folder.js'
import { append, lines, numbered, numberIn, segments, spoolsIn } from './spool-helper.js'

/** A disk that rejects some removals. */
function stubborn(keeps: (path: string) => boolean, disk: Disk = fs): Disk {
  return {
    ...disk,
    rm: async (path, options) => {
      if (keeps(String(path))) throw Object.assign(new Error('EPERM: injected by the test'), { code: 'EPERM' })
      await disk.rm(path, options)
    },
  }
}

t.test('a segment that cannot be deleted does not keep the others, and is deleted later', async (t) => {
  const folder = testFolder(t)
  let kept = ''
  const disk = stubborn((path) => path === kept)
  const { spool } = await spoolsIn(t, folder, { disk, limits: { bytes: 1e9, segmentBytes: 2000 } })
  const cursor = await spool.cursor('job')
  for (let i = 0; i < 5; i++) await append(spool, numbered(i * 2, 2))
  const before = segments(folder)
  t.equal(before.length, 5)
  kept = before[1]!
  await cursor.save({ next: 9 })
  await spool.cursor('other')
  t.strictSame(segments(folder), [before[1], before[4]])
  kept = ''
  await cursor.save({ next: 9 })
  await spool.cursor('third')
  t.strictSame(segments(folder), [before[4]])
  t.strictSame((await lines(spool, 9)).map(numberIn), [9])
})

t.test('a cursor whose file cannot be removed is ended, and its file is removed later', async (t) => {
  const folder = testFolder(t)
  let isStubborn = true
  const disk = stubborn((path) => isStubborn && path.endsWith('/cursors/gone'))
  const limits = { bytes: 1e9, segmentBytes: 2000 }
  const { spools, spool } = await spoolsIn(t, folder, { disk, limits })
  const cursor = await spool.cursor('job')
  const gone = await spool.cursor('gone')
  for (let i = 0; i < 3; i++) await append(spool, numbered(i * 2, 2))
  await t.rejects(gone.remove(), { code: 'EPERM' })
  t.strictSame(spool.cursors, ['job'])
  await cursor.save({ next: 6 })
  isStubborn = false
  await cursor.save({ next: 6 })
  await spool.cursor('gone')
  t.equal(segments(folder).length, 1)
  t.equal((await spool.cursor('gone')).state.next, 6, 'the name can be used again')
  await spools.close()
  const again = await spoolsIn(t, folder, { limits })
  t.strictSame(again.spool.cursors.toSorted(), ['gone', 'job'])
  t.strictSame(await again.lost(), {})
})

t.test('after a kill while the last segment is emptied on a full disk, no position is used again', async (t) => {
  const folder = testFolder(t)
  const faults = new FaultyDisk()
  const { spools, spool } = await spoolsIn(t, folder, { disk: faults.disk })
  const cursor = await spool.cursor('job')
  await append(spool, numbered(0, 100))
  faults.failWrites = 'ENOSPC'
  await cursor.remove()
  await spool.cursor('other').catch(() => undefined)
  t.equal(spool.end, 100)
  faults.stop()
  await spools.close()
  const again = await spoolsIn(t, folder)
  t.equal(again.spool.end, 100)
})
