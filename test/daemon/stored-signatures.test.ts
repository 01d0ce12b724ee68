import t, { type Test } from 'tap'
import { systemClock, type Clock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import { SPENT_SIGNATURES } from '../../src/core/model/spent-signature.js'
import { DAEMON } from '../../src/core/scope.js'
import type { Store } from '../../src/core/store.js'
import { StoredSignatures } from '../../src/daemon/proxy/stored-signatures.js'
import { MAX_SPENT } from '../../src/edge/agents/spent-signatures.js'
import { openStore } from '../../src/store/index.js'
import { testFolder } from '../helpers/folder.js'
import { HandClock } from '../helpers/hand-clock.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'

const open = async (clock: Clock, url = 'memory', folder = ''): Promise<Store> =>
  await openStore(url, { folder, log: silentLog, clock })

function ledger(t: Test, store: Store, clock: HandClock): StoredSignatures {
  const spent = new StoredSignatures({ store, clock, log: silentLog })
  t.teardown(async () => await spent.close())
  return spent
}

t.test('a signature is spent once, by many that ask at the same time', async (t) => {
  const clock = new HandClock()
  const store = await open(clock)
  const spent = ledger(t, store, clock)
  const expires = clock.now() / 1000 + 60
  const results = await Promise.all(Array.from({ length: 50 }, async () => await spent.spend('a', expires)))
  t.equal(results.filter((reason) => reason === undefined).length, 1)
  t.equal(results.filter((reason) => reason === 'used').length, 49)
  await spent.release('a')
  t.equal(await spent.spend('a', expires), undefined, 'a request that was not charged')
})

t.test('it stays spent after a restart, and is forgotten after it expires', async (t) => {
  const clock = new HandClock()
  const folder = testFolder(t)
  const first = await open(clock, 'embedded', folder)
  const before = new StoredSignatures({ store: first, clock, log: silentLog })
  const expires = clock.now() / 1000 + 600
  t.equal(await before.spend('a', expires), undefined)
  await before.close()
  await first.close()
  const store = await open(clock, 'embedded', folder)
  t.teardown(async () => await store.close())
  const spent = new StoredSignatures({ store, clock, log: silentLog })
  t.equal(await spent.spend('a', expires), 'used')
  const gone = new Promise<void>((resolve) => {
    store.watch((changes) => void (changes.some(({ value }) => value === undefined) && resolve()))
  })
  await clock.advance(600_000)
  t.equal(await spent.spend('a', expires), 'used', 'clocks differ')
  await clock.advance(240_000)
  await gone
  t.equal(store.count(SPENT_SIGNATURES), 0)
  await spent.close()
})

t.test('no more are remembered than fit', async (t) => {
  const clock = new HandClock()
  const store = await open(clock)
  const writes = Array.from({ length: MAX_SPENT }, (_, at) => ({
    kind: SPENT_SIGNATURES,
    scope: DAEMON,
    id: String(at),
    value: { expires: clock.now() / 1000 + 60 },
  }))
  for (let at = 0; at < writes.length; at += 1000) await store.batch(writes.slice(at, at + 1000))
  t.equal(await ledger(t, store, clock).spend('a', 1), 'full')
})

t.test('machines with one Redis spend a signature once', { skip: NO_REDIS }, async (t) => {
  const clock = new HandClock()
  const server = await redisServer(testFolder(t))
  // The connection has times of its own.
  const stores = [await open(systemClock, server.url), await open(systemClock, server.url)]
  t.teardown(async () => {
    for (const store of stores) await store.close()
    await server.kill()
  })
  const [one, other] = stores.map((store) => ledger(t, store, clock)) as [StoredSignatures, StoredSignatures]
  const expires = clock.now() / 1000 + 60
  for (let at = 0; at < 20; at++) {
    const results = await Promise.all([one.spend(`a${at}`, expires), other.spend(`a${at}`, expires)])
    t.equal(results.filter((reason) => reason === undefined).length, 1)
  }
})
