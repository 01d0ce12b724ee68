import { InvalidInput, type Issue } from '../../src/core/errors.js'
import { EventLoopYield } from '../../src/core/schedule/event-loop-yield.js'
import { frozenJson } from '../../src/core/json/frozen-json.js'
import { newId } from '../../src/core/ids.js'
import {
  bucketId,
  bucketOf,
  BUCKETS,
  LIST_ITEMS,
  LIST_OPERATIONS,
  LISTS,
  type ListItem,
  type ListKind,
  type StoredList,
} from '../../src/core/model/list.js'
import type { Stored, Write } from '../../src/core/store.js'
import { itemIssues } from '../../src/lists/item-check.js'
import { audit, type Actor } from '../resources/audit.js'
import { ApiError } from '../http/errors.js'
import type { ListRepository } from './list-repository.js'
import { itemId } from './item-id.js'

/** Maximum number of issues that a response reports. */
const MAX_ISSUES = 100
/** Operations that are stored per account. */
const MAX_OPERATIONS = 100

const slices = new EventLoopYield()

type Items = ReadonlyMap<string, ListItem>
/** The items of one bucket, before and after. */
type Change = (old: Items, bucket: string) => Items

/** Adds items; an existing one is replaced. Returns the id of the operation, which is complete. */
export async function addItems(
  repository: ListRepository,
  actor: Actor,
  id: string,
  body: readonly unknown[],
): Promise<string> {
  const added = await prepare(repository, actor, id, body)
  return await store(repository, actor, id, [...added.keys()], (old, bucket) => {
    const items = new Map(old)
    for (const [key, item] of added.get(bucket) ?? [])
      items.set(key, { ...item, created_on: old.get(key)?.created_on ?? item.created_on })
    return items
  })
}

/** Replaces all items. */
export async function replaceItems(
  repository: ListRepository,
  actor: Actor,
  id: string,
  body: readonly unknown[],
): Promise<string> {
  const given = await prepare(repository, actor, id, body)
  return await store(repository, actor, id, BUCKETS, (_old, bucket) => given.get(bucket) ?? new Map())
}

/** Removes items by their ids. Rejects if an item does not exist. */
export async function removeItems(
  repository: ListRepository,
  actor: Actor,
  id: string,
  ids: readonly string[],
): Promise<string> {
  const byBucket = new Map<string, Map<string, number>>()
  for (const [index, item] of ids.entries()) {
    const bucket = byBucket.get(bucketOf(item)) ?? new Map<string, number>()
    byBucket.set(bucketOf(item), bucket.set(item, index))
  }
  return await store(repository, actor, id, [...byBucket.keys()], (old, bucket) => {
    const items = new Map(old)
    const missing: Issue[] = []
    for (const [item, index] of byBucket.get(bucket) ?? [])
      if (!items.delete(item)) missing.push({ pointer: `/items/${index}/id`, message: 'is not an item of the list' })
    if (missing.length > 0) throw new InvalidInput(missing)
    return items
  })
}

/** Returns the checked items by bucket and id. Throws with pointers into the body. */
async function prepare(
  repository: ListRepository,
  { scope }: Actor,
  listId: string,
  body: readonly unknown[],
): Promise<ReadonlyMap<string, Items>> {
  const { kind } = repository.own(scope, listId).value
  room(repository, body.length)
  const now = repository.now()
  const buckets = new Map<string, Map<string, ListItem>>()
  const issues: Issue[] = []
  for (const [index, given] of body.entries()) {
    await slices.yieldToEventLoop()
    if (issues.length >= MAX_ISSUES) break
    const wrong = itemIssues(kind, given)
    if (wrong.length > 0) {
      issues.push(...wrong.map(({ pointer, message }) => ({ pointer: `/${index}${pointer}`, message })))
      continue
    }
    const item = itemOf(listId, kind, given as object, now)
    let bucket = buckets.get(bucketOf(item.id))
    if (!bucket) buckets.set(bucketOf(item.id), (bucket = new Map()))
    if (bucket.has(item.id)) issues.push({ pointer: `/${index}`, message: 'is the same as an item before it' })
    bucket.set(item.id, item)
  }
  if (issues.length > 0) throw new InvalidInput(issues)
  return buckets
}

const itemOf = (listId: string, kind: ListKind, given: object, now: string): ListItem => ({
  id: itemId(listId, kind, given),
  ...given,
  created_on: now,
  modified_on: now,
})

/** Writes the changed buckets, the list's number of items and the operation in one batch. */
async function store(
  repository: ListRepository,
  actor: Actor,
  id: string,
  buckets: readonly string[],
  change: Change,
): Promise<string> {
  const { store, clock } = repository.deps
  const { scope } = actor
  return await repository.turns.run(scope.id, async () => {
    const list = repository.own(scope, id)
    const writes: Write[] = []
    let items = list.value.num_items
    for (const bucket of buckets) {
      const key = bucketId(id, bucket)
      const old = store.get(LIST_ITEMS, scope, key)
      const before = new Map(old?.value.items.map((item) => [item.id, item]))
      const after = change(before, bucket)
      if (before.size === 0 && after.size === 0) continue
      items += after.size - before.size
      const sorted = [...after.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
      const ifVersion = old?.version ?? 0
      if (sorted.length === 0) writes.push({ kind: LIST_ITEMS, scope, id: key, value: undefined, ifVersion })
      else {
        const value = { list_id: id, items: sorted }
        // The store would serialize all buckets in one turn.
        const json = JSON.stringify(value)
        writes.push({ kind: LIST_ITEMS, scope, id: key, value: frozenJson(value), json, ifVersion })
      }
      await slices.yieldToEventLoop()
    }
    room(repository, items)
    const operation = newId()
    writes.push(listWrite(list, items, repository.now()), operationWrite(repository, actor, operation))
    const after = { ...list.value, num_items: items }
    await store.batch(writes, [audit(clock, actor, { kind: LISTS, scope, id, before: list.value, after })])
    return operation
  })
}

const listWrite = ({ scope, id, value, version }: Stored<StoredList>, items: number, now: string): Write => ({
  kind: LISTS,
  scope,
  id,
  value: { ...value, num_items: items, modified_on: now },
  ifVersion: version,
})

function operationWrite({ deps }: ListRepository, { scope }: Actor, operation: string): Write {
  const old = deps.store.get(LIST_OPERATIONS, scope, 'latest')
  const latest = (old?.value.operations ?? []).slice(1 - MAX_OPERATIONS)
  const operations = [...latest, { id: operation, completed: new Date(deps.clock.now()).toISOString() }]
  return { kind: LIST_OPERATIONS, scope, id: 'latest', value: { operations }, ifVersion: old?.version ?? 0 }
}

function room({ deps }: ListRepository, items: number): void {
  const max = deps.config().control.quotas.items_per_list
  if (items > max)
    throw new ApiError('tooManyItems', undefined, `the list would have ${items} items; ${max} are allowed`)
}
