import { collectedMetrics } from '../../core/metrics/collected-metrics.js'
import { AgentMetrics } from '../agents/metrics.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import type { Exchange } from '../exchange/exchange.js'

/** Zones with labels of their own, the first ones by time. All others share the label `other`. */
const MAX_ZONES = 1000
const OTHER = 'other'
const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const
const FROM_CACHE = new Set(['HIT', 'STALE', 'UPDATING', 'REVALIDATED'])

/** Counts of one zone. */
class ZoneCounts {
  /** By the first digit of the status, minus 1. */
  readonly requests = [0, 0, 0, 0, 0]
  markdown = 0
  cached = 0
  bytes = 0
}

/** Counts finished requests by zone. Plain numbers while requests run; converted when the registry is read. */
export class ZoneMetrics {
  readonly #zones = new Map<string, ZoneCounts>()
  readonly #agents: AgentMetrics

  constructor(metrics: Metrics) {
    this.#agents = new AgentMetrics(metrics)
    const zones = this.#zones
    const { counters } = collectedMetrics(metrics)
    const counted = (name: string, help: string, read: (counts: ZoneCounts) => number) =>
      counters(name, help, ['zone'], function* () {
        for (const [zone, counts] of zones) yield [{ zone }, read(counts)]
      })
    counters(
      'edged_zone_requests_total',
      `Finished requests by zone and class of status. Zones after the first ${MAX_ZONES} share the label "other".`,
      ['zone', 'class'],
      function* () {
        for (const [zone, { requests }] of zones)
          for (const [i, name] of CLASSES.entries()) yield [{ zone, class: name }, requests[i]!]
      },
    )
    counted(
      'edged_zone_markdown_responses_total',
      'Responses in Markdown by zone, without errors (status 400 and above).',
      ({ markdown }) => markdown,
    )
    counted('edged_zone_cache_hits_total', 'Responses from the cache by zone.', ({ cached }) => cached)
    counted('edged_zone_response_body_bytes_total', 'Body bytes sent to clients by zone.', ({ bytes }) => bytes)
  }

  /** Counts a finished request. */
  finished(exchange: Exchange): void {
    const {
      zone,
      sent,
      caching: { status: cacheStatus },
    } = exchange
    const { status, bodyBytes: bytes } = sent
    this.#agents.finished(exchange)
    const counts = this.#of(zone.name)
    const at = Math.floor(status / 100) - 1
    if (at >= 0 && at < CLASSES.length) counts.requests[at]!++
    counts.bytes += bytes
    if (cacheStatus !== undefined && FROM_CACHE.has(cacheStatus)) counts.cached++
    // Error pages of edged are Markdown too, for clients that accept it.
    if (status < 400 && sent.isMarkdown) counts.markdown++
  }

  #of(name: string): ZoneCounts {
    const known = this.#zones.get(name)
    if (known) return known
    const label = this.#zones.size < MAX_ZONES ? name : OTHER
    const counts = this.#zones.get(label) ?? new ZoneCounts()
    this.#zones.set(label, counts)
    return counts
  }
}
