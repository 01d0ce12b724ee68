import t, { type Test } from 'tap'
import { silentLog } from '../../src/core/log.js'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import { ENTRY_POINTS, RULESETS, type Ruleset } from '../../src/core/model/ruleset.js'
import { SETTING } from '../../src/core/model/setting.js'
import { ZONES } from '../../src/core/model/zone.js'
import { account, zone } from '../../src/core/scope.js'
import type { Store } from '../../src/core/store.js'
import { ZoneRegistry } from '../../src/daemon/zones/registry.js'
import { defaultRuleDeps } from '../../src/rules/engine/default-deps.js'
import { RulesetCache } from '../../src/rules/engine/ruleset-cache.js'
import { openStore } from '../../src/store/index.js'
import { rulesetOf } from '../helpers/rules.js'
import { CONFIG, handClock, ZONE } from '../control/client.js'

const PHASE = 'http_request_firewall_custom'
const SCOPE = zone(ZONE)

const many = (count: number, text: string): Ruleset =>
  rulesetOf({
    phase: PHASE,
    rules: Array.from({ length: count }, (_, i) => ({ action: 'log', expression: `http.host eq "${text}-${i}"` })),
  })

async function registry(t: Test, config = CONFIG) {
  const store = await openStore('memory', { folder: '', log: silentLog, clock: handClock() })
  const metrics = openMetrics({ process: false })
  const rules = new RulesetCache({ store, parts: defaultRuleDeps, metrics, log: silentLog })
  const zones = new ZoneRegistry(store, config, { rules })
  t.teardown(async () => {
    zones.close()
    await store.close()
  })
  const current = () => zones.current.zones.find(({ id }) => id === ZONE)!
  const first = () => current().rules?.request[0]?.entries[0]?.rules
  return { store, zones, current, first }
}

async function put(store: Store, ruleset: Ruleset): Promise<void> {
  await store.batch([
    { kind: RULESETS, scope: SCOPE, id: ruleset.id, value: { ruleset, older: [] } },
    { kind: ENTRY_POINTS, scope: SCOPE, id: PHASE, value: { ruleset_id: ruleset.id } },
  ])
}

t.test('few rules are in force when the store has them', async (t) => {
  const { store, zones, first } = await registry(t)
  await put(store, many(3, 'a'))
  t.equal(zones.applied, undefined)
  t.equal(first()?.length, 3)
})

t.test('while many rules are compiled, the previous ones stay in force and other changes are applied', async (t) => {
  const { store, zones, current, first } = await registry(t)
  const old = many(3, 'old')
  await put(store, old)
  const seen: unknown[] = []
  const unwatch = store.watch(() => seen.push([zones.applied !== undefined, first()?.[0]?.rule.expression]))
  t.teardown(unwatch)
  await put(store, { ...many(400, 'new'), id: old.id, version: '2' })
  t.same(seen, [[true, 'http.host eq "old-0"']])
  await zones.applied
  t.equal(first()?.length, 400)
  t.equal(first()?.[0]?.rule.expression, 'http.host eq "new-0"')

  // Each watcher below runs in the turn of its change: nothing can be compiled in between.
  seen.length = 0
  const next = many(400, 'newer')
  const changes = [
    put(store, { ...next, id: old.id, version: '3' }),
    store.batch([
      {
        kind: SETTING,
        scope: SCOPE,
        id: 'content_converter',
        value: { value: 'on', modified_on: '2026-01-01T00:00:00Z' },
      },
    ]),
    put(store, { ...next, id: old.id, version: '4', rules: next.rules.slice(1) }),
  ]
  await Promise.all(changes)
  t.equal(current().settings.content_converter, true)
  await zones.applied
  t.equal(first()?.length, 399, 'the last version')
  t.equal(zones.applied, undefined)
})

t.test('a custom ruleset that an entry point begins to run is compiled in steps too', async (t) => {
  const { store, zones, current } = await registry(t)
  const custom: Ruleset = { ...many(300, 'c'), kind: 'custom' }
  await store.batch([{ kind: RULESETS, scope: SCOPE, id: custom.id, value: { ruleset: custom, older: [] } }])
  t.equal(zones.applied, undefined, 'no zone runs it')
  let compiling: boolean | undefined
  t.teardown(store.watch(() => (compiling ??= zones.applied !== undefined)))
  await put(store, rulesetOf({ phase: PHASE, rules: [{ action: 'execute', action_parameters: { id: custom.id } }] }))
  t.equal(compiling, true)
  await zones.applied
  const entry = current().rules!.request[0]!.entries[0]!.rules[0]!
  t.equal(current().rules!.linked(entry.rule.action_parameters!)?.rules.length, 300)
})

t.test('one rule whose Unicode tables are not built yet is compiled in steps too', async (t) => {
  const { store, zones, first } = await registry(t)
  const old = many(1, 'old')
  await put(store, old)
  const expression = 'http.host matches "(?iu)\\p{Cherokee}\\p{Glagolitic}"'
  const unicode = rulesetOf({ phase: PHASE, rules: [{ action: 'log', expression }] })
  let compiling: boolean | undefined
  t.teardown(store.watch(() => (compiling ??= zones.applied !== undefined)))
  await put(store, { ...unicode, id: old.id, version: '2' })
  t.equal(compiling, true)
  await zones.applied
  t.match(first()?.[0], { loaded: true, rule: { expression } })
  await put(store, { ...unicode, id: old.id, version: '3' })
  t.equal(zones.applied, undefined, 'the tables are there')
})

/** A registry with many zones of one account, and a function that puts a number of rules in force for the account. */
async function zonesOfAccount(t: Test, count: number) {
  const zones = Array.from({ length: count }, (_, n) => {
    const id = n.toString(16).padStart(32, '0')
    return { ...CONFIG.zones[0]!, id, name: `z${n}.test`, hostnames: [`z${n}.test`] }
  })
  const { store, zones: registered } = await registry(t, { ...CONFIG, zones })
  const inForce = () =>
    new Set(registered.current.zones.map(({ rules }) => rules?.request[0]?.entries[0]?.rules.length))
  const scope = account(zones[0]!.account)
  const entry = async (rules: number, version: string) => {
    const ruleset = { ...many(rules, 'of-the-account'), id: 'a'.repeat(32), version }
    await store.batch([
      { kind: RULESETS, scope, id: ruleset.id, value: { ruleset, older: [] } },
      { kind: ENTRY_POINTS, scope, id: PHASE, value: { ruleset_id: ruleset.id } },
    ])
  }
  return { zones, store, registered, inForce, entry }
}

t.test('changes of many zones are in force although others follow in each turn', async (t) => {
  const { registered, inForce, entry } = await zonesOfAccount(t, 2000)
  const seen = new Set<unknown>()
  for (let rules = 1; rules <= 100; rules++) {
    await entry(rules, String(rules))
    await new Promise(setImmediate)
    seen.add([...inForce()][0])
  }
  t.ok(seen.size > 2, `${seen.size} states`)
  await registered.applied
  t.same([...inForce()], [100])

  // The second change arrives while the zones are created with the first one.
  await entry(2, '101')
  await new Promise(setImmediate)
  t.not(registered.applied, undefined)
  await entry(3, '102')
  await registered.applied
  t.same([...inForce()], [3])
})

t.test('rules of an account with many zones are in force in all of them together', async (t) => {
  const { zones, store, registered, inForce, entry } = await zonesOfAccount(t, 300)
  const seen: unknown[] = []
  t.teardown(store.watch(() => seen.push([registered.applied !== undefined, ...inForce()])))
  await entry(2, '1')
  t.same(seen, [[true, undefined]], 'the previous state is in force in the turn of the change')
  const last = zones.at(-1)!.id
  const setting = { value: 'on', modified_on: '2026-01-01T00:00:00Z' }
  await store.batch([{ kind: SETTING, scope: zone(zones[0]!.id), id: 'content_converter', value: setting }])
  while (registered.applied) {
    t.same([...inForce()].length, 1, 'never in force in a part of the zones')
    await new Promise(setImmediate)
  }
  t.same([...inForce()], [2])
  t.equal(registered.current.find('z0.test')?.zone.settings.content_converter, true, 'a change meanwhile is not lost')
  t.equal(registered.current.find('z299.test')?.zone.id, last)

  await entry(3, '2')
  const next = await registered.prepare({ ...CONFIG, zones: zones.slice(0, 100) })
  await next.use()
  t.same([...inForce()], [3], 'a new table has all changes')
  t.equal(registered.applied, undefined)
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(registered.current.zones.length, 100, 'and is not replaced by the zones of the old one')
})

t.test('a zone that is created, changed or deleted changes neither the others nor their replacement', async (t) => {
  const { zones, store, registered, inForce, entry } = await zonesOfAccount(t, 300)
  const scope = account(zones[0]!.account)
  const value = { account: scope.id, name: 'new.test', plan: 'free', created_on: '2026-01-01T00:00:00Z' }
  const id = 'f'.repeat(32)
  const put = async (change: object | undefined) =>
    await store.batch([{ kind: ZONES, scope, id, value: change && { id, ...value, ...change } }])
  const before = registered.current.zones
  await put({})
  t.equal(registered.current.find('www.new.test')?.zone.id, id)
  t.ok(
    before.every((one, place) => registered.current.zones[place] === one),
    'the other zones are the same objects',
  )
  await put({ plan: 'enterprise' })
  t.match(registered.current.find('new.test')?.zone, { id, plan: 'enterprise' })

  // While the zones of the account are created again.
  const changing = entry(2, '1')
  const renamed = put({ name: 'newer.test' })
  await changing
  await renamed
  t.equal(registered.current.find('newer.test')?.zone.id, id)
  t.equal(registered.current.find('new.test'), undefined)
  await registered.applied
  t.same([...inForce()], [2], 'the new zone has the rules too')
  const again = entry(3, '2')
  await put(undefined)
  await again
  await registered.applied
  t.equal(registered.current.find('newer.test'), undefined)
  t.equal(registered.current.zones.length, 300)
  t.same([...inForce()], [3])
})
