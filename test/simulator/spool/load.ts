import type { BatchBuffer } from '../../../pipelines/logpush/batches/batch-buffer.js'
import { deadLetter } from '../../../pipelines/logpush/dead-letter.js'
import { pause } from '../../../pipelines/logpush/backoff.js'
import { JobLoop } from '../../../pipelines/logpush/job-loop.js'
import { JobSignal } from '../../../pipelines/logpush/job-signal.js'
import type { SessionDeps } from '../../../pipelines/logpush/session.js'
import { compileJob } from '../../../pipelines/logpush/settings/compiled-job.js'
import {
  CursorLost,
  SpoolFull,
  SpoolUnavailable,
  type Cursor,
  type ReadableSpool,
  type Spool,
} from '../../../pipelines/logpush/spool/types.js'
import { Uploads } from '../../../pipelines/logpush/uploads.js'
import { storedDataset } from '../../../pipelines/records/index.js'
import type { Sink } from '../../../src/core/sink.js'
import type { Clock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import { zone } from '../../../src/core/scope.js'
import type { Life } from '../scheduler.js'
import type { World } from '../world.js'
import type { History } from './history.js'
import { receiver } from './receiver.js'

export const SCOPE = zone('9f1839b6152d298aca64c4e906b6d074')
export const DATASET = storedDataset('nel_reports')!
/** Field with the id of a record. */
export const ID_PLACE = DATASET.places.get('ClientIPASN')!
/** Value of `limit`: the oldest records are dropped at the limit. */
export const DROP = 3
/** As the supervisor of jobs waits after a failure of the machine, and of the servers of the spool. */
const FAULT_PAUSE_MS = 30_000
const UNAVAILABLE_PAUSE_MS = 1000
const TIMEOUT_MS = 30_000
const DRAIN_MS = 10_000

/** What one life runs. */
export interface LoadOf {
  readonly clock: Clock
  readonly controls: JobSignal[]
  readonly jobs: Promise<void>[]
  stopping: boolean
}

/** Producers and jobs of a spool. */
export class Load {
  readonly #world: World
  readonly #buffer: BatchBuffer
  readonly #history: History
  readonly #flawed: (sink: Sink) => Sink

  /** `flawed` makes the receivers worse than they are. */
  constructor(world: World, buffer: BatchBuffer, history: History, flawed = (sink: Sink): Sink => sink) {
    this.#world = world
    this.#flawed = flawed
    this.#buffer = buffer
    this.#history = history
  }

  /** An orderly end of all jobs. */
  async stop(running: LoadOf): Promise<void> {
    running.stopping = true
    for (const control of running.controls) control.end('shutdown')
    const over = new AbortController()
    await Promise.race([Promise.all(running.jobs), pause(running.clock, DRAIN_MS, over.signal)])
    over.abort()
    for (const control of running.controls) control.endAttempts()
    await Promise.all(running.jobs)
  }

  /** Starts a job that sends records of the spool to a receiver. */
  startJob(life: Life, running: LoadOf, { name, cursor, spool }: { name: string; cursor: Cursor; spool: Spool }): void {
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
      sink: this.#flawed(receiver(this.#world, life, (batch, text) => this.#history.arrived(name, batch, text))),
      destination: name,
      spool: this.#watched(spool),
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
    running.jobs.push(this.#supervise(clock, { control, cursor }, () => new JobLoop(of, deps)))
  }

  /** A job begins again after a failure, as the supervisor of jobs does. */
  async #supervise(
    clock: Clock,
    { control, cursor }: { control: JobSignal; cursor: Cursor },
    session: () => JobLoop,
  ): Promise<void> {
    while (control.ending === undefined) {
      control.settled()
      try {
        await cursor.take?.(() => control.change(), control.wake)
        await session().run()
      } catch (error) {
        if (error instanceof CursorLost || control.wake.aborted) continue
        const { message } = error as Error
        if (error instanceof SpoolUnavailable) await pause(clock, UNAVAILABLE_PAUSE_MS, control.wake)
        else if (message.includes(': simulated')) await pause(clock, FAULT_PAUSE_MS, control.wake)
        else return this.#world.fail(error)
      }
    }
  }

  /** The spool, with notes of all records that are read. */
  #watched(spool: Spool): ReadableSpool {
    const seen = <T extends Awaited<ReturnType<Spool['frame']>>>(frame: T): T => {
      if (frame !== undefined) this.#history.read(frame)
      return frame
    }
    return {
      get end() {
        return spool.end
      },
      frame: async (position) => seen(await spool.frame(position)),
      cached: (position) => seen(spool.cached?.(position)),
      ...(spool.sparse !== undefined && { sparse: spool.sparse }),
      waitFor: async (position, signal) => await spool.waitFor(position, signal),
    }
  }

  /** Adds records until enough are acknowledged. */
  async produce(life: Life, running: LoadOf, spool: Pick<Spool, 'writer'>): Promise<void> {
    const { work, plan, scheduler } = this.#world
    const { records, sizes, limit } = plan.work
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
        this.#history.reject(ids)
        scheduler.say(`rejected ${ids.join()}: ${error.message}`)
        await running.clock.sleep(work.below(3000))
      }
      if (work.chance(0.4)) await running.clock.sleep(work.below(20_000))
    }
  }
}
