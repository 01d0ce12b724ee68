import { setImmediate as nextTurn } from 'node:timers/promises'
import { Counter } from 'prom-client'
import type { Clock } from '../../src/core/clock.js'
import type { Emitter, LogRecord } from '../../src/core/emit.js'
import { KeyedMutex } from '../../src/core/keyed-mutex.js'
import { messageOf } from '../../src/core/errors.js'
import type { Log } from '../../src/core/log.js'
import type { Metrics } from '../../src/core/metrics/metrics.js'
import type { Scope } from '../../src/core/scope.js'
import { SpoolFull, type EventSpool, type EventSpools, type EventWriter, type FrameParts } from './spool/types.js'
import { LossCounter } from './spool/loss-counter.js'

export interface EmitterOptions {
  readonly spools: EventSpools
  /** Milliseconds between two commits. Events since the last commit are lost in a crash. Default is 500. */
  readonly intervalMs?: number
  readonly clock: Clock
  readonly log: Log
  readonly metrics?: Metrics
}

/**
 * Maximum events that wait for packing, of one dataset and scope, and in total. Further events are dropped and counted.
 */
const MAX_QUEUED = 4096
const MAX_QUEUED_TOTAL = 16_384
/** Number of events that are packed without waiting for the next interval. */
const WORTH_PACKING = 64
const COMMIT_BYTES = 256 * 1024
const INTERVAL_MS = 500
/** Packing yields the thread after this time. */
const SLICE_MS = 1

/**
 * Writes events to the spools of the jobs that read them. `emit` only queues. Packing happens in slices between
 * requests, and commits happen twice a second. If the spools are at their limit, their oldest segments are deleted.
 */
export class SpoolEmitter implements Emitter {
  readonly #options: EmitterOptions
  readonly #dropped: Counter | undefined
  #writers = new Map<string, DatasetWriter>()
  readonly #queue = { length: 0 }
  readonly #turns = new KeyedMutex()
  readonly #closing = new AbortController()
  /** Commits events while there are writers. */
  #flushing: Promise<void> | undefined

  constructor(options: EmitterOptions) {
    this.#options = options
    if (options.metrics !== undefined) {
      this.#dropped = new Counter({
        name: 'edged_logpush_events_dropped_total',
        help: 'Events that did not become log records, by reason.',
        labelNames: ['dataset', 'scope', 'reason'],
        registers: [options.metrics],
      })
    }
  }

  wants(dataset: string, scope: Scope): boolean {
    return this.#writers.size > 0 && this.#writers.has(writerKey(dataset, scope))
  }

  emit(dataset: string, scope: Scope, record: LogRecord): void {
    this.#writers.get(writerKey(dataset, scope))?.take(record)
  }

  async save(dataset: string, scope: Scope, record: LogRecord): Promise<void> {
    await this.#writers.get(writerKey(dataset, scope))?.save(record)
  }

  /** Makes the events so far durable. Rejects if the disk does not accept them. */
  async commit(dataset: string, scope: Scope): Promise<void> {
    await this.#writers.get(writerKey(dataset, scope))?.commit()
  }

  /**
   * Resolves after the frames of another process are accepted. They become durable with the next commit, like own
   * events.
   */
  async adopt(dataset: string, scope: Scope, frames: readonly FrameParts[]): Promise<void> {
    await this.#writers.get(writerKey(dataset, scope))?.adopt(frames)
  }

  /** Replaces the set of datasets and scopes that running jobs read. The cursors of the jobs exist already. */
  async want(wanted: Iterable<{ readonly dataset: string; readonly scope: Scope }>): Promise<void> {
    await this.#turns.run('want', () => this.#want(wanted))
  }

  async #want(wanted: Iterable<{ readonly dataset: string; readonly scope: Scope }>): Promise<void> {
    const writers = new Map<string, DatasetWriter>()
    for (const { dataset, scope } of wanted) {
      const key = writerKey(dataset, scope)
      const writer =
        this.#writers.get(key) ?? writers.get(key) ?? this.#writer(await this.#options.spools.open(dataset, scope))
      writers.set(key, writer)
    }
    const before = this.#writers
    this.#writers = writers
    if (writers.size > 0 && !this.#closing.signal.aborted) this.#flushing ??= this.#flush()
    for (const [key, writer] of before) if (writers.get(key) !== writer) await writer.flush()
  }

  /** Commits emitted events as far as the disk accepts them. No further events are accepted. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#flushing
    await this.want([])
  }

  #writer(spool: EventSpool): DatasetWriter {
    const { clock, log } = this.#options
    const labels = { dataset: spool.dataset, scope: `${spool.scope.type}/${spool.scope.id}` }
    const losses = new LossCounter(labels, { clock, log, ...(this.#dropped && { counter: this.#dropped }) })
    return new DatasetWriter(spool.writer({ whenFull: 'drop_oldest' }), this.#queue, clock, log, losses)
  }

  async #flush(): Promise<void> {
    const { signal } = this.#closing
    const { clock, intervalMs = INTERVAL_MS } = this.#options
    while (this.#writers.size > 0) {
      try {
        await clock.sleep(intervalMs, signal)
      } catch {
        return
      }
      await Promise.all([...this.#writers.values()].map((writer) => writer.flush()))
    }
    this.#flushing = undefined
  }
}

const writerKey = (dataset: string, { type, id }: Scope): string => `${dataset} ${type} ${id}`

/** Queues and packs the events of one dataset and scope. */
class DatasetWriter {
  readonly #writer: EventWriter
  /** Events of all lanes that wait. */
  readonly #all: { length: number }
  readonly #clock: Clock
  readonly #log: Log
  readonly #losses: LossCounter
  #queue: LogRecord[] = []
  #adopted: { readonly frames: readonly FrameParts[]; readonly resolve: () => void }[] = []
  #running: Promise<void> | undefined
  #flushWanted = false
  /** The last commit failed. */
  #hasFailed = false

  constructor(writer: EventWriter, all: { length: number }, clock: Clock, log: Log, losses: LossCounter) {
    this.#writer = writer
    this.#all = all
    this.#clock = clock
    this.#log = log
    this.#losses = losses
  }

  take(event: LogRecord): void {
    if (this.#queue.length >= MAX_QUEUED || this.#all.length >= MAX_QUEUED_TOTAL) {
      this.#losses.add('queue', 1)
      return
    }
    this.#queue.push(event)
    this.#all.length++
    if (this.#queue.length === WORTH_PACKING) this.#running ??= this.#run()
  }

  /** Resolves when the frames are in the writer. */
  async adopt(frames: readonly FrameParts[]): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#adopted.push({ frames, resolve })
      this.#running ??= this.#run()
    })
  }

  /** Resolves when an event is durable. Rejects if it is not. */
  async save(event: LogRecord): Promise<void> {
    if (this.#queue.length >= MAX_QUEUED || this.#all.length >= MAX_QUEUED_TOTAL) throw new SpoolFull()
    this.take(event)
    await this.commit()
  }

  /** As {@link flush}, but rejects if the disk does not accept the events. */
  async commit(): Promise<void> {
    await this.flush()
    if (this.#hasFailed) throw new SpoolFull()
  }

  /** Packs queued events and makes them durable. */
  async flush(): Promise<void> {
    this.#flushWanted = true
    this.#running ??= this.#run()
    await this.#running
  }

  async #run(): Promise<void> {
    for (;;) {
      await nextTurn()
      this.#pack()
      const full = this.#writer.size >= COMMIT_BYTES
      const waits = this.#queue.length + this.#adopted.length > 0
      if (waits && !full) continue
      if (full || this.#flushWanted) {
        this.#flushWanted = waits && this.#flushWanted
        if (!(await this.#commit())) break
      }
      if (this.#queue.length + this.#adopted.length === 0 && !this.#flushWanted) break
    }
    this.#flushWanted = false
    this.#running = undefined
  }

  /** One slice. */
  #pack(): void {
    while (this.#adopted.length > 0 && this.#writer.size < COMMIT_BYTES) {
      const { frames, resolve } = this.#adopted.shift()!
      for (const frame of frames) this.#writer.adopt(frame)
      resolve()
    }
    const until = this.#clock.monotonic() + SLICE_MS
    const queue = this.#queue
    let taken = 0
    while (taken < queue.length && this.#writer.size < COMMIT_BYTES) {
      this.#add(queue[taken++]!)
      if (this.#clock.monotonic() >= until) break
    }
    this.#queue = queue.slice(taken)
    this.#all.length -= taken
  }

  #add(event: LogRecord): void {
    try {
      this.#writer.addEvent(event)
    } catch (error) {
      this.#losses.add('unfit', 1, { error: messageOf(error) })
    }
  }

  /** Returns false while the disk does not accept the events. They stay queued for another attempt. */
  async #commit(): Promise<boolean> {
    try {
      await this.#writer.commit()
      this.#hasFailed = false
      return true
    } catch (error) {
      this.#hasFailed = true
      // The spool has logged that it does not accept records.
      if (!(error instanceof SpoolFull)) this.#log.error({ event: 'emit_failed', error: messageOf(error) })
      return false
    }
  }
}
