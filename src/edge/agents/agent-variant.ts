import type { RawHeaders } from '../../http/headers.js'
import type { ResponseSink } from '../exchange/response.js'

/** Marks a response that depends on the agent, so that a cache behind the edge gives it to no other client. */
export class AgentVariant implements ResponseSink {
  readonly copies: boolean
  readonly #next: ResponseSink

  constructor(next: ResponseSink) {
    this.copies = next.copies === true
    this.#next = next
  }

  head(status: number, headers: RawHeaders): void {
    const at = headers.findIndex((name, place) => place % 2 === 0 && name.toLowerCase() === 'vary')
    const varied =
      at === -1 ? [...headers, 'vary', 'accept, user-agent'] : headers.with(at + 1, `${headers[at + 1]!}, user-agent`)
    this.#next.head(status, varied)
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
    this.#next.onDrain(listener)
  }
}
