import { Counter } from 'prom-client'
import type { Clock } from '../../core/clock.js'
import type { Closable } from '../../core/closing-stack.js'
import type { SharedCounters } from '../../core/metrics/counters.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import type { Limiter } from './limiter.js'

/**
 * Interval at which machines exchange counts. Until then, each machine may have let pass as much as it counted itself.
 */
const EVERY_MS = 75

/**
 * Exchanges a limiter's counts with other machines until closed. While the shared counters are unreachable, the limiter
 * uses its own counts. Requests are neither stopped nor delayed.
 */
export function shareCounts(
  limiter: Limiter,
  shared: SharedCounters,
  { clock, log, metrics }: { clock: Clock; log: Log; metrics: Metrics },
): Closable {
  const failures = new Counter({
    name: 'edged_rate_limit_sync_failures_total',
    help: 'Failed exchanges of counts with other machines; until the next one this machine counts alone.',
    registers: [metrics],
  })
  const stop = new AbortController()
  const running = run()
  return {
    async close() {
      stop.abort()
      await running
    },
  }

  async function run(): Promise<void> {
    let reachable = true
    while (!stop.signal.aborted) {
      try {
        const reached = await limiter.exchange(shared)
        if (reached && !reachable)
          log.info({ event: 'rate_limits_shared' }, 'counts are shared with other machines again')
        reachable ||= reached
      } catch (error) {
        failures.inc()
        if (reachable)
          log.warn({ event: 'rate_limits_not_shared', error: messageOf(error) }, 'each machine uses its own counts')
        reachable = false
      }
      await clock.sleep(EVERY_MS, stop.signal).catch(() => undefined)
    }
  }
}
