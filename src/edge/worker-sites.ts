import type { ResponseSink } from './response.js'
import type { Exchange } from './exchange.js'

/** Answers requests in the place of an origin. */
export interface WorkerSite {
  /** Feeds the answer to the sink; the result stops it, for when nobody wants the answer any more. */
  serve(exchange: Exchange, sink: ResponseSink): () => void
}

/** Finds the Worker in charge of a request. */
export interface WorkerSites {
  /** Undefined: the zone's origin answers. */
  find(exchange: Exchange): WorkerSite | undefined
}

/** The Worker in charge has code, and there is nothing here to run it. */
export class NotRunnable extends Error {
  override readonly name = 'NotRunnable'
}
