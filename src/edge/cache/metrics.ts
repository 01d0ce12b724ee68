import { byLabel, collectedMetrics } from '../../core/metrics/collected-metrics.js'
import { LabelCounts } from '../../core/metrics/label-counts.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import type { MemoryStore, Removal } from './entries/memory.js'
import { REFUSALS, type Refusal } from './entries/policy.js'
import { CACHE_STATUSES, type CacheStatus } from './entries/types.js'
import { ZoneMetrics } from './zone-metrics.js'

const REMOVALS: readonly Removal[] = ['capacity', 'purge', 'replaced', 'invalid']
const OUTCOMES = ['unchanged', 'changed', 'failed'] as const
const PURGE_KINDS = ['everything', 'files', 'tags', 'hosts', 'prefixes'] as const
export type PurgeKind = (typeof PURGE_KINDS)[number]

/** Counts of the disk tier. */
export interface DiskCounts {
  readonly bytes: number
  readonly entries: number
  readonly evictions: ReadonlyMap<string, number>
  readonly errors: ReadonlyMap<string, number>
}

/**
 * Counts events of the cache. The counts are plain numbers while requests run, and are converted when the registry is
 * read.
 */
export class CacheMetrics {
  stored = 0
  coalesced = 0
  readonly zones: ZoneMetrics
  readonly #requests = new LabelCounts<CacheStatus>(CACHE_STATUSES)
  readonly #refused = new LabelCounts<Refusal>(REFUSALS)
  readonly #removed = new LabelCounts<Removal>(REMOVALS)
  readonly #revalidations = new LabelCounts<(typeof OUTCOMES)[number]>(OUTCOMES)
  readonly #purges = new LabelCounts<PurgeKind>(PURGE_KINDS)

  constructor(metrics: Metrics, store: MemoryStore, disk?: DiskCounts) {
    this.zones = new ZoneMetrics(metrics)
    const { counter, gauges, counters } = collectedMetrics(metrics)
    const removed = this.#removed
    const by = (name: string, help: string, label: string, values: Iterable<readonly [string, number]>) =>
      counters(name, help, [label], byLabel(label, values))
    const tiered = (name: string, help: string, read: () => readonly [memory: number, disk: number | undefined]) =>
      gauges(name, help, ['tier'], function* () {
        const [inMemory, onDisk] = read()
        yield [{ tier: 'memory' }, inMemory]
        if (onDisk !== undefined) yield [{ tier: 'disk' }, onDisk]
      })
    by('edged_cache_requests_total', 'Responses by cf-cache-status.', 'status', this.#requests)
    by('edged_cache_refused_total', 'Eligible responses that were not stored, by reason.', 'reason', this.#refused)
    counters(
      'edged_cache_evictions_total',
      'Responses that left the cache, by tier and reason.',
      ['tier', 'reason'],
      function* () {
        for (const [reason, count] of removed) yield [{ tier: 'memory', reason }, count]
        for (const [reason, count] of disk?.evictions ?? []) yield [{ tier: 'disk', reason }, count]
      },
    )
    if (disk)
      by(
        'edged_cache_disk_errors_total',
        'Failed operations on files of the cache, by operation.',
        'operation',
        disk.errors,
      )
    by(
      'edged_cache_revalidations_total',
      'Requests to origins about stale responses, by outcome.',
      'outcome',
      this.#revalidations,
    )
    by('edged_cache_purges_total', 'Purges by what they name.', 'kind', this.#purges)
    counter('edged_cache_stored_total', 'Responses that were stored.', () => this.stored)
    counter(
      'edged_cache_coalesced_total',
      'Requests that shared the response to another request.',
      () => this.coalesced,
    )
    tiered('edged_cache_bytes', 'Bytes of the cache by tier.', () => [store.used, disk?.bytes])
    tiered('edged_cache_entries', 'Stored responses by tier.', () => [store.count, disk?.entries])
    gauges(
      'edged_cache_variant_bytes',
      'Bytes of derived representations: Markdown, and compressed forms.',
      ['kind'],
      () => byLabel('kind', store.variantBytes)(),
    )
  }

  responded(zone: { readonly id: string; readonly name: string }, status: CacheStatus): void {
    this.#requests.add(status)
    this.zones.responded(zone, status)
  }

  refused(reason: Refusal): void {
    this.#refused.add(reason)
  }

  removed(zone: string, reason: Removal): void {
    this.#removed.add(reason)
    if (reason === 'capacity') this.zones.evicted(zone)
  }

  revalidated(outcome: (typeof OUTCOMES)[number]): void {
    this.#revalidations.add(outcome)
  }

  purged(kind: PurgeKind): void {
    this.#purges.add(kind)
  }
}
