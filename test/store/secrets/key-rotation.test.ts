import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { systemClock, type Clock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import { account, DAEMON } from '../../../src/core/scope.js'
import { kind, type Store } from '../../../src/core/store.js'
import { secretOf, type Sealed } from '../../../src/core/vault.js'
import { openStore } from '../../../src/store/index.js'
import { KeyRotation } from '../../../src/store/secrets/key-rotation.js'
import { keyId, keyIdOf, type Keyring } from '../../../src/store/secrets/keyring.js'
import { CERTIFICATES } from '../../../src/store/secrets/reseal.js'
import { openVault } from '../../../src/store/secrets/vault.js'
import { MANAGED_CERTIFICATES } from '../../../src/tls/acme/records.js'
import { testFolder } from '../../helpers/folder.js'
import { NO_REDIS, redisServer } from '../../helpers/redis.js'

const HOOKS = kind<{ readonly secret?: Sealed; readonly data?: unknown }>('webhook')
const A = account('a')
const OLD = randomBytes(32)
const NEW = randomBytes(32)
const [OLD_ID, NEW_ID] = [keyId(OLD), keyId(NEW)]

/** A clock whose seconds pass a hundred times as fast. */
const hasty: Clock = {
  ...systemClock,
  monotonic: () => systemClock.monotonic() * 100,
  sleep: (ms, signal) => systemClock.sleep(ms / 100, signal),
}

interface Machine {
  readonly store: Store
  readonly ring: Keyring
  readonly rotation: KeyRotation
  /** Ends without a word to the others. */
  crash(): Promise<void>
}

async function machine(
  url: string,
  self: string,
  [key, ...old]: readonly Buffer[],
  running: readonly string[] = [],
): Promise<Machine> {
  const store = await openStore(url, { folder: '', log: silentLog, clock: hasty })
  try {
    const keys = { keyFile: '', key: key!.toString('hex'), oldKeys: old.map((one) => one.toString('hex')) }
    const ring = await openVault(store, keys, silentLog, { shared: true })
    const shared = { self, running: () => running }
    const rotation = await KeyRotation.open({ store, ring, clock: hasty, log: silentLog, shared })
    return { store, ring, rotation, crash: async () => await store.close() }
  } catch (error) {
    await store.close()
    throw error
  }
}

async function stop({ rotation, store }: Machine): Promise<void> {
  await rotation.close()
  await store.close()
}

const write = async ({ store, ring }: Machine, id: string): Promise<void> => {
  const sealed = ring.seal(`text of ${id}`, secretOf(HOOKS, A, id))
  await store.batch([{ kind: HOOKS, scope: A, id, value: { secret: { sealed } } }])
  const key = ring.derivedRing(CERTIFICATES).seal(`key of ${id}`, secretOf(MANAGED_CERTIFICATES, DAEMON, id))
  await store.batch([{ kind: MANAGED_CERTIFICATES, scope: DAEMON, id, value: { key, orders: [], failures: 0 } }])
}

/** Returns how many secrets a machine reads. Throws if one of them cannot be read. */
async function readAll({ store, ring }: Machine): Promise<number> {
  await store.caughtUp()
  const hooks = store.list(HOOKS, A).filter(({ value }) => value.secret)
  for (const { id, value } of hooks) ring.open(value.secret!.sealed, secretOf(HOOKS, A, id))
  const certificates = store.list<{ readonly key?: string }>(MANAGED_CERTIFICATES, DAEMON)
  for (const { id, value } of certificates)
    ring.derivedRing(CERTIFICATES).open(value.key!, secretOf(MANAGED_CERTIFICATES, DAEMON, id))
  return hooks.length + certificates.length
}

const keyOf = ({ store }: Machine, id: string) => keyIdOf(store.get(HOOKS, A, id)!.value.secret!.sealed)

/** Makes steps of both machines until one of them reports that the rotation is complete. */
async function complete(machines: readonly Machine[]): Promise<void> {
  for (let tries = 0; tries < 2000; tries += 1) {
    for (const { rotation } of machines) await rotation.step()
    const found = await Promise.all(machines.map(async ({ rotation }) => await rotation.status()))
    if (found.every((status) => status.complete)) return
    await systemClock.sleep(10)
  }
  throw new Error('the rotation was not completed')
}

if (NO_REDIS) t.test('rotation over machines', { skip: NO_REDIS }, async () => undefined)
else {
  const server = await redisServer(testFolder(t), '--databases', '64')
  t.teardown(() => server.kill())
  let database = 0
  withRedis(() => `redis://127.0.0.1:${server.port}/${(database += 1)}`)
}

function withRedis(freshUrl: () => string): void {
  t.test('two machines replace the key, and each reads what the other writes at every step', async (t) => {
    const url = freshUrl()
    let one = await machine(url, 'one', [OLD])
    let two = await machine(url, 'two', [OLD])
    for (const id of ['a', 'b', 'c']) await write(one, id)
    let expected = 6
    const check = async (t: Test, step: string): Promise<void> => {
      await write(one, `${step} one`)
      await write(two, `${step} two`)
      expected += 4
      t.equal(await readAll(one), expected, step)
      t.equal(await readAll(two), expected, step)
    }

    await stop(one)
    one = await machine(url, 'one', [NEW, OLD])
    await one.rotation.step()
    await check(t, 'one has both keys')
    t.equal(keyOf(one, 'one has both keys one'), OLD_ID, 'the other one lacks the new key')
    t.match(await one.rotation.status(), { key: OLD_ID, wanted: NEW_ID, waitsFor: ['two'], complete: false })

    await stop(two)
    two = await machine(url, 'two', [NEW, OLD])
    await check(t, 'both have both keys')
    await two.rotation.step()
    await check(t, 'the key is changed')
    t.equal(keyOf(two, 'the key is changed two'), NEW_ID)
    await one.store.caughtUp()
    await write(one, 'later')
    expected += 2
    t.equal(keyOf(one, 'later'), NEW_ID, 'the other machine follows')

    await complete([one, two])
    await check(t, 'all is encrypted again')
    const status = await two.rotation.status()
    t.match(status, { key: NEW_ID, waitsFor: [], unreadable: 0 })
    t.equal(status.byKey.get(OLD_ID), 0)
    t.equal(status.byKey.get(NEW_ID), expected)

    await stop(one)
    one = await machine(url, 'one', [NEW])
    await check(t, 'one has no old key')
    await stop(two)
    two = await machine(url, 'two', [NEW])
    await check(t, 'no machine has the old key')
    await stop(one)
    await stop(two)
  })

  t.test('a machine without the new key either starts before the change or is rejected', async (t) => {
    for (let round = 0; round < 10; round += 1) {
      const url = freshUrl()
      const one = await machine(url, 'one', [NEW, OLD]).catch(() => undefined)
      t.ok(one, 'a new store has the first key')
      await stop(one!)
      // The data was written with the old key.
      const before = await machine(freshUrl(), 'one', [OLD])
      const old = before.store.get(kind<Sealed>('vault_check'), DAEMON, 'key')!.value
      await stop(before)
      const again = await openStore(url, { folder: '', log: silentLog })
      await again.batch([
        { kind: kind('vault_check'), scope: DAEMON, id: 'key', value: old },
        { kind: kind('vault_writing_key'), scope: DAEMON, id: 'key', value: { key: OLD_ID } },
      ])
      await again.close()
      const first = await machine(url, 'one', [NEW, OLD])
      const { batch } = first.store
      let between: Machine | undefined
      first.store.batch = async (writes, audit) => {
        // The other machine starts after the decision and before the write.
        if (round === 0 && writes[0]?.kind.name === 'vault_writing_key') between ??= await machine(url, 'two', [OLD])
        return await batch.call(first.store, writes, audit)
      }
      if (round === 0) {
        await first.rotation.step()
        t.ok(between, 'the change was decided')
        t.match(await first.rotation.status(), { key: OLD_ID, waitsFor: ['two'] })
        await write(first, 'a')
        t.equal(await readAll(between!), 2)
        await stop(between!)
        await stop(first)
        continue
      }
      const [, late] = await Promise.all([
        first.rotation.step(),
        machine(url, 'two', [OLD]).catch((error: unknown) => error as Error),
      ])
      await first.store.caughtUp()
      const { key } = first.store.get(kind<{ key: string }>('vault_writing_key'), DAEMON, 'key')!.value
      if (late instanceof Error) {
        t.equal(key, NEW_ID)
        t.match(late.message, new RegExp(NEW_ID))
      } else {
        t.equal(key, OLD_ID)
        await stop(late)
      }
      await stop(first)
    }
  })

  t.test('after kill -9 in the middle another machine goes on', async (t) => {
    const url = freshUrl()
    let one = await machine(url, 'one', [OLD])
    for (let i = 0; i < 100; i += 1) await write(one, String(i))
    await stop(one)
    one = await machine(url, 'one', [NEW, OLD])
    const two = await machine(url, 'two', [NEW, OLD])
    await new Promise<void>((began) => {
      one.store.change = async () => {
        began()
        // It neither writes nor renews nor releases anything from now on.
        return await new Promise(() => undefined)
      }
      const steps = async () => {
        // The step that changes the key may encrypt again too.
        for (let steps = 0; steps < 2; steps += 1) await one.rotation.step()
      }
      void steps().catch(() => undefined)
    })
    await two.store.caughtUp()
    await one.crash()
    t.equal(await readAll(two), 200)
    await complete([two])
    t.equal(await readAll(two), 200)
    t.equal((await two.rotation.status()).byKey.get(OLD_ID), 0)
    await stop(two)
  })

  t.test('a text of a user that looks encrypted does not keep the old key in use', async (t) => {
    const url = freshUrl()
    const first = await machine(url, 'one', [OLD])
    await write(first, 'a')
    const data = { sealed: `v1.${OLD_ID}.${'A'.repeat(60)}` }
    await first.store.batch([{ kind: HOOKS, scope: A, id: 'user', value: { data } }])
    await stop(first)
    const one = await machine(url, 'one', [NEW, OLD])
    await complete([one])
    const status = await one.rotation.status()
    t.equal(status.byKey.get(OLD_ID), 0)
    t.equal(status.unreadable, 1)
    t.same(one.store.get(HOOKS, A, 'user')!.value, { data })
    await stop(one)
  })

  t.test('a machine that announces no keys is waited for', async (t) => {
    const url = freshUrl()
    await stop(await machine(url, 'one', [OLD]))
    const one = await machine(url, 'one', [NEW, OLD], ['one', 'older version'])
    await one.rotation.step()
    t.match(await one.rotation.status(), { key: OLD_ID, waitsFor: ['older version'] })
    await stop(one)
  })

  t.test('a machine that missed the change stores no secrets, and says why', async (t) => {
    const url = freshUrl()
    const cut = await machine(url, 'cut', [OLD])
    const other = await openStore(url, { folder: '', log: silentLog })
    t.teardown(() => other.close())
    await other.batch([{ kind: kind('vault_writing_key'), scope: DAEMON, id: 'key', value: { key: NEW_ID } }])
    await cut.store.caughtUp()
    t.throws(() => cut.ring.seal('text', 'a'), { name: 'StoreUnavailable', message: new RegExp(NEW_ID) })
    t.match(cut.rotation.unavailable, new RegExp(NEW_ID))
    await stop(cut)
  })
}

t.test('one machine with an embedded store changes its key at its start', async (t) => {
  const folder = testFolder(t)
  const opened = async (...[key, ...old]: Buffer[]) => {
    const store = await openStore('embedded', { folder, log: silentLog })
    const keys = { keyFile: '', key: key!.toString('hex'), oldKeys: old.map((one) => one.toString('hex')) }
    const ring = await openVault(store, keys, silentLog)
    const rotation = await KeyRotation.open({ store, ring, clock: systemClock, log: silentLog, shared: undefined })
    return { store, ring, rotation, crash: async () => await store.close() }
  }
  const before = await opened(OLD)
  await write(before, 'a')
  await stop(before)
  const during = await opened(NEW, OLD)
  await write(during, 'b')
  t.equal(keyOf(during, 'b'), NEW_ID)
  t.match(await during.rotation.status(), { key: NEW_ID, complete: false })
  await during.rotation.step()
  t.match(await during.rotation.status(), { complete: true, unreadable: 0 })
  await stop(during)
  const after = await opened(NEW)
  t.equal(await readAll(after), 4)
  await stop(after)
})
