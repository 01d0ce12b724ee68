import { silentLog } from '../../../src/core/log.js'
import type { Store } from '../../../src/core/store.js'
import { makeFolder } from '../../../src/disk/durable-write.js'
import { openLevel } from '../../../src/store/level/level.js'
import { drawPlan, type Plan } from '../plan.js'
import type { Life } from '../scheduler.js'
import type { Subject, World } from '../world.js'
import { StoreClient } from './client.js'
import { simulatedEngine, type EngineFlaws } from './engine.js'
import { StoreHistory, View } from './history.js'

const KINDS = ['full', 'full', 'sync', 'sync', 'cut', 'read', 'descriptors', 'short', 'slow'] as const
const RETENTION = { entries: 100_000 }

export const storePlan = (seed: number): Plan =>
  drawPlan('store', seed, {
    kinds: KINDS,
    rate: 0.08,
    steps: 300,
    work: (random) => ({ clients: 1 + random.below(3), operations: 10 + random.below(50) }),
  })

interface Running {
  store?: Store
  stopping: boolean
}

/** The embedded store, with clients. */
export class StoreSubject implements Subject {
  readonly #world: World
  readonly #flaws: EngineFlaws
  readonly #as: (store: Store) => Store
  readonly #history = new StoreHistory()
  readonly #lives = new Map<Life, Running>()
  #audited = false

  /** `flaws` and `as` make the database or the store worse than it is, to prove that a run notices. */
  constructor(world: World, flaws: EngineFlaws = {}, as = (store: Store): Store => store) {
    this.#world = world
    this.#as = as
    this.#flaws = flaws
  }

  get isDone(): boolean {
    return this.#audited
  }

  missing(): void {}

  boot(life: Life): void {
    const running: Running = { stopping: false }
    this.#lives.set(life, running)
    this.#audited = false
    this.#world.start(life, async () => await this.#run(life, running))
  }

  async stop(life: Life): Promise<void> {
    const running = this.#lives.get(life)!
    running.stopping = true
    await running.store?.close()
  }

  async #run(life: Life, running: Running): Promise<void> {
    const { scheduler, plan, again } = this.#world
    const clock = scheduler.clock(life)
    const disk = this.#world.disk.port(life)
    const floors = this.#history.floors()
    const store = await again(clock, async () => {
      const folder = await makeFolder(disk, '/data')
      const engine = simulatedEngine(disk, this.#flaws)
      return this.#as(await openLevel({ folder, disk, engine, clock, log: silentLog, retention: RETENTION }))
    })
    running.store = store
    if (running.stopping) return await store.close()
    this.#history.complete(store, floors)
    const view = new View(this.#history, store)
    store.watch((changes) => this.#world.check(() => view.changed(changes)))
    for (let count = plan.work['clients']!; count > 0; count--)
      this.#world.start(life, async () => {
        const client = new StoreClient(this.#world, this.#history, store, clock)
        while (!running.stopping && this.#history.confirmed < plan.work['operations']!) await client.act()
        if (running.stopping) return
        view.compare()
        await client.audit()
        this.#audited = true
      })
  }
}
