import t, { type Test } from 'tap'
import { KeyedEdits } from '../../../control/resources/keyed-edits.js'
import { FindingBatches, type Finding, type Part } from '../../../control/webhooks/finding-batches.js'
import { FINDINGS, INSTANCES, type InstanceInput } from '../../../src/core/model/finding.js'
import { account } from '../../../src/core/scope.js'
import { StoreUnavailable } from '../../../src/core/store.js'
import { OTHER_ACCOUNT } from '../client.js'
import { finding, hook, instance, policy, POLICIES, postureClient, scope, sent, type PostureClient } from './helper.js'

/** What a request with this finding and these instances stores. */
function part(id: string, instances: readonly string[], size: Partial<Part> = {}): Part {
  const { instances: _instances, ...given } = finding(id, [])
  const inputs = instances.map((one) => instance(one) as InstanceInput)
  return { given: [{ finding: given as Finding, instances: inputs }], instances: inputs.length, bytes: 1000, ...size }
}

/** Creates the batches over a store whose batches wait for `release` after `hold`. */
async function held(t: Test) {
  const api: PostureClient = await postureClient(t)
  const { store, clock, deliveries, limits } = api
  const edits = new KeyedEdits()
  const batches = new FindingBatches({ store, clock, posture: () => ({ deliveries, limits: () => limits }) }, edits)
  const batch = store.batch.bind(store)
  let gate = Promise.resolve()
  const sizes: number[] = []
  store.batch = async (writes, audit) => {
    sizes.push(writes.length)
    await gate
    return await batch(writes, audit)
  }
  const hold = () => {
    let release = (): void => undefined
    gate = new Promise((resolve) => (release = resolve))
    return () => release()
  }
  return { api, batches, edits, hold, sizes }
}

t.test('findings of concurrent requests share a batch, and each request waits until its own is durable', async (t) => {
  const { api, batches, hold, sizes } = await held(t)
  const id = await hook(api)
  await api.call('POST', POLICIES, policy([id]))
  sizes.length = 0

  const release = hold()
  const done: string[] = []
  const stores = ['a', 'b', 'c'].map(async (one) => {
    await batches.store(scope, part(`f-${one}`, [one]))
    done.push(one)
  })
  const other = batches.store(account(OTHER_ACCOUNT), part('f', ['x']))
  while (sizes.length < 2) await new Promise(setImmediate)
  // These arrive while the first batch is being written.
  stores.push(
    ...['d', 'e'].map(async (one) => {
      await batches.store(scope, part('f-a', [one]))
      done.push(one)
    }),
  )
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  t.strictSame(done, [], 'nothing is confirmed before it is durable')
  t.equal(api.store.count(INSTANCES), 0)
  release()
  await Promise.all([...stores, other])

  t.strictSame(done, ['a', 'b', 'c', 'd', 'e'])
  // Finding, instance and delivery of each, and the run of the policy; then two instances of a known finding.
  t.strictSame(
    sizes.sort((a, b) => a - b),
    [2, 5, 10],
    'one batch per account, and one for what came later',
  )
  t.strictSame(
    sent(api).map(([one]) => one),
    ['a', 'b', 'c', 'd', 'e'],
    'the policy sends each instance once',
  )
})

t.test('an instance that two requests of a batch add is new for the first only', async (t) => {
  const { api, batches, sizes } = await held(t)
  const id = await hook(api)
  await api.call('POST', POLICIES, policy([id]))
  sizes.length = 0
  const stored = await Promise.all(['one', 'two'].map(async () => await batches.store(scope, part('f', ['i']))))
  t.strictSame(
    stored.map(({ length }) => length),
    [1, 1],
  )
  t.equal(sizes.length, 1)
  t.strictSame(sent(api), [['i', id]])
})

t.test('an error of one request does not affect the others of its batch', async (t) => {
  const { api, batches, sizes } = await held(t)
  api.limits.findings = 3
  api.limits.instances = 4
  const outcomes = await Promise.allSettled(
    [
      part('f1', ['a', 'b']),
      // The instance belongs to a finding of the request before; the new instance before it is not stored either.
      part('f2', ['c', 'a']),
      part('f2', ['d']),
      part('f3', ['e', 'f']),
      part('f3', ['e']),
      part('f4', []),
    ].map(async (one) => await batches.store(scope, one)),
  )
  const codes = outcomes.map((one) => (one.status === 'fulfilled' ? 'stored' : String(one.reason.code)))
  t.strictSame(codes, ['stored', '10409', 'stored', '10610', 'stored', '10610'])
  t.equal(sizes.length, 1)
  t.strictSame(
    api.store.list(INSTANCES, scope).map(({ id, value }) => [id, value.finding_id]),
    [
      ['a', 'f1'],
      ['b', 'f1'],
      ['d', 'f2'],
      ['e', 'f3'],
    ],
  )
  t.equal(api.store.count(FINDINGS, scope), 3)
})

t.test('the limit of waiting deliveries counts those of requests before in the same batch', async (t) => {
  const { api, batches } = await held(t)
  api.limits.pending = 3
  await api.call('POST', POLICIES, policy([await hook(api)]))
  const outcomes = await Promise.allSettled(
    [part('f', ['a', 'b']), part('f', ['c', 'd']), part('f', ['e'])].map(
      async (one) => await batches.store(scope, one),
    ),
  )
  t.strictSame(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.match(outcomes[1], { reason: { status: 503, detail: { headers: { 'retry-after': '30' } } } })
  t.strictSame(
    sent(api).map(([one]) => one),
    ['a', 'b', 'e'],
  )
})

t.test('a batch has at most 500 instances and 4 MB, or one request', async (t) => {
  const { api, batches, sizes } = await held(t)
  const stores = [
    part('f1', ['a'], { instances: 499 }),
    part('f2', ['b'], { instances: 1 }),
    part('f3', ['c'], { bytes: 5 * 2 ** 20 }),
    part('f4', ['d'], { bytes: 2 ** 20 }),
    part('f5', ['e'], { bytes: 3 * 2 ** 20 }),
    part('f6', ['f'], { bytes: 1 }),
  ].map(async (one) => await batches.store(scope, one))
  await Promise.all(stores)
  t.strictSame(sizes, [4, 2, 4, 2])
  t.equal(api.store.count(INSTANCES), 6)
})

t.test('a batch that the store rejects fails all its requests, and the next is stored', async (t) => {
  const { api, batches } = await held(t)
  const { batch } = api.store
  api.store.batch = async () => await Promise.reject(new StoreUnavailable('the disk is full'))
  const outcomes = await Promise.allSettled(
    [part('f1', ['a']), part('f2', ['b'])].map(async (one) => await batches.store(scope, one)),
  )
  for (const one of outcomes) t.match(one, { status: 'rejected', reason: { message: 'the disk is full' } })
  api.store.batch = batch
  t.equal((await batches.store(scope, part('f1', ['a']))).length, 1)
})

t.test('a batch that another machine overtakes is decided again', async (t) => {
  const { api, batches, sizes } = await held(t)
  await batches.store(scope, part('f1', ['a']))
  const stored = api.store.get(INSTANCES, scope, 'a')!
  const { batch } = api.store
  sizes.length = 0
  api.store.batch = async (writes, audit) => {
    if (sizes.length === 0)
      await batch([{ kind: INSTANCES, scope, id: 'b', value: { ...stored.value, id: 'b', finding_id: 'f9' } }])
    return await batch(writes, audit)
  }
  const outcomes = await Promise.allSettled(
    [part('f2', ['b']), part('f3', ['c'])].map(async (one) => await batches.store(scope, one)),
  )
  t.match(outcomes, [{ status: 'rejected', reason: { code: 10409 } }, { status: 'fulfilled' }])
  t.equal(api.store.get(INSTANCES, scope, 'b')?.value.finding_id, 'f9')
})
