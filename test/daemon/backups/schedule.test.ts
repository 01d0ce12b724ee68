import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { BackupConfig } from '../../../src/config/backup.js'
import { silentLog, type Log } from '../../../src/core/log.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { BackupRunning } from '../../../src/daemon/backups/backups.js'
import { BackupSchedule } from '../../../src/daemon/backups/schedule.js'
import { backupOf } from '../../../src/store/backup/write.js'
import { openBackup } from '../../../src/store/backup/read.js'
import { memoryBlobs } from '../../../src/store/blobs/memory-blobs.js'
import { openStore } from '../../../src/store/index.js'
import { testFolder } from '../../helpers/folder.js'
import { MovedClock } from '../../helpers/moved-clock.js'
import { KEYS, s3Fake } from '../../helpers/s3-fake.js'

const HOUR = 3_600_000

interface Scheduled {
  readonly clock: MovedClock
  readonly schedule: BackupSchedule
  /** Names of events that were logged. */
  readonly events: string[]
  readonly folder: string
  /** Called before each archive. */
  before: () => void
  settings(more?: Partial<BackupConfig>): { backup: BackupConfig; data: string }
  metric(name: string): Promise<number | undefined>
  names(): Promise<string[]>
}

async function scheduled(t: Test, { machine }: { machine?: string } = {}): Promise<Scheduled> {
  const folder = testFolder(t, { data: {} })
  const clock = new MovedClock('2026-11-28T10:00:00Z')
  const store = await openStore('memory', { folder, log: silentLog, clock })
  const metrics = openMetrics({ process: false })
  const events: string[] = []
  const note = (line: { event: string }) => void events.push(line.event)
  const log = { ...silentLog, info: note, warn: note, error: note } as unknown as Log
  const backups = {
    async *archive(withKey: boolean) {
      it.before()
      const key = { id: 'id', text: withKey ? 'ab'.repeat(32) : undefined }
      const blobsOf = async () => await Promise.resolve(new Set<string>())
      yield* backupOf({ store, blobs: memoryBlobs(clock), blobsOf, key, edged: '1', clock })
    },
  }
  const schedule = new BackupSchedule({ backups, machine, clock, log, metrics })
  t.teardown(async () => await schedule.close())
  const it: Scheduled = {
    clock,
    schedule,
    events,
    folder: join(folder, 'backups'),
    before: () => {},
    settings: (more = {}) => ({
      backup: { every: 24 * HOUR, to: join(folder, 'backups'), keep: 3, with_key: true, ...more },
      data: join(folder, 'data'),
    }),
    async metric(name) {
      const line = (await metrics.metrics()).split('\n').find((line) => line.startsWith(`${name} `))
      return line === undefined ? undefined : Number(line.split(' ')[1])
    },
    names: async () => (await readdir(join(folder, 'backups')).catch(() => [])).toSorted((a, b) => (a < b ? -1 : 1)),
  }
  return it
}

const count = (it: Scheduled, event: string): number => it.events.filter((one) => one === event).length
const written = async (it: Scheduled, n: number) =>
  await it.clock.until(() => count(it, 'backup_written') >= n, { step: HOUR / 60 })
const name = (time: string) => `edged-202611${time}0000Z.tar`

t.test('backups are written each period, and the newest are kept', async (t) => {
  const it = await scheduled(t)
  t.equal(it.schedule.status, undefined)
  await it.schedule.configure(it.settings())
  await it.clock.until(() => count(it, 'backup_written') === 1, { step: 0 })
  t.same(await it.names(), [name('28T10')])
  const archive = await openBackup(join(it.folder, name('28T10')))
  await archive.close()
  t.equal(archive.key, 'ab'.repeat(32))
  const { size, mode } = await stat(join(it.folder, name('28T10')))
  t.equal(mode & 0o777, 0o600)
  await it.clock.until(() => it.schedule.status?.next_at !== null, { step: 0 })
  t.same(it.schedule.status, {
    to: it.folder,
    every_seconds: 86_400,
    last: { file: name('28T10'), at: '2026-11-28T10:00:00.000Z', bytes: size },
    next_at: '2026-11-29T10:00:00.000Z',
    error: null,
  })
  t.equal(await it.metric('edged_backup_last_success_timestamp_seconds'), Date.parse('2026-11-28T10:00:00Z') / 1000)
  t.equal(await it.metric('edged_backup_last_bytes'), size)

  await it.clock.pass(23 * HOUR, HOUR)
  t.equal(count(it, 'backup_written'), 1, 'not earlier')
  await writeFile(join(it.folder, 'edged-notes.tar'), 'of a person')
  await written(it, 5)
  await it.clock.until(() => count(it, 'backup_deleted') === 2, { step: 0 })
  const names = await it.names()
  t.equal(names.length, 4, names.join())
  t.match(names, [/^edged-20261130T10/, /^edged-20261201T10/, /^edged-20261202T10/, 'edged-notes.tar'])
  t.equal(await it.metric('edged_backups_total{outcome="written"}'), 5)
})

t.test('a restart neither repeats a backup nor skips one', async (t) => {
  const it = await scheduled(t)
  await mkdir(it.folder)
  await writeFile(join(it.folder, name('27T22')), 'of an earlier process')
  await writeFile(join(it.folder, `.partial-${name('27T23')}`), 'a part')
  await it.schedule.configure(it.settings())
  await it.clock.until(() => it.schedule.status?.next_at !== null, { step: 0 })
  t.match(it.schedule.status, {
    last: { file: name('27T22'), bytes: null },
    next_at: '2026-11-28T22:00:00.000Z',
  })
  t.equal(await it.metric('edged_backup_last_bytes'), undefined)
  await written(it, 1)
  t.equal(new Date(it.clock.now()).toISOString().slice(0, 13), '2026-11-28T22')
  t.match(await it.names(), [name('27T22'), /^edged-20261128T22/], 'the part of an ended process is gone')
})

t.test('a failed backup is reported, tried again, and replaces nothing', async (t) => {
  const it = await scheduled(t)
  let failing = true
  it.before = () => {
    if (failing) throw new Error('no space left')
  }
  await it.schedule.configure(it.settings())
  await it.clock.until(() => count(it, 'backup_failed') === 1, { step: 0 })
  t.match(it.schedule.status, { error: 'no space left', next_at: '2026-11-28T10:01:00.000Z', last: null })
  t.match(it.schedule.unavailable, /the scheduled backup failed: no space left/)
  t.equal(await it.metric('edged_backups_total{outcome="failed"}'), 1)
  t.same(await it.names(), [])
  await it.clock.until(() => count(it, 'backup_failed') === 3)
  t.match(it.schedule.status, { next_at: /T10:0[67]:/ }, 'after 1, 2 and 4 minutes')
  failing = false
  await written(it, 1)
  t.equal(it.schedule.unavailable, undefined)
  t.equal((await it.names()).length, 1)
})

t.test('a backup by hand at the same time is no failure', async (t) => {
  const it = await scheduled(t)
  let calls = 0
  it.before = () => {
    if (calls++ === 0) throw new BackupRunning()
  }
  await it.schedule.configure(it.settings())
  await written(it, 1)
  t.equal(count(it, 'backup_failed'), 0)
  t.match(it.schedule.status?.last?.at, /T10:0[1-9]/)
})

t.test('a folder that cannot be used is reported, and used when it can', async (t) => {
  const it = await scheduled(t)
  await writeFile(it.folder, 'a file')
  await it.schedule.configure(it.settings())
  await it.clock.until(() => count(it, 'backup_failed') === 1, { step: 0 })
  t.match(it.schedule.status?.error, /ENOTDIR|not a folder/)
  await rm(it.folder)
  await written(it, 1)
})

t.test('a reload changes the schedule, and ends it', async (t) => {
  const it = await scheduled(t)
  await it.schedule.configure(it.settings())
  await it.clock.until(() => it.schedule.status?.next_at?.startsWith('2026-11-29') === true, { step: 0 })
  await it.schedule.configure(it.settings({ every: 2 * HOUR }))
  await it.clock.until(() => it.schedule.status?.next_at === '2026-11-28T12:00:00.000Z', { step: 0 })
  await written(it, 2)
  t.match(await it.names(), [name('28T10'), /^edged-20261128T12/])
  await it.schedule.configure({ data: it.settings().data })
  t.equal(it.schedule.status, undefined)
  await it.clock.pass(72 * HOUR, HOUR)
  t.equal(count(it, 'backup_written'), 2)
})

t.test('each machine of a shared store keeps files of its own', async (t) => {
  const it = await scheduled(t, { machine: 'web/1' })
  await mkdir(it.folder)
  const others = ['edged-web-20261101T100000Z.tar', 'edged-web_1-a-20261101T100000Z.tar']
  for (const other of others) await writeFile(join(it.folder, other), 'of another machine')
  await it.schedule.configure(it.settings({ keep: 1 }))
  await written(it, 3)
  await it.clock.until(() => count(it, 'backup_deleted') === 2, { step: 0 })
  t.match(await it.names(), [others[0], /^edged-web_1-20261130T10/, others[1]])
})

t.test('to a bucket', async (t) => {
  const s3 = await s3Fake(t)
  const it = await scheduled(t)
  const keys = `region=r1&access-key-id=${KEYS.id}&secret-access-key=${encodeURIComponent(KEYS.secret)}`
  const to = `s3://bucket/of%20edged/x?${keys}&endpoint=http://127.0.0.1:${s3.port}`
  s3.fault = (request) => (request.startsWith('POST') ? { status: 503, code: 'SlowDown' } : undefined)
  await it.schedule.configure(it.settings({ to, keep: 2, with_key: false }))
  await it.clock.until(() => count(it, 'backup_failed') === 1, { step: 0 })
  t.match(it.schedule.status?.error, /SlowDown|503/)
  t.notMatch(JSON.stringify(it.schedule.status), KEYS.secret)
  s3.fault = () => undefined
  await written(it, 5)
  await it.clock.until(() => count(it, 'backup_deleted') === 3, { step: 0 })
  t.match([...s3.objects.keys()].sort(), [
    /^bucket\/of edged\/x\/edged-20261201T10\d{4}Z\.tar$/,
    /^bucket\/of edged\/x\/edged-20261202T10\d{4}Z\.tar$/,
  ])
  t.equal(s3.uploads.size, 0)
  const [object] = s3.objects.values()
  await writeFile(join(it.folder, '..', 'copy.tar'), object!.body)
  const archive = await openBackup(join(it.folder, '..', 'copy.tar'))
  await archive.close()
  t.equal(archive.key, undefined)
  t.same(await readdir(join(it.folder, '..', 'data', 'backup-upload')), [], 'nothing stays on the disk')
})
