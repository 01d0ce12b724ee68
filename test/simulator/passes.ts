import type { Test } from 'tap'
import { PARTS } from './parts.js'
import type { Plan } from './plan.js'

/** Each of these seeds runs twice. */
const TWICE = 50

/** Runs a plan. Fails the test if the run breaks a promise. */
export async function passes(t: Test, name: string, plan: Plan): Promise<void> {
  const part = PARTS[plan.part]!
  const outcome = await part.run(plan)
  if (outcome.error !== undefined)
    t.fail(`${name}: ${outcome.error.message}; npm run simulate -- --part ${plan.part} --seed ${plan.seed} --trace`)
  if (plan.seed % TWICE !== 0) return
  const again = await part.run(plan)
  t.equal(again.hash, outcome.hash, `${name} takes the same steps again`)
}
