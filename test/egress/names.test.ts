import t from 'tap'
import { fairResolve } from '../../src/egress/fair-resolve.js'
import { cachedResolve } from '../../src/egress/name-cache.js'

/** A resolver whose names that begin with `slow` wait until `finish` is called. */
function resolver() {
  const asked: string[] = []
  const hanging: (() => void)[] = []
  const resolve = async (name: string) => {
    asked.push(name)
    if (name.startsWith('slow')) await new Promise<void>((done) => hanging.push(done))
    if (name.startsWith('none')) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    return ['192.0.2.1']
  }
  const finish = () => {
    for (const done of hanging.splice(0)) done()
  }
  return { asked, resolve, finish, hanging }
}

t.test('slow names of one tenant delay no other tenant', async (t) => {
  const { asked, resolve, finish, hanging } = resolver()
  let now = 0
  const fair = fairResolve(resolve, () => now)
  const slow = Array.from({ length: 50 }, (_, i) => fair(`slow-${i}.test`, 'mallory'))
  t.equal(asked.length, 1, 'one lookup of a tenant at a time')
  t.strictSame(await fair('a.test', 'alice'), ['192.0.2.1'])
  t.strictSame(await fair('b.test', 'bob'), ['192.0.2.1'])
  const same = fair('slow-7.test', 'alice')
  t.equal(hanging.length, 2, 'a name that waits in the queue of one tenant is looked up for another one')
  now = 2000
  while (hanging.length > 0) {
    finish()
    await new Promise(setImmediate)
  }
  await Promise.all([...slow, same])
  t.equal(asked.length, 53, 'each name once for its tenant')
})

t.test('a tenant cannot queue lookups without limit', async (t) => {
  const { resolve, finish, hanging } = resolver()
  const fair = fairResolve(resolve)
  const slow = Array.from({ length: 1001 }, (_, i) => fair(`slow-${i}.test`, 'mallory'))
  await t.rejects(fair('one-more.test', 'mallory'), { code: 'EAI_AGAIN' })
  t.strictSame(await fair('a.test', 'alice'), ['192.0.2.1'])
  while (hanging.length > 0) {
    finish()
    await new Promise(setImmediate)
  }
  await Promise.all(slow)
})

t.test('addresses are looked up once and again when they are old', async (t) => {
  const { asked, resolve } = resolver()
  let now = 0
  const cached = cachedResolve(resolve, () => now)
  await Promise.all(Array.from({ length: 800 }, () => cached('a.test', 'zone')))
  await cached('a.test', 'another zone')
  t.equal(asked.length, 1)
  now = 6000
  await cached('a.test', 'zone')
  t.equal(asked.length, 2)
})

t.test('a name that does not exist is not looked up for each request', async (t) => {
  const { asked, resolve } = resolver()
  let now = 0
  const cached = cachedResolve(resolve, () => now)
  for (let i = 0; i < 10; i++) await t.rejects(cached('none.test', 'zone'), { code: 'ENOTFOUND' })
  t.equal(asked.length, 1)
  now = 1500
  await t.rejects(cached('none.test', 'zone'))
  t.equal(asked.length, 2)
})

t.test('old addresses are used for a limited time while lookups fail or take long', async (t) => {
  let now = 0
  let response = async (): Promise<readonly string[]> => ['192.0.2.1']
  const cached = cachedResolve(
    () => response(),
    () => now,
  )
  t.strictSame(await cached('a.test', 'zone'), ['192.0.2.1'])
  now = 10_000
  response = async () => await Promise.reject(Object.assign(new Error('down'), { code: 'EAI_AGAIN' }))
  t.strictSame(await cached('a.test', 'zone'), ['192.0.2.1'])
  let done: (addresses: readonly string[]) => void = () => undefined
  response = async () => await new Promise((resolve) => (done = resolve))
  t.strictSame(await cached('a.test', 'zone'), ['192.0.2.1'], 'without waiting for the slow one')
  done(['192.0.2.2'])
  await new Promise(setImmediate)
  t.strictSame(await cached('a.test', 'zone'), ['192.0.2.2'])
  now = 100_000
  response = async () => await Promise.reject(new Error('down'))
  await t.rejects(cached('a.test', 'zone'), { message: 'down' })
})
