import type { Clock } from '../../../src/core/clock.js'
import { messageOf } from '../../../src/core/errors.js'
import { silentLog } from '../../../src/core/log.js'
import { StoreUnavailable, type Store } from '../../../src/core/store.js'
import { openRedis } from '../../../src/store/redis/redis.js'
import { drawPlan, type Plan } from '../plan.js'
import type { Life } from '../scheduler.js'
import { StoreClient } from '../stores/client.js'
import { StoreHistory, View } from '../stores/history.js'
import type { Subject, World } from '../world.js'
import { simulatedLink } from './client.js'
import { SimulatedNetwork } from './network.js'
import { SimulatedRedis, type RedisFlaws } from './server.js'

const KINDS = ['away', 'unheard', 'broken', 'restart', 'restart', 'restart', 'restart', 'full'] as const
const RETENTION = { entries: 100_000 }
/** Values of `server`: it keeps all, loses its last second when it ends, or another one takes over for it. */
const [FORGETS, FAILS_OVER] = [2, 3]

export const redisPlan = (seed: number): Plan =>
  drawPlan('redis', seed, {
    kinds: KINDS,
    rate: 0.03,
    steps: 600,
    work: (random) => ({
      machines: 1 + random.below(2),
      clients: 1 + random.below(2),
      operations: 10 + random.below(40),
      server: 1 + random.below(3),
    }),
  })

interface Running {
  readonly machine: number
  readonly clock: Clock
  store?: Store
  stopping: boolean
  done: boolean
}

/** Machines with one store on Redis, and clients on each. */
export class RedisSubject implements Subject {
  readonly #world: World
  readonly #as: (store: Store) => Store
  readonly #history = new StoreHistory()
  readonly #network: SimulatedNetwork
  readonly #failsOver: boolean
  readonly #forgets: boolean
  readonly #views = new Set<View>()
  readonly #machines: Running[] = []

  /** `flaws` and `as` make the server or the store worse than it is, to prove that a run notices. */
  constructor(world: World, flaws: RedisFlaws = {}, as = (store: Store): Store => store) {
    const { scheduler, faults, plan } = world
    this.#world = world
    this.#as = as
    this.#failsOver = plan.work['server'] === FAILS_OVER
    this.#forgets = plan.work['server'] === FORGETS
    const server = new SimulatedRedis(scheduler, { replica: this.#failsOver, flaws })
    this.#network = new SimulatedNetwork(server, {
      scheduler,
      faults,
      profile: { forgets: this.#forgets, failsOver: this.#failsOver },
      lost: (version) => this.#lost(version),
    })
  }

  get isDone(): boolean {
    return this.#machines.every(({ done }) => done)
  }

  missing(): void {}

  boot(life: Life, machine: number): void {
    const running: Running = { machine, clock: this.#world.scheduler.clock(life), stopping: false, done: false }
    this.#machines[machine] = running
    this.#world.start(life, async () => await this.#run(life, running))
  }

  async stop(life: Life): Promise<void> {
    const running = this.#machines[life.name.startsWith('a') ? 0 : 1]!
    running.stopping = true
    await running.store?.close()
  }

  /** The server was restarted. Only what a replica does not have, and the last second, may be lost. */
  #lost(version: number): void {
    this.#world.check(() => this.#history.forget(version, { confirmed: this.#forgets }))
    if (this.#forgets || this.#failsOver) for (const view of this.#views) view.resets = true
  }

  async #run(life: Life, running: Running): Promise<void> {
    const { plan } = this.#world
    const store = await this.#open(life, running)
    running.store = store
    if (running.stopping) return await store.close()
    const view = new View(this.#history, store)
    this.#views.add(view)
    store.watch((changes) => this.#world.check(() => view.changed(changes)))
    let left = plan.work['clients']!
    for (let count = left; count > 0; count--)
      this.#world.start(life, async () => {
        const client = new StoreClient(this.#world, this.#history, store, running.clock)
        while (!running.stopping && this.#history.confirmed < plan.work['operations']!) await client.act()
        if (--left === 0 && !running.stopping) await this.#finish(running, { store, view, client })
      })
  }

  async #open(life: Life, { clock }: Running): Promise<Store> {
    const { scheduler } = this.#world
    const options = { folder: '', clock, log: silentLog, retention: RETENTION }
    for (;;)
      try {
        const link = async () => await Promise.resolve(simulatedLink(life, scheduler, this.#network, this.#failsOver))
        return this.#as(await openRedis('redis://simulated', options, link))
      } catch (error) {
        scheduler.say(`the store is not opened: ${messageOf(error)}`)
        await clock.sleep(1000)
      }
  }

  /** Without faults each machine has all, and the audit record too. */
  async #finish(
    running: Running,
    { store, view, client }: { store: Store; view: View; client: StoreClient },
  ): Promise<void> {
    while (!running.done)
      try {
        const floors = this.#history.floors()
        await store.caughtUp()
        this.#history.complete(store, floors)
        view.compare()
        await client.audit()
        running.done = true
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        await running.clock.sleep(1000)
      }
  }
}
