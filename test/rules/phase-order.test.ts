import fc from 'fast-check'
import t from 'tap'
import type { Exchange } from '../../src/edge/exchange/exchange.js'
import { fieldContext, FIELD_GETTERS } from '../../src/rules/fields/index.js'
import { Geo } from '../../src/edge/exchange/geo.js'
import { FieldSource } from '../../src/rules/fields/source.js'
import type { PhaseName } from '../../src/rules/phases.js'
import { defaultRuleDeps } from '../../src/rules/engine/default-deps.js'
import { MatchCounters } from '../../src/rules/match-counters.js'
import { prepareRuleset } from '../../src/rules/engine/prepared.js'
import type { Run } from '../../src/rules/engine/run.js'
import { overridden, overridesByRule, type Overrides } from '../../src/rules/engine/overrides.js'
import { systemClock } from '../../src/core/clock.js'
import { silentLog, type Log } from '../../src/core/log.js'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import { compile, parse } from '../../src/expr/index.js'
import { testZone } from '../helpers/proxy.js'
import { newHexId, rulesetOf, rulesOf, type TestRule, type TestRuleset } from '../helpers/rules.js'
import { arrived } from './exchange-helper.js'

const CUSTOM: PhaseName = 'http_request_firewall_custom'
const MANAGED: PhaseName = 'http_request_firewall_managed'
const LIMITS: PhaseName = 'http_ratelimit'

function exchange(target = '/path?q=1', host = 'example.test'): Exchange {
  return arrived({
    served: { zone: testZone('http://127.0.0.1:1'), host, custom: undefined },
    target,
    rawHeaders: ['Host', host, 'X-A', '1'],
    headers: ['X-A', '1', 'host', host],
  })
}

function begin(rulesets: readonly TestRuleset[], target?: string): Run {
  const asked = exchange(target)
  const source = new FieldSource(asked, { clock: systemClock, geo: new Geo() })
  return rulesOf(rulesets).begin(asked, FIELD_GETTERS.context(source))
}

/** Runs the request phases. Returns the descriptions of the rules that acted, and the outcome. */
function acted(rulesets: readonly TestRuleset[], target?: string) {
  const run = begin(rulesets, target)
  const ending = run.request()
  return { ids: run.exchange.matches.map(({ rule }) => rule), ending, exchange: run.exchange }
}

const id = (digit: string) => digit.repeat(32)
const SETS = { custom: id('c'), managed: id('d'), other: id('e') }
const log = (name: string, more: Partial<TestRule> = {}): TestRule => ({ action: 'log', id: id(name), ...more })
const skip = (params: Record<string, unknown>, more: Partial<TestRule> = {}): TestRule => ({
  action: 'skip',
  id: id('0'),
  action_parameters: params,
  ...more,
})
const execute = (target: string, overrides?: Overrides, more: Partial<TestRule> = {}): TestRule => ({
  action: 'execute',
  id: id('f'),
  action_parameters: { id: target, ...(overrides && { overrides }) },
  ...more,
})

/** Returns an account and a zone with rules 1 to 9 in several phases, a custom and two managed rulesets. */
const layout = (level: 'account' | 'zone', first: TestRule): TestRuleset[] => [
  { phase: CUSTOM, level: 'account', rules: [...(level === 'account' ? [first] : []), log('1')] },
  {
    phase: CUSTOM,
    level: 'zone',
    rules: [
      ...(level === 'zone' ? [first] : []),
      log('2'),
      execute(SETS.custom, undefined, { logging: { enabled: true } }),
    ],
  },
  { phase: CUSTOM, kind: 'custom', level: 'account', id: SETS.custom, rules: [log('3'), log('4')] },
  { phase: LIMITS, level: 'account', rules: [log('5')] },
  { phase: LIMITS, level: 'zone', rules: [log('6')] },
  { phase: MANAGED, level: 'account', rules: [execute(SETS.managed)] },
  { phase: MANAGED, level: 'zone', rules: [log('7'), execute(SETS.managed)] },
  { phase: MANAGED, kind: 'managed', level: 'account', id: SETS.managed, rules: [log('8'), log('9')] },
]
const names = (ids: readonly string[]) => ids.map((found) => found[0]).join('')

t.test('phases, rulesets and rules that skip rules skip', async (t) => {
  const CASES: [what: string, level: 'account' | 'zone', params: Record<string, unknown>, acted: string][] = [
    ['nothing that is there', 'zone', { rulesets: [SETS.other] }, '10234f5689f789f'],
    ['the rest of the ruleset, of the zone', 'zone', { ruleset: 'current' }, '105689f789f'],
    ['the rest of the ruleset, of the account', 'account', { ruleset: 'current' }, '0234f5689f789f'],
    ['the rest of the phase', 'zone', { phase: 'current' }, '105689f789f'],
    ['a phase, of the zone', 'zone', { phases: [LIMITS] }, '10234f589f789f'],
    ['a phase, of the account: on both levels', 'account', { phases: [LIMITS] }, '01234f89f789f'],
    ['a phase and the rest of the ruleset', 'zone', { phases: [MANAGED], ruleset: 'current' }, '105689f'],
    ['a ruleset, of the zone', 'zone', { rulesets: [SETS.managed] }, '10234f5689f7f'],
    ['a ruleset, of the account', 'account', { rulesets: [SETS.managed] }, '01234f56f789f'],
    ['a ruleset of the same phase', 'zone', { rulesets: [SETS.custom] }, '102f5689f789f'],
    ['a rule', 'zone', { rules: { [SETS.managed]: [id('8')] } }, '10234f5689f79f'],
    ['a rule that is in another ruleset', 'zone', { rules: { [SETS.custom]: [id('8')] } }, '10234f5689f789f'],
    ['a product', 'zone', { products: ['waf'] }, '10234f5689f'],
    ['products without a phase', 'zone', { products: ['bic', 'hot'] }, '10234f5689f789f'],
  ]
  // The action of an execute rule is recorded after its ruleset has run.
  for (const [what, level, params, expected] of CASES)
    t.equal(names(acted(layout(level, skip(params))).ids), expected, what)
})

t.test('a skip rule that is not logged leaves no trace, but skips', async (t) => {
  const rules = layout('zone', skip({ ruleset: 'current' }, { logging: { enabled: false } }))
  t.equal(names(acted(rules).ids), '15689f789f')
})

t.test('skip of the current ruleset ends only an executed ruleset', async (t) => {
  const found = acted([
    { phase: CUSTOM, rules: [execute(SETS.custom), log('1')] },
    { phase: CUSTOM, kind: 'custom', id: SETS.custom, rules: [skip({ ruleset: 'current' }), log('2')] },
  ])
  t.equal(names(found.ids), '0f1')
})

t.test('a product that is a setting is turned off', async (t) => {
  const { exchange } = acted([{ phase: CUSTOM, rules: [skip({ products: ['securityLevel'] })] }])
  t.equal(exchange.decisions.settings.security_level, 'off')
})

t.test('overrides: rule before category before ruleset, each setting for itself', async (t) => {
  const rule = rulesetOf({ phase: MANAGED, rules: [{ action: 'block', id: id('1'), categories: ['a', 'b'] }] })
    .rules[0]!
  const CASES: [what: string, overrides: Overrides, expected: object][] = [
    ['none', {}, {}],
    ['of the ruleset', { action: 'log', enabled: false }, { action: 'log', enabled: false }],
    ['of a category', { action: 'log', categories: [{ category: 'a', action: 'challenge' }] }, { action: 'challenge' }],
    ['of another category', { action: 'log', categories: [{ category: 'z', action: 'challenge' }] }, { action: 'log' }],
    [
      'the last category that fits',
      {
        categories: [
          { category: 'b', action: 'log' },
          { category: 'a', action: 'challenge' },
          { category: 'z', action: 'score' },
        ],
      },
      { action: 'challenge' },
    ],
    [
      'of the rule',
      { categories: [{ category: 'a', action: 'challenge' }], rules: [{ id: id('1'), action: 'log' }] },
      { action: 'log' },
    ],
    [
      'each setting from the highest level that has it',
      {
        enabled: false,
        sensitivity_level: 'low',
        categories: [{ category: 'a', enabled: true }],
        rules: [{ id: id('1'), score_threshold: 5 }],
      },
      { enabled: true, sensitivity_level: 'low', score_threshold: 5 },
    ],
    ['of another rule', { rules: [{ id: id('2'), action: 'log' }] }, {}],
  ]
  for (const [what, overrides, expected] of CASES)
    t.strictSame(overridden(rule, overridesByRule(overrides), overrides), expected, what)
})

t.test('execute runs a ruleset as its overrides say', async (t) => {
  const managed: TestRuleset = {
    phase: MANAGED,
    kind: 'managed',
    id: SETS.managed,
    rules: [
      log('1', { categories: ['a'] }),
      log('2', { enabled: false }),
      { action: 'score', id: id('3'), action_parameters: { increment: 5 } },
      { action: 'block', id: id('4'), categories: ['b'] },
    ],
  }
  const CASES: [what: string, overrides: Overrides | undefined, acted: string, ends: boolean][] = [
    ['as it is', undefined, '134f', true],
    ['another action', { categories: [{ category: 'b', action: 'log' }] }, '134f', false],
    ['a rule that is off, on', { rules: [{ id: id('2'), enabled: true }], action: 'log' }, '1234f', false],
    ['all off but one', { enabled: false, rules: [{ id: id('1'), enabled: true }] }, '1f', false],
    ['essentially off', { categories: [{ category: 'b', sensitivity_level: 'eoff' }] }, '13f', false],
    ['a threshold that is reached', { rules: [{ id: id('4'), score_threshold: 5 }] }, '134f', true],
    ['a threshold that is not', { rules: [{ id: id('4'), score_threshold: 6 }] }, '13f', false],
    ['an action that is none', { rules: [{ id: id('1'), action: 'nonsense' }] }, '34f', true],
  ]
  for (const [what, overrides, expected, ends] of CASES) {
    const { ids, ending } = acted([managed, { phase: MANAGED, rules: [execute(SETS.managed, overrides)] }])
    t.equal(names(ids), expected, what)
    t.equal(ending !== undefined, ends, what)
  }
})

t.test('rulesets that would run themselves, are of another phase or do not exist are not run', async (t) => {
  const found = acted([
    { phase: CUSTOM, rules: [execute(SETS.custom), execute(SETS.managed, undefined, { id: id('a') }), log('1')] },
    {
      phase: CUSTOM,
      kind: 'custom',
      id: SETS.custom,
      rules: [log('2'), execute(SETS.custom, undefined, { id: id('b') })],
    },
    { phase: MANAGED, kind: 'managed', id: SETS.managed, rules: [log('3')] },
  ])
  t.equal(names(found.ids), '2bfa1')
})

t.test('a request runs at most a thousand rulesets, however often rules run rulesets that run others', async (t) => {
  const many = (target: string) => Array.from({ length: 40 }, () => execute(target, undefined, { id: newHexId() }))
  const { exchange, ending } = acted([
    { phase: MANAGED, rules: many(SETS.custom) },
    { phase: MANAGED, kind: 'custom', id: SETS.custom, rules: many(SETS.managed) },
    {
      phase: MANAGED,
      kind: 'managed',
      id: SETS.managed,
      rules: [{ action: 'score', id: id('1'), action_parameters: { increment: 1 } }],
    },
  ])
  // 24 runs of the custom one and 40 below each, one more run, and 15 below it.
  t.equal(exchange.decisions.score, 24 * 40 + 15)
  t.equal(ending, undefined)
})

t.test('within a phase all rules see the request unchanged; the next phase sees their changes', async (t) => {
  const path = (expression: string) => ({ uri: { path: { expression } } })
  const { exchange, ids } = acted(
    [
      {
        phase: 'http_request_transform',
        rules: [
          { action: 'rewrite', id: id('1'), action_parameters: path('concat("/one", http.request.uri.path)') },
          { action: 'rewrite', id: id('2'), action_parameters: path('concat("/two", http.request.uri.path)') },
          {
            action: 'rewrite',
            id: id('3'),
            expression: 'starts_with(http.request.uri.path, "/one")',
            action_parameters: path('"/never"'),
          },
        ],
      },
      {
        phase: CUSTOM,
        rules: [
          log('4', { expression: 'http.request.uri.path eq "/two/p"' }),
          log('5', { expression: 'raw.http.request.uri.path eq "/p"' }),
          log('6', { expression: 'http.host eq "example.test"' }),
        ],
      },
    ],
    '/p?q',
  )
  t.equal(exchange.target, '/two/p?q')
  t.equal(names(ids), '12456')
})

t.test('settings of several rules are merged, the later rule wins', async (t) => {
  const config = (action_parameters: Record<string, unknown>): TestRule => ({ action: 'set_config', action_parameters })
  const { exchange } = acted([
    {
      phase: 'http_config_settings',
      rules: [
        config({ polish: 'lossy', autominify: { css: true }, bic: true }),
        config({ polish: 'webp', autominify: { js: true } }),
      ],
    },
  ])
  t.match(exchange.decisions.settings, { polish: 'webp', autominify: { css: true, js: true }, bic: true })
})

t.test('totals of scores are visible to the rules that follow', async (t) => {
  const score = (increment: number): TestRule => ({ action: 'score', action_parameters: { increment } })
  const filler = Array.from({ length: 20 }, (_, i) =>
    log('1', { id: newHexId(), expression: `cf.waf.score eq ${i + 90}` }),
  )
  const { ending, ids } = acted([
    {
      phase: CUSTOM,
      rules: [
        score(4),
        log('a', { expression: 'cf.waf.score eq 4' }),
        score(-1),
        ...filler,
        { action: 'block', id: id('b'), expression: 'cf.waf.score eq 3' },
      ],
    },
  ])
  t.match(ending, { kind: 'page', status: 403 })
  t.match(ids.slice(-1), [id('b')])
})

t.test('the record of one request is bounded', async (t) => {
  const rules = Array.from({ length: 1000 }, () => log('1', { id: newHexId() }))
  t.equal(acted([{ phase: CUSTOM, rules }]).ids.length, 256)
})

t.test('many rules have the same effects as their sequential evaluation', async () => {
  const expression = fc.oneof(
    fc.constantFrom('true', 'false', 'http.request.method eq "GET"', 'not ssl'),
    fc.constantFrom('a', 'b', 'c').map((part) => `starts_with(http.request.uri.path, "/${part}")`),
    fc.constantFrom('a', 'b', 'c').map((part) => `http.request.uri.path contains "/${part}${part}${part}"`),
    fc.constantFrom('a', 'b').map((query) => `http.request.uri.query eq "${query}"`),
    fc.constantFrom('192.0.2.0/24', '10.0.0.0/8').map((net) => `ip.src in {${net}}`),
  )
  const rule = fc.record({
    expression,
    enabled: fc.boolean(),
    action: fc.constantFrom('log', 'log', 'log', 'log', 'log', 'log', 'log', 'log', 'block', 'skip'),
  })
  const rulesArb = fc.array(rule, { minLength: 1, maxLength: 60 })
  const targets = fc.constantFrom('/a', '/b?a', '/c/ccc?b', '/aaa', '/')
  fc.assert(
    fc.property(rulesArb, targets, (drafts, target) => {
      const rules = drafts.map((draft) => ({
        ...draft,
        id: newHexId(),
        ...(draft.action === 'skip' && { action_parameters: { ruleset: 'current' } }),
      }))
      const run = begin([{ phase: CUSTOM, rules }], target)
      const expected: string[] = []
      for (const { id, enabled, action, expression } of rules) {
        if (!enabled || !compile(parse(expression))(run.context)) continue
        expected.push(id)
        if (action !== 'log') break
      }
      const ending = run.request()
      const last = rules.find(({ id }) => id === expected.at(-1))
      return (
        JSON.stringify(run.exchange.matches.map(({ rule }) => rule)) === JSON.stringify(expected) &&
        (ending !== undefined) === (last?.action === 'block')
      )
    }),
    { numRuns: 300 },
  )
})

t.test('rules beyond the budget of the request fail, are counted and logged; small rules still run', async (t) => {
  const logged: object[] = []
  const log = { ...silentLog, warn: (entry: object) => logged.push(entry) } as unknown as Log
  const dear = { action: 'log', expression: 'http.request.uri.path matches "(a|b)*a(a|b){24}c"' }
  const cheap = { action: 'block', expression: 'http.host eq "example.test"' }
  const metrics = openMetrics({ process: false })
  const rules = rulesOf([{ phase: CUSTOM, rules: [...Array.from({ length: 100 }, () => dear), cheap] }], {
    log,
    metrics,
  })
  let seed = 1
  const path = Array.from({ length: 8000 }, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return seed < 2 ** 30 ? 'a' : 'b'
  })
  const requests = () => {
    const asked = exchange(`/${path.join('')}`)
    const run = rules.begin(asked, fieldContext(asked, { clock: systemClock, geo: new Geo() }))
    return run.request()
  }
  t.match(requests(), { kind: 'page', reason: 'access_denied' }, 'the cheap rule blocks')
  t.ok(logged.length > 50, 'each rule beyond the budget is logged')
  t.match(logged[0], { event: 'rule_over_budget', reason: /budget of steps/ })
  const before = logged.length
  requests()
  t.equal(logged.length, before, 'at most once a minute')
  const { values } = await metrics.getSingleMetric('edged_rule_budget_exceeded_total')!.get()
  t.ok(values.length === before && values.every(({ value }) => value === 2))
})

t.test('a new version of a ruleset compiles only the rules that changed', async (t) => {
  const options = {
    level: 'zone' as const,
    accountId: 'account',
    parts: defaultRuleDeps,
    counters: new MatchCounters(openMetrics({ process: false })),
    log: silentLog,
  }
  const reader = { action: 'log', expression: 'http.request.body.raw contains "x"' }
  const first = rulesetOf({
    phase: CUSTOM,
    rules: [...Array.from({ length: 30 }, () => log('1', { id: newHexId() })), reader],
  })
  const before = prepareRuleset(first, options)
  t.equal(before.readsBody, true)
  const changed = { ...first.rules[3]!, version: '2', expression: 'ssl' }
  // As another machine reads it: equal rules, but not identical.
  const rules = structuredClone(first.rules).with(3, changed).slice(0, 30)
  const after = prepareRuleset({ ...first, version: '2', rules }, { ...options, previous: before })
  t.same(
    after.rules.flatMap((rule, index) => (rule === before.rules[index] ? [] : [index])),
    [3],
  )
  t.equal(after.rules[3]?.rule.expression, 'ssl')
  t.equal(after.readsBody, false, 'the rule that read the body is gone')
})
