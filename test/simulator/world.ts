import type { Clock } from '../../src/core/clock.js'
import { messageOf } from '../../src/core/errors.js'
import { SimulatedDisk } from './disk.js'
import { Faults } from './faults.js'
import type { Crash, Plan } from './plan.js'
import { stream, type Random } from './random.js'
import { Life, Scheduler, turned } from './scheduler.js'

/** Steps in which a run without faults must reach its goals, and in which an orderly end must be over. */
const MAX_STEPS = 60_000
const MAX_STOP_STEPS = 3000
const MAX_PAUSE_MS = 60_000

/** A promise of the product that a run has broken. */
export class Finding extends Error {
  override readonly name = 'Finding'
}

/** What one run has in common with no other. */
export class World {
  readonly scheduler: Scheduler
  readonly faults: Faults
  readonly disk: SimulatedDisk
  /** Choices of the workload. */
  readonly work: Random
  readonly plan: Plan
  readonly #disks: SimulatedDisk[] = []
  #failure: Error | undefined

  constructor(plan: Plan, said?: (line: string) => void) {
    const { seed, rates, inOrder } = plan
    this.plan = plan
    this.scheduler = new Scheduler(stream(seed, 'schedule'), { inOrder, ...(said && { said }) })
    this.faults = new Faults(rates, stream(seed, 'faults'))
    this.disk = this.diskOf(0)
    this.work = stream(seed, 'work')
  }

  /** The disk of a machine. */
  diskOf(machine: number): SimulatedDisk {
    return (this.#disks[machine] ??= new SimulatedDisk(this.scheduler, this.faults))
  }

  /** Runs work of a life in the background. An error ends the run. */
  start(life: Life, work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      if (life.alive) this.fail(error)
    })
  }

  /** Repeats work that fails because of the disk, as callers of the product do. */
  async again<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!messageOf(error).includes(': simulated')) throw error
        await clock.sleep(100)
      }
    }
  }

  /** Runs a check whose error the product would take for one of its own. */
  check(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.fail(error)
    }
  }

  fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error))
  }

  /** Runs at most `max` steps. Returns whether `until` came true. If nothing is left to do, `missing` throws an error with the missing parts. */
  async run(until: () => boolean, max: number, missing?: () => void): Promise<boolean> {
    for (let left = max; left > 0; left--) {
      if (until()) return true
      const went = await this.scheduler.step()
      if (this.#failure !== undefined) throw this.#failure
      if (went) continue
      if (until()) return true
      missing?.()
      throw new Finding('nothing is left to do, and the goals are not reached')
    }
    return false
  }
}

/** A part of the product with the load on it. It outlives the lives of the daemon. */
export interface Subject {
  /** A life begins. */
  boot(life: Life, machine: number): void
  /** An orderly end of the life. */
  stop(life: Life): Promise<void>
  /** Everything that was promised is done. */
  readonly isDone: boolean
  /** Throws a {@link Finding} with what is missing. */
  missing(): void
}

export interface Outcome {
  readonly steps: number
  readonly hash: number
  readonly error: Error | undefined
}

/** Runs a plan: the machines with their crashes, one machine after the other, then without faults until all goals are reached. */
export async function simulate(
  plan: Plan,
  subjectIn: (world: World) => Subject,
  said?: (line: string) => void,
): Promise<Outcome> {
  const world = new World(plan, said)
  const { scheduler } = world
  const turn = globalThis.setImmediate
  const unhandled = (error: unknown) => world.fail(error)
  process.on('unhandledRejection', unhandled)
  globalThis.setImmediate = ((run: (...args: unknown[]) => void, ...args: unknown[]) =>
    scheduler.later(scheduler.current, 'turn', 0, () => run(...args))) as typeof setImmediate
  try {
    await live(world, subjectIn(world))
    return { steps: scheduler.steps, hash: scheduler.hash, error: undefined }
  } catch (error) {
    return { steps: scheduler.steps, hash: scheduler.hash, error: error as Error }
  } finally {
    scheduler.kill(scheduler.current)
    globalThis.setImmediate = turn
    await turned()
    process.off('unhandledRejection', unhandled)
  }
}

async function live(world: World, subject: Subject): Promise<void> {
  const { scheduler, faults, plan } = world
  const power = stream(plan.seed, 'power')
  const machines = plan.work['machines'] ?? 1
  const begin = (machine: number, skewMs: number): Life => {
    const life = new Life(`${'ab'[machine]}${++begun}`)
    life.skewMs = skewMs
    scheduler.current = life
    subject.boot(life, machine)
    return life
  }
  const missing = () => subject.missing()
  let begun = 0
  const lives = Array.from({ length: machines }, (_, machine) => begin(machine, 0))
  for (const [index, crash] of plan.crashes.entries()) {
    const machine = index % machines
    await world.run(() => scheduler.idle && subject.isDone, crash.after, missing)
    const life = lives[machine]!
    if (crash.kind === 'pause') {
      scheduler.pause(life, 1 + power.below(MAX_PAUSE_MS))
      continue
    }
    await end(world, subject, { life, machine, crash, power })
    if (index === plan.crashes.length - 1) faults.end()
    lives[machine] = begin(machine, life.skewMs + crash.jumpMs)
  }
  faults.end()
  if (!(await world.run(() => subject.isDone, MAX_STEPS, missing))) {
    missing()
    throw new Finding('the goals are not reached in time')
  }
  missing()
  for (const life of lives) scheduler.kill(life)
}

async function end(
  world: World,
  subject: Subject,
  { life, machine, crash, power }: { life: Life; machine: number; crash: Crash; power: Random },
): Promise<void> {
  if (crash.kind === 'stop') {
    let over = false
    world.start(life, async () => {
      await subject.stop(life)
      over = true
    })
    await world.run(() => over, MAX_STOP_STEPS)
  }
  // Code that has an answer runs to its next call.
  await turned()
  world.scheduler.kill(life)
  if (crash.kind !== 'power') return
  world.scheduler.say('--- power is lost')
  world.diskOf(machine).losePower(power)
}
