/** Which deliveries are deleted, and which stay. */
import t from 'tap'
import { silentLog } from '../../src/core/log.js'
import { DELIVERIES, DELIVERY_STATES, type DeliveryState } from '../../src/core/model/delivery.js'
import { account } from '../../src/core/scope.js'
import type { Store } from '../../src/core/store.js'
import { openMemory } from '../../src/store/memory.js'
import { Retention } from '../../src/webhooks/retention.js'
import { HandClock } from '../helpers/hand-clock.js'

const SCOPE = account('a'.repeat(32))
const DAY_MS = 86_400_000

async function setUp(states: Readonly<Record<string, Partial<DeliveryState>>>) {
  const clock = new HandClock()
  const store = openMemory({ folder: '', log: silentLog, clock, retention: { entries: 1000 } })
  const at = (ms: number) => new Date(clock.now() - ms).toISOString()
  const stored = (state: Partial<DeliveryState>): DeliveryState => ({
    status: 'completed',
    last_updated_at: at(0),
    tries: [],
    ...state,
  })
  const put = async (id: string, state: Partial<DeliveryState>) =>
    await store.batch([
      { kind: DELIVERIES, scope: SCOPE, id, value: { id } },
      { kind: DELIVERY_STATES, scope: SCOPE, id, value: stored(state) },
    ])
  for (const [id, state] of Object.entries(states)) await put(id, state)
  return { clock, store, at, stored }
}

const left = (store: Store): string[] => store.list(DELIVERIES, SCOPE).map(({ id }) => id)

t.test('deliveries that wait stay, whatever their number and age', async (t) => {
  const { store, clock } = await setUp({ a: { status: 'pending' }, b: {}, c: { status: 'failed' }, d: {} })
  await clock.advance(10 * DAY_MS)
  await new Retention(store, clock, () => ({ jobs: 1, age: DAY_MS })).forget()
  t.strictSame(left(store), ['a'])
})

t.test('deliveries whose last attempt is too long ago are deleted', async (t) => {
  const { store, clock } = await setUp({ a: {}, b: {} })
  await clock.advance(DAY_MS)
  const retention = new Retention(store, clock, () => ({ jobs: 100, age: DAY_MS }))
  await retention.forget()
  t.strictSame(left(store), ['a', 'b'])
  await clock.advance(1)
  await retention.forget()
  t.strictSame(left(store), [])
})

t.test('a delivery that is retried at the same moment stays', async (t) => {
  const { store, clock, stored } = await setUp({ a: {}, b: {} })
  const retrying: Store = Object.create(store) as Store
  let retried = false
  retrying.batch = async (writes, audit) => {
    if (!retried) {
      retried = true
      const value = stored({ status: 'pending' })
      await store.batch([{ kind: DELIVERY_STATES, scope: SCOPE, id: 'a', value }])
    }
    return await store.batch(writes, audit)
  }
  const retention = new Retention(retrying, clock, () => ({ jobs: 1, age: DAY_MS }))
  await retention.forget()
  t.strictSame(left(store), ['a', 'b'])
  t.equal(store.get(DELIVERY_STATES, SCOPE, 'a')?.value.status, 'pending')
})
