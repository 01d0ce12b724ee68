import type { BatchBuffer } from '../../../pipelines/logpush/batches/batch-buffer.js'
import { BlockCache } from '../../../pipelines/logpush/spool/block-cache.js'
import { Buffers } from '../../../pipelines/logpush/spool/buffers.js'
import { DiskQuota } from '../../../pipelines/logpush/spool/disk-quota.js'
import { DurableSpool } from '../../../pipelines/logpush/spool/durable-spool.js'
import { FRAME_ROOM } from '../../../pipelines/logpush/spool/layout.js'
import { LossCounter, type Loss } from '../../../pipelines/logpush/spool/loss-counter.js'
import { OpenFiles } from '../../../pipelines/logpush/spool/open-files.js'
import type { Cursor } from '../../../pipelines/logpush/spool/types.js'
import { silentLog } from '../../../src/core/log.js'
import { makeFolder, type Disk } from '../../../src/disk/durable-write.js'
import { WriteHealth } from '../../../src/disk/write-health.js'
import { drawPlan, type Plan } from '../plan.js'
import type { Life } from '../scheduler.js'
import type { Subject, World } from '../world.js'
import { flawedSpool, type SpoolFlaws } from './flawed.js'
import { History } from './history.js'
import { DATASET, DROP, ID_PLACE, Load, SCOPE, type LoadOf } from './load.js'

const FOLDER = '/data/spool/scopes/zone/nel_reports'
const OF_DISK = ['full', 'sync', 'cut', 'descriptors'] as const
const KINDS = [...OF_DISK, ...OF_DISK, 'short', 'read', 'slow', 'refused', 'unheard', 'late', 'too_large'] as const
/** Values of `limit`: there is none, commits are rejected at the limit, or with {@link DROP} the oldest records are dropped. */
const REJECT = 2

export const spoolPlan = (seed: number): Plan =>
  drawPlan('spool', seed, {
    kinds: KINDS,
    rate: 0.08,
    steps: 400,
    work: (random) => ({
      jobs: 1 + random.below(2),
      producers: 1 + random.below(2),
      records: 10 + random.below(50),
      /** 1: all commits have the same size, so that one can be where a rejected one was. */
      sizes: 1 + random.below(2),
      segmentBytes: 600 + random.below(5000),
      worthDeleting: 600 + random.below(5000),
      inFlight: 1 + random.below(3),
      limit: 1 + random.below(3),
      batchRecords: 3 + random.below(10),
    }),
  })

/** Open handles of a life. */
interface Running extends LoadOf {
  readonly disk: Disk
  readonly health: WriteHealth
  spool?: DurableSpool
}

/** A spool, producers that append to it, and jobs with receivers. */
export class SpoolSubject implements Subject {
  readonly #world: World
  readonly #load: Load
  readonly #history: History
  readonly #lives = new Map<Life, Running>()
  readonly #jobNames: readonly string[]
  readonly #flaws: SpoolFlaws

  /** `flaws` make the ports worse than they are, to prove that a run notices. */
  constructor(world: World, buffer: BatchBuffer, flaws: SpoolFlaws = {}) {
    this.#world = world
    this.#flaws = flaws
    this.#jobNames = Array.from({ length: world.plan.work['jobs']! }, (_, index) => `job-${index}`)
    const drops = world.plan.work['limit'] === DROP
    this.#history = new History({
      splits: drops || world.faults.isOn('too_large'),
      drops,
      tears: true,
      place: ID_PLACE,
    })
    this.#load = new Load(world, buffer, this.#history, flaws.sink)
  }

  get isDone(): boolean {
    const { work } = this.#world.plan
    return this.#history.isDone(work['records']!, this.#jobNames)
  }

  missing(): void {
    this.#history.missing(this.#jobNames)
  }

  boot(life: Life): void {
    const clock = this.#world.scheduler.clock(life)
    const port = this.#world.disk.port(life)
    const disk = this.#flaws.disk?.(port) ?? port
    const health = new WriteHealth('the log spool', { disk, clock, log: silentLog })
    const running: Running = { clock, disk, health, controls: [], jobs: [], stopping: false }
    this.#lives.set(life, running)
    this.#world.start(life, async () => await this.#run(life, running))
  }

  async stop(life: Life): Promise<void> {
    const running = this.#lives.get(life)!
    await this.#load.stop(running)
    await running.health.close()
    await running.spool?.close()
  }

  async #run(life: Life, running: Running): Promise<void> {
    const { again, plan } = this.#world
    const { cursor: flawed = (cursor: Cursor) => cursor } = this.#flaws
    const spool = await again(running.clock, async () => await this.#open(running))
    running.spool = spool
    const cursors: [string, Cursor][] = []
    for (const name of this.#jobNames)
      cursors.push([name, flawed(await again(running.clock, async () => await spool.cursor(name)))])
    if (running.stopping) return
    for (const [name, cursor] of cursors) this.#load.startJob(life, running, { name, cursor, spool })
    for (let count = plan.work['producers']!; count > 0; count--)
      this.#world.start(life, async () => await this.#load.produce(life, running, flawedSpool(spool, this.#flaws)))
  }

  async #open({ clock, disk, health }: Running): Promise<DurableSpool> {
    const { segmentBytes, worthDeleting, limit } = this.#world.plan.work
    const losses = {
      inc: ({ reason }: { reason: Loss }, records: number) => {
        if (this.#flaws.uncounted !== true || reason !== 'limit') this.#history.lost(records, reason)
      },
    }
    return await DurableSpool.open(DATASET, SCOPE, await makeFolder(disk, FOLDER), {
      disk,
      clock,
      health,
      log: silentLog,
      files: new OpenFiles(disk),
      cache: new BlockCache(),
      buffers: new Buffers(FRAME_ROOM, 2),
      quota: new DiskQuota(limit! >= REJECT ? 3 * segmentBytes! + 4000 : 1e9),
      losses: new LossCounter(
        { dataset: DATASET.name, scope: SCOPE.id },
        { clock, log: silentLog, counter: losses as never },
      ),
      failed: () => {},
      segmentBytes: segmentBytes!,
      worthDeleting: worthDeleting!,
    })
  }
}
