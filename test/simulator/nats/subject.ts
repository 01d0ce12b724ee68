import { Registry } from 'prom-client'
import type { BatchBuffer } from '../../../pipelines/logpush/batches/batch-buffer.js'
import type { Loss } from '../../../pipelines/logpush/spool/loss-counter.js'
import { spoolMetrics } from '../../../pipelines/logpush/spool/metrics.js'
import { SharedSpools } from '../../../pipelines/logpush/spool/nats/index.js'
import { natsTarget } from '../../../pipelines/logpush/spool/nats/target.js'
import { SpoolUnavailable, type Cursor } from '../../../pipelines/logpush/spool/types.js'
import { silentLog } from '../../../src/core/log.js'
import type { Metrics } from '../../../src/core/metrics/metrics.js'
import { StoreUnavailable } from '../../../src/core/store.js'
import { drawPlan, type Plan } from '../plan.js'
import type { Life } from '../scheduler.js'
import { History } from '../spool/history.js'
import { DATASET, DROP, ID_PLACE, Load, SCOPE, type LoadOf } from '../spool/load.js'
import { SimulatedStore } from '../store.js'
import { FLAWED } from '../stores/flawed.js'
import type { Subject, World } from '../world.js'
import { SimulatedNats } from './connection.js'
import { SimulatedStream, type NatsFlaws } from './server.js'

const KINDS = ['away', 'unheard', 'unheard', 'broken', 'restart', 'stale', 'refused', 'late', 'too_large'] as const
const LARGE_BYTES = 1e9
const SMALL_BYTES = 8000

export const natsPlan = (seed: number): Plan =>
  drawPlan('nats', seed, {
    kinds: KINDS,
    rate: 0.05,
    steps: 500,
    work: (random) => ({
      machines: 1 + random.below(2),
      jobs: 1 + random.below(2),
      producers: 1 + random.below(2),
      records: 10 + random.below(40),
      sizes: 2,
      inFlight: 1 + random.below(3),
      limit: 1 + random.below(3),
      batchRecords: 3 + random.below(10),
    }),
  })

interface Running extends LoadOf {
  readonly spools: SharedSpools
}

/** Machines with one spool on NATS, producers on each, and jobs that one of the machines runs. */
export class NatsSubject implements Subject {
  readonly #world: World
  readonly #load: Load
  /** What makes servers and store worse than they are, to prove that a run notices. */
  readonly #flaws: NatsFlaws & { readonly blind?: boolean }
  readonly #history: History
  readonly #store: SimulatedStore
  readonly #nats: SimulatedNats
  readonly #lives = new Map<Life, Running>()
  readonly #jobNames: readonly string[]

  constructor(world: World, buffer: BatchBuffer, flaws: NatsFlaws & { readonly blind?: boolean } = {}) {
    this.#flaws = flaws
    const { scheduler, faults, plan } = world
    this.#world = world
    const drops = plan.work['limit'] === DROP
    this.#history = new History({ splits: drops || faults.isOn('too_large'), drops, place: ID_PLACE })
    this.#load = new Load(world, buffer, this.#history)
    this.#store = new SimulatedStore(world)
    this.#nats = new SimulatedNats(new SimulatedStream(scheduler, faults, flaws), scheduler, faults)
    this.#jobNames = Array.from({ length: plan.work['jobs']! }, (_, index) => `job-${index}`)
  }

  get isDone(): boolean {
    this.#history.uncountable = this.#nats.uncountable()
    return this.#history.isDone(this.#world.plan.work['records']!, this.#jobNames)
  }

  missing(): void {
    this.#history.uncountable = this.#nats.uncountable()
    this.#history.missing(this.#jobNames)
  }

  boot(life: Life, machine: number): void {
    const clock = this.#world.scheduler.clock(life)
    const spools = new SharedSpools(natsTarget('nats://simulated'), {
      store: this.#flaws.blind ? FLAWED.unversioned(this.#store.open(life)) : this.#store.open(life),
      self: 'ab'[machine]!,
      clock,
      log: silentLog,
      metrics: this.#counting(),
      limits: { bytes: this.#world.plan.work['limit'] === 1 ? LARGE_BYTES : SMALL_BYTES },
      library: this.#nats.library(life),
    })
    const running: Running = { clock, spools, controls: [], jobs: [], stopping: false }
    this.#lives.set(life, running)
    this.#world.start(life, async () => await this.#run(life, running))
  }

  async stop(life: Life): Promise<void> {
    const running = this.#lives.get(life)!
    await this.#load.stop(running)
    await running.spools.close()
  }

  /** Notes what the spool counts as lost. */
  #counting(): Metrics {
    const metrics = new Registry()
    const { lost } = spoolMetrics(metrics)
    lost.inc = (labels: unknown, records?: number) => {
      const { reason } = labels as { reason: Loss }
      this.#world.check(() => this.#history.lost(records!, reason))
    }
    return metrics
  }

  async #run(life: Life, running: Running): Promise<void> {
    const { spools, clock } = running
    await spools.start()
    const spool = await spools.open(DATASET.name, SCOPE)
    const cursors: [string, Cursor][] = []
    for (const name of this.#jobNames)
      while (cursors.at(-1)?.[0] !== name)
        try {
          cursors.push([name, await spool.cursor(name)])
        } catch (error) {
          if (!(error instanceof SpoolUnavailable || error instanceof StoreUnavailable)) throw error
          await clock.sleep(1000)
        }
    if (running.stopping) return
    for (const [name, cursor] of cursors) this.#load.startJob(life, running, { name, cursor, spool })
    for (let count = this.#world.plan.work['producers']!; count > 0; count--)
      this.#world.start(life, async () => await this.#load.produce(life, running, spool))
  }
}
