// Alone: what other tests have left to do would count in its turns.
import t from 'tap'
import { RulesetRepository } from '../../../control/rulesets/ruleset-repository.js'
import { RULESETS, type Rule, type Ruleset } from '../../../src/core/model/ruleset.js'
import { account } from '../../../src/core/scope.js'
import type { Stored } from '../../../src/core/store.js'
import { stepsToPrepare } from '../../../src/rules/engine/prepared.js'
import { ACCOUNT, client } from '../client.js'

const RULES = 1000

/** Creates a ruleset that calls `serialized` for each rule that is written as JSON. */
function counted(version: string, serialized: () => void): Ruleset {
  const at = '2026-01-01T00:00:00.000000Z'
  const rules = Array.from({ length: RULES }, (_, index): Rule => {
    const id = index.toString(16).padStart(32, '0')
    const rule = { id, ref: id, version, last_updated: at, action: 'log', description: '', enabled: true }
    const expression = `http.host eq "${version}.${index}.test"`
    const toJSON = () => {
      serialized()
      return { ...rule, expression }
    }
    return Object.defineProperty({ ...rule, expression }, 'toJSON', { value: toJSON, enumerable: false })
  })
  const facts = { id: 'f'.repeat(32), name: 'n', description: '', kind: 'root', phase: 'http_request_firewall_custom' }
  return { ...facts, kind: 'root', version, last_updated: at, rules }
}

t.test(
  'a change of a large ruleset serializes few rules in each turn of the event loop, and each rule once',
  async (t) => {
    const { deps } = await client(t)
    let now = 0
    // Every slice of work is over when it is asked for, so that every pause is a turn of its own.
    t.capture(performance, 'now', () => (now += 1000))
    const perTurn = [0]
    const serialized = () => void perTurn.push((perTurn.pop() ?? 0) + 1)
    let done = false
    const follow = () => {
      perTurn.push(0)
      if (!done) setImmediate(follow)
    }
    setImmediate(follow)

    const scope = account(ACCOUNT)
    const actor = {
      scope,
      accountId: ACCOUNT,
      caller: { type: 'token', id: 'i', name: 'n', grants: [] },
      requestId: 'r',
      request: { headers: {} },
    } as const
    const repository = new RulesetRepository(deps)
    const [before, after] = [counted('1', serialized), counted('2', serialized)]
    const stored: Stored<{ ruleset: Ruleset; older: [] }> = {
      kind: RULESETS.name,
      scope,
      id: before.id,
      version: 1,
      value: { ruleset: before, older: [] },
    }
    const { audit } = await repository.changed(actor, stored, after)
    done = true
    t.match(audit, [{ before: /^[0-9a-f]{64}$/, after: /^[0-9a-f]{64}$/ }])
    t.equal(
      perTurn.reduce((sum, count) => sum + count, 0),
      2 * RULES,
    )
    t.ok(Math.max(...perTurn) <= 50, `${Math.max(...perTurn)} in one turn`)
  },
)

t.test('the rules of a change are counted only as far as the number matters', async (t) => {
  let count = 0
  const ruleset = counted('1', () => void count++)
  t.equal(stepsToPrepare(ruleset, undefined, 16), 16)
  t.equal(count, 16)
  t.equal(stepsToPrepare({ ...ruleset, rules: ruleset.rules.slice(0, 3) }, undefined, 16), 3)
})
