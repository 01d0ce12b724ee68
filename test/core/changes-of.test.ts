import t from 'tap'
import { FindingIndex } from '../../src/webhooks/finding-index.js'
import { INSTANCES } from '../../src/core/model/finding.js'
import { account } from '../../src/core/scope.js'
import { changesOf, kind, type Change, type Store } from '../../src/core/store.js'
import { eachPurge } from '../../src/daemon/cache/purges.js'

/** A change whose value must not be read: that would parse it. */
const unread: Change = {
  kind: 'other',
  scope: account('a'),
  id: '1',
  version: 1,
  get value() {
    throw new Error('the value was read')
  },
}

t.test('values of other kinds are not read', (t) => {
  const wanted: Change = { kind: 'wanted', scope: account('a'), id: '1', version: 1, value: 'text' }
  t.same([...changesOf(kind<string>('wanted'), [unread, wanted])], [wanted])
  t.end()
})

t.test('watchers read the values of their kinds alone', (t) => {
  const listeners: ((changes: readonly Change[]) => void)[] = []
  const store = {
    list: () => [],
    watch: (listener: (changes: readonly Change[]) => void) => {
      listeners.push(listener)
      return () => undefined
    },
  } as unknown as Store
  const index = new FindingIndex(store)
  eachPurge(store, () => t.fail('no purge'))
  t.equal(listeners.length, 2)
  const instance = { finding_id: 'f', is_archived: true, affliction_date: '2026-01-01T00:00:00Z' }
  const change = { kind: INSTANCES.name, scope: account('a'), id: '1', version: 1, value: instance }
  for (const listener of listeners) listener([unread, change])
  t.equal(index.stats(account('a'), 'f').archived, 1)
  t.end()
})
