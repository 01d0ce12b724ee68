import { messageOf } from '../../core/errors.js'
import { EventLoopYield } from '../../core/schedule/event-loop-yield.js'
import type { Log } from '../../core/log.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import { ENTRY_POINTS, RULESETS, type Ruleset } from '../../core/model/ruleset.js'
import { account, zone, type Scope } from '../../core/scope.js'
import type { Change, StoreReader } from '../../core/store.js'
import { forgetExpressions } from '../parsed.js'
import { PHASES, type Level } from '../phases.js'
import { preparation, prepareRuleset, stepsToPrepare, type PrepareOptions } from './prepared.js'
import { MatchCounters } from '../match-counters.js'
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
  /** The cache before a reload. Its compiled rulesets and its counts are used again. */
  readonly previous?: RulesetCache | undefined
}

/**
 * Changes of fewer steps are compiled immediately. Larger changes are compiled with pauses, while the previous rules
 * stay in force.
 */
const MAX_IMMEDIATE_STEPS = 16

type Outdated = Pick<Change, 'kind' | 'scope' | 'id'>

/** The stored rulesets, compiled. Each version of a ruleset is compiled once for any number of zones. */
export class RulesetCache {
  readonly #store: StoreReader
  readonly #parts: RuleDeps
  readonly #metrics: Metrics
  readonly #log: Log
  readonly #counters: MatchCounters
  readonly #slices = new EventLoopYield()
  /** By ruleset id. */
  readonly #prepared = new Map<string, PreparedRuleset>()
  /** By zone id. */
  readonly #zones = new Map<string, ZoneRules | undefined>()
  /** The account of each requested zone. */
  readonly #accounts = new Map<string, string>()
  /** Changed rulesets and entry points that are not in force yet. */
  #outdated: Outdated[] = []
  #applying: Promise<void> | undefined

  constructor({ store, parts, metrics, log, previous }: RulesetCacheOptions) {
    this.#store = store
    this.#parts = parts
    this.#metrics = metrics
    this.#log = log
    this.#counters = previous ? previous.#counters : new MatchCounters(metrics)
    if (previous) for (const [id, prepared] of previous.#prepared) this.#prepared.set(id, prepared)
  }

  /** Returns a cache with the rules of another reader, in which nothing is compiled again that did not change. */
  over(store: StoreReader): RulesetCache {
    return new RulesetCache({ store, parts: this.#parts, metrics: this.#metrics, log: this.#log, previous: this })
  }

  /** Compiles the rules of zones with pauses, before `rulesOf` needs them. */
  async compile(sites: Iterable<Site>): Promise<void> {
    for (const { id, accountId } of sites) {
      this.#accounts.set(id, accountId)
      for (const { name } of PHASES)
        for (const scope of [account(accountId), zone(id)])
          if (this.#store.get(ENTRY_POINTS, scope, name))
            await this.#build([{ kind: ENTRY_POINTS.name, scope, id: name }])
      await this.#slices.yieldToEventLoop()
    }
  }

  /** Resolves when all changes are in force. Undefined if they are in force already. */
  get applied(): Promise<void> | undefined {
    return this.#applying
  }

  /** Returns the current rules of a zone, or undefined if there are none. */
  rulesOf(site: Site): ZoneRules | undefined {
    const known = this.#zones.get(site.id)
    if (known || this.#zones.has(site.id)) return known
    const rules = this.#link(site)
    this.#zones.set(site.id, rules)
    this.#accounts.set(site.id, site.accountId)
    return rules
  }

  /**
   * Processes changes of the store. Calls `refresh` if the rules of any zone may have changed, either immediately or
   * after many rules are compiled. `refresh` gets the scopes of these rules, which are zones or whole accounts.
   */
  changed(changes: readonly Change[], refresh: (scopes: readonly Scope[]) => void): void {
    const relevant = changes.filter(({ kind }) => kind === RULESETS.name || kind === ENTRY_POINTS.name)
    if (relevant.length === 0) return
    for (const { kind, id, value } of relevant) {
      if (kind !== RULESETS.name || value !== undefined) continue
      this.#prepared.delete(id)
      this.#counters.retain(id, new Set())
    }
    this.#outdated.push(...relevant)
    // A build in progress finds these changes too.
    if (this.#applying) return
    if (this.#unprepared(this.#outdated).reduce((sum, { steps }) => sum + steps, 0) < MAX_IMMEDIATE_STEPS)
      return this.#apply(refresh)
    this.#applying = this.#buildAndApply(refresh)
  }

  async #buildAndApply(refresh: (scopes: readonly Scope[]) => void): Promise<void> {
    try {
      await this.#build()
      this.#applying = undefined
      this.#apply(refresh)
    } catch (error) {
      this.#applying = undefined
      this.#log.error({ event: 'rules_failed', error: messageOf(error) })
    }
  }

  /** Compiles the changed rulesets, and the rulesets that change during the compilation. */
  async #build(outdated?: readonly Outdated[]): Promise<void> {
    const first = () => this.#unprepared(outdated ?? this.#outdated)[0]
    for (let next = first(); next !== undefined; next = first()) {
      const { ruleset, level, accountId } = next
      const steps = preparation(ruleset, this.#options(ruleset.id, level, accountId))
      for (;;) {
        const { done, value } = steps.next()
        await this.#slices.yieldToEventLoop()
        if (done !== true) continue
        this.#keep(ruleset, value)
        break
      }
    }
  }

  #apply(refresh: (scopes: readonly Scope[]) => void): void {
    const outdated = this.#outdated
    this.#outdated = []
    if (outdated.some(({ scope }) => scope.type === 'account')) this.#zones.clear()
    for (const { scope } of outdated) this.#zones.delete(scope.id)
    refresh(outdated.map(({ scope }) => scope))
    forgetExpressions()
  }

  /** Returns the changed rulesets that zones run and that are not compiled, with their steps as far as they matter. */
  #unprepared(outdated: readonly Outdated[]): { ruleset: Ruleset; level: Level; accountId: string; steps: number }[] {
    const found = new Map<string, { ruleset: Ruleset; level: Level; accountId: string; steps: number }>()
    const visit = (scope: Scope, id: string): void => {
      const level: Level = scope.type === 'account' ? 'account' : 'zone'
      const accountId = level === 'account' ? scope.id : this.#accounts.get(scope.id)
      const stored = this.#store.get(RULESETS, scope, id)?.value.ruleset
      if (accountId === undefined || found.has(id)) return
      if (stored === undefined) return level === 'zone' ? visit(account(accountId), id) : undefined
      const known = this.#prepared.get(id)
      if (known?.version === stored.version) return
      found.set(id, { ruleset: stored, level, accountId, steps: stepsToPrepare(stored, known, MAX_IMMEDIATE_STEPS) })
      for (const { action, action_parameters: params } of stored.rules)
        if (action === 'execute') visit(scope, String(params?.['id']))
    }
    for (const { kind, scope, id } of outdated) {
      const changed = kind === ENTRY_POINTS.name ? this.#store.get(ENTRY_POINTS, scope, id)?.value.ruleset_id : id
      if (changed !== undefined && (kind === ENTRY_POINTS.name || this.#prepared.has(changed))) visit(scope, changed)
    }
    return [...found.values()]
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
    return this.#keep(ruleset, prepareRuleset(ruleset, this.#options(ruleset.id, level, accountId)))
  }

  #options(id: string, level: Level, accountId: string): PrepareOptions {
    const previous = this.#prepared.get(id)
    return { level, accountId, parts: this.#parts, counters: this.#counters, log: this.#log, previous }
  }

  #keep(ruleset: Ruleset, prepared: PreparedRuleset): PreparedRuleset {
    this.#prepared.set(ruleset.id, prepared)
    this.#counters.retain(ruleset.id, new Set(ruleset.rules.map((rule) => rule.id)))
    return prepared
  }
}
