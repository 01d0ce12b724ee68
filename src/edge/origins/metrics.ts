import { Counter, Gauge } from 'prom-client'
import type { Clock } from '../../core/clock.js'
import type { Metrics } from '../../core/metrics.js'
import type { Zones } from '../zones.js'
import type { Peer } from './peer.js'

/** Registers the metrics of the configured origins, by zone and URL. Read from their counts when scraped. */
export function originMetrics(registry: Metrics, zones: Zones, clock: Clock): void {
  // Registered below.
  const registers: never[] = []
  const each = (visit: (peer: Peer, labels: { zone: string; origin: string }) => void): void => {
    for (const { name, balancer } of zones.current.zones)
      for (const peer of balancer.peers) visit(peer, { zone: name, origin: peer.url })
  }
  const requests = new Counter({
    name: 'edged_origin_requests_total',
    help: 'Requests to configured origins by zone, origin and class of status; error: without a response.',
    labelNames: ['zone', 'origin', 'class'],
    registers,
    collect() {
      this.reset()
      each((peer, labels) => {
        for (const [outcome, count] of peer.responses) this.inc({ ...labels, class: outcome }, count)
      })
    },
  })
  const retries = new Counter({
    name: 'edged_origin_retries_total',
    help: 'Requests that were sent to another origin after they failed at this one.',
    labelNames: ['zone', 'origin'],
    registers,
    collect() {
      this.reset()
      each((peer, labels) => this.inc(labels, peer.retried))
    },
  })
  const inFlight = new Gauge({
    name: 'edged_origin_requests_in_flight',
    help: 'Requests at configured origins in flight.',
    labelNames: ['zone', 'origin'],
    registers,
    collect() {
      this.reset()
      each((peer, labels) => this.set(labels, peer.active))
    },
  })
  const up = new Gauge({
    name: 'edged_origin_up',
    help: '1 if the origin gets requests; 0 after failures.',
    labelNames: ['zone', 'origin'],
    aggregator: 'min',
    registers,
    collect() {
      this.reset()
      const now = clock.monotonic()
      each((peer, labels) => this.set(labels, peer.isUp(now) ? 1 : 0))
    },
  })
  for (const metric of [requests, retries, inFlight, up]) registry.registerMetric(metric)
}
