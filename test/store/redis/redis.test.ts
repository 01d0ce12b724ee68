import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { systemClock, type Clock } from '../../../src/core/clock.js'
import { silentLog, type Log } from '../../../src/core/log.js'
import { account } from '../../../src/core/scope.js'
import { kind, StoreUnavailable, type Store } from '../../../src/core/store.js'
import { openStore } from '../../../src/store/index.js'
import type { StoreOptions } from '../../../src/store/records/options.js'
import { SCHEMA } from '../../../src/store/migrations/index.js'
import { named, recordName, Row } from '../../../src/store/records/record.js'
import { AUDIT, CHANGES, COMMIT, META, REFILL, rowKey } from '../../../src/store/redis/script.js'
import { MemoryIndex } from '../../../src/store/records/memory-index.js'
import { openVault } from '../../../src/store/secrets/vault.js'
import { VisibleRecords } from '../../../src/store/records/visible-records.js'
import { auditEntry, found } from '../../contracts/store.js'
import { testFolder } from '../../helpers/folder.js'
import { NO_REDIS, redisServer, type RedisServer } from '../../helpers/redis.js'
import { until } from '../../helpers/web.js'

const THINGS = kind<{ readonly n: number; readonly text?: string }>('thing')
const A = account('a')

/** A clock whose seconds pass a hundred times as fast. */
const hasty: Clock = {
  ...systemClock,
  monotonic: () => systemClock.monotonic() * 100,
  sleep: (ms, signal) => systemClock.sleep(ms / 100, signal),
}

const open = async (t: Test, url: string, options: Partial<StoreOptions> = {}): Promise<Store> => {
  const store = await openStore(url, { folder: '', log: silentLog, ...options })
  t.teardown(() => store.close())
  return store
}

const put = (store: Store, id: string, n: number) => store.batch([{ kind: THINGS, scope: A, id, value: { n } }])
const held = (store: Store) => store.list(THINGS, A).map(({ id, version, value }) => [id, version, value])

if (NO_REDIS) t.test('redis', { skip: NO_REDIS }, async () => undefined)
else {
  const server = await redisServer(testFolder(t), '--databases', '64')
  t.teardown(() => server.kill())
  await withServer(server)
}

async function withServer(server: RedisServer): Promise<void> {
  let database = 0
  const freshUrl = () => `redis://127.0.0.1:${server.port}/${(database += 1)}`

  t.test('two machines see what each other writes, in one order', async (t) => {
    const url = freshUrl()
    const stores = [await open(t, url), await open(t, url)]
    const heard = stores.map((store) => {
      const versions: number[] = []
      store.watch((changes) => versions.push(...changes.map(({ version }) => version)))
      return versions
    })
    const written = await Promise.all(
      Array.from({ length: 100 }, async (_, n) => {
        const store = stores[n % 2]!
        const version = await put(store, String(n % 7), n)
        t.ok((store.get(THINGS, A, String(n % 7))?.version ?? 0) >= version, 'own writes are seen')
        return version
      }),
    )
    const all = written.toSorted((a, b) => a - b)
    await until(() => heard.every(({ length }) => length === 100))
    t.same(heard, [all, all])
    t.same(held(stores[0]!), held(stores[1]!))
    const third = await open(t, url)
    t.same(held(third), held(stores[0]!))
  })

  t.test('a machine that caught up reads what another one confirmed before', async (t) => {
    const url = freshUrl()
    const [writer, reader] = [await open(t, url), await open(t, url)]
    for (let n = 1; n <= 200; n++) {
      await put(writer, 'a', n)
      await Promise.all([reader.caughtUp(), reader.caughtUp()])
      if (reader.get(THINGS, A, 'a')?.value.n !== n) t.fail(`round ${n}`)
    }
    const direct = new Redis(url)
    t.teardown(() => direct.disconnect())
    await direct.flushdb()
    await t.rejects(reader.caughtUp()!, StoreUnavailable, 'not if the data was replaced')
    await until(() => reader.writable)
    t.equal(reader.get(THINGS, A, 'a')?.value.n, 200)
  })

  t.test('changes of two machines to one record all count', async (t) => {
    const url = freshUrl()
    const stores = [await open(t, url), await open(t, url)]
    await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        stores[index % 2]!.change(THINGS, A, 'counter', (old) => ({ n: (old?.n ?? 0) + 1 })),
      ),
    )
    await until(() => stores.every((store) => store.get(THINGS, A, 'counter')?.value.n === 60))
    t.pass()
  })

  t.test(
    'a machine that writes all the time does not read its own writes back, and sees those of others',
    async (t) => {
      const url = freshUrl()
      const store = await open(t, url)
      const admin = new Redis(url)
      t.teardown(() => admin.disconnect())
      const sent = async () => Number(/total_net_output_bytes:(\d+)/.exec(await admin.info('stats'))?.[1])
      const text = 'x'.repeat(50_000)
      const write = (n: number) => store.batch([{ kind: THINGS, scope: A, id: 'own', value: { n, text } }])
      const before = await sent()
      for (let n = 0; n < 100; n += 1) await write(n)
      t.ok((await sent()) - before < 50 * text.length, 'most batches are not read back')

      const other = await open(t, url)
      const seen = new AbortController()
      const writing = (async () => {
        for (let n = 0; !seen.signal.aborted; n += 1) await write(n)
      })()
      await put(other, 'foreign', 1)
      await until(() => store.get(THINGS, A, 'foreign') !== undefined)
      seen.abort()
      await writing
      await other.caughtUp()
      t.same(held(store), held(other))
    },
  )

  t.test('a machine that is too far behind the stream reloads everything', async (t) => {
    const url = freshUrl()
    const store = await open(t, url)
    await put(store, 'stays', 1)
    await put(store, 'goes', 2)
    const heard: unknown[][] = []
    store.watch((changes) => heard.push(...changes.map(({ id, value }) => [id, value])))

    // Three batches and a cut, as one step: a follower finds only the last of them.
    const admin = new Redis(url)
    t.teardown(() => admin.disconnect())
    const epoch = (await admin.hget(META, 'epoch'))!
    const steps = admin.multi()
    for (const [id, json] of [['goes', ''], ['new', '{"n":3}'], ['last', '{"n":4}']] as const) {
      const name = recordName(THINGS.name, A, id)
      steps.eval(COMMIT.lua, 4, META, CHANGES, AUDIT, rowKey(name), epoch, 100, 100, 1, '', json)
    } // prettier-ignore
    await steps.xtrim(CHANGES, 'MAXLEN', 1).exec()

    await until(() => store.get(THINGS, A, 'last') !== undefined)
    t.match(held(store), [['last', 5, { n: 4 }], ['new', 4, { n: 3 }], ['stays', 1, { n: 1 }]]) // prettier-ignore
    const before = (a: unknown[], b: unknown[]) => (String(a[0]) < String(b[0]) ? -1 : 1)
    t.same(heard.sort(before), [['goes', undefined], ['last', { n: 4 }], ['new', { n: 3 }]]) // prettier-ignore
    t.equal(await put(store, 'more', 6), 6)
  })

  t.test('when all data in Redis was deleted, one machine writes the records into it again', async (t) => {
    const url = freshUrl()
    const lines: { event: string }[] = []
    const log: Log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) })
    const stores = [await open(t, url, { log }), await open(t, url, { log })]
    const [first, second] = stores
    for (let n = 1; n <= 300; n++) await put(first!, `x${n}`, n)
    await until(() => second!.get(THINGS, A, 'x300') !== undefined)
    const before = held(first!)
    const changes: string[] = []
    for (const store of stores) store.watch((some) => changes.push(...some.map(({ id }) => id)))
    const admin = new Redis(url)
    t.teardown(() => admin.disconnect())
    await admin.flushdb()
    for (const store of stores) await t.rejects(put(store, 'y', 0), StoreUnavailable)
    await until(() => stores.every(({ writable }) => writable))
    for (const store of [...stores, await open(t, url)]) t.same(held(store), before)
    t.same(changes, [], 'nobody saw a change')
    t.equal(lines.filter(({ event }) => event === 'store_replaced').length, 1)
    t.equal(await admin.exists(REFILL), 0)
    t.equal(await put(second!, 'y', 1), 301)
    await until(() => first!.get(THINGS, A, 'y') !== undefined)
  })

  t.test('a machine that had records does not start with an empty Redis until that is accepted', async (t) => {
    const url = freshUrl()
    const folders = [testFolder(t), testFolder(t)]
    const start = async (folder: string, acceptEmpty = false) =>
      await openStore(url, { folder, log: silentLog, acceptEmpty })
    for (const folder of folders) {
      const store = await start(folder)
      await put(store, 'x', 1)
      await store.close()
    }
    const admin = new Redis(url)
    t.teardown(() => admin.disconnect())
    await admin.flushdb()
    for (const folder of folders) await t.rejects(start(folder), /all records in it are gone.*--accept-empty-store/)
    const accepting = await start(folders[0]!, true)
    const other = await start(folders[1]!)
    for (const store of [accepting, other]) {
      t.same(held(store), [], 'one machine accepts for all')
      await store.close()
    }
    const again = await start(folders[0]!)
    await again.close()
  })

  t.test('a machine waits while another one writes its records', async (t) => {
    const url = freshUrl()
    const store = await open(t, url)
    await put(store, 'x', 1)
    const admin = new Redis(url)
    t.teardown(() => admin.disconnect())
    await admin.multi().flushdb().set(REFILL, 'other', 'PX', 60_000).exec()
    await t.rejects(put(store, 'y', 2), StoreUnavailable)
    await until(() => /another machine writes its records/.test(store.unavailable ?? ''))
    const row = recordName(THINGS.name, A, 'x')
    await admin.multi().hset(rowKey(row), 'v', 5, 'j', '{"n":5}').hset(META, 'version', 5).del(REFILL).exec()
    await until(() => store.writable)
    t.same(held(store), [['x', 5, { n: 5 }]])
  })

  t.test('a Redis whose memory is full rejects writes until it has free memory', async (t) => {
    const url = freshUrl()
    const store = await open(t, url, { clock: hasty })
    await put(store, 'x', 1)
    const admin = new Redis(url)
    t.teardown(async () => {
      await admin.config('SET', 'maxmemory', 0)
      admin.disconnect()
    })
    await admin.config('SET', 'maxmemory', 1)
    await t.rejects(put(store, 'y', 2), { name: 'StoreUnavailable', message: /OOM/ })
    t.equal(store.writable, false)
    await t.rejects(put(store, 'y', 2), { name: 'StoreUnavailable', message: /takes no writes/ })
    t.match(held(store), [['x', 1]])
    await admin.config('SET', 'maxmemory', 0)
    await until(() => store.writable)
    await put(store, 'y', 2)
    t.equal(held(store).length, 2)
  })

  t.test('a key of another type is logged once, and again after it was repaired', async (t) => {
    const url = freshUrl()
    const lines: string[] = []
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
    const store = await open(t, url, { log, clock: hasty })
    await put(store, 'a', 1)
    const redis = new Redis(url)
    t.teardown(() => redis.disconnect())
    for (const times of [1, 2]) {
      await redis.multi().del(CHANGES).set(CHANGES, 'text').exec()
      await until(() => !store.writable)
      await until(() => store.unavailable?.includes('WRONGTYPE') === true)
      t.match(store.unavailable, /cannot be used: WRONGTYPE/)
      await t.rejects(put(store, 'b', 1), StoreUnavailable)
      const tries = Number(/cmdstat_xlen:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1])
      await until(async () => {
        const calls = /cmdstat_xlen:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1]
        return Number(calls) > tries + 3
      })
      t.equal(lines.filter((line) => line.includes('WRONGTYPE')).length, times, 'more attempts, no more lines')
      await redis.del(CHANGES)
      await until(() => store.writable)
    }
    await put(store, 'b', 2)
    t.same(
      held(store).map(([id]) => id),
      ['a', 'b'],
    )
  })

  t.test('a lost connection is restored, with the changes missed in between', async (t) => {
    const url = freshUrl()
    const [store, other] = [await open(t, url), await open(t, url)]
    const admin = new Redis(url)
    t.teardown(() => admin.disconnect())
    for (let n = 0; n < 5; n += 1) {
      await admin.client('KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      const written = () => put(other, String(n), n).then(() => true, () => false) // prettier-ignore
      for (let tries = 0; tries < 500 && !(await written()); tries += 1) await wait(20)
      await until(() => store.get(THINGS, A, String(n)) !== undefined)
    }
    t.same(held(store), held(other))
  })

  t.test('audit entries that are too old are deleted', async (t) => {
    const store = await open(t, freshUrl(), { clock: hasty, retention: { entries: 10_000, days: 1e-7 } })
    await store.batch(
      [],
      Array.from({ length: 500 }, (_, n) => auditEntry(String(n))),
    )
    let left = 500
    for (let tries = 0; left >= 200 && tries < 500; tries += 1) {
      await wait(20)
      left = (await found(store.audit())).length
    }
    t.ok(left < 200, `${left} are left`)
  })

  t.test('a second machine with another key is rejected', async (t) => {
    const url = freshUrl()
    const [one, two] = [testFolder(t, { one: {}, two: {} })].flatMap((dir) => [join(dir, 'one'), join(dir, 'two')])
    const first = await openVault(await open(t, url), { keyFile: join(one!, 'secret.key') }, silentLog)
    const again = await openVault(await open(t, url), { keyFile: join(one!, 'secret.key') }, silentLog)
    t.equal(again.open(first.seal('x', 'a'), 'a'), 'x')
    await t.rejects(openVault(await open(t, url), { keyFile: join(two!, 'secret.key') }, silentLog), /is missing/)
    await t.rejects(
      openVault(await open(t, url), { keyFile: '', key: '02'.repeat(32) }, silentLog),
      /sealed with key [0-9a-f]{8}/,
    )
  })

  t.test('data of a newer version is not changed', async (t) => {
    const url = freshUrl()
    await (await open(t, url)).close()
    const admin = new Redis(url)
    t.teardown(() => admin.disconnect())
    await admin.hset(META, 'schema', SCHEMA + 1)
    await t.rejects(
      openStore(url, { folder: '', log: silentLog }),
      /newer edged \(schema \d+, not \d+\); start that version/,
    )
  })
}

// A Redis restarted without its last batches: one of them, delivered early, replaced a later one of the same number.
t.test('early batches of data that was deleted are dropped', async (t) => {
  const resident = new MemoryIndex(silentLog)
  const visible = new VisibleRecords(resident, 10)
  const name = recordName(THINGS.name, A, 'x')
  const at = named(name)
  const row = (n: number) => new Row(at, 12, JSON.stringify({ n }))
  visible.deliver(12, [{ name, at, row: row(1) }])
  const lost = t.rejects(visible.reached(12), StoreUnavailable, 'nobody waits for what does not come')
  visible.replace(new Map(), 5, { anew: true })
  await lost
  for (let version = 6; version <= 11; version++) visible.deliver(version, [])
  t.equal(resident.get(THINGS, A, 'x'), undefined)
  visible.deliver(12, [{ name, at, row: row(2) }])
  t.same(resident.get(THINGS, A, 'x')?.value, { n: 2 })
})

t.test(
  'a Redis without persistence: a warning, and the same records after a restart',
  { skip: NO_REDIS },
  async (t) => {
    const server = await redisServer(testFolder(t), '--appendonly', 'no')
    t.teardown(() => server.kill())
    const lines: { event: string; setting?: string }[] = []
    const log: Log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) })
    const store = await open(t, server.url, { log })
    t.match(lines.filter(({ event }) => event === 'redis_may_lose'), [{ setting: 'appendonly' }]) // prettier-ignore
    await put(store, 'x', 1)
    const removed: string[] = []
    store.watch((changes) => removed.push(...changes.filter(({ value }) => value === undefined).map(({ id }) => id)))
    await server.kill()
    t.equal(store.get(THINGS, A, 'x')?.value.n, 1, 'reads go on')
    await until(() => !store.writable)
    await server.start()
    await until(() => store.writable)
    t.same([held(store), removed], [[['x', 1, { n: 1 }]], []])
    // It depends on the speed of the machine whether a look at Redis fails while it starts.
    const events = lines.map(({ event }) => event).filter((event) => event !== 'store_still_unavailable')
    t.same(events.slice(-4), ['store_available', 'store_unavailable', 'store_replaced', 'store_available'])
  },
)

t.test('a Redis that cannot be used is named, its password is not', { skip: NO_REDIS }, async (t) => {
  const server = await redisServer(testFolder(t), '--requirepass', 'right-password')
  t.teardown(() => server.kill())
  const at = `127.0.0.1:${server.port}`
  await open(t, `redis://:right-password@${at}/0`)
  for (const [url, reason] of [
    [`redis://:wrong-password@${at}/0`, /WRONGPASS/],
    [`redis://${at}/0`, /NOAUTH|Authentication required/],
    ['redis://:wrong-password@127.0.0.1:1/0', /ECONNREFUSED/],
    ['rediss://:wrong-password@127.0.0.1:1/0', /ECONNREFUSED/],
  ] as const) {
    const error = (await openStore(url, { folder: '', log: silentLog }).catch((error: unknown) => error)) as Error
    t.match(error.message, reason, url)
    t.match(error.message, /^Redis at 127\.0\.0\.1:\d+ cannot be used/)
    t.notMatch(error.message, /password@|wrong-password/)
  }
})
