import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Origin, OriginRequest } from '../net/origin.js'
import { answerFields, BadAnswer } from './answer-fields.js'
import type { AnswerSink } from './answer.js'
import type { Exchange } from './exchange.js'
import { wasStale } from './origin-fault.js'
import type { Surroundings } from './surroundings.js'
import type { Upload } from './upload.js'

/** Takes over when the origin agrees to speak another protocol. */
export type Switch = (status: number, fields: readonly Buffer[], origin: Duplex) => void

/** Told to the sinks of an answer that nobody wants any more. */
// Made once: it is told for every answer, also where nobody listens any more.
export const CLIENT_LEFT = new Error('the client left')

const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS'])

/** One request at its origin: sends it and feeds the answer to a sink. */
export class Forward implements OriginRequest {
  started = false
  readonly #exchange: Exchange
  readonly #origin: Origin
  readonly #sink: AnswerSink
  readonly #around: Surroundings
  readonly #options: Dispatcher.DispatchOptions
  readonly #switch: Switch | undefined
  #abort: ((error?: Error) => void) | undefined
  #resume: (() => void) | undefined
  #retried = false
  #answered = false
  #over = false
  #released = false

  constructor(
    exchange: Exchange,
    origin: Origin,
    sink: AnswerSink,
    around: Surroundings,
    { body, switched }: { body: Upload | null; switched: Switch | undefined },
  ) {
    this.#exchange = exchange
    this.#origin = origin
    this.#sink = sink
    this.#around = around
    this.#switch = switched
    this.#options = {
      path: exchange.target,
      method: exchange.method,
      headers: exchange.headers,
      body,
      upgrade: switched ? 'websocket' : null,
      servername: origin.serverName,
      ...readTimeout(exchange),
    } as Dispatcher.DispatchOptions
  }

  /** Sends the request. Whatever happens is told to the sink. */
  send(): void {
    try {
      this.#origin.dispatch(this.#options, this)
    } catch (error) {
      this.#released = true
      this.#end()
      this.#sink.fail(error)
    }
  }

  /** Nobody wants the answer any more. */
  cancel(): void {
    // The stages may still hold what the origin has long sent.
    if (this.#over) this.#sink.fail(CLIENT_LEFT)
    else if (this.#abort) this.#abort(CLIENT_LEFT)
    else this.#give(CLIENT_LEFT)
  }

  onConnect(abort: (error?: Error) => void): void {
    this.started = true
    this.#origin.begun(this)
    this.#exchange.originSentAt = this.#around.clock.monotonic()
    this.#abort = abort
    if (!this.#over) return
    this.#release()
    // Thrown rather than aborted: that leaves the connection to the next one who waits.
    throw new Error('the client left before the request was sent')
  }

  onHeaders(status: number, raw: Buffer[], resume: () => void): boolean {
    if (status < 200) return true
    if (status > 599) throw new BadAnswer(`the origin answered with status ${status}`)
    const fields = answerFields(status, raw)
    this.#answered = true
    this.#resume = resume
    this.#exchange.originAt = this.#around.clock.monotonic()
    this.#exchange.originStatus = status
    this.#sink.head(status, fields)
    // No body follows, whatever the fields say; undici would miss the bytes that a 304's length only tells of.
    if (status === 204 || status === 304) this.onComplete()
    return true
  }

  onData(chunk: Buffer): boolean {
    if (this.#sink.data(chunk)) return true
    // `resume` belongs to the connection; once this answer is over it would wake somebody else's.
    this.#sink.onDrain(() => {
      if (!this.#over) this.#resume?.()
    })
    return false
  }

  onComplete(): void {
    if (this.#over) return
    this.#end()
    this.#sink.end()
  }

  onUpgrade(status: number, raw: Buffer[] | string[] | null, socket: Duplex): void {
    this.#end()
    this.#exchange.originStatus = status
    try {
      this.#switch?.(status, (raw ?? []) as Buffer[], socket)
    } catch (error) {
      socket.destroy()
      this.#sink.fail(error)
    }
  }

  onError(error: Error): void {
    if (this.#over) this.#release()
    else if (this.#repeatable(error)) this.#repeat()
    else this.#give(error)
  }

  #repeatable(error: Error): boolean {
    return (
      !this.#answered &&
      !this.#retried &&
      this.#options.body === null &&
      REPEATABLE.has(this.#exchange.method) &&
      wasStale(error)
    )
  }

  #repeat(): void {
    this.#retried = true
    this.#around.metrics.retries++
    this.#origin.release(this)
    this.#abort = undefined
    this.started = false
    // Not from inside the handling of a connection that is being closed.
    process.nextTick(() => {
      if (!this.#over) this.send()
    })
  }

  #give(error: Error): void {
    // One that still waits keeps its place in the queue, and is counted there, until its turn comes.
    this.#over = true
    if (this.started) this.#release()
    this.#sink.fail(error)
  }

  #end(): void {
    this.#over = true
    this.#release()
  }

  #release(): void {
    if (this.#released) return
    this.#released = true
    this.#origin.release(this)
  }
}

/** What cache rules say on the time between two reads. */
function readTimeout({ cache }: Exchange): object | undefined {
  if (cache?.read_timeout === undefined) return undefined
  const ms = cache.read_timeout * 1000
  return { headersTimeout: ms, bodyTimeout: ms }
}
