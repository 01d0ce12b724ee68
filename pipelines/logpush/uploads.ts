import PQueue from 'p-queue'
import type { Clock } from '../../src/core/clock.js'
import { messageOf } from '../../src/core/errors.js'
import type { Log } from '../../src/core/log.js'
import type { OutgoingTraces } from '../../src/core/outgoing-traces.js'
import { SinkError, type Batch, type Sink } from '../../src/core/sink.js'

export interface UploadOptions {
  /** All together. */
  readonly atOnce: number
  readonly perDestination: number
  /** For one attempt, from when it has its place. */
  readonly timeoutMs: number
}

export interface Upload {
  readonly sink: Sink
  readonly batch: Batch
  /** Host or bucket. Uploads to the same one share its slots. */
  readonly destination: string
  /** The attempt before failed, so this one must not delay working ones. */
  readonly failing: boolean
}

/** Time that an aborted attempt has to end. */
const ENDING_MS = 5000
/** Reason that ends the clock of an attempt that has ended. A reason of its own for each attempt would cost its stack. */
const SETTLED = new Error('settled')

/**
 * Assigns slots to attempts. Jobs that fail have separate slots, because an attempt can last until its timeout. So
 * unavailable destinations never delay the others.
 */
export class Uploads {
  readonly #lanes: { readonly steady: PQueue; readonly failing: PQueue }
  readonly #destinations = new Map<string, PQueue>()
  readonly #options: UploadOptions
  readonly #clock: Clock
  readonly #log: Log
  readonly #traces: OutgoingTraces | undefined

  constructor(
    options: UploadOptions,
    { clock, log, traces }: { clock: Clock; log: Log; traces?: OutgoingTraces | undefined },
  ) {
    this.#options = options
    this.#traces = traces
    this.#clock = clock
    this.#log = log
    this.#lanes = {
      steady: new PQueue({ concurrency: options.atOnce }),
      failing: new PQueue({ concurrency: Math.max(1, Math.floor(options.atOnce / 2)) }),
    }
  }

  /** Makes one attempt when it has a slot. Rejects with a SinkError, or with the signal's reason if it aborts. */
  async attempt(upload: Upload, signal: AbortSignal): Promise<void> {
    const lane = upload.failing ? 'failing' : 'steady'
    const key = `${lane} ${upload.destination}`
    const queue = this.#destinations.get(key) ?? new PQueue({ concurrency: this.#options.perDestination })
    this.#destinations.set(key, queue)
    // Only while it waits. An upload in progress ends in its own time.
    const waiting = new AbortController()
    const leave = () => waiting.abort(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    const write = async () => {
      signal.removeEventListener('abort', leave)
      await this.#traced(upload, signal)
    }
    try {
      signal.throwIfAborted()
      const options = { signal: waiting.signal }
      await queue.add(async () => await this.#lanes[lane].add(write, options), options)
    } finally {
      signal.removeEventListener('abort', leave)
      // The queue itself counts this attempt until later.
      setImmediate(() => {
        if (queue.size + queue.pending === 0 && this.#destinations.get(key) === queue) this.#destinations.delete(key)
      })
    }
  }

  /** Records the attempt as a span of its own trace, without the time that the attempt waits for a slot. */
  async #traced(upload: Upload, signal: AbortSignal): Promise<void> {
    const { name, records, size } = upload.batch
    const attributes = { 'server.address': upload.destination, 'edged.batch': name }
    const span = this.#traces?.outgoing('log push upload', {
      ...attributes,
      'edged.records': records,
      'edged.bytes': size,
    })
    try {
      await this.#write(upload, signal)
      span?.end({ status: 0, succeeded: true })
    } catch (error) {
      span?.end({ status: 0, error: error instanceof SinkError ? error.failure : 'aborted' })
      throw error
    }
  }

  async #write({ sink, batch }: Upload, signal: AbortSignal): Promise<void> {
    const attempt = new AbortController()
    const settled = new AbortController()
    const end = () => attempt.abort(signal.reason)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    const ended = new Promise<never>((_, reject) => {
      attempt.signal.addEventListener('abort', () => reject(attempt.signal.reason), { once: true })
    })
    const work = sink.write(batch, attempt.signal)
    try {
      void this.#overdue(attempt, settled.signal)
      await Promise.race([work, ended])
    } catch (error) {
      // Two attempts at the same batch at once would get in each other's way.
      if (attempt.signal.aborted) await this.#ended(work)
      signal.throwIfAborted()
      throw this.#judged(attempt.signal.aborted ? attempt.signal.reason : error)
    } finally {
      settled.abort(SETTLED)
      signal.removeEventListener('abort', end)
    }
  }

  /** Ends an attempt when its time is over. */
  async #overdue(attempt: AbortController, settled: AbortSignal): Promise<void> {
    const { timeoutMs } = this.#options
    try {
      await this.#clock.sleep(timeoutMs, settled)
    } catch {
      return
    }
    attempt.abort(new SinkError('transient', `the destination did not respond within ${timeoutMs / 1000} s`))
  }

  async #ended(work: Promise<void>): Promise<void> {
    const over = new AbortController()
    const waited = this.#clock.sleep(ENDING_MS, over.signal).catch(() => {})
    await Promise.race([work.catch(() => {}), waited])
    over.abort()
  }

  #judged(error: unknown): SinkError {
    if (error instanceof SinkError) return error
    this.#log.error({ event: 'sink_failed', error: messageOf(error), stack: error instanceof Error ? error.stack : '' })
    return new SinkError('transient', 'the delivery failed; the log says why', { cause: error })
  }
}
