import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import type { Context } from '../../expr/index.js'
import { PHASES, type PhaseName } from '../phases.js'
import { overridden, overridesByRule, type Overrides } from './overrides.js'
import { Run, type TraceObserver } from './run.js'
import type { Execution, PhaseRules, PreparedRule, PreparedRuleset, RuleExchange, RunRules } from '../types.js'

/** `action_parameters` of an execute rule. */
export interface ExecuteParams {
  readonly id: string
  readonly overrides?: Overrides
}

/** Actions that an override does not replace, because they do not judge a request. */
const KEPT_ACTIONS = new Set(['execute', 'skip'])

/** Source of the rules of a zone. */
export interface RuleSources {
  /** Returns the entry point of a phase, of the account or of the zone. */
  entry(level: 'account' | 'zone', phase: PhaseName): PreparedRuleset | undefined
  /** Returns a ruleset that rules of a level can run. */
  target(level: 'account' | 'zone', id: string): PreparedRuleset | undefined
}

/** All rules for requests to a zone, connected with each other. Immutable. */
export class ZoneRules implements RunRules {
  readonly request: readonly PhaseRules[]
  readonly response: readonly PhaseRules[]
  /** Some rule reads the body of the request. */
  readonly readsBody: boolean
  /** Some rule sets how responses are compressed. */
  readonly compresses: boolean
  readonly log: Log
  readonly #links = new Map<object, Execution>()

  private constructor(entries: readonly PreparedRuleset[], sources: RuleSources, log: Log) {
    this.log = log
    const linked = new Set<PreparedRuleset>()
    for (const entry of entries) this.#link(entry, sources, linked, [])
    this.readsBody = [...linked].some(({ readsBody }) => readsBody)
    const of = (layer: 'request' | 'response'): PhaseRules[] =>
      PHASES.filter((phase) => phase.layer === layer).flatMap(({ name }) => {
        const own = entries.filter(({ phase }) => phase === name).map((ruleset) => ({ ruleset, rules: ruleset.rules }))
        return own.length === 0 ? [] : [{ phase: name, entries: own }]
      })
    this.request = of('request')
    this.response = of('response')
    this.compresses = this.response.some(({ phase }) => phase === 'http_response_compression')
  }

  /** Returns the rules of a zone, or undefined if there are none. */
  static of(sources: RuleSources, log: Log): ZoneRules | undefined {
    const entries = PHASES.filter(({ layer }) => layer !== 'network').flatMap(({ name }) =>
      (['account', 'zone'] as const).flatMap((level) => sources.entry(level, name) ?? []),
    )
    const used = entries.filter(({ rules }) => rules.length > 0)
    return used.length === 0 ? undefined : new ZoneRules(used, sources, log)
  }

  /** Starts the run of a request through the rules. With an observer, the rules are only traced. */
  begin(exchange: RuleExchange, context: Context, observer?: TraceObserver): Run {
    return new Run(this, exchange, context, observer)
  }

  /**
   * Returns the ruleset that an execute rule runs, found by its parameters. Undefined if the ruleset does not exist.
   */
  linked(params: object): Execution | undefined {
    return this.#links.get(params)
  }

  #link(
    ruleset: PreparedRuleset,
    sources: RuleSources,
    linked: Set<PreparedRuleset>,
    trail: readonly PreparedRuleset[],
  ): void {
    if (linked.has(ruleset)) return
    linked.add(ruleset)
    const path = [...trail, ruleset]
    for (const { rule } of ruleset.rules) {
      if (rule.action !== 'execute' || rule.action_parameters === undefined) continue
      const { id, overrides } = rule.action_parameters as object as ExecuteParams
      const target = sources.target(ruleset.level, id)
      const wrong = !target
        ? 'no ruleset has this id'
        : target.phase !== ruleset.phase
          ? `it is of ${target.phase}`
          : path.includes(target)
            ? 'it would run itself'
            : undefined
      if (!target || wrong) {
        this.log.error({ event: 'execute_refused', ruleset: ruleset.id, rule: rule.id, target: id, reason: wrong })
        continue
      }
      this.#link(target, sources, linked, path)
      this.#links.set(rule.action_parameters, { ruleset: target, rules: this.#overridden(target, overrides) })
    }
  }

  #overridden(ruleset: PreparedRuleset, overrides: Overrides | undefined): readonly PreparedRule[] {
    if (!overrides) return ruleset.rules
    const byRule = overridesByRule(overrides)
    return ruleset.rules.map((prepared) => {
      const { action, enabled, sensitivity_level, score_threshold } = overridden(prepared.rule, byRule, overrides)
      const changed = {
        ...prepared,
        // `eoff` (essentially off) is for managed rules with sensitivity levels. Rules here match or do not match.
        enabled: sensitivity_level !== 'eoff' && prepared.loaded && (enabled ?? prepared.enabled),
        leastScore: score_threshold,
      }
      if (action === undefined || action === prepared.action || KEPT_ACTIONS.has(prepared.action)) return changed
      try {
        return { ...changed, action, effect: ruleset.effect(action, prepared.rule) }
      } catch (error) {
        prepared.counter.failures++
        this.log.error({
          event: 'override_broken',
          ruleset: ruleset.id,
          rule: prepared.rule.id,
          action,
          reason: messageOf(error),
        })
        return { ...changed, enabled: false }
      }
    })
  }
}
