import type { Exchange } from './exchange.js'
import type { RawHeaders } from '../http/headers.js'

/*
 * An answer flows from its origin to the client through sinks: the client's at the end, and in front of it a stage for
 * each thing that changes the answer on its way. An answer that passes unchanged meets the client's sink only. Streams
 * are not used, because two of them with their pipeline cost as much as the rest of the request.
 */

/** Takes one answer: `head`, then any number of `data`, then `end`; `fail` instead of what would come next. */
export interface ResponseSink {
  /** It keeps nothing of a chunk that `data` got: a source may use the memory again. Others get what is theirs. */
  readonly copies?: boolean
  /** Once. The fields are without hop-by-hop ones; `content-length` is present where the length is known. */
  head(status: number, headers: RawHeaders): void
  /** False: send no more until the listener of {@link onDrain} is called. The chunk is taken all the same. */
  data(chunk: Buffer): boolean
  /** The answer is complete. */
  end(): void
  /**
   * The answer cannot be finished: the origin failed or the client left. Before `head` has reached the client it gets
   * an error page; after that its connection is cut, so that it cannot take what it has for the whole. May be called
   * after `end`, when the client leaves before it has everything, and more than once.
   */
  fail(error: unknown): void
  /** Sets what is called when more data is welcome after `data` said false. There is one listener at a time. */
  onDrain(listener: () => void): void
}

/**
 * Something between origin and client. Called when the request is complete in `exchange` and before it goes to the
 * origin: it may edit `exchange.headers`. Returns `next` itself where it has nothing to do, else a sink that ends in
 * `next`. A sink holds what it likes back, but within bounds, and lets go of it in `end` and `fail`.
 */
export type Stage = (exchange: Exchange, next: ResponseSink) => ResponseSink
