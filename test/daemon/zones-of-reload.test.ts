import t, { type Test } from 'tap'
import { readConfig } from '../../src/config/load.js'
import type { Config, ZoneConfig } from '../../src/config/schema.js'
import { systemClock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import { SETTING } from '../../src/core/model/setting.js'
import { ZONES } from '../../src/core/model/zone.js'
import { account, zone } from '../../src/core/scope.js'
import { configChanges } from '../../src/daemon/config/changes.js'
import { zoneSlices, zonesOf, type SentZone } from '../../src/daemon/processes/zone-slices.js'
import { withUnchanged } from '../../src/daemon/config/unchanged.js'
import { ZoneRegistry } from '../../src/daemon/zones/registry.js'
import { defaultRuleDeps } from '../../src/rules/engine/default-deps.js'
import { RulesetCache } from '../../src/rules/engine/ruleset-cache.js'
import { openStore } from '../../src/store/index.js'

const COUNT = 400
const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'

const configOf = (count: number): Config =>
  readConfig(
    JSON.stringify({
      accounts: [{ id: ACCOUNT, name: 'Example' }],
      zones: Array.from({ length: count }, (_, n) => {
        const id = n.toString(16).padStart(32, '0')
        const settings = { content_converter: 'off' }
        return {
          id,
          account: ACCOUNT,
          name: `z${n}.test`,
          hostnames: [`z${n}.test`],
          origin: 'http://127.0.0.1:1',
          settings,
        }
      }),
    }),
    'edged.yaml',
    {},
  )
const CONFIG = configOf(COUNT)
const zonesNamed = (count: number): ZoneConfig[] => CONFIG.zones.slice(0, count)

/** A registry whose pauses call `paused` and count. */
async function registry(t: Test, zones: readonly ZoneConfig[]) {
  const store = await openStore('memory', { folder: '', log: silentLog, clock: systemClock })
  const rules = new RulesetCache({
    store,
    parts: defaultRuleDeps,
    metrics: openMetrics({ process: false }),
    log: silentLog,
  })
  const slices = { pauses: 0, paused: async (_pause: number): Promise<void> => undefined }
  const pause = async () => await slices.paused(++slices.pauses)
  const registered = new ZoneRegistry(store, { ...CONFIG, zones: [...zones] }, { rules, pause })
  t.teardown(async () => {
    registered.close()
    await store.close()
  })
  const put = async (id: string, value: string) =>
    await store.batch([
      {
        kind: SETTING,
        scope: zone(id),
        id: 'content_converter',
        value: { value, modified_on: '2026-01-01T00:00:00Z' },
      },
    ])
  return { store, registered, slices, put }
}

t.test('a reload creates changed zones in slices, and those before serve until all exist', async (t) => {
  const before = zonesNamed(COUNT)
  const { registered, slices } = await registry(t, before)
  const first = registered.current.zones
  const changed = before.map((one, n) =>
    n % 2 === 0 ? one : { ...one, hostnames: [`z${n}.test`, `w${n}.test`], origin: 'http://127.0.0.1:2' },
  )
  slices.paused = async () => {
    t.equal(registered.current.zones, first, 'unchanged in each pause')
    t.equal(first[1]?.balancer.peers[0]?.url, 'http://127.0.0.1:1')
  }
  const next = await registered.prepare({ ...CONFIG, zones: changed })
  t.ok(slices.pauses >= COUNT / 50, `${slices.pauses} pauses`)
  t.equal(registered.current.find('w1.test'), undefined)
  await next.use()
  t.equal(registered.current.find('w1.test')?.zone.id, before[1]!.id)
  t.equal(registered.current.find('z1.test')?.zone.balancer.peers[0]?.url, 'http://127.0.0.1:2')
  const kept = registered.current.zones.filter((one, place) => one === first[place])
  t.equal(kept.length, COUNT / 2, 'those without a change are the same objects')
})

t.test('what the API changes while a configuration is prepared is in force before and after it', async (t) => {
  const before = zonesNamed(COUNT)
  const { registered, slices, put, store } = await registry(t, before)
  const scope = account(before[0]!.account)
  const id = 'f'.repeat(32)
  slices.paused = async (pause) => {
    if (pause === 2) {
      await put(before[0]!.id, 'on')
      await put(before[COUNT - 1]!.id, 'on')
      await store.batch([
        { kind: ZONES, scope, id, value: { id, account: scope.id, name: 'new.test', plan: 'free', created_on: '' } },
      ])
    }
    if (pause > 2) t.equal(registered.current.find('z0.test')?.zone.settings.content_converter, true)
  }
  const next = await registered.prepare({ ...CONFIG, zones: before.map((one) => ({ ...one, websockets: false })) })
  await put(before[1]!.id, 'on')
  await next.use()
  for (const name of ['z0.test', 'z1.test', `z${COUNT - 1}.test`])
    t.match(registered.current.find(name)?.zone, { websockets: false, settings: { content_converter: true } }, name)
  t.equal(registered.current.find('z2.test')?.zone.settings.content_converter, false)
  t.equal(registered.current.find('new.test')?.zone.id, id)
  t.equal(registered.current.zones.length, COUNT + 1)
})

t.test('a configuration that is dropped changes nothing, options of origins included', async (t) => {
  const before = zonesNamed(3)
  const { registered, put } = await registry(t, before)
  const first = registered.current.zones
  const origins = [{ url: 'http://127.0.0.1:1', weight: 7, backup: false }]
  const given = before.map(({ origin: _origin, ...one }) => ({ ...one, origins }))
  const next = await registered.prepare({ ...CONFIG, zones: given })
  next.drop()
  t.equal(registered.current.zones, first)
  t.equal(first[0]?.balancer.peers[0]?.options.weight, 1)
  await put(before[0]!.id, 'on')
  t.equal(registered.current.find('z0.test')?.zone.balancer, first[0]?.balancer)
  await (await registered.prepare({ ...CONFIG, zones: given })).use()
  const { balancer } = registered.current.find('z0.test')!.zone
  t.equal(balancer.peers[0]?.options.weight, 7)
  t.equal(balancer.peers[0], first[0]?.balancer.peers[0], 'an origin retains its state')
  await put(before[0]!.id, 'off')
  t.equal(registered.current.find('z0.test')?.zone.balancer, balancer)
})

t.test('sections and entries that a reload does not change are the same objects', async (t) => {
  const old = configOf(20)
  const given = configOf(20)
  const again = { ...given, zones: given.zones.with(3, { ...given.zones[3]!, origin: 'http://127.0.0.1:2' }) }
  let pauses = 0
  const pause = async () => void pauses++
  const next = await withUnchanged(old, again, pause)
  t.strictSame(next, again)
  t.strictSame(
    next.zones.flatMap((one, place) => (one === old.zones[place] ? [] : [place])),
    [3],
  )
  t.equal(next.proxy, old.proxy)
  t.ok(pauses >= 20)
  t.strictSame(await configChanges(old, next, pause), { changed: ['zones: changed z3.test'], restartNeeded: [] })
  const same = await withUnchanged(old, configOf(20), pause)
  t.equal(same.zones, old.zones)

  const fewer = { ...again, zones: again.zones.slice(1).toReversed() }
  const { changed } = await configChanges(again, fewer, pause)
  t.strictSame(changed, ['zones: removed z0.test'])
  const turned = { ...again, zones: again.zones.toReversed() }
  t.strictSame((await configChanges(again, turned, pause)).changed, ['zones'], 'another order')
})

t.test('a process gets changed zones in slices, and places of the others', (t) => {
  const before = zonesNamed(COUNT)
  const first = [...zoneSlices(before, [])]
  t.ok(first.every(({ zones }) => zones.length <= 100))
  t.strictSame(
    first.map(({ isFirst }) => isFirst),
    [true, false, false, false],
  )
  const next = [...before.slice(1, 250), { ...before[250]!, name: 'new.test' }, ...before.slice(251)]
  const sent = [...zoneSlices(next, before)].flatMap(({ zones }): readonly SentZone[] => zones)
  t.equal(sent.filter((one) => typeof one !== 'number').length, 1)
  const received = zonesOf(sent, before)
  t.ok(received.every((one, place) => one === next[place]))
  t.strictSame([...zoneSlices([], before)], [{ isFirst: true, zones: [] }], 'what was sent before is forgotten')
  t.end()
})
