/**
 * One pipeline, run until its input ends: a session as the daemon runs it for a job, over an input of its own.
 */
import { mkdir, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock } from '../../src/core/clock.js'
import type { Log } from '../../src/core/log.js'
import { MAX_IN_FLIGHT, type Sink } from '../../src/core/sink.js'
import { EventLoopYield } from '../logpush/yielding.js'
import type { CompiledJob } from '../logpush/compiled-job.js'
import { JobSignal } from '../logpush/job-signal.js'
import { deadLetter } from '../logpush/dead-letter.js'
import { JobLoop } from '../logpush/job-loop.js'
import type { AttemptOutcome } from '../logpush/metrics.js'
import { BatchBuffer } from '../logpush/batch-buffer.js'
import { Uploads } from '../logpush/uploads.js'
import type { Input } from '../sources/input.js'
import type { RunStats } from '../sources/run-stats.js'

export interface RunOptions {
  readonly name: string
  readonly job: CompiledJob
  readonly input: Input
  readonly sink: Sink
  /** Takes records that the destination refuses even one by one. */
  readonly aside: Sink | undefined
  /** The state of the run: cursor, spool, batches in progress. */
  readonly folder: string
  /** A destination that fails for this long ends the run. */
  readonly retryForMs: number
  readonly stats: RunStats
  /** Called with each failure that is the first after a success. */
  readonly failing: (message: string) => void
  /** Ends the input, or, if it has an end of its own, the run. */
  readonly stop: AbortSignal
  readonly clock: Clock
  readonly log: Log
}

/** How a run ended: `done`: all that came in is delivered or set aside; else records wait in its folder. */
export type RunEnd =
  { readonly end: 'done' } | { readonly end: 'stopped' } | { readonly end: 'gave_up'; readonly message: string }

const STAGING = 'staging'
const ATTEMPT_MS = 120_000
/** An upload in progress has this long to finish when the run ends before its input. */
const DRAIN_MS = 10_000

/** Runs a pipeline. Rejects if it cannot go on at all, as for an input that is damaged; the state stays. */
export async function run(options: RunOptions): Promise<RunEnd> {
  const { job, input, sink, aside, folder, clock, log, stop } = options
  const control = new JobSignal()
  const staging = await BatchBuffer.open(join(folder, STAGING))
  const uploads = new Uploads(
    { atOnce: MAX_IN_FLIGHT, perDestination: MAX_IN_FLIGHT, timeoutMs: ATTEMPT_MS },
    { clock, log },
  )
  const fate = new Fate(options, control)
  const end = () => (input.endless && !fate.failing ? input.stop() : fate.stop())
  if (stop.aborted) end()
  stop.addEventListener('abort', end, { once: true })
  const session = new JobLoop(
    {
      id: options.name,
      job,
      sink,
      destination: 'destination',
      spool: ending(input, () => control.end('finished')),
      cursor: input.cursor,
      control,
      status: fate,
      metrics: counted(options.stats),
      failed: async () => fate.judge(),
    },
    {
      spools: input,
      staging,
      uploads,
      loop: new EventLoopYield(),
      deadLetter: deadLetter(aside, uploads),
      clock,
      log,
      random: Math.random,
    },
  )
  options.stats.progress = () => ({
    lagRecords: Math.max(0, input.spool.end - input.cursor.state.next),
    lagSeconds: session.oldest === undefined ? 0 : Math.max(0, clock.now() - session.oldest) / 1000,
    inFlight: session.inFlight,
  })
  const running = session.run()
  try {
    await Promise.race([running, input.failed])
    return fate.end
  } finally {
    stop.removeEventListener('abort', end)
    fate.leave()
    await running.catch(() => {})
    fate.close()
    options.stats.progress = undefined
  }
}

/** Makes the folder of a run. */
export async function openFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  return path
}

/** Removes the folder of a run that kept nothing in it, and the one around it when it was the last. */
export async function removeEmpty(path: string): Promise<void> {
  await rmdir(path)
    .then(async () => await rmdir(dirname(path)))
    .catch(() => {})
}

/** Removes what a run that is over needs no more: all but its place in the input. */
export async function removeStaging(path: string): Promise<void> {
  await rm(join(path, STAGING), { recursive: true, force: true })
}

/** Removes the folder of a run that has nothing left to deliver, and the one around it when it was the last. */
export async function removeFolder(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true })
  await rmdir(dirname(path)).catch(() => {})
}

/** Tells where the input ends: a reader that waits behind its last record has all of it. */
function ending(input: Input, ended: () => void): Input['spool'] {
  const { spool } = input
  return {
    get end() {
      return spool.end
    },
    frame: async (position) => await spool.frame(position),
    async waitFor(position, signal) {
      if (input.over(position)) return ended()
      await spool.waitFor(position, signal)
      if (input.over(position)) ended()
    },
  }
}

const counted = (stats: RunStats) => ({
  // Input counts what it reads, invalid records too.
  read() {},
  kept(records: number, sampledOut: number) {
    stats.kept += records
    stats.sampledOut += sampledOut
  },
  delivered({ records, size }: { records: number; size: number }) {
    stats.delivered += records
    stats.batches++
    stats.bytes += size
  },
  dropped: (records: number) => void (stats.dropped += records),
  attempt: (outcome: AttemptOutcome) => void (stats.retried += Number(outcome !== 'delivered')),
})

/** Why and when the run ends before its input does. */
class Fate {
  failing = false
  end: RunEnd = { end: 'done' }
  readonly #options: RunOptions
  readonly #control: JobSignal
  #message = ''
  /** Aborts when the destination takes something again. */
  #recovered = new AbortController()
  readonly #over = new AbortController()

  constructor(options: RunOptions, control: JobSignal) {
    this.#options = options
    this.#control = control
  }

  delivered(): void {
    this.failing = false
    this.#options.stats.failure = undefined
    this.#recovered.abort()
  }

  failed(message: string): void {
    this.#message = message
    this.#options.stats.failure = message
    if (this.failing) return
    this.failing = true
    this.#recovered = new AbortController()
    this.#after(this.#options.retryForMs, this.#recovered.signal, () => this.#giveUp())
    this.#options.failing(message)
  }

  /** After a failure: a caller that waits for the end does not wait for more of them. */
  judge(): void {
    if (this.#options.stop.aborted) this.stop()
  }

  stop(): void {
    this.end = { end: 'stopped' }
    this.leave()
  }

  /** Begins no upload any more; the one in progress is waited for, but not for ever. */
  leave(): void {
    this.#control.end('shutdown')
    this.#after(DRAIN_MS, this.#over.signal, () => this.#control.endAttempts())
  }

  /** The run has ended. */
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
