import t from 'tap'
import { PARTS } from './parts.js'
import { passes } from './passes.js'
import { shrink, type Plan } from './plan.js'

/** Processor time after which a part ends. A slow machine runs fewer seeds. */
const MAX_MS = 9000
for (const [name, part] of Object.entries(PARTS)) {
  t.test(`${name}: whatever fails and ends, the promises are kept`, async (t) => {
    const began = process.cpuUsage()
    const isOver = () => process.cpuUsage(began).user > MAX_MS * 1000
    let seed = 1
    for (; seed <= part.tested && !isOver(); seed++) await passes(t, `seed ${seed}`, part.plan(seed))
    t.pass(`${seed - 1} seeds`)
  })
}

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
