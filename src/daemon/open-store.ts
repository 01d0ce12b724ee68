import type { Config } from '../config/schema.js'
import type { Clock } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import type { Log } from '../core/log.js'
import type { Store } from '../core/store.js'
import { openStore, RedisUnreachable, type AcceptedLosses } from '../store/index.js'

const RETRY_MS = 2000

/** The daemon was asked to stop before its start was complete. */
export class StartStopped extends Error {
  override readonly name = 'StartStopped'
}

/**
 * Opens the store. Waits for a Redis that does not respond, and logs each attempt, until `signal` aborts. Rejects for every
 * other reason.
 */
export async function openWhenReachable(
  config: Config,
  { log, clock, accepted, signal }: { log: Log; clock: Clock; accepted?: AcceptedLosses; signal?: AbortSignal },
): Promise<Store> {
  for (;;) {
    try {
      return await openStore(config.store, { folder: config.data, log, clock, ...accepted })
    } catch (error) {
      if (!(error instanceof RedisUnreachable)) throw error
      log.warn({ event: 'store_awaited', error: messageOf(error), retry_ms: RETRY_MS }, 'the start waits for the store')
      await clock.sleep(RETRY_MS, signal).catch(() => undefined)
      if (signal?.aborted) throw new StartStopped('stopped while the start waited for the store', { cause: error })
    }
  }
}
