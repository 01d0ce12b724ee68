import { FAULTS, type FaultKind, type Rates } from './faults.js'
import { stream, type Random } from './random.js'

/**
 * How a life ends. `kill` keeps all written data. `power` keeps the synced data, and any part of the rest.
 * `stop` is an orderly end, and a kill if that takes too long. After a `pause` the same life goes on.
 */
const CRASHES = ['kill', 'power', 'stop', 'pause'] as const

export interface Crash {
  readonly kind: (typeof CRASHES)[number]
  /** Steps of the life before its end. */
  readonly after: number
  /** Jump of the wall clock. */
  readonly jumpMs: number
}

/** Everything that a run depends on, besides the code. Cases that failed are stored as plans. */
export interface Plan {
  readonly part: string
  /** Seed of the streams of random numbers. */
  readonly seed: number
  /** Numbers of the part, such as records and jobs. */
  readonly work: Readonly<Record<string, number>>
  readonly crashes: readonly Crash[]
  /** Kinds of faults that happen before the last life. */
  readonly rates: Rates
  /** The oldest task runs first. */
  readonly inOrder: boolean
}

const MAX_JUMP_MS = 2 * 60 * 60 * 1000

/** Draws crashes and a few kinds of faults. Many kinds together would hide each other. */
export function drawPlan(
  part: string,
  seed: number,
  {
    kinds,
    rate,
    steps,
    work,
  }: { kinds: readonly FaultKind[]; rate: number; steps: number; work: (random: Random) => Plan['work'] },
): Plan {
  const random = stream(seed, 'plan')
  const rates: Partial<Record<FaultKind, number>> = {}
  for (let count = random.below(5); count > 0; count--) rates[random.pick(kinds)] = rate * 10 ** (random.next() - 0.5)
  const crashes = Array.from({ length: random.below(5) }, () => ({
    kind: random.pick(CRASHES),
    // Many faults need a second crash soon after the first one.
    after: 1 + random.below(random.chance(0.5) ? steps : steps / 10),
    jumpMs: random.chance(0.2) ? random.below(2 * MAX_JUMP_MS) - MAX_JUMP_MS : 0,
  }))
  return { part, seed, work: work(random), crashes, rates, inOrder: false }
}

/** Plans that are simpler than a plan, the ones with the largest steps first. */
function* simpler(plan: Plan): Generator<Plan> {
  const { crashes, rates, work } = plan
  for (let index = crashes.length - 1; index >= 0; index--) yield { ...plan, crashes: crashes.toSpliced(index, 1) }
  for (const kind of FAULTS) {
    if (rates[kind] === undefined) continue
    const { [kind]: _, ...rest } = rates
    yield { ...plan, rates: rest }
  }
  for (const [name, number] of Object.entries(work)) {
    if (number > 1) yield { ...plan, work: { ...work, [name]: 1 } }
    if (number > 2) yield { ...plan, work: { ...work, [name]: Math.floor(number / 2) } }
  }
  for (const [index, crash] of crashes.entries()) {
    if (crash.jumpMs !== 0) yield { ...plan, crashes: crashes.with(index, { ...crash, jumpMs: 0 }) }
    if (crash.after > 10)
      yield { ...plan, crashes: crashes.with(index, { ...crash, after: Math.floor(crash.after / 2) }) }
  }
  if (!plan.inOrder) yield { ...plan, inOrder: true }
}

/** Returns the simplest plan found that still fails, after at most `tries` runs. */
export async function shrink(plan: Plan, fails: (plan: Plan) => Promise<boolean>, tries = 200): Promise<Plan> {
  let best = plan
  let left = tries
  for (let progress = true; progress && left > 0;) {
    progress = false
    for (const candidate of simpler(best)) {
      if (left-- <= 0) break
      if (!(await fails(candidate))) continue
      best = candidate
      progress = true
      break
    }
  }
  return best
}
