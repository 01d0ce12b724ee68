import t, { type Test } from 'tap'
import { silentLog } from '../../src/core/log.js'
import { BUCKETS, bucketId, LIST_ITEMS, LISTS, type ListItem } from '../../src/core/model/list.js'
import { account } from '../../src/core/scope.js'
import type { Write } from '../../src/core/store.js'
import { ListRegistry } from '../../src/daemon/zones/list-registry.js'
import { openStore } from '../../src/store/index.js'
import { ACCOUNT, handClock } from '../control/client.js'

const SCOPE = account(ACCOUNT)
const at = '2026-01-01T00:00:00Z'
const item = (bucket: string, asn: number): ListItem => ({
  id: `${bucket}${asn}`,
  asn,
  created_on: at,
  modified_on: at,
})

/** A registry of one list, which applies a bucket whenever `next` is called. */
async function registry(t: Test) {
  const store = await openStore('memory', { folder: '', log: silentLog, clock: handClock() })
  const waiting: (() => void)[] = []
  const lists = new ListRegistry(store, [], async () => await new Promise<void>((resolve) => waiting.push(resolve)))
  t.teardown(async () => {
    lists.close()
    await store.close()
  })
  const list = { name: 'numbers', kind: 'asn', description: '', num_items: 0, created_on: at, modified_on: at } as const
  await store.batch([{ kind: LISTS, scope: SCOPE, id: 'l', value: { id: 'l', ...list } }])
  const writes = (buckets: readonly string[], items: (bucket: string, place: number) => ListItem[]): Write[] =>
    buckets.map((bucket, place) => {
      const value = { list_id: 'l', items: items(bucket, place) }
      return { kind: LIST_ITEMS, scope: SCOPE, id: bucketId('l', bucket), value }
    })
  const named = lists.lists(ACCOUNT).get('numbers', 'Int')!
  const has = (asn: number) => named.has(asn)
  const next = async (): Promise<void> => {
    waiting.shift()?.()
    await new Promise(setImmediate)
  }
  return { store, lists, writes, has, next }
}

t.test('few changed items are in force when the store has them', async (t) => {
  const { store, lists, writes, has } = await registry(t)
  await store.batch(writes(BUCKETS.slice(0, 3), (bucket, place) => [item(bucket, place)]))
  t.equal(lists.applied, undefined)
  t.same([has(0), has(2), has(3)], [true, true, false])
})

t.test('many changed items are applied in slices, and the last change of each counts', async (t) => {
  const { store, lists, writes, has, next } = await registry(t)
  await store.batch(writes(BUCKETS, (bucket, place) => [item(bucket, place), item(bucket, 1000)]))
  const count = () => BUCKETS.filter((_, place) => has(place)).length
  const { applied } = lists
  t.equal(count(), 1, 'one bucket in the turn of the change')
  await next()
  t.equal(count(), 2)

  // A further change of a bucket that is applied and of one that is not.
  const both = [BUCKETS[0]!, BUCKETS[255]!]
  await store.batch(writes(both, (bucket, place) => [item(bucket, 2000 + place), item(bucket, 1000)]))
  t.equal(has(1000), true, 'an item that stays is in the list at any time')
  for (let turn = 0; turn < 300 && lists.applied !== undefined; turn++) {
    t.equal(has(1000), true)
    await next()
  }
  await applied
  t.equal(lists.applied, undefined)
  t.same([has(0), has(1), has(254), has(255), has(2000), has(2001)], [false, true, true, false, true, true])
})
