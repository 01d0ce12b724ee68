import t from 'tap'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import type { DeliveryQueue } from '../../src/webhooks/delivery-queue.js'
import { senderMetrics } from '../../src/webhooks/sender-metrics.js'

const idAt = (ms: number): string => {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

t.test('the age of the oldest delivery is that of the first one of each queue', async (t) => {
  const metrics = openMetrics({ process: false })
  let read = 0
  const queue = (fromMs: number, more: object = {}) => ({
    *ids() {
      for (let n = 0; n < 50_000; n++) {
        read++
        yield idAt(fromMs + n)
      }
    },
    owned: true,
    enabled: true,
    size: 50_000,
    inFlight: 0,
    breaker: { isOpen: false },
    ...more,
  })
  const queues = [queue(70_000), queue(50_000), queue(10_000, { enabled: false }), queue(9000, { owned: false })]
  senderMetrics(
    metrics,
    () => queues as unknown as DeliveryQueue[],
    () => 90_000,
  )
  const text = await metrics.getSingleMetricAsString('edged_webhook_oldest_pending_age_seconds')
  t.match(text, /edged_webhook_oldest_pending_age_seconds 40$/)
  t.ok(read <= 4, `${read} ids are read`)
})
