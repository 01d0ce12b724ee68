import t from 'tap'
import { activeRules } from '../../ui/src/pages/rules/active-rules.ts'

const SINCE = Date.parse('2026-11-21T00:00:00Z')
const group = (key: string, requests: number) => ({ key, requests })
const counted = (groups: readonly ReturnType<typeof group>[], others: number, from = '2026-11-21T00:00:00Z') => ({
  groups,
  other: { requests: others },
  coverage: [{ from }],
})

t.test('counts of the history say which rules have acted', async (t) => {
  const found = activeRules(counted([group('set/a', 3), group('set/b', 0)], 0), [{ rule_id: 'c', matches: 9 }], SINCE)
  t.same([...found.ids], ['a'])
  t.ok(found.isWhole)
  t.equal(found.since, undefined)
})

t.test('a rule beyond those that are counted has acted if it has matches since the start', async (t) => {
  const counts = [
    { rule_id: 'c', matches: 9 },
    { rule_id: 'd', matches: 0 },
  ]
  const found = activeRules(counted([group('a', 3)], 12), counts, SINCE)
  t.same([...found.ids], ['a', 'c'])
  t.notOk(found.isWhole)
})

t.test('shorter counts say when they begin', async (t) => {
  const from = '2026-11-26T10:00:00Z'
  t.equal(activeRules(counted([], 0, from), [], SINCE).since, from)
})
