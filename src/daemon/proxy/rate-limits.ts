import type { Clock } from '../../core/clock.js'
import type { Closable } from '../../core/closing-stack.js'
import type { Log } from '../../core/log.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import { RULESETS, type StoredRuleset } from '../../core/model/ruleset.js'
import { changesOf, type Stored, type StoreReader } from '../../core/store.js'
import type { CountLog } from '../../rules/limits/count-log.js'
import { Limiter, type LimitState } from '../../rules/limits/limiter.js'
import { limitIdsOf } from '../../rules/limits/rule-limit.js'
import { shareCounts } from '../../rules/limits/sharing.js'

export interface RateLimitOptions {
  readonly store: StoreReader
  /** URL of the store: counts are shared if it is a Redis. */
  readonly url: string
  /** Shares counts with other processes of this machine. */
  readonly countLog?: CountLog | undefined
  /** The counts so far. */
  readonly state?: readonly LimitState[]
  readonly maxKeys: number
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** The counts of all rate limits. Drops the counts of deleted rules, and shares the counts in Redis. */
export class RateLimits implements Closable {
  readonly limiter: Limiter
  readonly #unwatch: () => void
  readonly #shared: readonly Closable[]
  /** Ids of limits, by ruleset id. */
  readonly #limits = new Map<string, readonly string[]>()
  /** Ids of the rulesets of the configuration file. */
  #ofFile: ReadonlySet<string> = new Set()

  private constructor(limiter: Limiter, store: StoreReader, shared: readonly Closable[]) {
    this.limiter = limiter
    this.#shared = shared
    for (const { id, value } of store.list(RULESETS)) this.#changed(id, value)
    this.#unwatch = store.watch((changes) => {
      for (const { id, value } of changesOf(RULESETS, changes)) this.#changed(id, value)
    })
  }

  static async open({
    store,
    url,
    countLog,
    state = [],
    maxKeys,
    clock,
    log,
    metrics,
  }: RateLimitOptions): Promise<RateLimits> {
    const limiter = new Limiter({ clock, maxKeys, log: countLog })
    limiter.restore(state)
    if (!url.startsWith('redis')) return new RateLimits(limiter, store, [])
    // Proxy processes start faster without the Redis client.
    const { RedisCounters } = await import('../../store/redis/counters.js')
    const counters = await RedisCounters.open(url)
    return new RateLimits(limiter, store, [shareCounts(limiter, counters, { clock, log, metrics }), counters])
  }

  /** Drops the counts of rules of the configuration file that were removed. */
  ofFile(rulesets: readonly Stored<StoredRuleset>[]): void {
    const ids = new Set(rulesets.map(({ id }) => id))
    for (const id of this.#ofFile) if (!ids.has(id)) this.#changed(id, undefined)
    for (const { id, value } of rulesets) this.#changed(id, value)
    this.#ofFile = ids
  }

  async close(): Promise<void> {
    this.#unwatch()
    for (const part of this.#shared) await part.close()
  }

  #changed(rulesetId: string, stored: StoredRuleset | undefined): void {
    const now = stored?.ruleset.rules.flatMap(limitIdsOf) ?? []
    const kept = new Set(now)
    this.limiter.drop((this.#limits.get(rulesetId) ?? []).filter((id) => !kept.has(id)))
    if (now.length > 0) this.#limits.set(rulesetId, now)
    else this.#limits.delete(rulesetId)
  }
}
