import { RecordsRefused, SinkError, type Batch } from '../../src/core/sink.js'
import type { ReadyBatch } from './batches/batch-builder.js'
import { pause, pauseMs } from './backoff.js'
import type { BatchAttempt } from './attempt-log.js'
import { bodyOf } from './dead-letter.js'
import type { SessionDeps, SessionOf } from './session.js'

/**
 * - `done` means that the batch is delivered, stored by the dead letter destination, or dropped and counted.
 * - `split` means that it is too large for the destination and has to be sent in parts.
 * - `interrupted` means that it has to be created and sent again.
 */
export type Outcome = 'done' | 'split' | 'interrupted'

/** Members of a job session that a delivery uses. */
export type DeliveryOf = Pick<SessionOf, 'id' | 'sink' | 'destination' | 'control' | 'failed' | 'attempts'> & {
  readonly status: Pick<SessionOf['status'], 'failing' | 'failed'>
  readonly metrics: Pick<SessionOf['metrics'], 'attempt' | 'delivered' | 'dropped'>
}
type DeliveryDeps = Pick<SessionDeps, 'uploads' | 'deadLetter' | 'deadLetters' | 'clock' | 'log' | 'random'>

/** Delivers batches of one job concurrently. */
export class Delivery {
  readonly #of: DeliveryOf
  readonly #deps: DeliveryDeps
  /** Ends of waits of batches that failed and can be attempted again as soon as the destination works. */
  readonly #hopeful = new Set<() => void>()

  constructor(of: DeliveryOf, deps: DeliveryDeps) {
    this.#of = of
    this.#deps = deps
  }

  /** Attempts until the batch is delivered, has to be split, or `stop` aborts between two attempts. Frees its body. */
  async deliver(batch: ReadyBatch, stop: AbortSignal): Promise<Outcome> {
    const { status } = this.#of
    const { random } = this.#deps
    try {
      for (let attempts = 1; ; attempts++) {
        const failure = await this.#attempt(batch)
        if (!(failure instanceof SinkError)) return failure
        status.failed(failure.message)
        await this.#of.failed()
        await this.#pause(pauseMs(failure, attempts, random), failure, stop)
        if (stop.aborted) return 'interrupted'
      }
    } finally {
      await batch.body.discard()
    }
  }

  /** Waits, but not if another batch shows that the destination works again. */
  async #pause(ms: number, { failure, retryAfterMs }: SinkError, stop: AbortSignal): Promise<void> {
    if (failure !== 'transient' || retryAfterMs !== undefined) return await pause(this.#deps.clock, ms, stop)
    const over = new AbortController()
    const end = () => over.abort()
    if (stop.aborted) return
    stop.addEventListener('abort', end, { once: true })
    this.#hopeful.add(end)
    try {
      await pause(this.#deps.clock, ms, over.signal)
    } finally {
      this.#hopeful.delete(end)
      stop.removeEventListener('abort', end)
    }
  }

  async #attempt(batch: ReadyBatch): Promise<SinkError | Outcome> {
    const { id, sink, destination, status, control, metrics, attempts } = this.#of
    const { uploads, deadLetter, clock, log } = this.#deps
    const facts = {
      event: 'logpush_upload_failed',
      job: id,
      batch: batch.name,
      records: batch.records,
      bytes: batch.size,
    }
    let arrived = { records: batch.records, size: batch.size }
    const began = { at: new Date(clock.now()).toISOString(), monotonic: clock.monotonic() }
    const made = (outcome: BatchAttempt['status'], error: string | null): void =>
      attempts?.add({
        at: began.at,
        records: batch.records,
        bytes: batch.size,
        ms: Math.round(clock.monotonic() - began.monotonic),
        status: outcome,
        error,
      })
    try {
      await uploads.attempt({ sink, batch, destination, failing: status.failing }, control.abort)
    } catch (error) {
      if (!(error instanceof SinkError)) {
        if (control.abort.aborted) return 'interrupted'
        throw error
      }
      metrics.attempt(error.failure)
      const isSetAside = error.failure === 'too_large' ? batch.records === 1 : error instanceof RecordsRefused
      made(isSetAside ? 'set_aside' : 'failed', error.message)
      log.warn({ ...facts, failure: error.failure, error: error.message })
      if (error.failure === 'too_large') return batch.isOne ? await this.#setAside(batch, 'too_large', error) : 'split'
      // If nothing at all was accepted, the settings may be wrong. Records without a dead letter destination are not
      // dropped for that.
      if (!(error instanceof RecordsRefused) || (error.taken === 0 && !deadLetter.keeps)) return error
      const refused = refusedOf(batch, error)
      const outcome = await this.#setAside(refused, 'refused', error)
      if (outcome !== 'done' || error.taken === 0) return outcome
      arrived = { records: error.taken, size: Math.max(0, batch.size - refused.size) }
    }
    metrics.attempt('delivered')
    if (arrived.records === batch.records) made('delivered', null)
    metrics.delivered({ ...arrived, atMs: clock.now() })
    for (const end of this.#hopeful) end()
    return 'done'
  }

  async #setAside(batch: Batch, reason: 'too_large' | 'refused', { message }: SinkError): Promise<SinkError | Outcome> {
    const { id, control, metrics } = this.#of
    const { deadLetter, deadLetters, clock, log } = this.#deps
    const { name, records, size } = batch
    try {
      const kept = await deadLetter.keep(batch, control.abort)
      const at = new Date(clock.now()).toISOString()
      const entry = { id: name, at, records: kept, bytes: size, reason, error: message, replayed_at: null }
      if (kept > 0) await deadLetters?.put(id, { ...entry, path: deadLetter.pathOf(batch) })
      const event = kept === records ? 'logpush_set_aside' : 'logpush_dropped'
      log.warn({ event, job: id, batch: name, records, kept, bytes: size }, SET_ASIDE[reason])
      if (kept < records) metrics.dropped(records - kept, reason)
      return 'done'
    } catch (error) {
      if (error instanceof SinkError) return error
      if (control.abort.aborted) return 'interrupted'
      throw error
    }
  }
}

const SET_ASIDE = {
  too_large: 'the destination accepts no record of this size',
  refused: 'the destination rejects the content of these records',
}

/** The rejected records of a batch, under its name. */
function refusedOf({ name, from, to }: Batch, { lines }: RecordsRefused): Batch {
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
  return { name, from, to, records: lines.length, size: bytes.length, body: bodyOf(bytes, 'identity') }
}
