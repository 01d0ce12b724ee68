import type { Clock } from '../../src/core/clock.js'
import type { Log } from '../../src/core/log.js'
import { RecordsRefused, SinkError, type Batch, type Sink } from '../../src/core/sink.js'
import { batchName } from './batch-name.js'
import type { EventLoopYield } from './yielding.js'
import type { CompiledJob } from './compiled-job.js'
import type { JobSignal } from './job-signal.js'
import { bodyOf, type DeadLetter } from './dead-letter.js'
import { CATCH_UP_MS, limitsOf, type BatchLimits } from './limits.js'
import { BEHIND_MS } from './merging-reader.js'
import type { JobMetrics } from './metrics.js'
import { BatchBuilder, type ReadyBatch } from './batch-builder.js'
import { compare, cursorAt, endOf, positionOf, type Lines, type SpoolPosition, type Reader } from './spool-position.js'
import { openReader } from './reader.js'
import type { Shared } from './shared-formatting.js'
import type { Cursor, ReadableSpool } from './spool/types.js'
import { NoRoom, type BatchBuffer } from './batch-buffer.js'
import type { JobStatus } from './status.js'
import type { Uploads } from './uploads.js'
import { more, pause, pauseMs } from './backoff.js'

/** What all jobs share. */
export interface SessionDeps {
  /** Names the folder of the spools. */
  readonly spools: { readonly id: string }
  readonly staging: BatchBuffer
  readonly uploads: Uploads
  readonly loop: EventLoopYield
  readonly deadLetter: DeadLetter
  readonly clock: Clock
  readonly log: Log
  /** From 0 to 1. */
  readonly random: () => number
}

/** What a job is while its settings stay the same. */
export interface SessionOf {
  readonly id: string
  readonly job: CompiledJob
  /** With jobs of the same recipe on the same spool. */
  readonly shared?: Shared | undefined
  readonly sink: Sink
  /** Names the host or bucket. */
  readonly destination: string
  readonly spool: ReadableSpool
  readonly cursor: Pick<Cursor, 'state' | 'save'>
  readonly control: JobSignal
  readonly status: Pick<JobStatus, 'failing' | 'delivered' | 'failed'>
  readonly metrics: Omit<JobMetrics, 'remove'>
  /** Called after each failure. */
  readonly failed: () => Promise<void>
}

/** A batch that is made again: up to an end, and with not more records and bytes than that. */
interface Redo {
  readonly end: SpoolPosition
  readonly records: number
  readonly bytes: number
  readonly name?: string | undefined
}

/** Readers are woken for every frame: what comes within this time is read together. */
const NAP_MS = 250
/** A job that keeps none of the records writes its place this often. */
const REMEMBER_MS = 10_000
/** Records held back are looked through this often while no others come. */
const HELD_MS = 5000
/** So many deliveries after a batch was too large, batches may grow to twice as much again. */
const STREAK = 32

/**
 * Batch after batch of one job, in order, until its settings change or it ends. What it does is decided by the spool, the
 * cursor and the settings alone: after a crash, and after a failure, the same batch is made again.
 */
export class JobLoop {
  /** When the oldest record was accepted that has been read and not delivered, ms since 1970. */
  oldest: number | undefined
  readonly #deps: SessionDeps
  readonly #of: SessionOf
  readonly #limits: BatchLimits
  /** What the destination seems to take, by its refusals, and the disk, for batches that wait for their delivery. */
  #ceiling = Infinity
  #streak = 0
  #remembered: number

  constructor(of: SessionOf, deps: SessionDeps) {
    this.#of = of
    this.#deps = deps
    this.#limits = limitsOf(of.job.settings, of.sink.limits)
    this.#remembered = deps.clock.monotonic()
  }

  /** Resolves when the job is interrupted. Rejects if the batch cannot be made, as on a full disk. */
  async run(): Promise<void> {
    const { spool, job, cursor, control } = this.#of
    const { open } = cursor.state
    let redo: Redo | undefined = open && { end: endOf(open), records: Infinity, bytes: Infinity, name: open.name }
    let reader = await openReader(spool, job, positionOf(cursor.state))
    for (;;) {
      const batch = await this.#make(reader, redo).catch((error: unknown) => this.#refuseLarge(error))
      if (batch === 'no room') {
        // Made again so small that it needs no file: on a full disk only what is delivered makes room.
        redo = redo && { ...redo, bytes: this.#ceiling }
        reader = await openReader(spool, job, positionOf(cursor.state))
        continue
      }
      if (batch === undefined) {
        if (control.interrupted || (control.finished && redo === undefined)) return
        // The settings have changed since, and nothing of it is wanted any more; or it is no longer kept.
        await cursor.save(cursorAt(reader.place))
        redo = undefined
        continue
      }
      const outcome = await this.#send(batch)
      if (outcome === 'interrupted') return
      redo =
        outcome === 'split' ? { end: batch.end, records: Math.ceil(batch.records / 2), bytes: Infinity } : undefined
      if (redo !== undefined) reader = await openReader(spool, job, positionOf(cursor.state))
    }
  }

  /** The next batch, once it is complete; undefined if the job is interrupted, or if nothing is left of `redo`. */
  async #make(reader: Reader, redo: Redo | undefined): Promise<ReadyBatch | undefined> {
    const { id, job, shared, sink, control } = this.#of
    const { staging, loop, clock, spools } = this.#deps
    const { bytes, records, intervalMs } = this.#limits
    const limits = { bytes: redo?.bytes ?? Math.min(bytes, this.#ceiling), records: redo?.records ?? records }
    const begin = () =>
      new BatchBuilder(job, { ...limits, intervalMs }, staging.begin(sink.encoding), staging.buffers, shared)
    const name = (range: Pick<ReadyBatch, 'from' | 'to' | 'first' | 'end'>) =>
      redo?.name !== undefined && compare(range.end, redo.end) === 0
        ? redo.name
        : batchName({ ...range, spools: spools.id, job: id })

    let batch: BatchBuilder | undefined
    let began = 0
    const dueMs = (from: number) => Math.min(from + intervalMs - clock.now(), began + intervalMs - clock.monotonic())
    try {
      while (!control.leaving) {
        const lines = await this.#lines(reader, redo)
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
        await loop.yieldToEventLoop()
      }
      if (batch === undefined || batch.records === 0 || control.leaving) {
        await batch?.discard()
        return undefined
      }
      return await batch.close(reader.place, name)
    } catch (error) {
      await batch?.discard()
      throw error
    }
  }

  /** Lowers the ceiling where a batch was too large for the disk; throws if it is not that, or low already. */
  #refuseLarge(error: unknown): 'no room' {
    const { textBytes } = this.#deps.staging
    if (!(error instanceof NoRoom) || this.#ceiling <= textBytes) throw error
    this.#ceiling = textBytes
    this.#streak = 0
    return 'no room'
  }

  async #lines(reader: Reader, redo: Redo | undefined): Promise<Lines | undefined> {
    const { until } = redo?.end ?? {}
    if (redo !== undefined && until !== undefined && reader.place.position === redo.end.position) {
      const held = reader.due(until)
      if (held !== undefined) return held
    }
    const missed = reader.missed
    const lines = await reader.next()
    if (reader.missed > missed) this.#of.metrics.dropped(reader.missed - missed, 'missing')
    return lines ?? (redo === undefined ? reader.due(this.#deps.clock.now() - BEHIND_MS) : undefined)
  }

  async #fill(batch: BatchBuilder, lines: Lines, end: number): Promise<number> {
    const before = batch.records
    let index = lines.begin
    while (index < end && !batch.full) {
      index = batch.add(lines, index, end)
      await batch.flush()
    }
    this.#of.metrics.read(index - lines.begin)
    this.#of.metrics.kept(batch.records - before)
    if (batch.records > 0) this.oldest = batch.from
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
    if (rememberMs <= 0) return await this.#remember(reader)
    await this.#wait(reader, rememberMs)
  }

  /** Waits for records, but not longer than `ms`. */
  async #wait(reader: Reader, ms: number): Promise<void> {
    const { clock } = this.#deps
    const { spool, control } = this.#of
    const { position, keep } = reader.place
    const most = keep === undefined ? ms : Math.min(ms, HELD_MS)
    const until = clock.monotonic() + most
    await more(spool, position, { clock, ms: most, signal: control.wake })
    if (spool.end > position) await pause(clock, Math.min(NAP_MS, Math.max(0, until - clock.monotonic())), control.wake)
  }

  /** Passes over records that the job does not want: in the cursor now and then, not with each frame. */
  async #remember(reader: Reader): Promise<void> {
    const now = this.#deps.clock.monotonic()
    if (now - this.#remembered < REMEMBER_MS) return
    this.#remembered = now
    await this.#of.cursor.save(cursorAt(reader.place))
  }

  /** Tries until the batch has arrived, has to be split, or the job is interrupted. */
  async #send(batch: ReadyBatch): Promise<'done' | 'split' | 'interrupted'> {
    const { cursor, status, control } = this.#of
    const { clock, random } = this.#deps
    try {
      await cursor.save(cursorAt(batch.first, { end: batch.end, name: batch.name }))
      for (let tries = 1; ; tries++) {
        const failure = await this.#attempt(batch)
        if (failure === 'split' || failure === 'interrupted') return failure
        if (failure === undefined) {
          await cursor.save(cursorAt(batch.end))
          this.#remembered = clock.monotonic()
          this.oldest = undefined
          status.delivered(batch.to)
          return 'done'
        }
        status.failed(failure.message)
        await this.#of.failed()
        if (control.interrupted) return 'interrupted'
        await pause(clock, pauseMs(failure, tries, random), control.wake)
        if (control.interrupted) return 'interrupted'
      }
    } finally {
      await batch.body.discard()
    }
  }

  /** Undefined when the batch is off our hands. */
  async #attempt(batch: ReadyBatch): Promise<SinkError | 'split' | 'interrupted' | undefined> {
    const { id, sink, destination, status, control, metrics } = this.#of
    const { uploads, deadLetter, clock, log } = this.#deps
    const tell = {
      event: 'logpush_upload_failed',
      job: id,
      batch: batch.name,
      records: batch.records,
      bytes: batch.size,
    }
    let arrived = { records: batch.records, size: batch.size }
    try {
      await uploads.attempt({ sink, batch, destination, failing: status.failing }, control.abort)
    } catch (error) {
      if (!(error instanceof SinkError)) {
        if (control.abort.aborted) return 'interrupted'
        throw error
      }
      metrics.attempt(error.failure)
      log.warn({ ...tell, failure: error.failure, error: error.message })
      if (error.failure === 'too_large') {
        if (batch.records === 1) return await this.#setAside(batch, 'too_large')
        this.#ceiling = Math.max(1, Math.floor(batch.size / 2))
        this.#streak = 0
        return 'split'
      }
      // Where nothing at all was taken, the settings may be wrong: what nobody keeps is not given up for that.
      if (!(error instanceof RecordsRefused) || (error.taken === 0 && !deadLetter.keeps)) return error
      const refused = refusedOf(batch, error)
      const failure = await this.#setAside(refused, 'refused')
      if (failure !== undefined) return failure
      if (error.taken === 0) return undefined
      arrived = { records: error.taken, size: Math.max(0, batch.size - refused.size) }
    }
    metrics.attempt('delivered')
    metrics.delivered({ ...arrived, atMs: clock.now() })
    if (++this.#streak % STREAK === 0) this.#ceiling *= 2
    return undefined
  }

  /** Undefined when the records are off our hands. */
  async #setAside(batch: Batch, reason: 'too_large' | 'refused'): Promise<SinkError | 'interrupted' | undefined> {
    const { id, control, metrics } = this.#of
    const { deadLetter, log } = this.#deps
    const { name, records, size } = batch
    try {
      const kept = await deadLetter.keep(batch, control.abort)
      const event = kept === records ? 'logpush_set_aside' : 'logpush_dropped'
      log.warn({ event, job: id, batch: name, records, kept, bytes: size }, SET_ASIDE[reason])
      if (kept < records) metrics.dropped(records - kept, reason)
      return undefined
    } catch (error) {
      if (error instanceof SinkError) return error
      if (control.abort.aborted) return 'interrupted'
      throw error
    }
  }
}

const SET_ASIDE = {
  too_large: 'the destination takes no record as large as this',
  refused: 'the destination refuses these records for what is in them',
}

/** What is set aside of a batch, under its name. */
function refusedOf({ name, from, to }: Batch, { lines }: RecordsRefused): Batch {
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
  return { name, from, to, records: lines.length, size: bytes.length, body: bodyOf(bytes, 'identity') }
}

const DAY_MS = 86_400_000
const day = (ms: number): number => Math.floor(ms / DAY_MS)
