import type { Clock } from '../../core/clock.js'
import { collectedMetrics } from '../../core/collected-metrics.js'
import type { Metrics } from '../../core/metrics.js'
import type { Zones } from '../zones.js'
import type { Peer } from './peer.js'

export const ORIGIN_UP = 'edged_origin_up'
export const ORIGIN_IN_FLIGHT = 'edged_origin_requests_in_flight'

/** Registers the metrics of the configured origins, by zone and URL. Read from their counts when scraped. */
export function originMetrics(registry: Metrics, zones: Zones, clock: Clock): void {
  const each = (visit: (peer: Peer, labels: { zone: string; origin: string }) => void): void => {
    for (const { name, balancer } of zones.current.zones)
      for (const peer of balancer.peers) visit(peer, { zone: name, origin: peer.url })
  }
  const { counters, gauges } = collectedMetrics(registry)
  counters(
    'edged_origin_requests_total',
    'Requests to configured origins by zone, origin and class of status; error: without a response.',
    ['zone', 'origin', 'class'],
    (add) =>
      each((peer, labels) => {
        for (const [outcome, count] of peer.responses) add({ ...labels, class: outcome }, count)
      }),
  )
  counters(
    'edged_origin_retries_total',
    'Requests that were sent to another origin after they failed at this one.',
    ['zone', 'origin'],
    (add) => each((peer, labels) => add(labels, peer.retried)),
  )
  gauges(ORIGIN_IN_FLIGHT, 'Requests at configured origins in flight.', ['zone', 'origin'], (add) =>
    each((peer, labels) => add(labels, peer.active)),
  )
  gauges(
    ORIGIN_UP,
    '1 if the origin gets requests; 0 after failures.',
    ['zone', 'origin'],
    (add) => {
      const now = clock.monotonic()
      each((peer, labels) => add(labels, peer.isUp(now) ? 1 : 0))
    },
    'min',
  )
}
