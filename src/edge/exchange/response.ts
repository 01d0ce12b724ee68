import type { Exchange } from './exchange.js'
import { members } from '../../http/accept.js'
import { headerValues, type RawHeaders } from '../../http/headers.js'
import type { UnreadResponse } from './unread-response.js'

/*
 * A response flows from its origin to the client through sinks. The last sink is the client's. Before it there is one
 * stage for each change to the response. An unchanged response passes the client's sink only. Node streams are not
 * used, because two streams and their pipeline cost as much as the rest of the request.
 */

/**
 * Returns whether fields may follow the body of a response. The client must ask for them, and the protocol must have
 * them.
 */
export function acceptsTrailers({ httpVersion, rawHeaders }: Pick<Exchange, 'httpVersion' | 'rawHeaders'>): boolean {
  if (httpVersion === '1.0') return false
  return headerValues(rawHeaders, 'te').some((value) =>
    [...members(value)].some((member) => /^trailers$/i.test(member)),
  )
}

/** Receives one response: `head`, then any number of `data`, then `end`; `fail` instead of the next call. */
export interface ResponseSink {
  /** The sink retains no chunk of `data`, so a source may reuse the memory. Other sinks get memory of their own. */
  readonly copies?: boolean
  /** Whether `unreadHead` exists and may accept a head. */
  readonly takesText?: boolean
  /**
   * Called instead of `head` with fields that nothing has read, and with fields that are added to them. Returns false, and
   * does nothing, if it needs the list of the fields.
   */
  unreadHead?(response: UnreadResponse, added: RawHeaders): boolean
  /** Called once. The fields exclude hop-by-hop ones; `content-length` is present if the length is known. */
  head(status: number, headers: RawHeaders): void
  /**
   * Returns false if no more may be sent until the listener of {@link onDrain} is called. The chunk is accepted in any
   * case.
   */
  data(chunk: Buffer): boolean
  /**
   * Completes the response. `trailers` are fields after the body (RFC 9110, 6.5): sent only if the head announced them in
   * `trailer`, which requires {@link acceptsTrailers}.
   */
  end(trailers?: RawHeaders): void
  /**
   * Aborts the response: the origin failed or the client left. Before `head` has reached the client it gets an error
   * page; after that its connection is cut, so that it cannot mistake the part it has for the whole. May be called
   * after `end`, when the client leaves before it has everything, and more than once.
   */
  fail(error: unknown): void
  /**
   * Sets the function to call when more data is accepted after `data` returned false. Only one listener is supported.
   */
  onDrain(listener: () => void): void
}

/** A sink that forwards every call. Subclasses change the head, or more. */
export class ForwardingSink implements ResponseSink {
  readonly copies: boolean
  protected readonly next: ResponseSink

  constructor(next: ResponseSink) {
    this.copies = next.copies === true
    this.next = next
  }

  head(status: number, headers: RawHeaders): void {
    this.next.head(status, headers)
  }

  data(chunk: Buffer): boolean {
    return this.next.data(chunk)
  }

  end(trailers?: RawHeaders): void {
    this.next.end(trailers)
  }

  fail(error: unknown): void {
    this.next.fail(error)
  }

  onDrain(listener: () => void): void {
    this.next.onDrain(listener)
  }
}

/**
 * A stage between origin and client. Called when the request is complete in `exchange` and before it is sent to the
 * origin: it may edit `exchange.headers`. Returns `next` itself if it has nothing to do, else a sink that ends in
 * `next`. A sink may buffer, within bounds, and releases the memory in `end` and `fail`.
 */
export type Stage = (exchange: Exchange, next: ResponseSink) => ResponseSink
