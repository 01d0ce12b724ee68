import type { Clock } from '../../core/clock.js'
import type { Log } from '../../core/log.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import type { History } from '../../history/history.js'
import { HistoryExchange } from './history-exchange.js'

/** Connects the histories of the machines on one Redis. Without a connection each machine has its own counts. */
export async function openHistoryExchange(
  url: string,
  machine: string,
  history: History,
  { clock, log, metrics }: { clock: Clock; log: Log; metrics: Metrics },
): Promise<HistoryExchange> {
  // Loaded by machines with Redis only.
  const { redisConnection } = await import('../../store/redis/connection.js')
  const redis = redisConnection(url)
  void redis.connect().catch(() => undefined)
  const exchange = new HistoryExchange({
    redis,
    machine,
    add: async (parts) => await history.addForeign(parts),
    place: history.foreignPlace,
    clock,
    log,
    metrics,
  })
  history.publish((parts) => exchange.publish(parts))
  return exchange
}
