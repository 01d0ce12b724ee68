/**
 * `npm run simulate [-- --part NAME] [--seeds N] [--seed FIRST] [--trace] [--plan JSON]`: runs seeds of each part, or of one, or
 * a plan. A seed that fails is printed with the simplest plan that fails in the same way, which is a case for
 * `test/fixtures/simulator`. Exit 1 if any failed, 2 if the part is not known.
 */
import { parseArgs } from 'node:util'
import { PARTS, type Part } from './parts.js'
import { shrink, type Plan } from './plan.js'

const SEEDS = 10_000
/** Failed seeds after which a part ends. */
const MAX_FAILED = 10

const { values } = parseArgs({
  options: {
    part: { type: 'string' },
    seeds: { type: 'string' },
    seed: { type: 'string', default: '1' },
    trace: { type: 'boolean', default: false },
    plan: { type: 'string' },
  },
})
const first = Number(values.seed)
const count = Number(values.seeds ?? (values.trace ? 1 : SEEDS))
const only = values.plan === undefined ? undefined : (JSON.parse(values.plan) as Plan)
const names = only ? [only.part] : values.part === undefined ? Object.keys(PARTS) : [values.part]
for (const name of names) {
  const part = PARTS[name]
  if (part === undefined) {
    console.error(`no part ${name}; there are: ${Object.keys(PARTS).join(', ')}`)
    process.exitCode = 2
  } else if ((await runPart(name, part)) > 0) process.exitCode = 1
}

/** Returns the number of failed seeds. */
async function runPart(name: string, part: Part): Promise<number> {
  const began = process.cpuUsage()
  let [failed, steps, crashes, seed] = [0, 0, 0, first]
  for (; seed < first + (only ? 1 : count) && failed < MAX_FAILED; seed++) {
    const plan = only ?? part.plan(seed)
    const outcome = await part.run(plan, values.trace ? console.log : undefined)
    steps += outcome.steps
    crashes += plan.crashes.length
    if (outcome.error === undefined) continue
    failed++
    console.log(`${name}, seed ${seed}: ${outcome.error.stack}`)
    console.log(JSON.stringify(await simplest(part, plan, outcome.error)))
  }
  const { user, system } = process.cpuUsage(began)
  const seconds = (user + system) / 1e6
  const speed = ((seed - first) / seconds).toFixed(0)
  console.log(
    `${name}: ${seed - first} seeds, ${failed} failed; ${steps} steps, ${crashes} crashes; ${speed} seeds a second of processor time`,
  )
  return failed
}

/** The simplest plan that fails with an error of the same kind. */
async function simplest(part: Part, plan: Plan, error: Error): Promise<Plan> {
  const kind = (message: string) => message.replace(/\d+/g, '#').slice(0, 60)
  return await shrink(plan, async (candidate) => {
    const outcome = await part.run(candidate)
    return outcome.error !== undefined && kind(outcome.error.message) === kind(error.message)
  })
}
