import { setMaxListeners } from 'node:events'
import type { ReadyBatch } from './batches/batch-builder.js'
import type { Outcome } from './delivery.js'
import { cursorAt, planOf, positionOf, type PlannedBatch, type SpoolPosition } from './spool/position.js'
import type { Cursor, CursorState } from './spool/types.js'

export interface FlightOptions {
  readonly cursor: Pick<Cursor, 'state' | 'save'>
  /** Maximum number of batches, including delivered ones after an undelivered one. */
  readonly width: number
  /** Delivers a batch; `stop` ends waits between attempts. */
  readonly deliver: (batch: ReadyBatch, stop: AbortSignal) => Promise<Outcome>
  /** Aborts when failed batches are not attempted again. */
  readonly wake: AbortSignal
  /** Called when everything up to a time of acceptance is delivered. */
  readonly delivered: (to: Date) => void
}

/** A batch in flight. Without `batch` it is a part of the spool with nothing to send. */
interface Flight {
  readonly batch?: ReadyBatch
  readonly first: SpoolPosition
  readonly end: SpoolPosition
  outcome?: Outcome
}

/**
 * Batches of a job in flight to its destination, in the order of their records. The cursor names all of these batches
 * and never passes an undelivered one. After a crash the same batches are created again, and delivered ones are
 * skipped.
 */
export class Flights {
  /** Parts of the spool that were cut into batches before and follow those in flight. */
  plan: readonly PlannedBatch[]
  readonly #options: FlightOptions
  #flights: Flight[] = []
  #place: SpoolPosition
  #running = 0
  #failure: { readonly error: unknown } | undefined
  #stop = new AbortController()
  #waiting: (() => void)[] = []
  #written: Promise<void> = Promise.resolve()
  #queued: Promise<void> | undefined

  constructor(options: FlightOptions) {
    this.#options = options
    const { cursor, wake } = options
    const { state } = cursor
    setMaxListeners(0, this.#stop.signal)
    wake.addEventListener('abort', this.#wake)
    if (wake.aborted) this.#stop.abort()
    this.#place = positionOf(state)
    this.plan = planOf(state)
  }

  /** Everything before it is delivered. */
  get place(): SpoolPosition {
    return this.#place
  }

  /** Number of batches that are being sent. */
  get count(): number {
    return this.#running
  }

  /** Everything that was launched is delivered. */
  get empty(): boolean {
    return this.#flights.length === 0
  }

  /** Time at which the oldest record in flight was accepted, in ms since 1970. */
  get oldest(): number | undefined {
    return this.#flights.find(({ outcome }) => outcome !== 'done')?.batch?.from.getTime()
  }

  /** Nothing more can be sent before `replan`, because a batch has to be split or this machine had an error. */
  halted = false

  /** Aborts when the flights are halted, and when `wake` does. */
  get stop(): AbortSignal {
    return this.#stop.signal
  }

  /**
   * Sends a batch when a slot is free. `rest` is the plan after the batch. Resolves with true after the cursor names
   * the batch. If nothing can be sent, discards the batch and resolves with false.
   */
  async launch(batch: ReadyBatch, rest: readonly PlannedBatch[]): Promise<boolean> {
    while (this.#flights.length >= this.#options.width && !this.#isOver) await this.#change()
    if (this.#isOver) {
      await batch.body.discard()
      return false
    }
    const { first, end } = batch
    const flight: Flight = { batch, first, end }
    this.#flights.push(flight)
    this.plan = rest
    try {
      await this.#save()
    } catch (error) {
      await batch.body.discard()
      throw error
    }
    this.#running++
    void this.#fly(flight, batch)
    return true
  }

  /** Notes that nothing between the batches so far and `place` is to be sent. `rest` is the plan after `place`. */
  async skip(place: SpoolPosition, rest: readonly PlannedBatch[]): Promise<void> {
    const before = this.#flights.at(-1)?.end ?? this.#place
    this.#flights.push({ first: before, end: place, outcome: 'done' })
    this.plan = rest
    await this.#advance()
  }

  /** Resolves when nothing is being sent. Rejects if a failure of this machine stopped a batch. */
  async settled(): Promise<void> {
    while (this.#running > 0) await this.#change()
    if (this.#failure !== undefined) throw this.#failure.error
  }

  /** Ends waits between attempts. Failed batches are created again after `replan`. */
  recall(): void {
    this.halted = true
    this.#stop.abort()
  }

  /**
   * Plans all undelivered batches again. A batch that is too large becomes two. No batch is larger than `bytes`. Call
   * it only when settled.
   */
  replan(bytes = Infinity): void {
    const last = this.plan.length === 0 ? this.#flights.at(-1) : undefined
    const again = this.#flights.map((flight): PlannedBatch => {
      const { batch, end, outcome } = flight
      if (batch === undefined || outcome === 'done') return { end, delivered: true }
      if (outcome !== 'split') return { end, name: batch.name }
      return { end, records: Math.ceil(batch.records / 2), free: flight === last }
    })
    this.#place = this.#flights[0]?.first ?? this.#place
    const plan = [...again, ...this.plan]
    this.plan = bytes === Infinity ? plan : plan.map((planned) => ({ ...planned, bytes }))
    this.#flights = []
    this.halted = false
    this.#stop = new AbortController()
    setMaxListeners(0, this.#stop.signal)
    if (this.#options.wake.aborted) this.#stop.abort()
  }

  /** Removes listeners. Call it only when settled. */
  close(): void {
    this.#options.wake.removeEventListener('abort', this.#wake)
  }

  readonly #wake = (): void => this.#stop.abort()

  /** A batch that is not attempted again would hold back all that follow it. */
  get #isOver(): boolean {
    return this.halted || this.#flights.some(({ outcome }) => outcome === 'interrupted')
  }

  async #fly(flight: Flight, batch: ReadyBatch): Promise<void> {
    try {
      flight.outcome = await this.#options.deliver(batch, this.#stop.signal)
      if (flight.outcome === 'done') await this.#advance()
      else if (flight.outcome === 'split') this.recall()
    } catch (error) {
      this.#failure ??= { error }
      this.recall()
    } finally {
      this.#running--
      for (const resolve of this.#waiting.splice(0)) resolve()
    }
  }

  async #change(): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  async #advance(): Promise<void> {
    let to: Date | undefined
    while (this.#flights[0]?.outcome === 'done') {
      const { batch, end } = this.#flights.shift()!
      this.#place = end
      to = batch?.to ?? to
    }
    await this.#save()
    if (to !== undefined) this.#options.delivered(to)
  }

  /** Stores the state. Changes during a write are stored by one further write. */
  async #save(): Promise<void> {
    this.#queued ??= this.#saveNext()
    await this.#queued
  }

  async #saveNext(): Promise<void> {
    await this.#written.catch(() => {})
    this.#queued = undefined
    this.#written = this.#options.cursor.save(this.#state())
    await this.#written
  }

  #state(): CursorState {
    const flying = this.#flights.map(({ batch, end, outcome }): PlannedBatch =>
      batch === undefined || outcome === 'done' ? { end, delivered: true } : { end, name: batch.name },
    )
    return cursorAt(this.#flights[0]?.first ?? this.#place, [...flying, ...this.plan])
  }
}
