import type { Exchange } from './exchange.js'

/** Learns of each request that was served, whatever its response: an error page, a Worker's, one of the cache, 101. */
export interface FinishedObserver {
  /**
   * Called once, when all facts of the exchange are known, before its connection reads on. Must not throw or wait, and
   * keeps the exchange for a second at most.
   */
  finished(exchange: Exchange): void
}
