import type { Clock } from '../../core/clock.js'
import { collectedMetrics } from '../../core/metrics/collected-metrics.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import { balancersOf, type Zones } from '../exchange/zones.js'
import type { Peer, PeerReport } from '../balancing/peer.js'

const ORIGIN_UP = 'edged_origin_up'
export const ORIGIN_ASKED = 'edged_origin_asked'
export const ORIGIN_DOWN = 'edged_origin_down'
export const ORIGIN_SINCE = 'edged_origin_state_since_seconds'
export const ORIGIN_CHECKED = 'edged_origin_checked_seconds'
export const ORIGIN_ERROR = 'edged_origin_last_error'
export const ORIGIN_IN_FLIGHT = 'edged_origin_requests_in_flight'

/** Registers the metrics of the configured origins, by zone and URL. Read from their counts when scraped. */
export function originMetrics(registry: Metrics, zones: Zones, clock: Clock): void {
  function* each(): Generator<readonly [Peer, { zone: string; origin: string }]> {
    for (const zone of zones.current.zones)
      for (const { peers } of balancersOf(zone))
        for (const peer of peers) if (peer.url !== '') yield [peer, { zone: zone.name, origin: peer.url }]
  }
  const read = (value: (peer: Peer) => number) =>
    function* () {
      for (const [peer, labels] of each()) yield [labels, value(peer)] as const
    }
  const { counters, gauges } = collectedMetrics(registry)
  counters(
    'edged_origin_requests_total',
    'Requests to configured origins by zone, origin and class of status; error: without a response.',
    ['zone', 'origin', 'class'],
    function* () {
      for (const [peer, labels] of each())
        for (const [outcome, count] of peer.responses) yield [{ ...labels, class: outcome }, count]
    },
  )
  counters(
    'edged_origin_retries_total',
    'Requests that were sent to another origin after they failed at this one.',
    ['zone', 'origin'],
    read((peer) => peer.retried),
  )
  gauges(
    ORIGIN_IN_FLIGHT,
    'Requests at configured origins in flight.',
    ['zone', 'origin'],
    read((peer) => peer.active),
  )
  gauges(
    ORIGIN_UP,
    '1 if the origin gets requests, also before the first one; 0 after failures.',
    ['zone', 'origin'],
    read((peer) => (peer.isUp(clock.monotonic()) ? 1 : 0)),
    'min',
  )
  gauges(
    ORIGIN_ASKED,
    '1 after the first result of a request to the origin or of a health check; 0 before.',
    ['zone', 'origin'],
    read(({ report }) => (report.state === 'unknown' ? 0 : 1)),
    'max',
  )
  gauges(
    ORIGIN_DOWN,
    '1 if the origin does not respond, as the last results say; also before it got as many failures as take it out of use.',
    ['zone', 'origin'],
    read(({ report }) => (report.state === 'down' ? 1 : 0)),
    'max',
  )
  const seconds = (time: (report: PeerReport) => number | undefined) =>
    function* () {
      const offset = clock.now() - clock.monotonic()
      for (const [{ report }, labels] of each()) {
        const at = time(report)
        if (at !== undefined) yield [labels, (at + offset) / 1000] as const
      }
    }
  gauges(
    ORIGIN_SINCE,
    'Time since 1970 when the origin began to respond, or ceased to.',
    ['zone', 'origin'],
    seconds(({ since }) => since),
    'max',
  )
  gauges(
    ORIGIN_CHECKED,
    'Time since 1970 of the last result of a request to the origin or of a health check.',
    ['zone', 'origin'],
    seconds(({ checkedAt }) => checkedAt),
    'max',
  )
  gauges(
    ORIGIN_ERROR,
    '1 for the failure of the last result of a request to the origin or of a health check, if it was one.',
    ['zone', 'origin', 'error'],
    function* () {
      for (const [{ report }, labels] of each())
        if (report.lastError !== undefined) yield [{ ...labels, error: report.lastError }, 1] as const
    },
    'max',
  )
}
