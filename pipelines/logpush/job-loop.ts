import { batchName, type BatchOrigin } from './batch-name.js'
import { Delivery, type Outcome } from './delivery.js'
import { Flights } from './flights.js'
import { asParquet } from './settings/compiled-job.js'
import { CATCH_UP_MS, levelOf, limitsOf, type BatchLimits } from './settings/limits.js'
import { BEHIND_MS } from './merging-reader.js'
import { BatchBuilder, type ReadyBatch, type Stages } from './batches/batch-builder.js'
import { compare, type Lines, type PlannedBatch, type Reader } from './spool/position.js'
import { openReader } from './reader.js'
import type { SessionDeps, SessionOf } from './session.js'
import { NoRoom } from './batches/batch-buffer.js'
import { more, pause } from './backoff.js'
import { TransformedLines, TransformStage, type TransformCounts } from './transform/transformed-lines.js'

/**
 * Wait after the first new frame. Readers are woken for every frame, and frames that arrive within this time are read
 * together.
 */
const NAP_MS = 250
/** A job that keeps none of the records writes its place this often. */
const REMEMBER_MS = 10_000
/** Interval in which held records are examined while no others arrive. */
const HELD_MS = 5000
/** Deliveries after which batches may grow to twice the size again, if a batch was too large. */
const STREAK = 32

/** Default number of concurrent batches of a job. */
const IN_FLIGHT = 4
/** Maximum batches in flight for jobs that merge subrequests. Their positions take more space in a cursor file. */
const IN_FLIGHT_MERGED = 16

/**
 * Creates the batches of one job, in order, and sends several concurrently, until its settings change or it ends.
 * Batches depend only on spool, cursor and settings. After a crash or a failure the same batches are created again.
 */
export class JobLoop {
  readonly #deps: SessionDeps
  readonly #of: SessionOf
  readonly #limits: BatchLimits
  readonly #delivery: Delivery
  readonly #flights: Flights
  readonly #stages: Stages
  #transform: TransformStage | undefined
  /** Use of the module that is in the metrics. */
  #used = { restarts: 0, busyMs: 0 }
  /** Maximum bytes of a batch, lowered when the destination rejects a batch as too large and when the disk is full. */
  #ceiling = Infinity
  /** Maximum bytes of the batches that are planned again for a full disk. */
  #roomBytes = Infinity
  #streak = 0
  #remembered: number
  /** When the oldest record of the batch was accepted that is being filled. */
  #began: number | undefined

  constructor(given: SessionOf, deps: SessionDeps) {
    const of = given.sink.encoding === 'parquet' ? ofParquet(given) : given
    this.#of = of
    this.#deps = deps
    const { job, sink, cursor, status, control } = of
    this.#limits = limitsOf(job.settings, sink.limits)
    this.#stages = { shape: job.shape?.(), dedupe: job.dedupe?.() }
    this.#remembered = deps.clock.monotonic()
    this.#delivery = new Delivery(of, deps)
    const asked = sink.ordered ? 1 : (job.settings.edged_in_flight ?? IN_FLIGHT)
    this.#flights = new Flights({
      cursor,
      width: job.merge === undefined ? asked : Math.min(asked, IN_FLIGHT_MERGED),
      deliver: async (batch, stop) => await this.#deliver(batch, stop),
      wake: control.wake,
      delivered: (to) => {
        this.#remembered = deps.clock.monotonic()
        status.delivered(to)
      },
    })
  }

  /** When the oldest record was accepted that has been read and not delivered, ms since 1970. */
  get oldest(): number | undefined {
    return this.#flights.oldest ?? this.#began
  }

  /** Batches that are being sent. */
  get inFlight(): number {
    return this.#flights.count
  }

  /** Resolves when the job is interrupted. Rejects if a batch cannot be created, as on a full disk. */
  async run(): Promise<void> {
    const { control } = this.#of
    const flights = this.#flights
    this.#transform = this.#openTransform()
    try {
      for (;;) {
        await this.#round()
        await flights.settled()
        if (control.interrupted || (control.finished && flights.empty && !flights.halted)) return
        flights.replan(this.#roomBytes)
        this.#roomBytes = Infinity
      }
    } finally {
      flights.recall()
      await flights.settled().catch(() => {})
      flights.close()
      await this.#transform?.transform.close()
    }
  }

  #openTransform(): TransformStage | undefined {
    const { job, id } = this.#of
    const { transform } = job.settings
    if (transform === undefined) return undefined
    const { openTransform } = this.#deps
    if (openTransform === undefined) throw new Error('the job has a transform, and nothing can run it')
    return new TransformStage(openTransform(transform, id), job, this.#stages.dedupe)
  }

  /** Creates and sends batches from the place of the cursor on, until the job is interrupted or they have to be planned again. */
  async #round(): Promise<void> {
    const { spool, job, control } = this.#of
    const flights = this.#flights
    const reader = await openReader(spool, job, flights.place, this.#transform)
    for (;;) {
      const [redo, ...rest] = flights.plan
      if (redo?.delivered) {
        await this.#pass(reader, redo)
        if (control.leaving || flights.halted) return
        await flights.skip(reader.place, rest)
        continue
      }
      const batch = await this.#make(reader, redo).catch((error: unknown) => this.#refuseLarge(error))
      if (batch === 'no room') return
      if (batch !== undefined) {
        const behind = redo === undefined || redo.free || compare(reader.place, redo.end) >= 0
        const left = behind ? rest : [{ ...redo, name: undefined }, ...rest]
        if (!(await flights.launch(batch, left)) || (control.changed && left.length === 0)) return
      } else if (redo === undefined || control.leaving || flights.halted) return
      // The records do not match changed settings, or they are no longer stored.
      else await flights.skip(reader.place, rest)
    }
  }

  /**
   * Returns the next batch after it is complete. Undefined if no more can be sent, or if nothing of `redo` is left to
   * send.
   */
  async #make(reader: Reader, redo: PlannedBatch | undefined): Promise<ReadyBatch | undefined> {
    const { id, job, shared, rows, filter, sink, control } = this.#of
    const { batchBuffer, loop, clock, spools } = this.#deps
    const { bytes, records, intervalMs } = this.#limits
    const limits =
      redo === undefined
        ? { bytes: Math.min(bytes, this.#ceiling), records }
        : { bytes: redo.bytes ?? Infinity, records: redo.records ?? Infinity }
    const level = levelOf(job, this.#deps.compressionLevel?.())
    const begin = () =>
      new BatchBuilder(
        job,
        { ...limits, intervalMs },
        batchBuffer.begin(sink.encoding, level, job.columns),
        batchBuffer.buffers,
        {
          stages: this.#stages,
          shared,
          rows,
          filter,
        },
      )
    const name = (range: Omit<BatchOrigin, 'spools' | 'job'>) =>
      batchName({ ...range, spools: spools.id, job: id }, redo?.name)

    let batch: BatchBuilder | undefined
    let began = 0
    const dueMs = (from: number) => Math.min(from + intervalMs - clock.now(), began + intervalMs - clock.monotonic())
    try {
      while (!this.#isOver) {
        const known = this.#mayRead(reader, redo) ? reader.cached?.() : undefined
        const lines = known ?? (await this.#lines(reader, redo))
        if (lines === undefined) {
          if (redo !== undefined) break
          if (batch !== undefined && batch.records > 0) {
            const ms = dueMs(batch.from)
            if (control.interrupted || control.finished || ms <= 0) break
            await this.#wait(reader, ms)
          } else {
            if (control.interrupted || control.finished) break
            await this.#idle(reader)
          }
          continue
        }
        if (batch === undefined) {
          batch = begin()
          began = clock.monotonic()
        }
        if (lines instanceof TransformedLines) await lines.ready()
        if (batch.records > 0 && redo === undefined && this.#apart(batch, lines)) {
          reader.at(lines, lines.begin)
          break
        }
        const end = redo === undefined ? lines.count : lines.before(redo.end)
        const index = await this.#fill(batch, lines, end)
        reader.at(lines, index)
        if (batch.full) break
        if (redo !== undefined && (index < lines.count || compare(reader.place, redo.end) >= 0)) break
        if (redo === undefined) {
          if (batch.records === 0) {
            began = clock.monotonic()
            await this.#remember(reader)
          } else if (dueMs(Infinity) <= 0) break
          if (control.interrupted) break
        }
        if (loop.isOver) await loop.yieldToEventLoop()
      }
      if (batch === undefined || batch.records === 0 || this.#isOver) {
        await batch?.discard()
        return undefined
      }
      const ready = await batch.close(reader.place, name)
      const { parquet, length } = ready.body
      if (parquet !== undefined) this.#of.metrics.parquet?.(parquet, length)
      return ready
    } catch (error) {
      await batch?.discard()
      throw error
    } finally {
      this.#began = undefined
    }
  }

  /** A batch that is being created cannot be sent. */
  get #isOver(): boolean {
    return this.#of.control.leaving || this.#flights.halted
  }

  /**
   * Lowers the size ceiling if a batch was too large for the disk. Rethrows any other error, and also rethrows if the
   * ceiling is low already. On a full disk batches are created again so small that they need no file, because only
   * delivered records free space.
   */
  #refuseLarge(error: unknown): 'no room' {
    const { textBytes } = this.#deps.batchBuffer
    if (!(error instanceof NoRoom) || this.#ceiling <= textBytes) throw error
    this.#ceiling = textBytes
    this.#streak = 0
    this.#roomBytes = textBytes
    this.#flights.recall()
    return 'no room'
  }

  /** Reads to the end of a delivered part. */
  async #pass(reader: Reader, redo: PlannedBatch): Promise<void> {
    while (!this.#isOver && compare(reader.place, redo.end) < 0) {
      const lines = await this.#lines(reader, redo)
      if (lines === undefined) return
      reader.at(lines, lines.before(redo.end))
      await this.#deps.loop.yieldToEventLoop()
    }
  }

  async #lines(reader: Reader, redo: PlannedBatch | undefined): Promise<Lines | undefined> {
    const { until } = redo?.end ?? {}
    if (redo !== undefined && until !== undefined && reader.place.position === redo.end.position) {
      const held = reader.due(until)
      if (held !== undefined) return held
    }
    const missed = reader.missed
    const lines = this.#mayRead(reader, redo) ? await reader.next() : undefined
    if (reader.missed > missed) this.#of.metrics.dropped(reader.missed - missed, 'missing')
    return lines ?? (redo === undefined ? reader.due(this.#deps.clock.now() - BEHIND_MS) : undefined)
  }

  /** Returns whether further records are for a new batch of these settings. */
  #mayRead(reader: Reader, redo: PlannedBatch | undefined): boolean {
    const { limit } = this.#of.control
    return redo !== undefined || limit === undefined || reader.place.position < limit
  }

  async #fill(batch: BatchBuilder, lines: Lines, end: number): Promise<number> {
    const { counted, metrics, tap } = this.#of
    // Lines of batches that are created again were counted before.
    const known = Math.min(end, lines.before(counted.place))
    const from = known > lines.begin ? await this.#add(batch, lines, lines.begin, known) : lines.begin
    let index = from
    if (from >= known && from < end && !batch.full) {
      const { records: before, sampledOut, repeated } = batch
      index = await this.#add(batch, lines, from, end)
      counted.place = lines.place(index)
      if (tap?.isWatched) tap.show(lines, from, index)
      metrics.read(index - from)
      if (lines instanceof TransformedLines) this.#countChanged(lines.counts(from, index))
      metrics.kept(batch.records - before, batch.sampledOut - sampledOut, batch.repeated - repeated)
    }
    if (batch.records > 0) this.#began = batch.from
    return index
  }

  #countChanged(counts: TransformCounts): void {
    const { restarts = 0, busyMs = 0 } = this.#transform?.transform ?? {}
    const used = this.#used
    this.#used = { restarts, busyMs }
    this.#of.metrics.transformed?.({
      ...counts,
      restarts: restarts - used.restarts,
      seconds: (busyMs - used.busyMs) / 1000,
    })
  }

  /** Adds lines to a batch until it is full. Returns the index of the first line that is not added. */
  async #add(batch: BatchBuilder, lines: Lines, from: number, end: number): Promise<number> {
    let index = from
    while (index < end && !batch.full) {
      index = batch.add(lines, index, end)
      if (batch.isDue) await batch.flush()
    }
    return index
  }

  /** Whether these lines belong to a batch of their own. */
  #apart(batch: BatchBuilder, { acceptedAt }: Lines): boolean {
    if (this.#of.sink.daily && day(acceptedAt) !== day(batch.from)) return true
    return acceptedAt - batch.from > Math.max(this.#limits.intervalMs, CATCH_UP_MS)
  }

  async #idle(reader: Reader): Promise<void> {
    const { clock } = this.#deps
    const late = reader.place.position !== this.#of.cursor.state.next
    const rememberMs = late ? this.#remembered + REMEMBER_MS - clock.monotonic() : Infinity
    if (rememberMs > 0) return await this.#wait(reader, rememberMs)
    await this.#remember(reader)
  }

  /** Waits for records, but not longer than `ms`. */
  async #wait(reader: Reader, ms: number): Promise<void> {
    const { clock } = this.#deps
    const { spool } = this.#of
    const { position, keep } = reader.place
    const max = keep === undefined ? ms : Math.min(ms, HELD_MS)
    const until = clock.monotonic() + max
    const signal = this.#flights.stop
    await more(spool, position, { clock, ms: max, signal })
    if (spool.end > position) await pause(clock, Math.min(NAP_MS, Math.max(0, until - clock.monotonic())), signal)
  }

  /** Stores in the cursor that the job skipped records. It does so now and then, not with each frame. */
  async #remember(reader: Reader): Promise<void> {
    const now = this.#deps.clock.monotonic()
    if (now - this.#remembered < REMEMBER_MS) return
    this.#remembered = now
    if (this.#flights.empty) await this.#flights.skip(reader.place, [])
  }

  async #deliver(batch: ReadyBatch, stop: AbortSignal): Promise<Outcome> {
    const outcome = await this.#delivery.deliver(batch, stop)
    if (outcome === 'split') {
      this.#ceiling = Math.min(this.#ceiling, Math.max(1, Math.floor(batch.size / 2)))
      this.#streak = 0
    } else if (outcome === 'done' && ++this.#streak % STREAK === 0) this.#ceiling *= 2
    return outcome
  }
}

/** A file has all fields of its records with their types, so its text is not shared with other jobs. */
const ofParquet = (of: SessionOf): SessionOf => ({
  ...of,
  job: asParquet(of.job, of.id),
  shared: undefined,
  rows: undefined,
})

const DAY_MS = 86_400_000
const day = (ms: number): number => Math.floor(ms / DAY_MS)
