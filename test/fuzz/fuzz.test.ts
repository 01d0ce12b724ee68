import t from 'tap'
import { fuzz } from './fuzz.js'
import { TARGETS } from './targets.js'

for (const name of Object.keys(TARGETS))
  t.test(`${name}: no mutated input has an effect that no reader may have`, async (t) => {
    const { findings, reached } = await fuzz(name, { runs: 150, seed: 1 })
    t.same(findings, [])
    t.ok(reached > 0)
  })
