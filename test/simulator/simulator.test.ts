import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { PARTS } from './parts.js'
import { shrink, type Plan } from './plan.js'

/** Processor time after which a part ends. A slow machine runs fewer seeds. */
const MAX_MS = 9000
/** Each of these seeds runs twice. */
const TWICE = 50

const CASES = fileURLToPath(new URL('../fixtures/simulator/', import.meta.url))

async function passes(t: Test, name: string, plan: Plan): Promise<void> {
  const part = PARTS[plan.part]!
  const outcome = await part.run(plan)
  if (outcome.error !== undefined)
    t.fail(`${name}: ${outcome.error.message}; npm run simulate -- --part ${plan.part} --seed ${plan.seed} --trace`)
  if (plan.seed % TWICE !== 0) return
  const again = await part.run(plan)
  t.equal(again.hash, outcome.hash, `${name} takes the same steps again`)
}

for (const [name, part] of Object.entries(PARTS)) {
  t.test(`${name}: whatever fails and ends, the promises are kept`, async (t) => {
    const began = process.cpuUsage()
    const isOver = () => process.cpuUsage(began).user > MAX_MS * 1000
    let seed = 1
    for (; seed <= part.tested && !isOver(); seed++) await passes(t, `seed ${seed}`, part.plan(seed))
    t.pass(`${seed - 1} seeds`)
  })
}

t.test('cases that failed once', async (t) => {
  for (const file of readdirSync(CASES)) {
    const { why, plan } = JSON.parse(readFileSync(CASES + file, 'utf8')) as { why: string; plan: Plan }
    await passes(t, why, plan)
  }
  t.ok(readdirSync(CASES).length > 0)
})

t.test('a plan that fails becomes as simple as it can be', async (t) => {
  const plan: Plan = {
    part: 'any',
    seed: 1,
    work: { records: 40, jobs: 3 },
    crashes: [
      { kind: 'kill', after: 200, jumpMs: 5000 },
      { kind: 'power', after: 100, jumpMs: 0 },
      { kind: 'stop', after: 100, jumpMs: 0 },
    ],
    rates: { full: 0.1, sync: 0.1 },
    inOrder: false,
  }
  const needed = ({ crashes, rates, work }: Plan) =>
    crashes.some(({ kind }) => kind === 'power') && rates.sync !== undefined && work['records']! >= 5
  t.match(await shrink(plan, async (candidate) => needed(candidate)), {
    work: { records: 5, jobs: 1 },
    crashes: [{ kind: 'power', after: 6 }],
    rates: { sync: 0.1, full: undefined },
    inOrder: true,
  })
})
