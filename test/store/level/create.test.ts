import { join } from 'node:path'
import t from 'tap'
import { silentLog } from '../../../src/core/log.js'
import type { Disk } from '../../../src/disk/durable-write.js'
import { openStore } from '../../../src/store/index.js'
import { FaultyDisk } from '../../helpers/faulty-disk.js'
import { testFolder } from '../../helpers/folder.js'

t.test('a store whose folder was not synced when it was created is durable after the next start', async (t) => {
  const folder = join(testFolder(t), 'data')
  const faults = new FaultyDisk()
  let created = false
  const disk: Disk = {
    ...faults.disk,
    rename: async (from, to) => {
      await faults.disk.rename(from, to)
      created ||= String(to) === join(folder, 'store')
    },
    open: async (path, flags, mode) => {
      if (created) throw Object.assign(new Error('EMFILE: injected by the test'), { code: 'EMFILE' })
      return await faults.disk.open(path, flags, mode)
    },
  }
  await t.rejects(openStore('embedded', { folder, log: silentLog, disk }), { code: 'EMFILE' })
  const store = await openStore('embedded', { folder, log: silentLog, disk: faults.disk })
  await store.close()
  const lost: string[] = []
  await faults.losePower((path) => {
    lost.push(path)
    return true
  })
  t.notOk(lost.includes(join(folder, 'store')), 'the name of the store is durable')
})
