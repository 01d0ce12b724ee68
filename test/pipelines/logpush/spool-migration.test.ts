import * as fs from 'node:fs/promises'
import { cp, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ClassicLevel } from 'classic-level'
import t, { type Test } from 'tap'
import { openSpools } from '../../../pipelines/logpush/spool/index.js'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import { zone } from '../../../src/core/scope.js'
import type { Disk } from '../../../src/disk/durable-write.js'
import { testFolder } from '../../helpers/folder.js'

const FIRST_RELEASE = fileURLToPath(new URL('../../fixtures/stores/schema-1/spool', import.meta.url))
const ZONE = zone('9f1839b6152d298aca64c4e906b6d074')
const RECORDS = 1501
/** A batch of 1,000 records that was being uploaded. */
const BATCH = /^\d{8}T\d{6}Z_\d{8}T\d{6}Z_[0-9a-f]{8}$/

const open = (folder: string, disk: Disk = fs) =>
  openSpools(folder, { clock: systemClock, log: silentLog, limits: { bytes: 1e9 }, disk })

async function check(t: Test, folder: string): Promise<void> {
  const spools = await open(folder)
  const spool = await spools.open('http_requests', ZONE)
  const { state } = await spool.cursor('job-1')
  t.match(state, { next: 0, batches: [[1000, BATCH]] })
  t.notOk('open' in state)
  t.equal(spool.end, RECORDS)
  let count = 0
  while (count < spool.end) count += (await spool.frame(count))!.count
  t.equal(count, RECORDS, 'all records can be read')
  await spools.close()
}

t.test('a spool of the first release keeps its records and the name of its batch', async (t) => {
  const folder = join(testFolder(t), 'spool')
  await cp(FIRST_RELEASE, folder, { recursive: true })
  await check(t, folder)

  const [scope = ''] = await readdir(`${folder}.format-1/scopes`)
  const copied = join(`${folder}.format-1/scopes`, scope, 'http_requests')
  const text = await fs.readFile(join(copied, 'cursors/job-1'), 'utf8')
  t.match(text, /"open":\{"first":0,"end":1000/, 'the copy is as it was')
  const segment = '0000000000000000.seg'
  t.not(
    (await stat(join(copied, segment))).ino,
    (await stat(join(folder, 'scopes', scope, 'http_requests', segment))).ino,
  )
  const lock = new ClassicLevel(`${folder}.format-1/lock`)
  t.equal(await lock.get('format'), '1')
  await lock.close()
  await check(t, folder)
})

t.test('a migration of the spool that is killed at any step ends with the next start', async (t) => {
  let steps = 0
  for (let failed = true; failed; steps += 3) {
    const folder = join(testFolder(t, { [`${steps}`]: {} }), String(steps), 'spool')
    await cp(FIRST_RELEASE, folder, { recursive: true })
    let left = steps
    const disk = new Proxy<Disk>(fs, {
      get:
        (target, name: keyof Disk) =>
        async (...args: never[]) => {
          left -= 1
          if (left < 0) throw new Error('killed')
          return await (target[name] as (...args: never[]) => Promise<unknown>)(...args)
        },
    })
    const first = await open(folder, disk).catch(() => undefined)
    failed = left < 0
    await first?.close()
    await check(t, folder)
    const copy = await fs.readFile(join(`${folder}.format-1/scopes`, `zone-${ZONE.id}`, 'http_requests/cursors/job-1'))
    t.ok(copy.includes('"open"'), 'a conversion that goes on does not replace the copy')
  }
  t.ok(steps > 20, `${steps} steps`)
})

t.test('a spool of a newer version is not changed', async (t) => {
  const folder = join(testFolder(t), 'spool')
  await (await open(folder)).close()
  const lock = new ClassicLevel(join(folder, 'lock'))
  await lock.put('format', '3')
  await lock.close()
  await t.rejects(open(folder), /written by a newer edged \(format 3, not 2\); start that version/)
})
