/**
 * Runs one pipeline until its input ends. Each output has a session, like a job of the daemon. All sessions share one
 * input. No output waits for another. Undelivered records stay in the input.
 */
import * as fs from 'node:fs/promises'
import { rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock } from '../../src/core/clock.js'
import type { Log } from '../../src/core/log.js'
import type { OpenTransform } from '../../src/core/extension/record-transform.js'
import { makeFolder } from '../../src/disk/durable-write.js'
import { MAX_IN_FLIGHT, type Sink } from '../../src/core/sink.js'
import { EventLoopYield } from '../../src/core/schedule/event-loop-yield.js'
import type { CompiledJob } from '../logpush/settings/compiled-job.js'
import { JobSignal } from '../logpush/job-signal.js'
import { deadLetter } from '../logpush/dead-letter.js'
import { JobLoop } from '../logpush/job-loop.js'
import { START } from '../logpush/spool/position.js'
import type { AttemptOutcome } from '../logpush/metrics.js'
import { ParquetStats, type ParquetUse } from '../logpush/parquet/parquet-stats.js'
import { TransformStats, type TransformUse } from '../logpush/transform/transform-stats.js'
import { BatchBuffer } from '../logpush/batches/batch-buffer.js'
import { SharedFilters } from '../logpush/batches/shared-filters.js'
import { SharedRows } from '../logpush/batches/shared-rows.js'
import { Uploads } from '../logpush/uploads.js'
import type { Input } from '../sources/intake/input.js'
import { SPOOL_FOLDER } from '../sources/intake/spool-input.js'
import type { OutputStats } from '../sources/intake/run-stats.js'

/** One output of a run. */
export interface RunOutput {
  /** Name of the pipeline, or of pipeline and route. */
  readonly name: string
  readonly job: CompiledJob
  readonly sink: Sink
  /** Destination for records that the main destination rejects even as single records. */
  readonly aside: Sink | undefined
  /** Its place in the input. */
  readonly cursor: Input['cursor']
  /** A destination that fails for this long ends the output. */
  readonly retryForMs: number
  readonly stats: OutputStats
  /** Called for each record that the transform makes invalid, with its place. */
  readonly reject: (place: string, message: string) => void
}

export interface RunOptions {
  /** At least one. */
  readonly outputs: readonly RunOutput[]
  readonly input: Input
  /** Starts the transforms of the outputs. */
  readonly openTransform: OpenTransform
  /** State of the run, which is cursors, spool and batches in progress. */
  readonly folder: string
  /** Called with each failure of an output that is the first after a success. */
  readonly failing: (output: RunOutput, message: string) => void
  /** Ends the input, or, if it has an end of its own, the run. */
  readonly stop: AbortSignal
  readonly clock: Clock
  readonly log: Log
}

/**
 * End of an output. With `done`, every record is delivered or written to the dead letter file. Otherwise records wait
 * in the folder of the run.
 */
export type RunEnd =
  { readonly end: 'done' } | { readonly end: 'stopped' } | { readonly end: 'gave_up'; readonly message: string }

const STAGING = 'staging'
const ATTEMPT_MS = 120_000
/** An upload in progress has this long to finish when the run ends before its input. */
const DRAIN_MS = 10_000
/** An output beside others that gave up, of an input without an end, begins again after this time. */
const AGAIN_MS = 60_000

/**
 * Runs a pipeline. Resolves with the end of each output. Rejects if the run cannot continue at all, for example because
 * its input is damaged. The state is retained.
 */
export async function run(options: RunOptions): Promise<readonly RunEnd[]> {
  const { outputs, input, folder, stop } = options
  const batchBuffer = await BatchBuffer.open(join(folder, STAGING))
  const shared: SharedState = {
    batchBuffer,
    loop: new EventLoopYield(),
    sharedRows: new SharedRows(),
    sharedFilters: new SharedFilters(),
    isOneGone: false,
  }
  const loops = outputs.map((output) => new OutputLoop(output, options, shared))
  const end = () => {
    if (input.endless) input.stop()
    for (const loop of loops) loop.stop()
  }
  if (stop.aborted) end()
  stop.addEventListener('abort', end, { once: true })
  const running = loops.map(async (loop) => await loop.run())
  try {
    return await Promise.race([Promise.all(running), input.failed])
  } finally {
    stop.removeEventListener('abort', end)
    for (const loop of loops) loop.leave()
    await Promise.allSettled(running)
  }
}

interface SharedState {
  readonly batchBuffer: BatchBuffer
  readonly loop: EventLoopYield
  readonly sharedRows: SharedRows
  readonly sharedFilters: SharedFilters
  /** Whether an output gave up permanently. A source that waits for that output would wait forever. */
  isOneGone: boolean
}

/** An output, until it is done. */
class OutputLoop {
  readonly #of: RunOutput
  readonly #options: RunOptions
  readonly #shared: SharedState
  readonly #leaving = new AbortController()
  #fate: Fate | undefined

  constructor(of: RunOutput, options: RunOptions, shared: SharedState) {
    this.#of = of
    this.#options = options
    this.#shared = shared
  }

  async run(): Promise<RunEnd> {
    const { clock, input, outputs, failing } = this.#options
    for (;;) {
      const end = await this.#once()
      if (end.end !== 'gave_up') return end
      if (outputs.length === 1 || !input.endless) {
        this.#shared.isOneGone = true
        return end
      }
      failing(this.#of, `${end.message}; the other routes go on, this one in ${AGAIN_MS / 1000} s`)
      await clock.sleep(AGAIN_MS, this.#leaving.signal).catch(() => {})
      if (this.#leaving.signal.aborted) return end
    }
  }

  /** Ends before its input if the input has an end of its own, or while the destination fails. */
  stop(): void {
    if (this.#options.input.endless && !this.#fate?.failing) return
    this.#leaving.abort()
    this.#fate?.stop()
  }

  /** Begins no upload any more. */
  leave(): void {
    this.#leaving.abort()
    this.#fate?.leave()
  }

  async #once(): Promise<RunEnd> {
    const { job, sink, aside, cursor, stats, name } = this.#of
    const { input, openTransform, clock, log, stop } = this.#options
    const { batchBuffer, loop, sharedRows, sharedFilters } = this.#shared
    const rows = sharedRows.join('input', job)
    const filter = sharedFilters.join('input', job)
    const control = new JobSignal()
    // Each output has its own uploads, so a slow destination occupies no slot of the others.
    const uploads = new Uploads(
      { atOnce: MAX_IN_FLIGHT, perDestination: MAX_IN_FLIGHT, timeoutMs: ATTEMPT_MS },
      { clock, log },
    )
    const fate = new Fate(this.#of, this.#options, control)
    this.#fate = fate
    const session = new JobLoop(
      {
        id: name,
        job,
        rows,
        filter,
        sink,
        tap: stats.tap,
        destination: 'destination',
        spool: this.#ending(() => control.end('finished')),
        cursor,
        control,
        status: fate,
        metrics: counted(this.#of, fate),
        counted: { place: START },
        failed: async () => fate.judge(),
      },
      {
        spools: input,
        batchBuffer,
        uploads,
        loop,
        deadLetter: deadLetter(aside, uploads),
        openTransform,
        clock,
        log,
        random: Math.random,
      },
    )
    stats.progress = () => ({
      lagRecords: Math.max(0, input.spool.end - cursor.state.next),
      lagSeconds: session.oldest === undefined ? 0 : Math.max(0, clock.now() - session.oldest) / 1000,
      inFlight: session.inFlight,
    })
    if (this.#leaving.signal.aborted || (stop.aborted && !input.endless)) fate.stop()
    try {
      await session.run()
      return fate.end
    } finally {
      fate.close()
      rows?.leave()
      filter?.leave()
      stats.progress = undefined
    }
  }

  /** Reports the end of the input. A reader that waits after the last record has read the whole input. */
  #ending(ended: () => void): Input['spool'] {
    const { spool } = this.#options.input
    return {
      get end() {
        return spool.end
      },
      frame: async (position) => await spool.frame(position),
      cached: (position) => spool.cached?.(position),
      waitFor: async (position, signal) => {
        if (this.#isOver(position)) return ended()
        await spool.waitFor(position, signal)
        if (this.#isOver(position)) ended()
      },
    }
  }

  #isOver(position: number): boolean {
    const { input } = this.#options
    if (input.over(position)) return true
    return this.#shared.isOneGone && input.full === true && position >= input.spool.end
  }
}

/** Makes the folder of a run. */
export async function openFolder(path: string): Promise<string> {
  return await makeFolder(fs, path)
}

/** Removes the folder of a run that kept nothing in it, and the one around it when it was the last. */
export async function removeEmpty(path: string): Promise<void> {
  await rmdir(path)
    .then(async () => await rmdir(dirname(path)))
    .catch(() => {})
}

/** Removes all state that a finished run no longer needs. The position in the input stays. */
export async function removeDelivered(path: string): Promise<void> {
  for (const name of [STAGING, SPOOL_FOLDER]) await rm(join(path, name), { recursive: true, force: true })
}

/** Removes the folder of a run that has nothing left to deliver, and the one around it when it was the last. */
export async function removeFolder(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true })
  await rmdir(dirname(path)).catch(() => {})
}

const counted = ({ stats, reject }: RunOutput, fate: Fate) => ({
  // Input counts the records that it reads, including invalid ones.
  read() {},
  kept(records: number, sampledOut: number, repeated: number) {
    stats.repeated += repeated
    stats.kept += records
    stats.sampledOut += sampledOut
  },
  delivered({ records, size }: { records: number; size: number }) {
    stats.delivered += records
    stats.batches++
    stats.bytes += size
    // Also for a batch after one that is still to be retried. The destination works again.
    fate.delivered()
  },
  dropped: (records: number) => void (stats.dropped += records),
  parquet(use: ParquetUse, bytes: number) {
    stats.parquet ??= new ParquetStats()
    stats.parquet.add(use, bytes)
  },
  transformed(use: TransformUse) {
    stats.transform ??= new TransformStats()
    stats.transform.add(use)
    for (const { place, message } of use.invalid) reject(place, message)
  },
  attempt: (outcome: AttemptOutcome) => void (stats.retried += Number(outcome !== 'delivered')),
})

/** Why and when an output ends before its input does. */
class Fate {
  failing = false
  end: RunEnd = { end: 'done' }
  readonly #of: RunOutput
  readonly #options: RunOptions
  readonly #control: JobSignal
  #message = ''
  /** Aborts when the destination takes something again. */
  #recovered = new AbortController()
  readonly #over = new AbortController()

  constructor(of: RunOutput, options: RunOptions, control: JobSignal) {
    this.#of = of
    this.#options = options
    this.#control = control
  }

  delivered(): void {
    this.failing = false
    this.#of.stats.failure = undefined
    this.#recovered.abort()
  }

  failed(message: string): void {
    this.#message = message
    this.#of.stats.failure = message
    if (this.failing) return
    this.failing = true
    this.#recovered = new AbortController()
    this.#after(this.#of.retryForMs, this.#recovered.signal, () => this.#giveUp())
    this.#options.failing(this.#of, message)
  }

  /** Ends the output after a failure if the run is stopping, so that the caller does not wait for further attempts. */
  judge(): void {
    if (this.#options.stop.aborted) this.stop()
  }

  stop(): void {
    this.end = { end: 'stopped' }
    this.leave()
  }

  /** Starts no further upload. Waits a limited time for the upload in progress. */
  leave(): void {
    this.#control.end('shutdown')
    this.#after(DRAIN_MS, this.#over.signal, () => this.#control.endAttempts())
  }

  /** The output has ended. */
  close(): void {
    this.#recovered.abort()
    this.#over.abort()
  }

  #giveUp(): void {
    this.end = { end: 'gave_up', message: this.#message }
    this.leave()
  }

  #after(ms: number, signal: AbortSignal, work: () => void): void {
    this.#options.clock.sleep(ms, signal).then(work, () => {})
  }
}
