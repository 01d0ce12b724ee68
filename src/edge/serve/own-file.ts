import type { RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'
import { CLIENT_LEFT } from '../exchange/origin-exchange.js'
import type { ResponseSink } from '../exchange/response.js'

/** Sends the request again. */
interface Again {
  /** Creates the sinks of another response. */
  readonly open: () => ResponseSink
  readonly send: (to: ResponseSink) => void
}

/**
 * Returns the sink of a response to a request for `/page.md`, which is one for `/page` at the origin. If the origin has no
 * such page, it may have a file at this address, which is not converted. If it has neither, the response says so.
 */
export const ownFile = (sink: ResponseSink, exchange: Exchange, again: Again): ResponseSink =>
  new EitherResponse(sink, (isMissing) => {
    if (!isMissing) return sink
    return new MissingPage(() => {
      const { alias } = exchange
      forget(exchange)
      exchange.alias = undefined
      if (alias) exchange.target = alias.address
      again.send(
        new EitherResponse(sink, (isMissingToo) => {
          if (!isMissingToo) return again.open()
          exchange.alias = alias
          return sink
        }),
      )
    })
  })

/** Removes the facts of the first response from the exchange. */
function forget(exchange: Exchange): void {
  const { caching, origin } = exchange
  caching.response = undefined
  caching.status = undefined
  caching.bytes = 0
  caching.responseStatus = 0
  caching.haveRulesRun = false
  origin.bytes = 0
}

/** A response whose next sink depends on whether its status is 404. */
class EitherResponse implements ResponseSink {
  readonly copies = false
  readonly #choose: (isMissing: boolean) => ResponseSink
  #next: ResponseSink
  #listener: (() => void) | undefined

  /** `otherwise` gets a failure before the head. */
  constructor(otherwise: ResponseSink, choose: (isMissing: boolean) => ResponseSink) {
    this.#next = otherwise
    this.#choose = choose
  }

  head(status: number, headers: RawHeaders): void {
    this.#next = this.#choose(status === 404)
    if (this.#listener) this.#next.onDrain(this.#listener)
    this.#next.head(status, headers)
  }

  data(chunk: Buffer): boolean {
    return this.#next.data(chunk)
  }

  end(trailers?: RawHeaders): void {
    this.#next.end(trailers)
  }

  fail(error: unknown): void {
    this.#next.fail(error)
  }

  onDrain(listener: () => void): void {
    this.#listener = listener
    this.#next.onDrain(listener)
  }
}

/** Discards a response. */
class MissingPage implements ResponseSink {
  readonly copies = true
  readonly #ended: () => void
  #isOver = false

  constructor(ended: () => void) {
    this.#ended = ended
  }

  head(): void {}

  data(): boolean {
    return true
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#ended()
  }

  fail(error: unknown): void {
    if (error === CLIENT_LEFT) this.#isOver = true
    else this.end()
  }

  onDrain(): void {}
}
