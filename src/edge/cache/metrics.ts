import { Counter, Gauge } from 'prom-client'
import type { Metrics } from '../../core/metrics.js'
import type { MemoryStore, Removal } from './memory.js'
import { REFUSALS, type Refusal } from './policy.js'
import { CACHE_STATUSES, type CacheStatus } from './types.js'
import { ZoneMetrics } from './zone-metrics.js'

const REMOVALS: readonly Removal[] = ['capacity', 'purge', 'replaced', 'invalid']
const OUTCOMES = ['unchanged', 'changed', 'failed'] as const
const PURGE_KINDS = ['everything', 'files', 'tags', 'hosts', 'prefixes'] as const
export type PurgeKind = (typeof PURGE_KINDS)[number]

/** Counts events of the cache. Plain numbers while requests run; converted when the registry is read. */
export class CacheMetrics {
  stored = 0
  coalesced = 0
  readonly zones: ZoneMetrics
  readonly #requests = counts<CacheStatus>(CACHE_STATUSES)
  readonly #refused = counts<Refusal>(REFUSALS)
  readonly #removed = counts<Removal>(REMOVALS)
  readonly #revalidations = counts<(typeof OUTCOMES)[number]>(OUTCOMES)
  readonly #purges = counts<PurgeKind>(PURGE_KINDS)

  constructor(metrics: Metrics, store: MemoryStore) {
    this.zones = new ZoneMetrics(metrics)
    const registers = [metrics]
    const counted = (name: string, help: string, read: () => number) =>
      new Counter({
        name,
        help,
        registers,
        collect() {
          this.reset()
          this.inc(read())
        },
      })
    const labelled = (name: string, help: string, label: string, values: ReadonlyMap<string, number>, more = {}) =>
      new Counter({
        name,
        help,
        labelNames: [label, ...Object.keys(more)],
        registers,
        collect() {
          this.reset()
          for (const [value, count] of values) this.inc({ [label]: value, ...more }, count)
        },
      })
    const gauged = (name: string, help: string, labels: Record<string, string>, read: () => number) =>
      new Gauge({
        name,
        help,
        labelNames: Object.keys(labels),
        registers,
        collect() {
          this.set(labels, read())
        },
      })
    labelled('edged_cache_requests_total', 'Responses by cf-cache-status.', 'status', this.#requests)
    labelled(
      'edged_cache_refused_total',
      'Eligible responses that were not stored, by reason.',
      'reason',
      this.#refused,
    )
    labelled(
      'edged_cache_evictions_total',
      'Responses that left the cache, by tier and reason.',
      'reason',
      this.#removed,
      {
        tier: 'memory',
      },
    )
    labelled(
      'edged_cache_revalidations_total',
      'Requests to origins about stale responses, by outcome.',
      'outcome',
      this.#revalidations,
    )
    labelled('edged_cache_purges_total', 'Purges by what they name.', 'kind', this.#purges)
    counted('edged_cache_stored_total', 'Responses that were stored.', () => this.stored)
    counted(
      'edged_cache_coalesced_total',
      'Requests that shared the response to another request.',
      () => this.coalesced,
    )
    gauged('edged_cache_bytes', 'Bytes of the cache by tier.', { tier: 'memory' }, () => store.used)
    gauged('edged_cache_entries', 'Stored responses by tier.', { tier: 'memory' }, () => store.count)
    gauged(
      'edged_cache_variant_bytes',
      'Bytes of derived representations.',
      { kind: 'markdown' },
      () => store.variantBytes,
    )
  }

  responded(zone: { readonly id: string; readonly name: string }, status: CacheStatus): void {
    this.#requests.set(status, this.#requests.get(status)! + 1)
    this.zones.responded(zone, status)
  }

  refused(reason: Refusal): void {
    this.#refused.set(reason, this.#refused.get(reason)! + 1)
  }

  removed(zone: string, reason: Removal): void {
    this.#removed.set(reason, this.#removed.get(reason)! + 1)
    if (reason === 'capacity') this.zones.evicted(zone)
  }

  revalidated(outcome: (typeof OUTCOMES)[number]): void {
    this.#revalidations.set(outcome, this.#revalidations.get(outcome)! + 1)
  }

  purged(kind: PurgeKind): void {
    this.#purges.set(kind, this.#purges.get(kind)! + 1)
  }
}

const counts = <T extends string>(names: readonly T[]): Map<T, number> => new Map(names.map((name) => [name, 0]))
