import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { silentLog } from '../../../src/core/log.js'
import { encodeHead, fileName, pathOf } from '../../../src/edge/cache/files/format.js'
import { DiskOwner } from '../../../src/edge/cache/files/owner.js'
import { FaultyDisk } from '../../helpers/faulty-disk.js'
import { testFolder } from '../../helpers/folder.js'
import { HandClock } from '../../helpers/hand-clock.js'
import { until } from '../../helpers/web.js'

const ZONE = 'z'.repeat(32)
const URL = 'http://site.test/page'
const PURGE = { urls: [URL] }

for (const identity of ['store', undefined])
  for (const isSwept of [false, true])
    t.test(`a loss of power undoes no purge (store ${identity}, files removed: ${isSwept})`, async (t) => {
      const folder = testFolder(t)
      const clock = new HandClock()
      const faults = new FaultyDisk()
      const open = async (disk = faults.disk) =>
        await DiskOwner.open({ folder, bytes: 1e9 }, { identity, clock, log: silentLog, disk })
      const first = await open()
      await first.close()
      const name = fileName(ZONE, URL, 'key')
      const head = { key: 'key', zone: ZONE, url: URL, tags: [], vary: [], varyKey: '', status: 200, fields: [] }
      const freshness = { lifetime: 1000 } as never
      const facts = { ...head, freshness, arrivedAt: clock.now(), born: 0, length: 0, checksums: '' }
      mkdirSync(join(folder, name.slice(0, 2)), { recursive: true })
      writeFileSync(join(folder, pathOf(name)), encodeHead(facts, 4096, 1)!)

      const owner = await open()
      t.ok(await owner.reserve(1, true))
      owner.purge(ZONE, PURGE, 1)
      await owner.recorded
      if (isSwept) {
        await until(async () => {
          await clock.advance(2000)
          return !existsSync(join(folder, pathOf(name)))
        })
        await until(() => readFileSync(join(folder, 'purges.jsonl'), 'utf8') === '')
        await owner.recorded
      }
      await faults.losePower()
      await owner.close()

      const again = await open(new FaultyDisk().disk)
      t.teardown(async () => await again.close())
      const { pending } = again.start
      t.ok(!existsSync(join(folder, pathOf(name))) || pending.some(({ purge }) => purge.urls?.includes(URL) === true))
    })
