import { LARGE_READ_BYTES, type TurnQueue } from '../../../core/schedule/turn-queue.js'
import type { Body, BodyListener } from '../entries/body.js'
import type { Span } from './conditions.js'
import type { BodySink } from '../entries/types.js'

/** A piece of a response, either bytes of the stored body or text between them. */
export type Piece = Span | Buffer

export interface DeliveryOptions {
  /** Undefined if the whole body is sent. */
  readonly pieces: readonly Piece[] | undefined
  /** Called once, either at the end or with the error that ended the delivery. */
  readonly done: (error?: unknown) => void
  /** Called after bytes were passed on. */
  readonly progressed: () => void
  /** Bounds the bytes that are sent in one turn of the event loop, by all deliveries together. */
  readonly turns?: TurnQueue
}

/** Sends a stored or growing body to one sink, as fast as the sink accepts it. */
export class Delivery implements BodyListener {
  readonly #body: Body
  readonly #sink: BodySink
  readonly #done: (error?: unknown) => void
  /** Called after bytes were passed on. */
  readonly #progressed: () => void
  /** What follows the current span. */
  readonly #pieces: readonly Piece[]
  readonly #turns: TurnQueue | undefined
  /** Bytes of the body that were passed on. */
  bytes = 0
  #next = 0
  #at = 0
  #to: number
  #blocked = false
  #pumping = false
  #over = false

  /** The head must have been sent. */
  constructor(body: Body, sink: BodySink, { pieces, done, progressed, turns }: DeliveryOptions) {
    this.#body = body
    this.#sink = sink
    this.#done = done
    this.#progressed = progressed
    this.#turns = turns
    this.#pieces = pieces ?? []
    this.#to = pieces ? 0 : Infinity
    body.retain()
  }

  start(): void {
    this.#sink.onDrain(() => {
      this.#blocked = false
      this.#pump()
    })
    const { complete, failure } = this.#body
    if (failure) {
      this.failed(failure.error)
      return
    }
    if (!complete) this.#body.listen(this)
    this.#pump()
  }

  grown(): void {
    this.#pump()
  }

  failed(error: unknown): void {
    if (this.#over) return
    this.#finish(error)
    this.#sink.fail(error)
  }

  /** Stops without notifying the sink. */
  cancel(): void {
    if (!this.#over) this.#finish(undefined)
  }

  /** Whether the sink has everything that has arrived. */
  get caughtUp(): boolean {
    return !this.#blocked && this.#at >= this.#body.length
  }

  #pump(): void {
    if (this.#pumping || this.#over) return
    this.#pumping = true
    try {
      this.#send()
    } catch (error) {
      if (!this.#over) this.#finish(error)
      this.#sink.fail(error)
    }
    this.#pumping = false
    this.#progressed()
  }

  #send(): void {
    const body = this.#body
    while (!this.#blocked && !this.#over) {
      const end = Math.min(this.#to, body.length)
      if (this.#at < end) {
        const slice = body.slice(this.#at, end)
        if (slice.length >= LARGE_READ_BYTES && !this.#mayPass()) return
        this.#at += slice.length
        this.bytes += slice.length
        if (!this.#sink.data(slice)) this.#blocked = true
      } else if (this.#at >= this.#to && this.#next < this.#pieces.length) this.#begin(this.#pieces[this.#next++]!)
      else if (this.#at >= this.#to || body.complete) {
        this.#finish(undefined)
        this.#sink.end()
        return
      } else return
    }
  }

  /** Returns whether a large part may be sent in this turn. If not, the delivery continues in a later one. */
  #mayPass(): boolean {
    const turns = this.#turns
    // The parts of a growing body were counted when they were read, but not for each of its receivers.
    if (!turns || !(this.#body.complete || this.#body.isShared)) return true
    if (turns.open) {
      turns.spend(1)
      return true
    }
    turns.add(this.#resume)
    return false
  }

  readonly #resume = (): void => this.#pump()

  #begin(piece: Piece): void {
    if ('to' in piece) {
      this.#at = piece.from
      this.#to = piece.to
    } else if (!this.#sink.data(piece)) this.#blocked = true
  }

  #finish(error: unknown): void {
    this.#over = true
    this.#turns?.delete(this.#resume)
    this.#body.unlisten(this)
    this.#body.release()
    this.#done(error)
  }
}
