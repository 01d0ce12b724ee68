import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { systemClock, type Clock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import type { Disk } from '../../../src/disk/durable-write.js'
import { readWitness, Witness } from '../../../src/store/level/witness.js'
import { FaultyDisk } from '../../helpers/faulty-disk.js'
import { testFolder } from '../../helpers/folder.js'
import { until } from '../../helpers/web.js'

const meta = (version: number) => ({ schema: 1, version, records: version, sum: version, audit: version })
const clock: Clock = { ...systemClock, sleep: async () => await new Promise((resolve) => setImmediate(resolve)) }
const versionIn = async (folder: string) => {
  const found = await readWitness(folder)
  return found === undefined || found === 'damaged' ? found : found.version
}

t.test('a power failure during a sync leaves the last state that was synced', async (t) => {
  const folder = testFolder(t)
  const path = join(folder, 'witness')
  const syncs: (() => void)[] = []
  let began = 0
  const disk: Disk = {
    ...fs,
    open: async (name, flags, mode) => {
      const file = await fs.open(name, flags, mode)
      if (flags !== 'r+') return file
      const sync = file.datasync.bind(file)
      file.datasync = async () => {
        began += 1
        await new Promise<void>((resolve) => syncs.push(resolve))
        await sync()
      }
      return file
    },
  }
  const witness = await Witness.open(folder, meta(1), { log: silentLog, clock, disk })
  let version = 1
  let synced = { version, bytes: await fs.readFile(path) }
  await fs.mkdir(join(folder, 'torn'))
  /** Version that is read if every slot that is not as the disk has it was written in part. */
  const torn = async () => {
    const bytes = await fs.readFile(path)
    for (let page = 0; page < bytes.length; page += 4096)
      if (!bytes.subarray(page, page + 4096).equals(synced.bytes.subarray(page, page + 4096)))
        bytes.fill(7, page, page + 100)
    await fs.writeFile(join(folder, 'torn', 'witness'), bytes)
    return await versionIn(join(folder, 'torn'))
  }
  const write = async () => await witness.write(meta((version += 1)))
  const syncing = async (count: number) => {
    await until(() => began === count)
    return { version, bytes: await fs.readFile(path) }
  }

  for (let round = 0; round < 8; round += 1) {
    await write()
    const first = await syncing(2 * round + 1)
    for (let more = 0; more < 3; more += 1) {
      await write()
      t.equal(await torn(), synced.version)
      t.equal(await versionIn(folder), version, 'the kernel has all writes')
    }
    syncs.shift()!()
    const second = await syncing(2 * round + 2)
    synced = first
    t.equal(await torn(), synced.version)
    syncs.shift()!()
    synced = second
  }
  await witness.close()
  t.equal(await versionIn(folder), version)
})

t.test('a witness is durable when it is closed, also after a sync that failed', async (t) => {
  const folder = testFolder(t)
  const faulty = new FaultyDisk()
  const events: unknown[] = []
  const log = Object.assign(Object.create(silentLog) as typeof silentLog, {
    error: ({ event }: { event: string }) => void events.push(event),
  })
  const witness = await Witness.open(folder, meta(1), { log, clock, disk: faulty.disk })
  faulty.failSyncs = 'EIO'
  await witness.write(meta(2))
  await until(() => events.length > 0)
  t.same(events, ['store_witness_not_synced'])
  faulty.failSyncs = undefined
  for (let version = 3; version < 40; version += 1) await witness.write(meta(version))
  await witness.close()
  await faulty.losePower()
  t.match(await readWitness(folder), { version: 39, records: 39, sum: 39, audit: 39, tables: 1 })
})
