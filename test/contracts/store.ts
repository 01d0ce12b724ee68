import fc from 'fast-check'
import type { Test } from 'tap'
import type { Clock } from '../../src/core/clock.js'
import { account, DAEMON, zone } from '../../src/core/scope.js'
import {
  kind,
  VersionConflict,
  type AuditEntry,
  type AuditRetention,
  type Change,
  type Store,
} from '../../src/core/store.js'

/** Opens the store under test, repeatedly on the same data. */
export interface StoreUnderTest {
  open(options?: { retention?: AuditRetention; clock?: Clock }): Promise<Store>
  /** False for a store that loses its data when it is closed. */
  readonly durable: boolean
}

interface Thing {
  readonly text?: string
  readonly count?: number
  readonly list?: readonly unknown[]
}

const THINGS = kind<Thing>('thing')
const OTHERS = kind<Thing>('other')
const A = account('a')
const Z = zone('z')

export const auditEntry = (id: string, at = '2026-11-21T00:00:00Z'): AuditEntry => ({
  at,
  actor: { type: 'token', id: 't1' },
  action: 'create',
  resource: { kind: 'thing', scope: A, id },
  requestId: 'r1',
  before: null,
  after: 'a'.repeat(64),
})

const HOSTILE_IDS = [
  '',
  '/',
  'a/b',
  '../..',
  'a:b',
  ':',
  '\0',
  'a\0b',
  '__proto__',
  'constructor',
  '"',
  '","',
  ']',
  '*',
  '[a-z]',
  'é',
  '💥',
  '\ud800',
  '\uffff',
  ' ',
  '\n',
  'x'.repeat(2000),
]

/** Tests all that the interface promises, on a new store for each subtest. */
export function storeContract(t: Test, name: string, fresh: (t: Test) => StoreUnderTest): void {
  const subtest = (sentence: string, run: (t: Test, store: Store, under: StoreUnderTest) => Promise<void>) =>
    t.test(`${name}: ${sentence}`, async (t) => {
      const under = fresh(t)
      const store = await under.open()
      t.teardown(() => store.close())
      await run(t, store, under)
    })

  subtest('a record is read back as it was written, and gone once removed', async (t, store) => {
    t.equal(store.get(THINGS, A, 'x'), undefined)
    const version = await store.batch([{ kind: THINGS, scope: A, id: 'x', value: { text: 'one' } }])
    t.same(store.get(THINGS, A, 'x'), { kind: 'thing', scope: A, id: 'x', version, value: { text: 'one' } })
    t.equal(store.get(THINGS, Z, 'x'), undefined)
    t.equal(store.get(OTHERS, A, 'x'), undefined)
    await store.batch([{ kind: THINGS, scope: A, id: 'x', value: undefined }])
    t.equal(store.get(THINGS, A, 'x'), undefined)
    t.equal(store.count(THINGS), 0)
    t.same(store.list(THINGS, A), [])
  })

  subtest('lists are in the order of ids, by scope and over all scopes', async (t, store) => {
    const ids = ['b', 'a', 'B', '10', '9', 'é', '']
    await store.batch(ids.map((id) => ({ kind: THINGS, scope: A, id, value: {} })))
    await store.batch([
      { kind: THINGS, scope: Z, id: 'aa', value: {} },
      { kind: OTHERS, scope: A, id: 'o', value: {} },
    ])
    const list = store.list(THINGS, A)
    t.same(list.map(({ id }) => id), ['', '10', '9', 'B', 'a', 'b', 'é']) // prettier-ignore
    t.same(store.list(THINGS).map(({ id }) => id), ['', '10', '9', 'B', 'a', 'aa', 'b', 'é']) // prettier-ignore
    t.same([store.count(THINGS, A), store.count(THINGS), store.count(THINGS, DAEMON)], [7, 8, 0])

    await store.batch([
      { kind: THINGS, scope: A, id: 'a', value: undefined },
      { kind: THINGS, scope: A, id: 'ab', value: {} },
      { kind: THINGS, scope: A, id: 'b', value: { text: 'new' } },
    ])
    t.same(store.list(THINGS, A).map(({ id }) => id), ['', '10', '9', 'B', 'ab', 'b', 'é']) // prettier-ignore
    t.same(store.list(THINGS).map(({ id }) => id), ['', '10', '9', 'B', 'aa', 'ab', 'b', 'é']) // prettier-ignore
    t.equal(store.list(THINGS, A)[5]!.value.text, 'new')
    t.equal(list.length, 7, 'a list that was handed out stays as it is')
    t.same([...store.records()].map(({ kind, id }) => `${kind} ${id}`).sort(), [
      'other o',
      ...['', '10', '9', 'B', 'aa', 'ab', 'b', 'é'].map((id) => `thing ${id}`),
    ])
  })

  subtest('a batch with one wrong version changes nothing', async (t, store) => {
    const version = await store.batch([{ kind: THINGS, scope: A, id: 'x', value: { count: 1 } }])
    const wrong: [what: string, ifVersion: number, id: string][] = [
      ['an old version', version - 1, 'x'],
      ['a version of the future', version + 1, 'x'],
      ['a version of what is not there', version, 'y'],
      ['no version of what is there', 0, 'x'],
    ]
    for (const [what, ifVersion, id] of wrong) {
      const batch = store.batch(
        [
          { kind: THINGS, scope: A, id: 'other', value: {} },
          { kind: THINGS, scope: A, id, value: { count: 2 }, ifVersion },
        ],
        [auditEntry(id)],
      )
      await t.rejects(batch, VersionConflict, what)
    }
    t.equal(store.get(THINGS, A, 'other'), undefined)
    t.equal(store.get(THINGS, A, 'x')?.value.count, 1)
    t.same(await entries(store), [])

    const next = await store.batch([
      { kind: THINGS, scope: A, id: 'x', value: { count: 2 }, ifVersion: version },
      { kind: THINGS, scope: A, id: 'new', value: {}, ifVersion: 0 },
    ])
    t.ok(next > version)
    t.equal(store.get(THINGS, A, 'x')?.version, next)
    t.equal(store.get(THINGS, A, 'new')?.version, next)
  })

  subtest('a record made anew has a version that it never had', async (t, store) => {
    const first = await store.batch([{ kind: THINGS, scope: A, id: 'x', value: {} }])
    await store.batch([{ kind: THINGS, scope: A, id: 'x', value: undefined, ifVersion: first }])
    const again = await store.batch([{ kind: THINGS, scope: A, id: 'x', value: {}, ifVersion: 0 }])
    t.ok(again > first)
    await t.rejects(store.batch([{ kind: THINGS, scope: A, id: 'x', value: {}, ifVersion: first }]), VersionConflict)
  })

  subtest('of many that create one record, one succeeds', async (t, store) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, count) =>
        store.batch([{ kind: THINGS, scope: A, id: 'x', value: { count }, ifVersion: 0 }]),
      ),
    )
    t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const outcome of outcomes) if (outcome.status === 'rejected') t.type(outcome.reason, VersionConflict)
  })

  subtest('a hundred changes at once all count', async (t, store) => {
    const seen = await Promise.all(
      Array.from({ length: 100 }, () =>
        store.change(THINGS, A, 'counter', (old) => ({ count: (old?.count ?? 0) + 1 })),
      ),
    )
    t.equal(store.get(THINGS, A, 'counter')?.value.count, 100)
    t.same(new Set(seen.map((stored) => stored?.value.count)).size, 100, 'each saw its own')
  })

  subtest('change makes, edits, leaves and removes', async (t, store) => {
    const made = await store.change(THINGS, A, 'x', (old, version) => {
      t.same([old, version], [undefined, 0])
      return { count: 1 }
    })
    t.same(made, store.get(THINGS, A, 'x'))
    const left = await store.change(THINGS, A, 'x', (old, version) => {
      t.equal(version, made?.version)
      return old
    })
    t.equal(left?.version, made?.version, 'the same value is no change')
    await t.rejects(
      store.change(THINGS, A, 'x', () => {
        throw new RangeError('no')
      }),
      RangeError,
    )
    t.equal(store.get(THINGS, A, 'x')?.version, made?.version)
    const audited = (before: Thing | undefined, after: Thing | undefined) =>
      auditEntry(`${before?.count ?? 'none'} to ${after?.count ?? 'none'}`)
    await store.change(THINGS, A, 'x', () => ({ count: 2 }), audited)
    t.equal(await store.change(THINGS, A, 'x', () => undefined, audited), undefined)
    t.equal(await store.change(THINGS, A, 'x', () => undefined, audited), undefined)
    t.equal(store.get(THINGS, A, 'x'), undefined)
    t.same((await entries(store)).map(({ resource }) => resource.id), ['1 to 2', '2 to none']) // prettier-ignore
  })

  subtest('watchers hear of every batch, in order, once it can be read', async (t, store) => {
    const heard: (readonly Change[])[] = []
    const failing = store.watch(() => {
      throw new Error('a watcher that fails')
    })
    const stop = store.watch((changes) => {
      heard.push(changes)
      const { id, version } = changes[0]!
      t.ok((store.get(THINGS, A, id)?.version ?? Infinity) >= version)
    })
    const versions = await Promise.all(
      Array.from({ length: 30 }, (_, count) => store.batch([{ kind: THINGS, scope: A, id: 'x', value: { count } }])),
    )
    const removal = await store.batch([
      { kind: THINGS, scope: A, id: 'x', value: undefined },
      { kind: THINGS, scope: A, id: 'y', value: {} },
      { kind: THINGS, scope: A, id: 'never there', value: undefined },
    ])
    t.same(heard.slice(0, 30).map(([change]) => change?.version), versions) // prettier-ignore
    t.match(heard[30], [
      { kind: 'thing', scope: A, id: 'x', value: undefined },
      { kind: 'thing', scope: A, id: 'y', version: removal, value: {} },
    ])
    t.equal(heard[30]?.length, 2)
    stop()
    failing()
    await store.batch([{ kind: THINGS, scope: A, id: 'x', value: {} }])
    t.equal(heard.length, 31)
  })

  subtest('a frozen value is stored as it is; one with a member that can change is copied', async (t, store) => {
    const value = Object.freeze({ text: 'frozen', count: 1, list: Object.freeze(['a', null, true]) })
    const list = ['before']
    const shallow = Object.freeze({ text: 'shallow', list })
    await store.batch([
      { kind: THINGS, scope: A, id: 'frozen', value },
      { kind: THINGS, scope: A, id: 'shallow', value: shallow },
      { kind: THINGS, scope: A, id: 'zero', value: Object.freeze({ count: -0, text: undefined }) },
    ])
    list.push('after')
    t.strictSame(store.get(THINGS, A, 'frozen')?.value, { text: 'frozen', count: 1, list: ['a', null, true] })
    t.strictSame(store.get(THINGS, A, 'shallow')?.value, { text: 'shallow', list: ['before'] })
    t.same(JSON.stringify(store.get(THINGS, A, 'zero')?.value), '{"count":0}')
  })

  subtest('what is stored cannot be changed from outside', async (t, store) => {
    const value = { list: [{ deep: 1 }] }
    const writing = store.batch([{ kind: THINGS, scope: A, id: 'x', value }])
    value.list[0]!.deep = 2
    await writing
    value.list[0]!.deep = 3
    const stored = store.get(THINGS, A, 'x')!
    t.same(stored.value, { list: [{ deep: 1 }] })
    t.throws(() => Object.assign(stored.value.list![0] as object, { deep: 4 }), TypeError)
    t.throws(() => (stored.value.list as unknown[]).push(5), TypeError)
    t.throws(() => Object.assign(stored, { version: 0 }), TypeError)
  })

  subtest('what is not JSON is refused, as is a record that is named twice', async (t, store) => {
    const write = (value: unknown) => store.batch([{ kind: THINGS, scope: A, id: 'x', value }])
    await t.rejects(
      write(() => 1),
      TypeError,
    )
    await t.rejects(write({ big: 1n }), TypeError)
    await t.rejects(
      store.batch([
        { kind: THINGS, scope: A, id: 'x', value: 1 },
        { kind: THINGS, scope: A, id: 'x', value: 2 },
      ]),
      TypeError,
    )
    t.equal(store.get(THINGS, A, 'x'), undefined)
  })

  subtest('ids may hold anything', async (t, store, under) => {
    const check = (store: Store) => {
      for (const [index, id] of HOSTILE_IDS.entries()) {
        t.equal(store.get(THINGS, A, id)?.value.count, index, JSON.stringify(id).slice(0, 40))
        t.equal(store.get(THINGS, zone(id), 'x')?.value.count, index)
      }
      t.equal(store.count(THINGS, A), HOSTILE_IDS.length)
      t.same(store.list(THINGS, A).map(({ id }) => id), [...HOSTILE_IDS].sort()) // prettier-ignore
    }
    for (const [count, id] of HOSTILE_IDS.entries())
      await store.batch([
        { kind: THINGS, scope: A, id, value: { count }, ifVersion: 0 },
        { kind: THINGS, scope: zone(id), id: 'x', value: { count } },
      ])
    check(store)
    if (!under.durable) return
    await store.close()
    const again = await under.open()
    t.teardown(() => again.close())
    check(again)
    await again.batch(HOSTILE_IDS.map((id) => ({ kind: THINGS, scope: A, id, value: undefined })))
    t.equal(again.count(THINGS, A), 0)
  })

  subtest('values may be big and hold anything', async (t, store, under) => {
    const values: unknown[] = [
      { text: 'x'.repeat(5_000_000) },
      JSON.parse('{"__proto__": {"a": 1}, "constructor": 2, "": 3, "1": 4}'),
      { text: '\0\ud800\uffff💥é\n"\\' },
      { numbers: [0, -1, 1e308, Number.MIN_VALUE, Number.MAX_SAFE_INTEGER] },
      { none: null, no: false, empty: {}, list: [] },
      null,
      false,
      0,
      '',
    ]
    const check = (store: Store) => {
      for (const [index, value] of values.entries()) {
        const found = store.get(THINGS, A, String(index))
        t.equal(JSON.stringify(found?.value), JSON.stringify(value))
      }
    }
    await store.batch(values.map((value, index) => ({ kind: THINGS, scope: A, id: String(index), value })))
    check(store)
    if (!under.durable) return
    await store.close()
    const again = await under.open()
    t.teardown(() => again.close())
    check(again)
  })

  subtest('audit entries are read in order and from a cursor on', async (t, store) => {
    for (let index = 0; index < 5; index += 1)
      await store.batch(
        [{ kind: THINGS, scope: A, id: 'x', value: { count: index } }],
        [auditEntry(`${index}a`), auditEntry(`${index}b`)],
      )
    await store.batch([], [auditEntry('alone')])
    const all = await found(store.audit())
    t.same(all.map(({ entry }) => entry.resource.id), [...[0, 1, 2, 3, 4].flatMap((n) => [`${n}a`, `${n}b`]), 'alone']) // prettier-ignore
    t.same(all[0]?.entry, auditEntry('0a'))
    for (const [index, { cursor }] of all.entries())
      t.same(await found(store.audit(cursor, 3)), all.slice(index + 1, index + 4))
    const newest = all.toReversed()
    t.same(await found(store.audit(undefined, undefined, 'newest_first')), newest)
    for (const [index, { cursor }] of newest.entries())
      t.same(await found(store.audit(cursor, 3, 'newest_first')), newest.slice(index + 1, index + 4))
    for (const wrong of ['', 'x', '-', '+', '1 2', '../1', '-1']) t.throws(() => store.audit(wrong), /cursor/)
  })

  t.test(`${name}: the audit record retains the newest entries`, async (t) => {
    const store = await fresh(t).open({ retention: { entries: 100 } })
    t.teardown(() => store.close())
    const numbers = (from: number) => Array.from({ length: 50 }, (_, index) => String(from + index))
    for (let from = 0; from < 1000; from += 50)
      await store.batch(
        [],
        numbers(from).map((id) => auditEntry(id)),
      )
    const kept = (await entries(store)).map(({ resource }) => Number(resource.id))
    t.ok(kept.length >= 100 && kept.length <= 300, `${kept.length} entries are kept`)
    t.same(kept, Array.from({ length: kept.length }, (_, index) => 1000 - kept.length + index)) // prettier-ignore
    const middle = (await found(store.audit(undefined, 10))).at(-1)!
    await store.batch(
      [],
      numbers(1000).map((id) => auditEntry(id)),
    )
    await store.batch(
      [],
      numbers(1050).map((id) => auditEntry(id)),
    )
    t.equal((await found(store.audit(middle.cursor))).at(-1)?.entry.resource.id, '1099', 'an old cursor still leads on')
  })

  subtest('random batches leave what a plain map would hold', async (t, store, under) => {
    let current = store
    let run = 0
    const id = fc.constantFrom('a', 'b', 'c', '__proto__')
    const scope = fc.constantFrom(A, Z)
    const write = fc.record({ id, scope, value: fc.option(fc.jsonValue(), { nil: undefined }), version: fc.nat(9) })
    const step = fc.oneof(
      {
        weight: 8,
        arbitrary: fc.uniqueArray(write, { maxLength: 5, selector: ({ id, scope }) => `${scope.type} ${id}` }),
      },
      { weight: 1, arbitrary: fc.constant('reopen' as const) },
    )
    const property = fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const things = kind<unknown>(`thing ${(run += 1)}`)
      const model = new Map<string, { json: string; version: number }>()
      for (const step of steps) {
        if (step === 'reopen') {
          if (!under.durable) continue
          await current.close()
          current = await under.open()
          continue
        }
        // One in ten writes has no version, one in ten a wrong one, the others the right one.
        const writes = step.map(({ version, ...write }) => {
          const found = model.get(`${write.scope.type} ${write.id}`)?.version ?? 0
          if (version === 0) return { kind: things, ...write }
          return { kind: things, ...write, ifVersion: version === 1 ? found + 1 : found }
        })
        const fits = step.every(({ version }) => version !== 1)
        const outcome = await current.batch(writes).catch((error: unknown) => error)
        if (!fits) {
          if (outcome instanceof VersionConflict) continue
          throw new Error('a wrong version was accepted')
        }
        for (const { id, scope, value } of writes) {
          if (value === undefined) model.delete(`${scope.type} ${id}`)
          else model.set(`${scope.type} ${id}`, { json: JSON.stringify(value), version: outcome as number })
        }
      }
      const held = current.list(things).map((stored) => {
        const { scope, id, version, value } = stored
        return `${scope.type} ${id} ${version} ${JSON.stringify(value)}`
      })
      const expected = [...model].map(([place, { version, json }]) => `${place} ${version} ${json}`)
      return JSON.stringify(held.sort()) === JSON.stringify(expected.sort())
    })
    await fc.assert(property, { numRuns: 60 })
    t.pass()
    await current.close()
  })

  subtest('a closed store refuses writes', async (t, store) => {
    t.equal(store.writable, true)
    await store.close()
    t.equal(store.writable, false)
    await t.rejects(store.batch([{ kind: THINGS, scope: A, id: 'x', value: {} }]), { name: 'StoreUnavailable' })
  })
}

export async function found<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

const entries = async (store: Store) => (await found(store.audit())).map(({ entry }) => entry)
