import { cp, readdir } from 'node:fs/promises'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { ClassicLevel } from 'classic-level'
import { silentLog } from '../../src/core/log.js'
import { LISTS } from '../../src/core/model/list.js'
import { WEBHOOKS } from '../../src/core/model/webhook.js'
import { zone } from '../../src/core/scope.js'
import { kind, type Store } from '../../src/core/store.js'
import { secretOf } from '../../src/core/vault.js'
import type { Disk } from '../../src/disk/durable-write.js'
import { openBackup } from '../../src/store/backup/read.js'
import { openStore, RedisUnreachable } from '../../src/store/index.js'
import { encodeRow, META as LEVEL_META, rowKey as levelKey, type Meta } from '../../src/store/level/format.js'
import { SCHEMA } from '../../src/store/migrations/index.js'
import { named, recordName, Row } from '../../src/store/records/record.js'
import { migrateRedis } from '../../src/store/redis/migrate.js'
import { CHANGES, COMMIT, AUDIT, META, MIGRATION, rowKey } from '../../src/store/redis/script.js'
import { stateOf } from '../../src/webhooks/delivery-state.js'
import { openVault } from '../../src/store/secrets/vault.js'
import { testFolder } from '../helpers/folder.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'

const FIRST_RELEASE = fileURLToPath(new URL('../fixtures/stores/schema-1', import.meta.url))

const ZONE = zone('9f1839b6152d298aca64c4e906b6d074')
const CURSORS = kind<{ readonly spool: string; readonly state: object }>('logpush_cursor')

/** Cursors as schema 1 has them, and in the form of schema 2. */
const STATES: readonly (readonly [before: object, after: object])[] = [
  [{ next: 7 }, { next: 7 }],
  [{ next: 7, open: { first: 7, end: 9, name: 'one' } }, { next: 7, batches: [[9, 'one']] }],
  [
    { next: 7, keep: 5, open: { first: 7, end: 9, name: 'one', notes: { skip: 1 } }, also: [[11, null], [12, '']] },
    { next: 7, keep: 5, batches: [[9, 'one', { skip: 1 }], [11, null], [12, '']] },
  ],
  [{ next: 7, also: [[9, 'one']] }, { next: 7, batches: [[9, 'one']] }],
] // prettier-ignore

const rowsBefore = (): Row[] => [
  ...STATES.map(([state], n) => row('logpush_cursor', `http_requests:job-${n}`, { spool: 's', state })),
  row('thing', 'a', { open: { first: 1 } }),
]

const row = (kind: string, id: string, value: unknown): Row =>
  new Row(named(recordName(kind, ZONE, id)), 3, JSON.stringify(value))

function check(t: Test, store: Store): void {
  const found = store.list(CURSORS, ZONE).map(({ value }) => value)
  t.strictSame(found, STATES.map(([, state]) => ({ spool: 's', state }))) // prettier-ignore
  t.strictSame(store.get(kind('thing'), ZONE, 'a')?.value, { open: { first: 1 } }, 'others stay as they are')
}

/** Two deliveries as schema 2 has them, one of them without a state, which the versions before schema 3 do not send. */
const deliveryRows = (): Row[] => [
  row('delivery', 'sent', { id: 'sent', created_at: '2026-01-01T00:00:00Z', payload: '{}' }),
  row('delivery_state', 'sent', { status: 'completed', last_updated_at: '2026-01-01T00:00:01Z', tries: [] }),
  row('delivery', 'unsent', { id: 'unsent', created_at: '2026-01-01T00:00:00Z', payload: '{}' }),
]

function checkDeliveries(t: Test, store: Store): void {
  const found = [...store.records()].map(({ kind, id, version }) => `${kind} ${id} ${version}`)
  t.strictSame(found.toSorted(), ['delivery sent 3', 'delivery unsent 3', 'delivery_state sent 3'])
  t.match(stateOf(store, ZONE, 'unsent'), { status: 'pending', tries: [] })
}

/** Creates an embedded store. */
async function oldStore(folder: string, schema = 1, rows = rowsBefore()): Promise<void> {
  const db = new ClassicLevel<string, Buffer | string>(join(folder, 'store'), { valueEncoding: 'buffer' })
  let sum = 0
  for (const each of rows) {
    await db.put(levelKey(each.name), encodeRow(each, each.name))
    sum ^= each.sum
  }
  const meta: Meta = { schema, version: 3, records: rows.length, sum, audit: 0 }
  await db.put(LEVEL_META, JSON.stringify(meta), { valueEncoding: 'utf8' })
  await db.close()
}

/** The file system until operation `count`, which fails as all after it do: what a killed process leaves. */
function diskUntil(count: number): Disk & { readonly failed: boolean } {
  let left = count
  const limited = new Proxy<Disk>(fs, {
    get: (target, name: keyof Disk) => {
      if ((name as string) === 'failed') return left < 0
      return async (...args: never[]) => {
        left -= 1
        if (left < 0) throw new Error('killed')
        return await (target[name] as (...args: never[]) => Promise<unknown>)(...args)
      }
    },
  })
  return limited as Disk & { readonly failed: boolean }
}

t.test('data of the first release is served as before, and stays beside the new store', async (t) => {
  const folder = testFolder(t)
  await cp(FIRST_RELEASE, folder, { recursive: true })
  const store = await openStore('embedded', { folder, log: silentLog })
  const kinds = new Set([...store.records()].map(({ kind }) => kind))
  t.ok(kinds.size > 25, `${kinds.size} kinds of records`)
  t.match(store.list(LISTS), [{ value: { name: 'blocked' } }])
  const vault = await openVault(store, { key: 'ab'.repeat(32), keyFile: '' }, silentLog)
  const webhook = store.list(WEBHOOKS).find(({ value }) => value.signing_secret)!
  const aad = secretOf(WEBHOOKS, webhook.scope, webhook.id)
  t.equal(vault.open(webhook.value.signing_secret!.sealed, aad), 's'.repeat(32), 'its secrets can be read')
  await store.close()

  const old = new ClassicLevel(join(folder, 'store.schema-1'))
  t.match(JSON.parse((await old.get('meta'))!), { schema: 1 })
  t.equal((await old.keys({ gte: 'r', lt: 's' }).all()).length, [...store.records()].length)
  await old.close()
})

t.test('a migration of the embedded store that is killed at any step ends with the next start', async (t) => {
  let steps = 0
  for (let failed = true; failed; steps++) {
    const folder = testFolder(t, { [`${steps}`]: {} })
    const data = join(folder, String(steps))
    await oldStore(data)
    const disk = diskUntil(steps)
    const first = await openStore('embedded', { folder: data, log: silentLog, disk }).catch((error: Error) => {
      t.match(error.message, /cannot be (copied|created|synced|read)/)
    })
    await first?.close()
    const store = await openStore('embedded', { folder: data, log: silentLog })
    check(t, store)
    await store.close()
    t.strictSame((await readdir(data)).sort(), ['store', 'store.schema-1'])
    failed = disk.failed
  }
  t.ok(steps > 4, `${steps} steps`)
})

t.test(
  'a store with deliveries that have no state gets a number that older versions reject, after a copy',
  async (t) => {
    const folder = testFolder(t)
    await oldStore(folder, 2, deliveryRows())
    const store = await openStore('embedded', { folder, log: silentLog })
    checkDeliveries(t, store)
    await store.close()
    for (const [name, schema] of [
      ['store', SCHEMA],
      ['store.schema-2', 2],
    ] as const) {
      const db = new ClassicLevel(join(folder, name))
      t.match(JSON.parse((await db.get('meta'))!), { schema, records: 3 }, name)
      await db.close()
    }
  },
)

t.test('Redis', { skip: NO_REDIS }, async (t) => {
  const server = await redisServer(testFolder(t), '--databases', '200')
  t.teardown(() => server.kill())
  let database = 0

  async function oldRedis(t: Test, schema = 1, rows = rowsBefore()): Promise<{ url: string; redis: Redis }> {
    const url = `redis://127.0.0.1:${server.port}/${(database += 1)}`
    const redis = new Redis(url)
    t.teardown(() => redis.disconnect())
    await redis.hset(META, 'schema', schema, 'epoch', 'before', 'version', 3)
    for (const { name, json } of rows) await redis.hset(rowKey(name), 'v', 3, 'j', json)
    return { url, redis }
  }

  await t.test('a start migrates the data after a copy, which older versions can restore', async (t) => {
    const { url, redis } = await oldRedis(t)
    const folder = testFolder(t)
    const store = await openStore(url, { folder, log: silentLog })
    t.teardown(() => store.close())
    check(t, store)
    t.equal(store.get(CURSORS, ZONE, 'http_requests:job-1')?.version, 4, 'a new version of the record')
    t.strictSame(await redis.hmget(META, 'schema', 'version', 'migrating'), [String(SCHEMA), '4', null])
    t.not(await redis.hget(META, 'epoch'), 'before')
    t.strictSame((await redis.keys('edged:new:*')).concat(await redis.keys(MIGRATION)), [], 'nothing is left over')
    await store.batch([{ kind: kind('thing'), scope: ZONE, id: 'b', value: 1 }])

    const backup = await openBackup(join(folder, 'store.schema-1.tar'))
    t.match(backup.manifest, { format: 1, records: STATES.length + 1, version: 3 })
    const restored: string[] = []
    for await (const { id, json } of backup.rows()) restored.push(id + json)
    t.match(restored.join(), /job-1\{"spool":"s","state":\{"next":7,"batches"/, 'this version restores it converted')
    await backup.close()
  })

  await t.test(
    'data with deliveries that have no state gets a number that running older machines reject',
    async (t) => {
      const { url, redis } = await oldRedis(t, 2, deliveryRows())
      const folder = testFolder(t)
      const store = await openStore(url, { folder, log: silentLog })
      t.teardown(() => store.close())
      checkDeliveries(t, store)
      t.equal(await redis.hget(META, 'schema'), String(SCHEMA))
      const name = recordName('delivery', ZONE, 'late')
      const late = await redis.eval(COMMIT.lua, 4, META, CHANGES, AUDIT, rowKey(name), 'before', 9, 9, 1, name, '', '1')
      t.strictSame(late, ['epoch'])
      const backup = await openBackup(join(folder, 'store.schema-2.tar'))
      t.match(backup.manifest, { schema: 2, records: 3 })
      await backup.close()
    },
  )

  await t.test('a migration that is killed at any command ends with the next start', async (t) => {
    let commands = 0
    for (let done = false; !done; commands++) {
      const { url, redis } = await oldRedis(t)
      let left = commands
      const killed = new Proxy(redis, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name)
          if (typeof member !== 'function') return member
          return (...args: never[]) => {
            left -= 1
            if (left < 0) throw new Error('killed')
            return (member as (...args: never[]) => unknown).apply(target, args)
          }
        },
      })
      const folder = testFolder(t, { [`${commands}`]: {} })
      const deps = { log: silentLog, copy: async () => 'a copy' }
      done = await migrateRedis(killed, deps).then(
        () => true,
        () => false,
      )
      // The lock of a killed process expires.
      await redis.del(MIGRATION)
      const store = await openStore(url, { folder: join(folder, String(commands)), log: silentLog })
      check(t, store)
      t.strictSame(await redis.keys('edged:new:*'), [])
      await store.close()
    }
    t.ok(commands > 10, `${commands} commands`)
  })

  await t.test('one of several machines migrates, the others wait; older versions write nothing', async (t) => {
    const { url, redis } = await oldRedis(t)
    await redis.set(MIGRATION, 'alpha (process 7)', 'PX', 60_000)
    const wait = openStore(url, { folder: testFolder(t), log: silentLog })
    await t.rejects(wait, {
      name: 'RedisUnreachable',
      message: /is being migrated by alpha \(process 7\); this machine waits/,
    })
    await redis.del(MIGRATION)
    const starts = await Promise.allSettled(
      ['one', 'two', 'three'].map((name) =>
        openStore(url, { folder: join(testFolder(t, { one: {}, two: {}, three: {} }), name), log: silentLog }),
      ),
    )
    const open = starts.filter((start) => start.status === 'fulfilled').map(({ value }) => value)
    t.ok(open.length > 0)
    for (const start of starts) if (start.status === 'rejected') t.ok(start.reason instanceof RedisUnreachable)
    for (const store of open) check(t, store)
    const name = recordName('thing', ZONE, 'late')
    const late = await redis.eval(COMMIT.lua, 4, META, CHANGES, AUDIT, rowKey(name), 'before', 9, 9, 1, '', '1')
    t.strictSame(late, ['epoch'])
    for (const store of open) await store.close()
  })
})
