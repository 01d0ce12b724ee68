import { Counter, Gauge, Histogram } from 'prom-client'
import type { Metrics } from '../core/metrics.js'
import type { DeliveryQueue } from './delivery-queue.js'

/** What a sender counts. */
export interface SenderMetrics {
  readonly tries: Histogram
  ended(outcome: 'delivered' | 'retried' | 'failed'): void
}

/** Registers the metrics of the sender of webhooks, whose lanes are counted when they are asked for. */
export function senderMetrics(
  metrics: Metrics,
  queues: () => Iterable<DeliveryQueue>,
  now: () => number,
): SenderMetrics {
  const registers = [metrics]
  const ended = new Counter({
    name: 'edged_webhook_attempts_total',
    help: 'Tries to deliver to webhooks by what came of them; failed: the last try of a delivery.',
    labelNames: ['outcome'],
    registers,
  })
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value())
      },
    })
  gauge('edged_webhook_deliveries_pending', 'Deliveries that this daemon has yet to make.', () =>
    [...queues()].reduce((sum, { owned, size }) => sum + (owned ? size : 0), 0),
  )
  gauge('edged_webhook_attempts_in_flight', 'Tries under way.', () =>
    [...queues()].reduce((sum, { underWay }) => sum + underWay, 0),
  )
  const waiting = 'Age of the oldest delivery that this daemon has yet to make, disabled webhooks aside.'
  gauge('edged_webhook_oldest_pending_age_seconds', waiting, () => {
    let oldest = Infinity
    for (const queue of queues())
      if (queue.owned && queue.enabled) for (const id of queue.ids()) oldest = Math.min(oldest, acceptedAt(id))
    return oldest === Infinity ? 0 : Math.max(0, (now() - oldest) / 1000)
  })
  gauge('edged_webhook_circuit_breakers_open', 'Destinations that are left alone for now.', () =>
    [...queues()].reduce((sum, { breaker }) => sum + Number(breaker.isOpen), 0),
  )
  return {
    tries: new Histogram({
      name: 'edged_webhook_attempt_duration_seconds',
      help: 'How long tries took.',
      buckets: [0.01, 0.05, 0.25, 1, 5, 15],
      registers,
    }),
    ended: (outcome) => ended.inc({ outcome }),
  }
}

/** When a delivery was accepted, ms since 1970: its id is a UUID of version 7. */
const acceptedAt = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
