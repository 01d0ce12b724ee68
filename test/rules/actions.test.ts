import fc from 'fast-check'
import t from 'tap'
import { issuesOf } from '../../src/core/schema.js'
import { ACTIONS, actionsOf } from '../../src/rules/actions/index.js'
import type { RulePlace } from '../../src/rules/types.js'
import { kindsOf, PHASES, phaseNamed, type PhaseName } from '../../src/rules/phases.js'
import { ruleIssues } from '../../src/rules/rulesets/validate.js'

const place = (name: PhaseName, more: Partial<RulePlace> = {}): RulePlace => {
  const phase = phaseNamed(name)
  if (!phase) throw new Error(name)
  return { phase, kind: 'zone', level: 'zone', credentials: false, ...more }
}

const PUBLIC_ACTIONS =
  'block challenge compress_response ddos_dynamic execute force_connection_close js_challenge log log_custom_field managed_challenge redirect rewrite route score serve_error set_cache_control set_cache_settings set_cache_tags set_config skip transform_response_html'.split(
    ' ',
  )

t.test('the actions and phases of the public API exist, each once', async (t) => {
  const known = PUBLIC_ACTIONS.filter((name) => ACTIONS.has(name))
  t.same(known, PUBLIC_ACTIONS)
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

t.test('rulesets that others run can be created exactly in the phases whose rules can run them', async (t) => {
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

/** Returns the target of a JSON pointer. */
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

/** Returns the value with one of its inner values, the `at`-th in order, replaced. */
function replaced(value: unknown, at: number, by: unknown): unknown {
  let left = at
  const walk = (inner: unknown): unknown => {
    if (left-- === 0) return by
    if (Array.isArray(inner)) return inner.map(walk)
    if (typeof inner !== 'object' || inner === null) return inner
    return Object.fromEntries(Object.entries(inner).map(([name, member]) => [name, walk(member)]))
  }
  return walk(value)
}

t.test('any replacement of a value is accepted or reported with a pointer into the rule', async (t) => {
  const rules = [...ACTIONS.values()].flatMap(({ name, examples }) =>
    examples.map(({ phase, params }) => ({
      phase,
      rule: { action: name, action_parameters: params, expression: 'true' },
    })),
  )
  const strange = fc.oneof(
    fc.constantFrom(
      null,
      true,
      false,
      0,
      -1,
      1.5,
      1e300,
      '',
      'x',
      'x\r\ny',
      '\u0000',
      [],
      {},
      [null],
      { '': null },
      { 'a\nb': null },
    ),
    fc.jsonValue({ maxDepth: 3 }),
  )
  let reported = 0
  const holds = () =>
    fc.assert(
      fc.property(fc.constantFrom(...rules), fc.nat(25), strange, ({ phase: name, rule }, at, by) => {
        const phase = phaseNamed(name)!
        const input = replaced(rule, at, by)
        const issues = ruleIssues(input, {
          phase,
          kind: 'zone',
          level: 'zone',
          target: () => undefined,
          list: () => 'redirect',
        })
        for (const { pointer, message } of issues) {
          if (pointer !== '' && !pointer.startsWith('/')) throw new Error(`${pointer} is no pointer`)
          if (message === '') throw new Error('an issue says nothing')
        }
        reported += issues.length
      }),
      { numRuns: 5000, seed: 20_261_121 },
    )
  t.doesNotThrow(holds)
  t.ok(reported > 2000, `${reported} issues`)
})
