import { collectedMetrics } from '../core/metrics/collected-metrics.js'
import type { Metrics } from '../core/metrics/metrics.js'

/** Labels of a rule in metrics. */
export interface RuleLabels {
  readonly phase: string
  readonly ruleset: string
  readonly rule: string
  readonly action: string
}

/** Counts of one rule, as plain numbers while requests run. */
export interface MatchCount extends RuleLabels {
  matches: number
  failures: number
  /** Requests whose budget was too small for the rule. */
  overBudget: number
  /** On the clock's `monotonic` scale. */
  overBudgetLoggedAt: number
}

/** Counts matches and failures of rules. Only loaded rules are counted, so there is one series per rule. */
export class MatchCounters {
  readonly #byRuleset = new Map<string, Map<string, MatchCount>>()

  constructor(metrics: Metrics) {
    const rulesets = this.#byRuleset
    const counted = (name: string, help: string, read: (counter: MatchCount) => number) =>
      collectedMetrics(metrics).counters(name, help, ['phase', 'ruleset', 'rule', 'action'], function* () {
        for (const counters of rulesets.values())
          for (const counter of counters.values()) {
            const { phase, ruleset, rule, action } = counter
            if (read(counter) > 0) yield [{ phase, ruleset, rule, action }, read(counter)]
          }
      })
    counted('edged_rule_matches_total', 'Requests that a rule acted on, by rule.', ({ matches }) => matches)
    counted(
      'edged_rule_failures_total',
      'Failures to load, evaluate or carry out a rule, by rule.',
      ({ failures }) => failures,
    )
    counted(
      'edged_rule_budget_exceeded_total',
      'Requests that used up their budget of evaluation steps before the rule, by rule.',
      ({ overBudget }) => overBudget,
    )
  }

  /** Returns the counts of a rule. They continue over versions of the rule. */
  of(labels: RuleLabels): MatchCount {
    let counters = this.#byRuleset.get(labels.ruleset)
    if (!counters) this.#byRuleset.set(labels.ruleset, (counters = new Map<string, MatchCount>()))
    const known = counters.get(labels.rule)
    if (known?.action === labels.action) return known
    const counter = { matches: 0, failures: 0, overBudget: 0, overBudgetLoggedAt: -Infinity, ...labels }
    counters.set(labels.rule, counter)
    return counter
  }

  /** Drops the counts of a ruleset, except for these rules. */
  retain(ruleset: string, rules: ReadonlySet<string>): void {
    const counters = this.#byRuleset.get(ruleset)
    for (const rule of counters?.keys() ?? []) if (!rules.has(rule)) counters?.delete(rule)
    if (counters?.size === 0) this.#byRuleset.delete(ruleset)
  }
}
