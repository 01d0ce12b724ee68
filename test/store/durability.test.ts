import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { ClassicLevel } from 'classic-level'
import t, { type Test } from 'tap'
import { systemClock, type Clock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import { account } from '../../src/core/scope.js'
import { kind, StoreFull, StoreUnavailable, type Store } from '../../src/core/store.js'
import { SCHEMA } from '../../src/store/migrations/index.js'
import { openStore } from '../../src/store/index.js'
import { auditEntry, found } from '../contracts/store.js'
import { COUNTS, numberOf, PARTS, SCOPE, WRITERS, writeOn } from '../helpers/crash-writer.js'
import { testFolder } from '../helpers/folder.js'
import { programArgs } from '../helpers/program.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { until } from '../helpers/web.js'

const KILLS = Number(process.env['STORE_KILLS'] ?? 10)
const THINGS = kind<unknown>('thing')
const A = account('a')

const embedded = (folder: string, clock: Clock = systemClock) =>
  openStore('embedded', { folder, log: silentLog, clock })

/** Checks that all confirmed data exists, and of every batch all or nothing. */
async function checkCounts(t: Test, store: Store, confirmed: readonly number[]): Promise<void> {
  const reported = new Map<string, number>()
  for await (const { cursor, entry } of store.audit()) {
    const { id } = entry.actor
    if (Number(entry.requestId) !== (reported.get(id) ?? 0) + 1)
      t.fail(`audit of writer ${id} jumps to ${entry.requestId} at ${cursor}`)
    reported.set(id, Number(entry.requestId))
  }
  for (const [writer, last] of confirmed.entries()) {
    const n = numberOf(store, writer)
    const parts = PARTS.map((part) => store.get(COUNTS, SCOPE, `${writer}${part}`))
    if (n < last) t.fail(`writer ${writer}: ${last} was confirmed, ${n} is there`)
    if (n > last + 1) t.fail(`writer ${writer}: ${n} is there, of which only ${last} was confirmed`)
    if (parts.some((part) => (part?.value.n ?? 0) !== n)) t.fail(`writer ${writer}: a batch is torn`)
    if (new Set(parts.map((part) => part?.version)).size > 1) t.fail(`writer ${writer}: versions of a batch differ`)
    if ((reported.get(String(writer)) ?? 0) !== n)
      t.fail(`writer ${writer}: ${n} batches, audited up to ${reported.get(String(writer))}`)
  }
}

t.test('embedded: what was confirmed survives kill -9, and no batch is torn', async (t) => {
  const folder = testFolder(t)
  const program = programArgs(new URL('../helpers/crash-writer.ts', import.meta.url))
  const confirmed = Array.from({ length: WRITERS }, () => 0)
  for (let kill = 0; kill < KILLS; kill += 1) {
    const child = spawn(process.execPath, [...program, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = createInterface(child.stdout)
    lines.on('line', (line) => {
      const [writer = 0, n = 0] = line.split(' ').map(Number)
      confirmed[writer] = n
    })
    const before = [...confirmed]
    await until(() => confirmed.every((n, writer) => n > before[writer]!))
    await wait(Math.random() * 200)
    child.kill('SIGKILL')
    await Promise.all([once(child, 'exit'), once(lines, 'close')])

    const store = await embedded(folder)
    await checkCounts(t, store, confirmed)
    for (const writer of confirmed.keys()) confirmed[writer] = numberOf(store, writer)
    await store.close()
  }
  t.ok(
    confirmed.every((n) => n >= KILLS / 2),
    `${confirmed.reduce((a, b) => a + b)} batches`,
  )
})

t.test(
  'redis: what was confirmed survives kill -9 of the server, and the store recovers',
  { skip: NO_REDIS },
  async (t) => {
    const server = await redisServer(testFolder(t))
    t.teardown(() => server.kill())
    const store = await openStore(server.url, { folder: '', log: silentLog })
    t.teardown(() => store.close())
    const confirmed = Array.from({ length: WRITERS }, () => 0)
    for (let kill = 0; kill < KILLS; kill += 1) {
      const writing = confirmed.map((_, writer) => writeOn(store, writer, (n) => (confirmed[writer] = n)))
      const ended = Promise.allSettled(writing)
      const before = [...confirmed]
      await until(() => confirmed.every((n, writer) => n > before[writer]!))
      await wait(Math.random() * 200)
      await server.kill()
      for (const outcome of await ended) if (outcome.status === 'rejected') t.type(outcome.reason, StoreUnavailable)
      t.equal(store.writable, false)
      await t.rejects(store.batch([{ kind: THINGS, scope: A, id: 'x', value: 1 }]), StoreUnavailable)
      await server.start()
      await until(() => store.writable)
      await checkCounts(t, store, confirmed)
      const other = await openStore(server.url, { folder: '', log: silentLog })
      await checkCounts(t, other, confirmed)
      await other.close()
      for (const writer of confirmed.keys()) confirmed[writer] = numberOf(store, writer)
    }
    t.ok(
      confirmed.every((n) => n >= KILLS / 2),
      `${confirmed.reduce((a, b) => a + b)} batches`,
    )
  },
)

t.test('embedded: a full disk rejects writes, loses nothing, and recovers automatically', async (t) => {
  const folder = join(testFolder(t), 'disk')
  mkdirSync(folder)
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder]).status === 0) {
    await fullDisk(t, folder).finally(() => spawnSync('umount', ['-l', folder]))
  } else t.pass('skipped', { skip: 'not permitted to mount a small disk' })
})

async function fullDisk(t: Test, folder: string): Promise<void> {
  const impatient: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 100, signal) }
  const store = await embedded(folder, impatient)
  const value = { text: 'x'.repeat(20_000) }
  const write = (ids: string[], audited: string) =>
    store.batch(
      ids.map((id) => ({ kind: THINGS, scope: A, id, value })),
      [auditEntry(audited)],
    )
  const held = (store: Store) => store.list(THINGS, A).map(({ id }) => id)
  writeFileSync(join(folder, 'ballast'), Buffer.alloc(6_500_000))

  const confirmed: string[] = []
  const refusal: unknown = await (async () => {
    for (let n = 0; n < 1000; n += 1) {
      const ids = [`${n}a`, `${n}b`]
      await write(ids, String(n))
      confirmed.push(...ids)
    }
  })().catch((error: unknown) => error)
  t.type(refusal, StoreUnavailable)
  t.match(refusal, { message: /its disk is full/ })
  t.type(refusal, StoreFull)
  t.match(store.unavailable, /its disk is full/)
  t.ok(confirmed.length > 10, `${confirmed.length} records were confirmed`)
  t.equal(store.writable, false)
  await t.rejects(write(['late'], 'late'), StoreUnavailable)
  t.same(held(store), confirmed.toSorted(), 'memory holds what was confirmed, and nothing else')
  await wait(300)
  t.equal(store.writable, false, 'and so it stays while the disk is full')

  rmSync(join(folder, 'ballast'))
  await until(() => store.writable)
  await write(['after'], 'after')
  confirmed.push('after')
  t.same(held(store), confirmed.toSorted())
  await store.close()
  const again = await embedded(folder)
  t.same(held(again), confirmed.toSorted())
  t.equal((await found(again.audit())).length, (confirmed.length - 1) / 2 + 1)
  await again.close()
}

t.test('embedded: a second process on one folder gets an error that names Redis', async (t) => {
  const folder = testFolder(t)
  const store = await embedded(folder)
  t.teardown(() => store.close())
  await t.rejects(embedded(folder), /is in use by another process; .* through Redis: store: redis:/)
  await store.batch([{ kind: THINGS, scope: A, id: 'x', value: 1 }])
  t.equal(statSync(join(folder, 'store')).mode & 0o777, 0o700)
})

t.test('embedded: a store that was damaged is not opened', async (t) => {
  const write = async (folder: string) => {
    const store = await embedded(folder)
    for (const id of ['x', 'y', 'z'])
      await store.batch([{ kind: THINGS, scope: A, id, value: 'x'.repeat(2000) }], [auditEntry(id)])
    await store.close()
    return join(folder, 'store')
  }
  const raw = async (folder: string, work: (db: ClassicLevel) => Promise<void>) => {
    const db = new ClassicLevel(folder)
    await db.open()
    await work(db)
    await db.close()
  }
  const nameOf = (id: string) => `r${JSON.stringify(['thing', 'account', 'a', id])}`
  const damages: [what: string, damage: (folder: string) => Promise<void> | void][] = [
    ['a bit flipped in a record', (folder) =>
      raw(folder, async (db) => db.put(nameOf('y'), (await db.get(nameOf('y')))!.replace('x', 'X')))],
    ['two records swapped', (folder) =>
      raw(folder, async (db) => {
        const [x, y] = await db.getMany([nameOf('x'), nameOf('y')])
        await db.batch([{ type: 'put', key: nameOf('x'), value: y! }, { type: 'put', key: nameOf('y'), value: x! }])
      })],
    ['a record lost', (folder) => raw(folder, (db) => db.del(nameOf('y')))],
    ['CURRENT lost', (folder) => rmSync(join(folder, 'CURRENT'))],
    ['the manifest overwritten', (folder) => {
      for (const file of readdirSync(folder))
        if (file.startsWith('MANIFEST')) writeFileSync(join(folder, file), Buffer.alloc(200, 7))
    }],
  ] // prettier-ignore
  for (const [what, damage] of damages) {
    const folder = testFolder(t, { [what]: {} })
    const inside = join(folder, what)
    await damage(await write(inside))
    await t.rejects(embedded(inside), /is damaged|cannot be opened/, what)
  }
})

t.test('embedded: a store of a newer version is not changed', async (t) => {
  const folder = testFolder(t)
  await (await embedded(folder)).close()
  const db = new ClassicLevel(join(folder, 'store'))
  await db.put('meta', JSON.stringify({ schema: SCHEMA + 1, version: 0, records: 0, sum: 0, audit: 0 }))
  await db.close()
  await t.rejects(
    embedded(folder),
    /written by a newer edged \(schema \d+, not \d+\); start that version, or restore a backup/,
  )
})

t.test('embedded: audit entries that are too old are deleted, and numbers are not used again', async (t) => {
  const folder = testFolder(t)
  let now = Date.parse('2026-01-01T00:00:00Z')
  const clock: Clock = { ...systemClock, now: () => now, monotonic: () => now }
  const open = () => openStore('embedded', { folder, log: silentLog, clock, retention: { entries: 1000, days: 30 } })
  const note = (store: Store) => store.batch([], [auditEntry('x', new Date(now).toISOString())])
  const store = await open()
  for (let day = 0; day < 20; day += 1) {
    await note(store)
    now += 86_400_000
  }
  const last = (await found(store.audit())).at(-1)!.cursor
  now += 100 * 86_400_000
  await note(store)
  t.equal((await found(store.audit())).length, 1)
  await store.close()
  const again = await open()
  t.teardown(() => again.close())
  t.equal((await found(again.audit(last))).length, 1)
  await note(again)
  t.equal((await found(again.audit(last))).length, 2)
})
