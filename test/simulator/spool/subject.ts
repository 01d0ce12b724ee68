import type { BatchBuffer } from '../../../pipelines/logpush/batches/batch-buffer.js'
import { deadLetter } from '../../../pipelines/logpush/dead-letter.js'
import { pause } from '../../../pipelines/logpush/backoff.js'
import { JobLoop } from '../../../pipelines/logpush/job-loop.js'
import { JobSignal } from '../../../pipelines/logpush/job-signal.js'
import type { SessionDeps } from '../../../pipelines/logpush/session.js'
import { compileJob } from '../../../pipelines/logpush/settings/compiled-job.js'
import { BlockCache } from '../../../pipelines/logpush/spool/block-cache.js'
import { Buffers } from '../../../pipelines/logpush/spool/buffers.js'
import { DiskQuota } from '../../../pipelines/logpush/spool/disk-quota.js'
import { DurableSpool } from '../../../pipelines/logpush/spool/durable-spool.js'
import { FRAME_ROOM } from '../../../pipelines/logpush/spool/layout.js'
import { LossCounter, type Loss } from '../../../pipelines/logpush/spool/loss-counter.js'
import { OpenFiles } from '../../../pipelines/logpush/spool/open-files.js'
import { SpoolFull, type Cursor, type ReadableSpool } from '../../../pipelines/logpush/spool/types.js'
import { Uploads } from '../../../pipelines/logpush/uploads.js'
import { storedDataset } from '../../../pipelines/records/index.js'
import type { Clock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import { zone } from '../../../src/core/scope.js'
import { makeFolder, type Disk } from '../../../src/disk/durable-write.js'
import { WriteHealth } from '../../../src/disk/write-health.js'
import { drawPlan, type Plan } from '../plan.js'
import type { Life } from '../scheduler.js'
import type { Subject, World } from '../world.js'
import { History } from './history.js'
import { receiver } from './receiver.js'

const FOLDER = '/data/spool/scopes/zone/nel_reports'
const SCOPE = zone('9f1839b6152d298aca64c4e906b6d074')
const DATASET = storedDataset('nel_reports')!
/** As the supervisor of jobs waits after a failure of the machine. */
const FAULT_PAUSE_MS = 30_000
const TIMEOUT_MS = 30_000
const DRAIN_MS = 10_000
const OF_DISK = ['full', 'sync', 'cut', 'descriptors'] as const
const KINDS = [...OF_DISK, ...OF_DISK, 'short', 'read', 'slow', 'refused', 'unheard', 'late', 'too_large'] as const
/** Values of `limit`: there is none, commits are rejected at the limit, or the oldest records are dropped. */
const [REJECT, DROP] = [2, 3]

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
interface Running {
  readonly clock: Clock
  readonly disk: Disk
  readonly health: WriteHealth
  readonly controls: JobSignal[]
  readonly jobs: Promise<void>[]
  spool?: DurableSpool
  stopping: boolean
}

/** A spool, producers that append to it, and jobs with receivers. */
export class SpoolSubject implements Subject {
  readonly #world: World
  readonly #buffer: BatchBuffer
  readonly #history: History
  readonly #lives = new Map<Life, Running>()
  readonly #jobNames: readonly string[]

  constructor(world: World, buffer: BatchBuffer) {
    this.#world = world
    this.#buffer = buffer
    this.#jobNames = Array.from({ length: world.plan.work['jobs']! }, (_, index) => `job-${index}`)
    const drops = world.plan.work['limit'] === DROP
    this.#history = new History({
      splits: drops || world.faults.isOn('too_large'),
      drops,
      place: DATASET.places.get('ClientIPASN')!,
    })
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
    const disk = this.#world.disk.port(life)
    const health = new WriteHealth('the log spool', { disk, clock, log: silentLog })
    const running: Running = { clock, disk, health, controls: [], jobs: [], stopping: false }
    this.#lives.set(life, running)
    this.#world.start(life, async () => await this.#run(life, running))
  }

  async stop(life: Life): Promise<void> {
    const running = this.#lives.get(life)!
    running.stopping = true
    for (const control of running.controls) control.end('shutdown')
    const over = new AbortController()
    await Promise.race([Promise.all(running.jobs), pause(running.clock, DRAIN_MS, over.signal)])
    over.abort()
    for (const control of running.controls) control.endAttempts()
    await Promise.all(running.jobs)
    await running.health.close()
    await running.spool?.close()
  }

  async #run(life: Life, running: Running): Promise<void> {
    const { again, plan } = this.#world
    const spool = await again(running.clock, async () => await this.#open(running))
    running.spool = spool
    const cursors: [string, Cursor][] = []
    for (const name of this.#jobNames)
      cursors.push([name, await again(running.clock, async () => await spool.cursor(name))])
    if (running.stopping) return
    for (const [name, cursor] of cursors) this.#startJob(life, running, { name, cursor })
    for (let count = plan.work['producers']!; count > 0; count--)
      this.#world.start(life, async () => await this.#produce(life, running))
  }

  async #open({ clock, disk, health }: Running): Promise<DurableSpool> {
    const { segmentBytes, worthDeleting, limit } = this.#world.plan.work
    const losses = { inc: (labels: { reason: Loss }, records: number) => this.#history.lost(records, labels.reason) }
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

  #startJob(life: Life, running: Running, { name, cursor }: { name: string; cursor: Cursor }): void {
    const { clock } = running
    const { inFlight, batchRecords } = this.#world.plan.work
    const control = new JobSignal()
    const uploads = new Uploads({ atOnce: 8, perDestination: 8, timeoutMs: TIMEOUT_MS }, { clock, log: silentLog })
    const deps: SessionDeps = {
      spools: { id: 'simulated' },
      batchBuffer: this.#buffer,
      uploads,
      loop: { isOver: false, yieldToEventLoop: async () => {} },
      deadLetter: deadLetter(undefined, uploads),
      clock,
      log: silentLog,
      random: () => this.#world.work.next(),
    }
    const none = () => {}
    const settings = {
      dataset: DATASET.name,
      output_options: { field_names: ['ClientIPASN'] },
      edged_in_flight: inFlight,
      max_upload_records: batchRecords,
    }
    const of = {
      id: name,
      job: compileJob(settings, name),
      sink: receiver(this.#world, life, (batch, text) => this.#history.arrived(name, batch, text)),
      destination: name,
      spool: this.#watched(running.spool!),
      cursor,
      control,
      status: { failing: false, delivered: none, failed: none },
      metrics: {
        read: none,
        kept: none,
        delivered: none,
        attempt: none,
        dropped: (records: number) => this.#history.skipped(records),
      },
      counted: { place: { position: 0, skip: 0 } },
      failed: async () => {},
    }
    running.controls.push(control)
    running.jobs.push(this.#superviseJob(clock, control, () => new JobLoop(of, deps)))
  }

  /** A job begins again after a failure of the disk. */
  async #superviseJob(clock: Clock, control: JobSignal, session: () => JobLoop): Promise<void> {
    try {
      while (control.ending === undefined) {
        control.settled()
        await session()
          .run()
          .catch(async (error: Error) => {
            if (!error.message.includes(': simulated')) throw error
            await pause(clock, FAULT_PAUSE_MS, control.wake)
          })
      }
    } catch (error) {
      this.#world.fail(error)
    }
  }

  /** The spool, with notes of all records that are read. */
  #watched(spool: DurableSpool): ReadableSpool {
    const seen = <T extends Awaited<ReturnType<DurableSpool['frame']>>>(frame: T): T => {
      if (frame !== undefined) this.#history.read(frame)
      return frame
    }
    return {
      get end() {
        return spool.end
      },
      frame: async (position) => seen(await spool.frame(position)),
      cached: (position) => seen(spool.cached(position)),
      waitFor: async (position, signal) => await spool.waitFor(position, signal),
    }
  }

  async #produce(life: Life, running: Running): Promise<void> {
    const { work, plan, scheduler } = this.#world
    const { records, sizes, limit } = plan.work
    const spool = running.spool!
    while (life.alive && !running.stopping && this.#history.acknowledged < records!) {
      const writer = spool.writer({ whenFull: limit === DROP ? 'drop_oldest' : 'reject' })
      const ids = this.#history.begin(sizes === 1 ? 3 : 1 + work.below(5))
      for (const id of ids) {
        const text = 'x'.repeat(sizes === 1 ? 200 : work.below(900))
        // All numbers have the same length.
        writer.add(Buffer.from(`{"ClientIPASN":${1e6 + id},"ClientIPASNDescription":"${text}"}`))
      }
      try {
        await writer.commit()
        scheduler.say(`acknowledged ${ids.join()}`)
        this.#history.acknowledge(ids)
      } catch (error) {
        if (!(error instanceof SpoolFull)) throw error
        scheduler.say(`rejected ${ids.join()}: ${error.message}`)
        await running.clock.sleep(work.below(3000))
      }
      if (work.chance(0.4)) await running.clock.sleep(work.below(20_000))
    }
  }
}
