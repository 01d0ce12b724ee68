import t from 'tap'
import { issuesOf } from '../../src/core/schema.js'
import { ACTIONS, actionsOf } from '../../src/edge/actions/index.js'
import type { Place } from '../../src/edge/action.js'
import { kindsOf, PHASES, phaseNamed, type PhaseName } from '../../src/edge/phases.js'

const place = (name: PhaseName, more: Partial<Place> = {}): Place => {
  const phase = phaseNamed(name)
  if (!phase) throw new Error(name)
  return { phase, kind: 'zone', level: 'zone', credentials: false, ...more }
}

t.test('there are the actions and phases of the public API, each once', async (t) => {
  t.equal(ACTIONS.size, 21)
  t.equal(PHASES.length, 24)
  t.equal(new Set(PHASES.map(({ name }) => name)).size, 24)
  for (const [name, action] of ACTIONS) t.equal(action.name, name)
})

t.test('every phase has actions, and rulesets at some level', async (t) => {
  for (const phase of PHASES) {
    t.ok(actionsOf(phase.name, 'zone').length > 0, phase.name)
    t.ok(kindsOf(phase, 'account').length + kindsOf(phase, 'zone').length > 0, phase.name)
  }
})

t.test('phases run on the network, on the request, then on the response', async (t) => {
  const layers = PHASES.map(({ layer }) => layer)
  const changes = layers.filter((layer, index) => layer !== layers[index - 1])
  t.same(changes, ['network', 'request', 'response'])
})

t.test('rulesets that others run can be made exactly where rules can run them', async (t) => {
  for (const phase of PHASES) {
    const runs = actionsOf(phase.name, 'zone').some(({ name }) => name === 'execute')
    t.equal('executes' in phase, runs, phase.name)
  }
  t.notOk(actionsOf('http_request_firewall_managed', 'managed').some(({ name }) => name === 'execute'))
})

for (const action of ACTIONS.values()) {
  t.test(`${action.name}: its schema compiles, its examples are valid, unknown members are not`, async (t) => {
    t.not(action.examples.length, 0)
    for (const { phase, params } of action.examples) {
      t.same(action.validate(params, place(phase)), [], JSON.stringify(params))
      t.ok(action.phases.includes(phase))
      for (const { pointer, text } of action.expressions(params)) t.equal(at(params, pointer), text)
      t.match(issuesOf(action.params)({ ...params, nope: 1 }), [{ pointer: '/nope', message: 'is not a known member' }])
    }
  })
}

/** What a JSON pointer points at. */
function at(value: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((inner, step) => (inner as Record<string, unknown>)[step], value)
}

t.test('cloudflare_only is stored as vendor_only', async (t) => {
  const sent = {
    public: { operation: 'set', cloudflare_only: true },
    'no-store': { operation: 'set', vendor_only: false },
  }
  t.same(ACTIONS.get('set_cache_control')?.stored(sent), {
    public: { operation: 'set', vendor_only: true },
    'no-store': { operation: 'set', vendor_only: false },
  })
})
