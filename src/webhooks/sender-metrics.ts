import { Counter, Histogram } from 'prom-client'
import { collectedMetrics } from '../core/metrics/collected-metrics.js'
import type { Metrics } from '../core/metrics/metrics.js'
import type { DeliveryQueue } from './delivery-queue.js'

/** Metrics of the sender. */
export interface SenderMetrics {
  readonly tries: Histogram
  ended(outcome: 'delivered' | 'retried' | 'failed'): void
}

/** Registers the metrics of the webhook sender. Gauges are computed when they are read. */
export function senderMetrics(
  metrics: Metrics,
  queues: () => Iterable<DeliveryQueue>,
  now: () => number,
): SenderMetrics {
  const registers = [metrics]
  const ended = new Counter({
    name: 'edged_webhook_attempts_total',
    help: 'Webhook delivery attempts by outcome; failed: the last attempt of a delivery.',
    labelNames: ['outcome'],
    registers,
  })
  const { gauge } = collectedMetrics(metrics)
  gauge('edged_webhook_deliveries_pending', 'Unfinished webhook deliveries of this daemon.', () =>
    [...queues()].reduce((sum, { owned, size }) => sum + (owned ? size : 0), 0),
  )
  gauge('edged_webhook_attempts_in_flight', 'Webhook delivery attempts in flight.', () =>
    [...queues()].reduce((sum, { inFlight }) => sum + inFlight, 0),
  )
  const waiting = 'Age in seconds of the oldest unfinished delivery of this daemon, disabled webhooks excluded.'
  gauge('edged_webhook_oldest_pending_age_seconds', waiting, () => {
    let oldest = Infinity
    for (const queue of queues()) {
      // The oldest entry comes first, so that only one entry of up to 50,000 is read.
      const [first] = queue.owned && queue.enabled ? queue.ids() : []
      if (first !== undefined) oldest = Math.min(oldest, acceptedAt(first))
    }
    return oldest === Infinity ? 0 : Math.max(0, (now() - oldest) / 1000)
  })
  gauge('edged_webhook_circuit_breakers_open', 'Webhooks whose circuit breaker is open.', () =>
    [...queues()].reduce((sum, { breaker }) => sum + Number(breaker.isOpen), 0),
  )
  return {
    tries: new Histogram({
      name: 'edged_webhook_attempt_duration_seconds',
      help: 'Duration of webhook delivery attempts in seconds.',
      buckets: [0.01, 0.05, 0.25, 1, 5, 15],
      registers,
    }),
    ended: (outcome) => ended.inc({ outcome }),
  }
}

/** Returns the time of acceptance in ms since 1970, read from the id (UUID version 7). */
const acceptedAt = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
