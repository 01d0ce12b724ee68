import t from 'tap'
import { MUTANTS } from './mutants.js'
import { simulate } from './world.js'

const MAX_SEEDS = 400

for (const { name, plan, subject, found, from = 1 } of MUTANTS)
  t.test(`${name}: a run notices`, async (t) => {
    for (let seed = from; seed < from + MAX_SEEDS; seed++) {
      const { error } = await simulate(plan(seed), subject)
      if (error === undefined) continue
      t.match(error.message, found, `seed ${seed}`)
      return
    }
    t.fail(`no run of ${MAX_SEEDS} notices`)
  })
