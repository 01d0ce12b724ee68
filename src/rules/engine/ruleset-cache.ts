import type { Log } from '../../core/log.js'
import type { Metrics } from '../../core/metrics.js'
import { ENTRY_POINTS, RULESETS, type Ruleset } from '../../core/model/ruleset.js'
import { account, zone, type Scope } from '../../core/scope.js'
import type { Change, StoreReader } from '../../core/store.js'
import type { Level } from '../phases.js'
import { prepareRuleset } from './prepared.js'
import { MatchCounters } from './match-counters.js'
import type { PreparedRuleset, RuleDeps } from '../types.js'
import { ZoneRules } from './zone-rules.js'

/** The zone and account of the rules. */
export interface Site {
  readonly id: string
  readonly accountId: string
}

export interface RulesetCacheOptions {
  readonly store: StoreReader
  readonly parts: RuleDeps
  readonly metrics: Metrics
  readonly log: Log
}

/** The stored rulesets, compiled: each version of a ruleset once, for any number of zones. */
export class RulesetCache {
  readonly #store: StoreReader
  readonly #parts: RuleDeps
  readonly #log: Log
  readonly #counters: MatchCounters
  /** By ruleset id. */
  readonly #prepared = new Map<string, PreparedRuleset>()
  /** By zone id. */
  readonly #zones = new Map<string, ZoneRules | undefined>()

  constructor({ store, parts, metrics, log }: RulesetCacheOptions) {
    this.#store = store
    this.#parts = parts
    this.#log = log
    this.#counters = new MatchCounters(metrics)
  }

  /** Returns the current rules of a zone; undefined if there are none. */
  rulesOf(site: Site): ZoneRules | undefined {
    const known = this.#zones.get(site.id)
    if (known || this.#zones.has(site.id)) return known
    const rules = this.#link(site)
    this.#zones.set(site.id, rules)
    return rules
  }

  /** Processes changes of the store. Returns true if the rules of any zone may have changed. */
  changed(changes: readonly Change[]): boolean {
    const relevant = changes.filter(({ kind }) => kind === RULESETS.name || kind === ENTRY_POINTS.name)
    for (const { kind, id, value } of relevant) {
      if (kind !== RULESETS.name || value !== undefined) continue
      this.#prepared.delete(id)
      this.#counters.retain(id, new Set())
    }
    if (relevant.some(({ scope }) => scope.type === 'account')) this.#zones.clear()
    for (const { scope } of relevant) this.#zones.delete(scope.id)
    return relevant.length > 0
  }

  #link({ id, accountId }: Site): ZoneRules | undefined {
    const scopes: Readonly<Record<Level, Scope>> = { account: account(accountId), zone: zone(id) }
    const get = (level: Level, rulesetId: string): PreparedRuleset | undefined => {
      const stored = this.#store.get(RULESETS, scopes[level], rulesetId)
      return stored && this.#prepare(stored.value.ruleset, level, accountId)
    }
    return ZoneRules.of(
      {
        entry: (level, phase) => {
          const entry = this.#store.get(ENTRY_POINTS, scopes[level], phase)
          return entry && get(level, entry.value.ruleset_id)
        },
        target: (level, rulesetId) => get(level, rulesetId) ?? get('account', rulesetId),
      },
      this.#log,
    )
  }

  #prepare(ruleset: Ruleset, level: Level, accountId: string): PreparedRuleset {
    const known = this.#prepared.get(ruleset.id)
    if (known?.version === ruleset.version) return known
    const options = { level, accountId, parts: this.#parts, counters: this.#counters, log: this.#log, previous: known }
    const prepared = prepareRuleset(ruleset, options)
    this.#prepared.set(ruleset.id, prepared)
    this.#counters.retain(ruleset.id, new Set(ruleset.rules.map((rule) => rule.id)))
    return prepared
  }
}
