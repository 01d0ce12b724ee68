import { collectedMetrics, type LabelledValue } from '../../core/metrics/collected-metrics.js'
import { LabelCounts } from '../../core/metrics/label-counts.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import { CACHE_STATUSES, type CacheStatus } from './entries/types.js'

/** Maximum zones with separate metrics. Further zones are counted together. */
const MAX_ZONES = 200
const OTHER = 'other'

/** Counts of one zone. */
class ZoneCounts {
  name: string
  readonly requests = new LabelCounts<CacheStatus>(CACHE_STATUSES)
  /** Sum and number of the ages of hits. */
  age = 0
  hits = 0
  bytes = 0
  entries = 0
  evictions = 0

  constructor(name: string) {
    this.name = name
  }
}

/** Counts events of the cache by zone. */
export class ZoneMetrics {
  readonly #zones = new Map<string, ZoneCounts>()
  /** The last zone, which is usually the next one. */
  #lastZone = ''
  #last: ZoneCounts | undefined
  readonly #other = new ZoneCounts(OTHER)

  constructor(metrics: Metrics) {
    const zones = this.#zones
    const other = this.#other
    function* each(): Generator<readonly [ZoneCounts, string]> {
      for (const counts of zones.values()) yield [counts, counts.name]
      if (zones.size === MAX_ZONES) yield [other, OTHER]
    }
    const { counters, gauges } = collectedMetrics(metrics)
    counters(
      'edged_cache_zone_requests_total',
      'Responses by zone and cf-cache-status.',
      ['zone', 'status'],
      function* () {
        for (const [{ requests }, zone] of each())
          for (const [status, count] of requests) if (count > 0) yield [{ zone, status }, count]
      },
    )
    const byZone = (read: (counts: ZoneCounts) => number) =>
      function* (): Generator<LabelledValue<'zone'>> {
        for (const [counts, zone] of each()) yield [{ zone }, read(counts)]
      }
    const counted = (name: string, help: string, read: (counts: ZoneCounts) => number) =>
      counters(name, help, ['zone'], byZone(read))
    const gauged = (name: string, help: string, read: (counts: ZoneCounts) => number) =>
      gauges(name, help, ['zone'], byZone(read))
    counted('edged_cache_zone_hits_total', 'Responses from the cache by zone.', ({ hits }) => hits)
    counted(
      'edged_cache_zone_hit_age_seconds_total',
      'Sum of the ages of responses from the cache by zone; divide by edged_cache_zone_hits_total.',
      ({ age }) => age,
    )
    counted(
      'edged_cache_zone_evictions_total',
      'Responses that left memory because it was full, by zone.',
      ({ evictions }) => evictions,
    )
    gauged('edged_cache_zone_bytes', 'Bytes of stored responses in memory by zone.', ({ bytes }) => bytes)
    gauged('edged_cache_zone_entries', 'Stored responses in memory by zone.', ({ entries }) => entries)
  }

  responded({ id, name }: { readonly id: string; readonly name: string }, status: CacheStatus): void {
    const counts = this.#of(id)
    if (counts !== this.#other) counts.name = name
    counts.requests.add(status)
  }

  /** Counts a response from the cache. `age` in seconds. */
  hit(zone: string, age: number): void {
    const counts = this.#of(zone)
    counts.hits++
    counts.age += age
  }

  /** Counts a change of the bytes and entries that a zone has in memory. */
  changed(zone: string, bytes: number, entries: number): void {
    const counts = this.#of(zone)
    counts.bytes += bytes
    counts.entries += entries
  }

  evicted(zone: string): void {
    this.#of(zone).evictions++
  }

  #of(zone: string): ZoneCounts {
    if (this.#last && this.#lastZone === zone) return this.#last
    let counts = this.#zones.get(zone)
    if (!counts) {
      if (this.#zones.size >= MAX_ZONES) return this.#other
      counts = new ZoneCounts(zone)
      this.#zones.set(zone, counts)
    }
    this.#lastZone = zone
    this.#last = counts
    return counts
  }
}
