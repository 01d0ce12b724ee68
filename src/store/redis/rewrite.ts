import type { Redis } from 'ioredis'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { META } from './script.js'

const MAX_WAIT_MS = 5000
const POLL_MS = 25
/** Field of `meta` for the run of the server whose append-only file was rewritten. */
const REWRITTEN = 'rewritten'

/**
 * Rewrites the append-only file once per run of the server, before anything is written to it.
 *
 * A crash may cut the file inside a transaction. Redis then loads the data before the transaction, but leaves the start
 * of the transaction in the file (seen in 7.0). The next load runs that half of a batch together with the first batch
 * written later, so a rejected write appears in part, or later writes are dropped as an incomplete transaction. A file
 * that was rewritten from memory has no such remains. If the rewrite is not allowed, a warning names the setting that
 * helps.
 */
export async function rewriteLog(redis: Redis, run: string, log: Log, clock: Clock): Promise<void> {
  try {
    if ((await redis.hget(META, REWRITTEN)) === run) return
    if (!(await persistence(redis)).includes('aof_enabled:1')) return
    await redis.bgrewriteaof()
    const end = clock.monotonic() + MAX_WAIT_MS
    while (/aof_rewrite_(in_progress|scheduled):1/.test(await persistence(redis))) {
      if (clock.monotonic() > end) return log.info({ event: 'redis_rewrite_continues', after_ms: MAX_WAIT_MS })
      await clock.sleep(POLL_MS)
    }
    if ((await persistence(redis)).includes('aof_last_bgrewrite_status:ok')) await redis.hset(META, REWRITTEN, run)
    else warn(log, 'Redis could not rewrite its append-only file')
  } catch (error) {
    if (redis.status !== 'ready') throw error
    warn(log, messageOf(error))
  }
}

const persistence = async (redis: Redis): Promise<string> => await redis.info('persistence')

const warn = (log: Log, error: string): void =>
  log.warn({
    event: 'redis_not_rewritten',
    error,
    advice: 'allow BGREWRITEAOF and INFO to the user of edged, or set aof-load-truncated no in redis.conf',
  })
