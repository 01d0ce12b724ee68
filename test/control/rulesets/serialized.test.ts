import t from 'tap'
import { digests, serialized, withOlder } from '../../../control/rulesets/serialized.js'
import { digest } from '../../../src/core/digest.js'
import { isFrozenJson } from '../../../src/core/json/frozen-json.js'
import type { Ruleset } from '../../../src/core/model/ruleset.js'
import { rulesetOf } from '../../helpers/rules.js'

const many = (count: number): Ruleset =>
  rulesetOf({
    phase: 'http_request_firewall_custom',
    rules: Array.from({ length: count }, (_, i) => ({
      action: 'rewrite',
      expression: `http.host eq "é${i}"`,
      action_parameters: { headers: { a: { operation: 'set', value: `"${i}` } }, none: undefined },
    })),
  })

t.test('a ruleset is serialized in slices, as JSON.stringify does it', async (t) => {
  for (const count of [0, 1, 50, 51, 1000]) {
    let pauses = 0
    const pause = async () => void pauses++
    const ruleset = many(count)
    const { value, json } = await serialized(ruleset, pause)
    t.equal(json, JSON.stringify(value))
    t.same(value, JSON.parse(JSON.stringify(ruleset)))
    t.ok(isFrozenJson(value))
    t.ok(pauses >= count / 50, `${pauses} pauses for ${count} rules`)
    t.equal((await serialized(value, pause)).value.rules[0], value.rules[0], 'a frozen rule is not copied')

    const stored = withOlder({ value, json }, [{ version: '1', last_updated: 'now', description: '' }])
    t.equal(stored.json, JSON.stringify(stored.value))
    t.ok(isFrozenJson(stored.value))
    t.same(await digests(undefined, { value, json }, pause), { before: null, after: digest(value) })
    t.same(await digests({ value, json }, undefined, pause), { before: digest(value), after: null })
  }
})
