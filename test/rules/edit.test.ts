import fc from 'fast-check'
import t from 'tap'
import { InvalidInput } from '../../src/core/errors.js'
import type { Rule, Ruleset } from '../../src/core/model/ruleset.js'
import {
  addRule,
  changeRule,
  createRuleset,
  patched,
  removeRule,
  replaceRuleset,
  timestamp,
  type Making,
} from '../../src/rules/rulesets/edit.js'
import type { Position, RuleInput } from '../../src/rules/rulesets/rule-input.js'

/** Returns times and ids in order, so that each is new. */
function maker(): () => Making {
  let second = 0
  let id = 0
  return () => ({ now: timestamp(++second * 1000), newId: () => String(++id).padStart(32, '0') })
}

const NEW = { name: 'n', kind: 'custom', phase: 'http_request_firewall_custom' } as const

const rule = fc.record(
  {
    action: fc.constantFrom('log', 'block', 'challenge'),
    expression: fc.constantFrom('true', 'ssl', 'http.host eq "a"'),
    description: fc.constantFrom('', 'x', 'y'),
    enabled: fc.boolean(),
    ref: fc.constantFrom('r1', 'r2', 'r3', 'r4'),
    ratelimit: fc.record({
      characteristics: fc.constant(['ip.src']),
      period: fc.constantFrom(10, 20),
      requests_per_period: fc.constant(5),
    }),
  },
  { requiredKeys: ['action', 'expression'] },
) as fc.Arbitrary<RuleInput>

/** One edit; numbers select among the current rules. */
type Edit =
  | { readonly put: readonly { readonly keep: number; readonly as: 'id' | 'ref' | 'new'; readonly rule: RuleInput }[] }
  | { readonly add: RuleInput; readonly at: number }
  | { readonly change: number; readonly to: RuleInput; readonly at: number }
  | { readonly remove: number }

const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({
    put: fc.array(
      fc.record({ keep: fc.nat(5), as: fc.constantFrom('id' as const, 'ref' as const, 'new' as const), rule }),
      { maxLength: 6 },
    ),
  }),
  fc.record({ add: rule, at: fc.nat(8) }),
  fc.record({ change: fc.nat(8), to: rule, at: fc.nat(8) }),
  fc.record({ remove: fc.nat(8) }),
)

const pick = (rules: readonly Rule[], at: number): Rule | undefined => rules[at % Math.max(1, rules.length)]

function position(rules: readonly Rule[], at: number): Position | undefined {
  const other = pick(rules, at)
  return [undefined, { index: 1 }, { before: '' }, { after: '' }, other ? { before: other.id } : undefined][at % 5]
}

/** Returns the rules of a put: in the order of the list, each of the stored ones at most once. */
function inputs(old: readonly Rule[], put: Extract<Edit, { put: unknown }>['put']): RuleInput[] {
  const used = new Set<string>()
  return put.map(({ keep, as, rule }) => {
    const stored = pick(old, keep)
    if (as === 'new' || !stored || used.has(stored.id)) return rule
    used.add(stored.id)
    return as === 'id' ? { ...rule, id: stored.id } : { ...rule, ref: stored.ref }
  })
}

function apply(old: Ruleset, edit: Edit, making: Making): Ruleset | undefined {
  if ('put' in edit) return replaceRuleset(old, { rules: inputs(old.rules, edit.put) }, making)
  if ('add' in edit) return addRule(old, edit.add, position(old.rules, edit.at), making)
  const found = pick(old.rules, 'remove' in edit ? edit.remove : edit.change)
  if (!found) return undefined
  if ('remove' in edit) return removeRule(old, found.id, making)
  const others = old.rules.filter(({ id }) => id !== found.id)
  return changeRule(old, found.id, { ref: found.ref, ...edit.to }, position(others, edit.at), making)
}

const distinct = (values: readonly string[]): boolean => new Set(values).size === values.length
const body = ({ version: _version, last_updated: _updated, ...rest }: Rule) => JSON.stringify(sorted(rest))
const sorted = (value: object) => Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))

t.test('after any edit versions grow by one, rules keep their identity, and old versions are unchanged', async (t) => {
  let applied = 0
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 4 }), fc.array(edit, { maxLength: 12 }), (first, edits) => {
      const make = maker()
      const everSeen = new Set<string>()
      const refs = new Set<string>()
      const rules = first.filter(({ ref }) => ref === undefined || (!refs.has(ref) && refs.add(ref)))
      let now = createRuleset({ ...NEW, rules }, make())
      for (const one of edits) {
        for (const { id } of now.rules) everSeen.add(id)
        const before = JSON.stringify(now)
        const making = make()
        let next: Ruleset | undefined
        try {
          next = apply(now, one, making)
        } catch (error) {
          // Two rules with one ref: the only error that these edits can cause.
          if (error instanceof InvalidInput && error.issues.every(({ pointer }) => pointer.endsWith('/ref'))) continue
          throw error
        }
        // A change without effect returns the ruleset itself.
        if (!next || (next === now && 'change' in one)) continue
        applied++
        if (JSON.stringify(now) !== before) throw new Error('the old ruleset was changed')
        if (Number(next.version) !== Number(now.version) + 1) throw new Error('the version did not grow by one')
        if (next.last_updated !== making.now) throw new Error('the time is not that of the edit')
        if (!distinct(next.rules.map(({ id }) => id))) throw new Error('an id is used twice')
        if (!distinct(next.rules.map(({ ref }) => ref))) throw new Error('a ref is used twice')
        for (const rule of next.rules) {
          const old = now.rules.find(({ id }) => id === rule.id)
          if (!old && (everSeen.has(rule.id) || rule.version !== '1')) throw new Error('a new rule is not new')
          if (!old) continue
          const changed = body(old) !== body(rule)
          if (Number(rule.version) !== Number(old.version) + Number(changed)) throw new Error('a rule version is wrong')
          if (rule.last_updated !== (changed ? making.now : old.last_updated)) throw new Error('a rule time is wrong')
        }
        now = next
      }
    }),
    { numRuns: 500, seed: 20_261_121 },
  )
  t.ok(applied > 1000, `${applied} edits`)
})

t.test('a put preserves the order of its rules', async (t) => {
  const keeps = () =>
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')),
        fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')),
        (before, after) => {
          const make = maker()
          const rules = (refs: readonly string[]) => refs.map((ref) => ({ action: 'log', expression: 'true', ref }))
          const old = createRuleset({ ...NEW, rules: rules(before) }, make())
          const next = replaceRuleset(old, { rules: rules(after) }, make())
          const refs = next.rules.map(({ ref }) => ref)
          if (JSON.stringify(refs) !== JSON.stringify(after)) throw new Error(refs.join())
          for (const rule of next.rules) {
            const known = old.rules.find(({ ref }) => ref === rule.ref)
            if (known && rule !== known) throw new Error('an unchanged rule is another one')
          }
        },
      ),
    )
  t.doesNotThrow(keeps)
})

t.test('an id takes precedence over a ref: the ref of a claimed rule creates a new one', async (t) => {
  const make = maker()
  const log = { action: 'log', expression: 'true' }
  const old = createRuleset(
    {
      ...NEW,
      rules: [
        { ...log, ref: 'a' },
        { ...log, ref: 'b' },
      ],
    },
    make(),
  )
  const [a, b] = old.rules as [Rule, Rule]
  const swapped = replaceRuleset(
    old,
    {
      rules: [
        { ...log, id: a.id, ref: 'b' },
        { ...log, ref: 'a' },
      ],
    },
    make(),
  )
  t.same(
    swapped.rules.map(({ id, ref, version }) => [id === a.id, id === b.id, ref, version]),
    [
      [true, false, 'b', '2'],
      [false, false, 'a', '1'],
    ],
  )
})

t.test('a patch omits members that the service sets, and parameters of another action', async (t) => {
  const make = maker()
  const params = { increment: 1 }
  const made = createRuleset(
    { ...NEW, rules: [{ action: 'score', action_parameters: params, expression: 'ssl' }] },
    make(),
  )
  const [score] = made.rules as [Rule]
  const rest = { id: score.id, ref: score.ref, description: '', enabled: true, expression: 'ssl' }
  t.same(patched(score, { enabled: false }), { ...rest, enabled: false, action: 'score', action_parameters: params })
  t.same(patched(score, { action: 'score' }), { ...rest, action: 'score', action_parameters: params })
  t.same(patched(score, { action: 'log' }), { ...rest, action: 'log' })
})

t.test('times have six digits of the second', async (t) => {
  t.equal(timestamp(0), '1970-01-01T00:00:00.000000Z')
  t.equal(timestamp(Date.parse('2026-11-21T12:00:00.123Z')), '2026-11-21T12:00:00.123000Z')
})
