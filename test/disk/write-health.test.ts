import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { silentLog } from '../../src/core/log.js'
import { WriteHealth } from '../../src/disk/write-health.js'
import { FaultyDisk } from '../helpers/faulty-disk.js'
import { testFolder } from '../helpers/folder.js'
import { HandClock } from '../helpers/hand-clock.js'
import { until } from '../helpers/web.js'

const full = () => Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })

/** Records how long is slept. */
class ListenedClock extends HandClock {
  readonly pauses: number[] = []

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.pauses.push(ms)
    await super.sleep(ms, signal)
  }
}

function healthOf(t: Test) {
  const faults = new FaultyDisk()
  const clock = new ListenedClock()
  const opened: string[] = []
  const disk = {
    ...faults.disk,
    open: async (...args: Parameters<typeof faults.disk.open>) => {
      const [path, flags] = args
      if (flags === 'w') opened.push(String(path))
      return await faults.disk.open(...args)
    },
  }
  const health = new WriteHealth('the log spool', { disk, clock, log: silentLog })
  t.teardown(async () => await health.close())
  return { faults, clock, health, opened }
}

t.test('a part that cannot write says why until a write succeeds', async (t) => {
  const { health } = healthOf(t)
  const folder = testFolder(t)
  t.equal(health.unavailable, undefined)
  health.failed(folder, full())
  t.equal(health.unavailable, 'the log spool cannot write: its disk is full; free space on it')
  health.worked(join(folder, 'other'))
  t.not(health.unavailable, undefined, 'a write in another folder')
  health.worked(folder)
  t.equal(health.unavailable, undefined)
})

t.test('without writes, trials that become rare find that the disk has space again', async (t) => {
  const { faults, clock, health, opened } = healthOf(t)
  const folder = join(testFolder(t), 'new')
  faults.failWrites = 'ENOSPC'
  health.failed(folder, full())
  for (const trials of [1, 2, 3, 4, 5, 6, 7]) {
    await clock.advance(clock.pauses.at(-1)!)
    await until(() => clock.pauses.length > trials)
    t.equal(opened.length, trials)
  }
  t.strictSame(
    clock.pauses.map((ms) => ms / 1000),
    [1, 2, 4, 8, 16, 30, 30, 30],
  )
  t.not(health.unavailable, undefined)
  faults.failWrites = undefined
  await clock.advance(30_000)
  await until(() => health.unavailable === undefined)
  t.strictSame(readdirSync(folder), [], 'no file is left')
})

t.test('a round of trials ends with the first folder that fails, and begins with another one', async (t) => {
  const { faults, clock, health, opened } = healthOf(t)
  const root = testFolder(t)
  const folders = ['a', 'b', 'c'].map((name) => join(root, name))
  faults.failWrites = 'ENOSPC'
  for (const folder of folders) health.failed(folder, full())
  for (const ms of [1000, 2000]) {
    await clock.advance(ms)
    await until(() => clock.pauses.length > opened.length && clock.pauses.at(-1) === 2 * ms)
  }
  t.strictSame(
    opened.map((path) => path.slice(0, root.length + 2)),
    folders.slice(0, 2),
  )
})
